"""Principal axes of a sample of rows."""

# n rows, D features, r axes

from __future__ import annotations

import torch
from torch import Tensor

_WIDEST_EXACT = 4096
_OVERSAMPLING = 16
_POWER_STEPS = 3


def principal_axes(rows: Tensor, n_axes: int, *, generator: torch.Generator) -> Tensor:
    """Return the (D, r) orthonormal axes of largest variance, largest first; r is `n_axes` or the rank's bound.

    Exact by the covariance's eigenvectors up to 4,096 features; beyond that by a randomised range finder with
    power steps (Halko, Martinsson and Tropp 2011), which forms no D x D matrix.

    Examples
    --------
    >>> rows = torch.tensor([[-2.0, 0.0], [2.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> principal_axes(rows, 1, generator=torch.Generator()).abs()
    tensor([[1.],
            [0.]])
    """
    centered = rows - rows.mean(0)
    n_axes = min(n_axes, *rows.shape)
    if rows.shape[1] <= _WIDEST_EXACT:
        return torch.linalg.eigh(centered.T @ centered)[1].flip(1)[:, :n_axes].contiguous()
    width = min(n_axes + _OVERSAMPLING, *rows.shape)
    basis = torch.randn(rows.shape[1], width, generator=generator).to(rows)
    for _ in range(_POWER_STEPS):
        basis = torch.linalg.qr(centered.T @ (centered @ torch.linalg.qr(basis)[0]))[0]
    right = torch.linalg.svd(centered @ basis, full_matrices=False)[2]
    return (basis @ right.T)[:, :n_axes].contiguous()
