"""Subspace clustering by learned sparse codes and a spectral embedding of landmarks."""

from coterie.methods.sscnet.estimator import SSCNet

__all__ = ["SSCNet"]
