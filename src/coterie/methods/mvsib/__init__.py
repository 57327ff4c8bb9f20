"""MVSIB: contrastive clustering of several views, with care for ambiguous rows and small clusters."""

from coterie.methods.mvsib.estimator import MVSIB
from coterie.methods.mvsib.options import MVSIBOptions

__all__ = ["MVSIB", "MVSIBOptions"]
