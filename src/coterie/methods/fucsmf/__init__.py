"""FUCSMF: a few labels, spread over an anchor graph by one convex solve."""

from coterie.methods.fucsmf.estimator import FUCSMF
from coterie.methods.fucsmf.options import FUCSMFOptions

__all__ = ["FUCSMF", "FUCSMFOptions"]
