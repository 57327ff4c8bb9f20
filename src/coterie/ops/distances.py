"""Squared Euclidean distances and nearest centres."""

# n rows, k centres, d features

from __future__ import annotations

import torch
from torch import Tensor


def squared_distances(rows: Tensor, centers: Tensor) -> Tensor:
    """Return the (n, k) squared Euclidean distances between rows and centres.

    Expands |z|^2 - 2 z mu + |mu|^2 and clamps at zero, for rounding can make the sum negative (spec pcx 3.18).

    Examples
    --------
    >>> squared_distances(torch.tensor([[0.0, 3.0]]), torch.tensor([[0.0, 3.0], [4.0, 0.0]]))
    tensor([[ 0., 25.]])
    """
    squares = rows.square().sum(1, keepdim=True) + centers.square().sum(1)
    return torch.addmm(squares, rows, centers.T, alpha=-2).clamp_(min=0)


def nearest(rows: Tensor, centers: Tensor, chunk: int = 65_536) -> tuple[Tensor, Tensor]:
    """Return for each row the index of its nearest centre and the squared distance to it.

    Examples
    --------
    >>> nearest(torch.tensor([[1.0], [9.0]]), torch.tensor([[0.0], [10.0]]))
    (tensor([0, 1]), tensor([1., 1.]))
    """
    step = max(1, chunk * 16 // max(16, len(centers)))
    found = [squared_distances(part, centers).min(1) for part in rows.split(step)]
    return torch.cat([f.indices for f in found]), torch.cat([f.values for f in found])
