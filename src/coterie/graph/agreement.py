"""Overlap of nearest-neighbour tables: between the neighbours in one table, and between the tables of two views."""

# n rows, k neighbours of a row

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from coterie.graph.neighbours import MISSING, neighbours_of_each

_BLOCK_ROWS = 1024


def neighbours_of_present(rows: np.ndarray, present: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return the (n, k) neighbours of each present row among the present rows; `MISSING` for the other rows.

    Examples
    --------
    >>> rows, present = np.array([[0.0], [9.0], [1.0]], dtype=np.float32), np.array([True, False, True])
    >>> neighbours_of_present(rows, present, 5).tolist()
    [[2], [-1], [0]]
    """
    indices = np.flatnonzero(present)
    table = np.full((len(rows), max(0, min(n_neighbors, len(indices) - 1))), MISSING)
    if table.shape[1]:
        table[indices] = indices[neighbours_of_each(rows[indices], n_neighbors)[1].indices]
    return table


def shared_neighbours(table: Tensor) -> Tensor:
    """Return the (n, k) share of neighbours that a row has in common with each of its neighbours.

    Rows of one cluster tend to have the same neighbours, so a high share marks a trustworthy edge.

    Examples
    --------
    >>> shared_neighbours(torch.tensor([[1, 2], [0, 2], [0, 1], [0, 1]]))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000],
            [0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    shares = torch.empty(table.shape, device=table.device)
    # Filled in place: small tensors kept between large temporaries would fragment memory.
    for block, share in zip(table.split(_BLOCK_ROWS), shares.split(_BLOCK_ROWS), strict=True):
        share.copy_((table[block][:, :, :, None] == block[:, None, None, :]).sum((2, 3)) / table.shape[1])
    return shares


def agreement(table: np.ndarray, other: np.ndarray) -> float:
    """Return how much more often two neighbour tables name the same row than chance would, at most 1.

    Only rows with neighbours in both tables count. What hubs, neighbours of very many rows, share by chance is
    subtracted.

    Examples
    --------
    >>> ring = np.array([[1, 2], [2, 3], [3, 0], [0, 1]])
    >>> agreement(ring, ring), agreement(ring, np.array([[3], [0], [1], [2]]))
    (0.5, -0.5)
    """
    n_rows = len(table)
    both = (table[:, :1] != MISSING).any(1) & (other[:, :1] != MISSING).any(1)
    if not both.any():
        return 0.0
    table, other = table[both], other[both]
    same = (table[:, :, None] == other[:, None, :]).any(2).sum()
    popularity = [np.bincount(one.ravel(), minlength=n_rows).astype(np.float64) for one in (table, other)]
    by_chance = (popularity[0] * popularity[1]).sum() / both.sum()
    possible = min(both[table].sum(), both[other].sum())
    return float((same - by_chance) / max(possible, 1))
