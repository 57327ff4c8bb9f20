"""LargeMvC-Net: anchors shared by several views of many rows, some of them missing or corrupt."""

from coterie.methods.largemvc.estimator import LargeMvCNet
from coterie.methods.largemvc.options import LargeMvCNetOptions

__all__ = ["LargeMvCNet", "LargeMvCNetOptions"]
