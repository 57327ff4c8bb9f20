"""PC-X: deep clustering with slow exemplars."""

from coterie.methods.pcx.estimator import PCX
from coterie.methods.pcx.fusion import singular_shares
from coterie.methods.pcx.options import PCXOptions

__all__ = ["PCX", "PCXOptions", "singular_shares"]
