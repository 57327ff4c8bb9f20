"""Principal axes of a sample of rows, exact or by a randomised range finder."""

# n rows, D features, r axes

from __future__ import annotations

import torch
from torch import Tensor

_LARGEST_EXACT = 2048  # an eigenvalue problem of twice this size takes half a minute
_OVERSAMPLING = 16
_POWER_STEPS = 3


def principal_axes(rows: Tensor, n_axes: int, *, generator: torch.Generator) -> Tensor:
    """Return the (D, r) orthonormal axes of largest variance, largest first; r is `n_axes` or the rank's bound.

    Exact by the eigenvectors of the covariance, or of the rows' products where rows are fewer than features, up to
    2,048 of them; beyond that by a randomised range finder with power steps (Halko, Martinsson and Tropp 2011),
    which forms no D x D matrix.

    Examples
    --------
    >>> rows = torch.tensor([[-2.0, 0.0], [2.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> principal_axes(rows, 1, generator=torch.Generator()).abs()
    tensor([[1.],
            [0.]])
    """
    centered = rows - rows.mean(0)
    n_axes = min(n_axes, *rows.shape)
    if min(rows.shape) <= _LARGEST_EXACT:
        return _exact(centered, n_axes)
    width = min(n_axes + _OVERSAMPLING, *rows.shape)
    basis = torch.randn(rows.shape[1], width, generator=generator).to(rows)
    for _ in range(_POWER_STEPS):
        basis = torch.linalg.qr(centered.T @ (centered @ torch.linalg.qr(basis)[0]))[0]
    right = torch.linalg.svd(centered @ basis, full_matrices=False)[2]
    return (basis @ right.T)[:, :n_axes].contiguous()


def _exact(centered: Tensor, n_axes: int) -> Tensor:
    """Return the axes by the smaller of the two eigenvalue problems."""
    if centered.shape[1] <= centered.shape[0]:
        return _leading(centered.T @ centered, n_axes).contiguous()
    left = _leading(centered @ centered.T, n_axes)
    # Centred rows lie in one dimension less than there are rows: QR gives the last axis a length all the same.
    return torch.linalg.qr(centered.T @ left)[0]


def _leading(products: Tensor, n_axes: int) -> Tensor:
    """Return the leading eigenvectors of a symmetric matrix, largest eigenvalue first."""
    try:
        vectors = torch.linalg.eigh(products)[1]
    except torch.linalg.LinAlgError:
        # Single precision may not converge where many eigenvalues are equal: pixels that are always zero, and noise.
        vectors = torch.linalg.eigh(products.double())[1].to(products.dtype)
    return vectors.flip(1)[:, :n_axes]
