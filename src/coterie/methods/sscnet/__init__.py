"""Subspace clustering: by learned sparse codes and landmarks (`SSCNet`), and exactly for few rows (`SSC`)."""

from coterie.methods.sscnet.estimator import SSCNet
from coterie.methods.sscnet.options import SSCNetOptions
from coterie.methods.sscnet.ssc import SSC

__all__ = ["SSC", "SSCNet", "SSCNetOptions"]
