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

    Some processors round products with few columns differently from line to line, and a row must get the same answer
    wherever it stands.

    Examples
    --------
    >>> exact_distances(torch.tensor([[0.0, 3.0]]), torch.tensor([[4.0, 0.0]]))
    tensor([[25.]])
    """
    return squared_distances(rows.double(), centers.double()).to(rows.dtype)


@torch.no_grad()
def nearest(rows: Tensor, centers: Tensor, chunk: int = 65_536) -> tuple[Tensor, Tensor]:
    """Return for each row the index of its nearest centre and the squared distance to it.

    Examples
    --------
    >>> nearest(torch.tensor([[1.0], [9.0]]), torch.tensor([[0.0], [10.0]]))
    (tensor([0, 1]), tensor([1., 1.]))
    """
    step = min(len(rows), max(1, chunk * 16 // max(16, len(centers))))
    lean = _bias(centers)
    # One place for all products: made and given back for every piece, they leave the memory in shreds.
    products = rows.new_empty(step, len(centers))
    indices, values = torch.empty(len(rows), dtype=torch.long, device=rows.device), rows.new_empty(len(rows))
    for part, index, value in zip(rows.split(step), indices.split(step), values.split(step), strict=True):
        torch.max(torch.addmm(lean, part, centers.T, out=products[: len(part)]), 1, out=(value, index))
    return indices, _distance(rows, values)


def closest(rows: Tensor, centers: Tensor, k: int, together: int | None = None) -> tuple[Tensor, Tensor]:
    """Return for each row the squared distances to its k nearest centres, nearest first, and their indices.

    So many rows are compared `together`, all of them by default.

    Examples
    --------
    >>> closest(torch.tensor([[1.0]]), torch.tensor([[9.0], [0.0], [3.0]]), 2)
    (tensor([[1., 4.]]), tensor([[1, 2]]))
    """
    padding = -len(centers) % _BLOCK
    padded = torch.nn.functional.pad(centers, (0, 0, 0, padding))
    lean = torch.nn.functional.pad(_bias(centers), (0, padding), value=-torch.inf)
    parts = rows.split(together or max(1, len(rows)))
    found = [top_columns(_closeness(part, padded, lean), k) for part in parts]
    values, indices = (torch.cat(same) for same in zip(*found, strict=True))
    return _distance(rows[:, None], values), indices


def top_columns(values: Tensor, k: int, block: int = _BLOCK) -> tuple[Tensor, Tensor]:
    """Return the k largest values of each line, largest first, and their columns; lines are whole blocks.

    The k largest lie in the k blocks with the largest maxima, so only those blocks are sorted, not the line. A block
    is every so-manieth column, for maxima over the first of two axes are found fastest.

    Examples
    --------
    >>> top_columns(torch.arange(32.0)[None], 2, block=4)
    (tensor([[31., 30.]]), tensor([[31, 30]]))
    """
    n_blocks = values.shape[1] // block
    if n_blocks <= 2 * k:
        found = values.topk(k)
        return found.values, found.indices
    blocks = values.view(len(values), block, n_blocks)
    best = blocks.amax(1).topk(k, sorted=False).indices
    finalists = blocks.gather(2, best[:, None].expand(-1, block, -1)).flatten(1)
    found = finalists.topk(k)
    return found.values, found.indices // k * n_blocks + best.gather(1, found.indices % k)


# |z - mu|^2 is least where z mu - |mu|^2 / 2 is largest; the product with one number a column added is several
# times faster than a whole matrix of squares.


def _bias(centers: Tensor) -> Tensor:
    return centers.square().sum(1).mul_(-0.5)


def _closeness(rows: Tensor, centers: Tensor, bias: Tensor) -> Tensor:
    return torch.addmm(bias, rows, centers.T)


def _distance(rows: Tensor, closeness: Tensor) -> Tensor:
    return (rows.square().sum(-1) - 2 * closeness).clamp_(min=0)
