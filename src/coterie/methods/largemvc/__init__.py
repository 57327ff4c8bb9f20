"""LargeMvC-Net: anchors shared by several views of many rows, some of them missing or corrupt."""

from coterie.methods.largemvc.estimator import LargeMvCNet

__all__ = ["LargeMvCNet"]
