"""FUCSMF: a few labels, spread over an anchor graph by one convex solve."""

from coterie.methods.fucsmf.estimator import FUCSMF

__all__ = ["FUCSMF"]
