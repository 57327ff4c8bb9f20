"""Squared Euclidean distances and nearest centres."""

# n rows, k centres, d features

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 16


def squared_distances(rows: Tensor, centers: Tensor) -> Tensor:
    """Return the (n, k) squared Euclidean distances between rows and centres.

    Expands ``|z|^2 - 2 z mu + |mu|^2`` and clamps at zero, for rounding can make the sum negative (spec pcx 3.18).

    Examples
    --------
    >>> squared_distances(torch.tensor([[0.0, 3.0]]), torch.tensor([[0.0, 3.0], [4.0, 0.0]]))
    tensor([[ 0., 25.]])
    """
    squares = rows.square().sum(1, keepdim=True) + centers.square().sum(1)
    return torch.addmm(squares, rows, centers.T, alpha=-2).clamp_(min=0)


def exact_distances(rows: Tensor, centers: Tensor) -> Tensor:
    """Return `squared_distances`, computed in double precision and then rounded.

    Some processors round products with few columns differently from row to row, and a row must get the same distance
    at any position.
    """
    return squared_distances(rows.double(), centers.double()).to(rows.dtype)


@torch.no_grad()
def nearest(rows: Tensor, centers: Tensor, chunk: int = 65_536) -> tuple[Tensor, Tensor]:
    """Return the index of the nearest centre of each row, and the squared distance to it.

    Examples
    --------
    >>> nearest(torch.tensor([[1.0], [9.0]]), torch.tensor([[0.0], [10.0]]))
    (tensor([0, 1]), tensor([1., 1.]))
    """
    step = min(len(rows), max(1, chunk * 16 // max(16, len(centers))))
    bias = _bias(centers)
    # One buffer for all products: allocating one per piece fragments memory.
    products = rows.new_empty(step, len(centers))
    indices, values = torch.empty(len(rows), dtype=torch.long, device=rows.device), rows.new_empty(len(rows))
    for part, index, value in zip(rows.split(step), indices.split(step), values.split(step), strict=True):
        torch.max(torch.addmm(bias, part, centers.T, out=products[: len(part)]), 1, out=(value, index))
    return indices, _distance(rows, values)


def closest(rows: Tensor, centers: Tensor, k: int, together: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the squared distances of each row to its k nearest centres, nearest first, and their indices.

    `together` rows are compared at a time, all of them by default.

    Examples
    --------
    >>> closest(torch.tensor([[1.0]]), torch.tensor([[9.0], [0.0], [3.0]]), 2)
    (tensor([[1., 4.]]), tensor([[1, 2]]))
    """
    padding = -len(centers) % _BLOCK
    padded = torch.nn.functional.pad(centers, (0, 0, 0, padding))
    bias = torch.nn.functional.pad(_bias(centers), (0, padding), value=-torch.inf)
    parts = rows.split(together or max(1, len(rows)))
    nearest_of_parts = [top_columns(torch.addmm(bias, part, padded.T), k) for part in parts]
    values, indices = (torch.cat(pieces) for pieces in zip(*nearest_of_parts, strict=True))
    return _distance(rows[:, None], values), indices


def top_columns(values: Tensor, k: int, block: int = _BLOCK) -> tuple[Tensor, Tensor]:
    """Return the k largest values of each row, largest first, and their columns; rows are whole blocks.

    The k largest lie in the k blocks with the largest maxima, so only those are sorted. The columns of a block are
    strided, for maxima over the first of two axes are fastest.

    Examples
    --------
    >>> top_columns(torch.arange(32.0)[None], 2, block=4)
    (tensor([[31., 30.]]), tensor([[31, 30]]))
    """
    n_blocks = values.shape[1] // block
    if n_blocks <= 2 * k:
        top = values.topk(k)
        return top.values, top.indices
    blocks = values.view(len(values), block, n_blocks)
    best = blocks.amax(1).topk(k, sorted=False).indices
    finalists = blocks.gather(2, best[:, None].expand(-1, block, -1)).flatten(1)
    top = finalists.topk(k)
    return top.values, top.indices // k * n_blocks + best.gather(1, top.indices % k)


# |z - mu|^2 is smallest where z mu - |mu|^2 / 2 is largest: a product with a bias per column, several times faster
# than a matrix of squares.


def _bias(centers: Tensor) -> Tensor:
    return centers.square().sum(1).mul_(-0.5)


def _distance(rows: Tensor, closeness: Tensor) -> Tensor:
    return (rows.square().sum(-1) - 2 * closeness).clamp_(min=0)
