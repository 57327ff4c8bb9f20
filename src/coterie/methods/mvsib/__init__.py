"""MVSIB: contrastive clustering of several views, with care for ambiguous rows and small clusters."""

from coterie.methods.mvsib.estimator import MVSIB

__all__ = ["MVSIB"]
