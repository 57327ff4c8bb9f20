"""PC-X: deep clustering with slow exemplars."""

from coterie.methods.pcx.estimator import PCX

__all__ = ["PCX"]
