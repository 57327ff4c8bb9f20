"""Pairs of rows that are likely to belong together: a row and one of its nearest neighbours."""

# n rows of a shard, D features, r axes, k neighbours

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import share_of
from coterie.data.batches import Batches
from coterie.ops.distributed_rows import gathered
from coterie.ops.duplicates import table_beyond_copies
from coterie.ops.neighbours import shared_neighbours


class Pairs:
    """Draws partners among the neighbours inside each shard of the data, and rates partitions by them.

    Parameters
    ----------
    numbers : list of ndarray
        The row numbers of each shard.
    tables : list of ndarray of shape (n, k)
        The neighbours of each row of a shard, by their numbers in the shard.
    heights : list of ndarray of shape (n, k)
        Running sums of the neighbours' weights, whole numbers.
    """

    def __init__(
        self, numbers: list[np.ndarray], tables: list[np.ndarray], heights: list[np.ndarray]
    ) -> None:
        self._numbers, self._tables, self._heights = numbers, tables, heights

    def draw(self, shard: int, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return for each local row number the local number of one of its neighbours."""
        heights = self._heights[shard][rows]
        points = rng.random((len(rows), 1)) * heights[:, -1:]
        return self._tables[shard][rows, (heights <= points).sum(1)]

    def modularity(self, labels: np.ndarray) -> float:
        """Return the modularity of a partition of all rows; a pair weighs the neighbours its rows share."""
        between = self._between(labels)
        shares = (between + between.T) / (2 * between.sum())
        return float(np.trace(shares) - np.square(shares.sum(axis=1)).sum())

    def agreement(self, labels: np.ndarray) -> float:
        """Return the share of the pairs, by weight, whose two rows are in one cluster."""
        between = self._between(labels)
        return float(np.trace(between) / between.sum())

    def _between(self, labels: np.ndarray) -> np.ndarray:
        """Return the (k, k) weight of the pairs from cluster to cluster."""
        k = int(labels.max()) + 1
        between = np.zeros((k, k))
        for numbers, table, heights in zip(self._numbers, self._tables, self._heights, strict=True):
            weights = np.diff(heights.astype(np.float64), axis=1, prepend=0)
            own = labels[numbers].astype(np.int64)
            cells = own[:, None] * k + own[table]
            between += np.bincount(cells.ravel(), weights.ravel(), k * k).reshape(k, k)
        return between


class NeighbourPairs(Pairs):
    """Pairs of nearest neighbours.

    A neighbour is drawn in proportion to the neighbours it has in common with the row: such pairs are of one
    group more often than the rest (measured: 0.97 instead of 0.94 of the pairs on USPS). The tables are
    computed once; a row takes 4 k + k bytes.

    Parameters
    ----------
    batches : Batches
    embed : callable
        Maps scaled rows (n, D) to the (n, r) features in which Euclidean neighbours are searched.
    n_neighbors : int
    generator : torch.Generator
    """

    def __init__(
        self,
        batches: Batches,
        embed: Callable[[Tensor], Tensor],
        n_neighbors: int,
        generator: torch.Generator,
    ) -> None:
        tables, heights = [], []
        together = batches.collectives
        for numbers in batches.shards:
            rows = batches.in_order(numbers[share_of(len(numbers), together)])
            mine = torch.cat([embed(torch.from_numpy(np.hstack(views))) for views in rows])
            features = gathered(mine, len(numbers), together)
            k = min(n_neighbors, len(features) - 1)
            table = table_beyond_copies(features, k, generator=generator, collectives=together)
            tables.append(table.to(torch.int32).cpu().numpy())
            heights.append(_heights(table))
        super().__init__(batches.shards, tables, heights)


def search_pairs(
    batches: Batches, embed: Callable[[Tensor], Tensor], n_neighbors: int, generator: torch.Generator
) -> NeighbourPairs | None:
    """Search the neighbours of all rows; None where none are asked for or rows are too few.

    Parameters
    ----------
    batches : Batches
    embed : callable
        Maps scaled rows (n, D) to features (n, r) that are compared.
    n_neighbors : int
    generator : torch.Generator
    """
    if n_neighbors == 0 or batches.views.n_rows < 3:
        return None
    return NeighbourPairs(batches, embed, n_neighbors, generator)


def _heights(table: Tensor) -> np.ndarray:
    """Return the running sums of the numbers of shared neighbours; 1 each where a row shares none."""
    counts = (shared_neighbours(table) * table.shape[1]).round()
    counts[counts.sum(1) == 0] = 1
    return running_sums(counts.cpu().numpy())


def running_sums(weights: np.ndarray) -> np.ndarray:
    """Return the running sums of whole weights (n, k) along rows, in the smallest type that holds them.

    Examples
    --------
    >>> running_sums(np.array([[2.0, 1.0], [1.0, 0.0]]))
    array([[2, 3],
           [1, 1]], dtype=uint8)
    """
    heights = weights.cumsum(1)
    return heights.astype(np.min_scalar_type(int(heights.max())))
