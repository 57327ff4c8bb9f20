"""Positive pairs for contrastive losses: a row and one of its nearest neighbours."""

# n rows of a shard, D features, r axes, k neighbours, c clusters

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.batches import Batches
from coterie.graph.agreement import shared_neighbours
from coterie.graph.duplicates import first_of_equal, row_hashes
from coterie.graph.neighbours import MISSING, neighbours_of_each
from coterie.ops.distributed_rows import gathered

_DUPLICATES_SHARE = 3  # at most one neighbour in three is a duplicate of the row


class Pairs:
    """Neighbour tables of the shards: draws positives, and scores partitions by the weight of the pairs they keep.

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
        """Draw a neighbour of each local row, in proportion to its weight; local row numbers."""
        cumulative = self._cumulative[shard][rows]
        points = rng.random((len(rows), 1)) * cumulative[:, -1:]
        return self._tables[shard][rows, (cumulative <= points).sum(1)]

    def modularity(self, labels: np.ndarray) -> float:
        """Return the modularity of a partition of all rows."""
        between = self._cluster_weights(labels)
        shares = (between + between.T) / (2 * between.sum())
        return float(np.trace(shares) - np.square(shares.sum(axis=1)).sum())

    def agreement(self, labels: np.ndarray) -> float:
        """Return the share of the pairs, by weight, whose two rows are in one cluster."""
        between = self._cluster_weights(labels)
        return float(np.trace(between) / between.sum())

    def _cluster_weights(self, labels: np.ndarray) -> np.ndarray:
        """Return the (c, c) weight of the pairs from cluster to cluster."""
        c = int(labels.max()) + 1
        between = np.zeros((c, c))
        for numbers, table, cumulative in zip(self._numbers, self._tables, self._cumulative, strict=True):
            weights = np.diff(cumulative.astype(np.float64), axis=1, prepend=0)
            own = labels[numbers].astype(np.int64)
            cells = own[:, None] * c + own[table]
            between += np.bincount(cells.ravel(), weights.ravel(), c * c).reshape(c, c)
        return between


class NeighbourPairs(Pairs):
    """Pairs of nearest neighbours, weighted by the neighbours that both rows share.

    Pairs that share neighbours are of one class more often than others. Tables are computed once and take 5 k bytes a
    row.

    Parameters
    ----------
    batches : Batches
    embed : callable
        Maps scaled rows (n, D) to the (n, r) features in which Euclidean neighbours are searched.
    n_neighbors : int
    """

    def __init__(self, batches: Batches, embed: Callable[[Tensor], Tensor], n_neighbors: int) -> None:
        tables, cumulative = [], []
        together = batches.collectives
        for numbers in batches.shards:
            features, hashes = [], []
            for views in batches.in_order(numbers[share_of(len(numbers), together)]):
                rows = np.hstack(views)
                features.append(embed(torch.from_numpy(rows)).numpy(force=True))
                hashes.append(row_hashes([rows], np.ones((len(rows), 1), dtype=bool)).view(np.int64))
            table = neighbours_beyond_duplicates(
                gathered(np.concatenate(features), len(numbers), together),
                gathered(np.concatenate(hashes), len(numbers), together),
                n_neighbors,
                collectives=together,
            )
            tables.append(table.astype(np.int32))
            cumulative.append(_shared_weights(table))
        super().__init__(batches.shards, tables, cumulative)


def neighbours_beyond_duplicates(
    rows: np.ndarray, hashes: np.ndarray, n_neighbors: int, *, collectives: Collectives = ALONE
) -> np.ndarray:
    """Return the (n, k) nearest neighbours of each row, of which a third at most are duplicates of the row.

    Of the duplicates of another row only the first is named. Without this, rows with many duplicates would be
    components of their own in the neighbour graph. Duplicates count as any row where fewer than k + 1 rows differ.

    Parameters
    ----------
    rows : ndarray of shape (n, r), float32
    hashes : ndarray of shape (n,)
        Equal for duplicates.

    Examples
    --------
    >>> rows = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [3.0], [9.0]], dtype=np.float32)
    >>> neighbours_beyond_duplicates(rows, rows[:, 0], 3)[:3]
    array([[1, 4, 5],
           [0, 4, 5],
           [0, 4, 5]])
    """
    first, groups = first_of_equal(hashes)
    if not n_neighbors < len(first) < len(rows):
        return _table(rows, n_neighbors, collectives)
    table = first[_table(rows[first], n_neighbors, collectives)]
    return _prepend_duplicates(table[groups], groups, n_neighbors // _DUPLICATES_SHARE)


def _table(rows: np.ndarray, n_neighbors: int, collectives: Collectives) -> np.ndarray:
    """Return the (n, k) nearest neighbours; the row itself where the approximate search finds too few."""
    table = neighbours_of_each(rows, n_neighbors, collectives=collectives)[1].indices
    return np.where(table == MISSING, np.arange(len(rows))[:, None], table)


def _prepend_duplicates(table: np.ndarray, groups: np.ndarray, most: int) -> np.ndarray:
    """Put up to `most` other rows of its group (n,) before the neighbours (n, k) of each row; k columns stay."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    starts = (np.cumsum(sizes) - sizes)[groups]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rank -= starts
    places = np.arange(most)[None] + (np.arange(most)[None] >= rank[:, None])  # a row skips itself
    absent = places >= sizes[groups][:, None]
    duplicates = order[np.minimum(starts[:, None] + places, len(order) - 1)]
    last = np.hstack([absent, np.zeros(table.shape, dtype=bool)])
    kept = np.argsort(last, axis=1, kind="stable")[:, : table.shape[1]]
    return np.take_along_axis(np.hstack([duplicates, table]), kept, axis=1)


def _shared_weights(table: np.ndarray) -> np.ndarray:
    """Return the cumulative numbers of shared neighbours; 1 each where a row shares none."""
    counts = (shared_neighbours(torch.from_numpy(table)) * table.shape[1]).round().numpy()
    counts[table == np.arange(len(table))[:, None]] = 0
    counts[counts.sum(axis=1) == 0] = 1
    return cumulative_weights(counts)


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
