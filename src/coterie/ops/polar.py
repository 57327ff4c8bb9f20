"""Polar factors, with a stable gradient, and clipping of singular values."""

# m rows, d columns, r the smaller of both

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def polar(matrix: Tensor) -> Tensor:
    r"""Return the polar factor B C' of the (m, d) matrix with the thin singular value decomposition B S C'.

    For m <= d it has orthonormal rows, and of all such matrices P it maximises tr(P' N) (LargeMvC-Net, Eq. 9).
    The gradient is the analytic one: with the decomposition N = B S C', the upstream gradient G and A = B' G C,

    .. math:: \frac{\partial L}{\partial N} = B \Big[\frac{A - A^\top}{s_i + s_j}\Big] C^\top
              + B S^{-1} B^\top G (I - C C^\top)

    whose denominators are sums of singular values. That of a plain singular value decomposition divides by
    differences of their squares: NaN where two are equal, wrong where they nearly are (spec largemvc 3.7).

    Examples
    --------
    >>> polar(torch.tensor([[3.0, 0.0], [0.0, 0.5]]))
    tensor([[1., 0.],
            [0., 1.]])
    """
    factor: Tensor = _Polar.apply(matrix)
    return factor


def clip_spectrum(matrix: Tensor) -> Tensor:
    """Return the nearest matrix whose singular values are at most 1."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    return (left * values.clamp(max=1)) @ right


class _Polar(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        left, values, right = torch.linalg.svd(matrix, full_matrices=False)
        ctx.save_for_backward(left, values, right)
        return left @ right

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (gradient,) = upstream
        left, values, right = ctx.saved_tensors
        values = values.clamp(min=torch.finfo(values.dtype).eps * max(float(values.amax()), 1e-30))
        turned = left.T @ gradient @ right.T
        inner = (turned - turned.T) / (values[:, None] + values)
        along_rows = left @ ((left.T @ gradient - turned @ right) / values[:, None])
        along_columns = ((gradient @ right.T - left @ turned) / values) @ right
        # One of the two is zero: the rows span all m dimensions, or the columns all d.
        return left @ inner @ right + along_rows + along_columns
