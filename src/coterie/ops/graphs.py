"""Tables of nearest neighbours among the rows that are there, and how much two of them agree."""

# n rows, k neighbours of a row

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.ops.neighbours import neighbour_table

NOBODY = -1


def table_of_present(
    rows: Tensor,
    present: np.ndarray,
    n_neighbors: int,
    *,
    generator: torch.Generator,
    collectives: Collectives = ALONE,
) -> np.ndarray:
    """Return the (n, k) neighbours of each present row among the present rows; `NOBODY` in the other lines.

    Examples
    --------
    >>> rows, there = torch.tensor([[0.0], [9.0], [1.0]]), np.array([True, False, True])
    >>> table_of_present(rows, there, 5, generator=torch.Generator()).tolist()
    [[2], [-1], [0]]
    """
    numbers = np.flatnonzero(present)
    k = max(0, min(n_neighbors, len(numbers) - 1))
    table = np.full((len(rows), k), NOBODY)
    if k:
        found = neighbour_table(
            rows[torch.from_numpy(numbers)], k, generator=generator, collectives=collectives
        )
        table[numbers] = numbers[found.cpu().numpy()]
    return table


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Return how much oftener two tables of neighbours name the same row than chance would, at most 1.

    Only lines that both tables have count, and neighbours that have a line in both. Rows that are everyone's
    neighbour (hubs) meet by chance, so what they would give by chance is taken off.

    Examples
    --------
    >>> ring = np.array([[1, 2], [2, 3], [3, 0], [0, 1]])
    >>> agreement(ring, ring), agreement(ring, np.array([[3], [0], [1], [2]]))
    (0.5, -0.5)
    """
    both = (one[:, :1] != NOBODY).any(1) & (other[:, :1] != NOBODY).any(1)
    if not both.any():
        return 0.0
    mine, theirs = one[both], other[both]
    same = (mine[:, :, None] == theirs[:, None, :]).any(2).sum()
    by_chance = (_popularity(mine, len(one)) * _popularity(theirs, len(one))).sum() / both.sum()
    possible = min(both[mine].sum(), both[theirs].sum())
    return float((same - by_chance) / max(possible, 1))


def _popularity(table: np.ndarray, n_rows: int) -> np.ndarray:
    return np.bincount(table.ravel(), minlength=n_rows).astype(np.float64)
