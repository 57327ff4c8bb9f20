"""Rows on low-dimensional subspaces: `SSC` solves for their sparse codes exactly."""

from coterie.methods.sscnet.ssc import SSC

__all__ = ["SSC"]
