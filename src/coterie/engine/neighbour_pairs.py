"""Positive pairs: a row and one of its nearest neighbours."""

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
    """A kNN graph of each shard of the data, from which positives are drawn and partitions are rated.

    Parameters
    ----------
    numbers : list of ndarray
        The row numbers of each shard.
    tables : list of ndarray of shape (n, k)
        The neighbours of each row of a shard, by their numbers in the shard.
    cumulative : list of ndarray of shape (n, k)
        Cumulative weights of the neighbours, whole numbers.
    """

    def __init__(
        self, numbers: list[np.ndarray], tables: list[np.ndarray], cumulative: list[np.ndarray]
    ) -> None:
        self._numbers, self._tables, self._cumulative = numbers, tables, cumulative

    def draw(self, shard: int, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return for each local row number the local number of a neighbour, drawn in proportion to its weight."""
        cumulative = self._cumulative[shard][rows]
        points = rng.random((len(rows), 1)) * cumulative[:, -1:]
        return self._tables[shard][rows, (cumulative <= points).sum(1)]

    def modularity(self, labels: np.ndarray) -> float:
        """Return the modularity of a partition of all rows."""
        between = self._between(labels)
        shares = (between + between.T) / (2 * between.sum())
        return float(np.trace(shares) - np.square(shares.sum(axis=1)).sum())

    def agreement(self, labels: np.ndarray) -> float:
        """Return the share of the pairs, by weight, whose two rows are in one cluster."""
        between = self._between(labels)
        return float(np.trace(between) / between.sum())

    def _between(self, labels: np.ndarray) -> np.ndarray:
        """Return the total weight of the edges from cluster to cluster, (k, k)."""
        k = int(labels.max()) + 1
        between = np.zeros((k, k))
        for numbers, table, cumulative in zip(self._numbers, self._tables, self._cumulative, strict=True):
            weights = np.diff(cumulative.astype(np.float64), axis=1, prepend=0)
            own = labels[numbers].astype(np.int64)
            cells = own[:, None] * k + own[table]
            between += np.bincount(cells.ravel(), weights.ravel(), k * k).reshape(k, k)
        return between


class NeighbourPairs(Pairs):
    """Pairs of nearest neighbours, weighted by the number of neighbours that both rows share.

    Rows with many shared neighbours belong to one cluster more often than other neighbours. A row takes 5 k bytes.

    Parameters
    ----------
    embed : callable
        Maps scaled rows (n, D) to the (n, r) features in which Euclidean neighbours are searched.
    """

    def __init__(
        self,
        batches: Batches,
        embed: Callable[[Tensor], Tensor],
        n_neighbors: int,
        generator: torch.Generator,
    ) -> None:
        tables, cumulative = [], []
        collectives = batches.collectives
        for numbers in batches.shards:
            rows = batches.in_order(numbers[share_of(len(numbers), collectives)])
            mine = torch.cat([embed(torch.from_numpy(np.hstack(views))) for views in rows])
            features = gathered(mine, len(numbers), collectives)
            k = min(n_neighbors, len(features) - 1)
            table = table_beyond_copies(features, k, generator=generator, collectives=collectives)
            tables.append(table.to(torch.int32).cpu().numpy())
            counts = (shared_neighbours(table) * table.shape[1]).round()
            counts[counts.sum(1) == 0] = 1  # rows that share none
            cumulative.append(cumulative_weights(counts.cpu().numpy()))
        super().__init__(batches.shards, tables, cumulative)


def cumulative_weights(weights: np.ndarray) -> np.ndarray:
    """Return the cumulative sums of whole weights (n, k) along rows, in the smallest type that holds them.

    Examples
    --------
    >>> cumulative_weights(np.array([[2.0, 1.0], [1.0, 0.0]]))
    array([[2, 3],
           [1, 1]], dtype=uint8)
    """
    sums = weights.cumsum(1)
    return sums.astype(np.min_scalar_type(int(sums.max())))
