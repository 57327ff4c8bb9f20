"""The joined kNN graph of several views: positives to draw, and the neighbours within a batch."""

# n rows of a shard, V views, k neighbours of a row, m rows of a batch

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.data.batches import Batches
from coterie.graph.initial import join_sample, partition_views, view_agreement
from coterie.graph.neighbour_pairs import Pairs, cumulative_weights
from coterie.graph.views import JoinedGraph
from coterie.methods.mvsib.compare import ComparedViews
from coterie.ops.distributed_rows import agreed

_CHUNK = 2048
_FINEST = 100


def join_views(rows: ComparedViews, n_neighbors: int) -> tuple[JoinedGraph, np.ndarray]:
    """Return the joined kNN graph of the sample, and the agreement of the views' neighbours, (V, V).

    An edge weighs the number of views that have it.
    """
    assert rows.comparison is not None
    sample, k = rows.sample, min(n_neighbors, rows.batches.views.n_rows - 1)
    joined = join_sample(
        rows.comparison,
        sample.arrays,
        sample.drawn.sound,
        k,
        missing=~sample.drawn.there,
        collectives=rows.batches.collectives,
    )
    return joined, view_agreement(rows.comparison, joined)


@dataclass(frozen=True)
class InitialPartition:
    """The partition of a sample of the rows, from which the clusters start."""

    rows: np.ndarray  # (s,)
    labels: Tensor  # (s,)


def partition_sample(rows: ComparedViews, joined: JoinedGraph, n_clusters: int) -> InitialPartition:
    """Partition the joined graph of the sample."""
    labels = partition_views(joined, n_clusters, seed=rows.sample.seed)
    labels = agreed(labels, rows.batches.collectives)
    return InitialPartition(rows.sample.numbers, torch.from_numpy(labels).long())


def pair_rows(
    rows: ComparedViews, n_neighbors: int, n_partners: int, joined: JoinedGraph | None = None
) -> JoinedPairs | None:
    """Return the neighbours of all rows, shard by shard; None for a single row.

    Parameters
    ----------
    n_neighbors : int
        Neighbours in each view.
    n_partners : int
        Neighbours of a row that are kept, the heaviest.
    joined : JoinedGraph, optional
        That of the sample, which need not be computed again where the sample is all rows.
    """
    batches, comparison = rows.batches, rows.comparison
    if comparison is None:
        return None

    def join(numbers: np.ndarray) -> sparse.csr_matrix:
        if joined is not None and np.array_equal(numbers, rows.sample.numbers):
            return joined.matrix
        views = [np.concatenate(parts) for parts in zip(*batches.in_order(numbers), strict=True)]
        present, k = batches.views.present_rows(numbers), min(n_neighbors, len(numbers) - 1)
        return join_sample(comparison, views, present, k, collectives=batches.collectives).matrix

    return JoinedPairs(batches, join, n_partners)


class JoinedPairs(Pairs):
    """Pairs of rows that are neighbours in one view or in several.

    A pair weighs the number of views that have it times the number of neighbours that its rows share.

    Parameters
    ----------
    join : callable
        Returns the joined graph of the rows of these numbers.
    n_neighbors : int
        Neighbours kept for each row, the heaviest.
    """

    def __init__(
        self, batches: Batches, join: Callable[[np.ndarray], sparse.csr_matrix], n_neighbors: int
    ) -> None:
        tables, cumulative = [], []
        for numbers in batches.shards:
            table, weights = heaviest(join(numbers), n_neighbors)
            tables.append(table)
            cumulative.append(cumulative_weights(weights))
        super().__init__(batches.shards, tables, cumulative)
        n_rows = batches.views.n_rows
        self._shard, self._local = np.zeros(n_rows, dtype=np.int32), np.zeros(n_rows, dtype=np.int64)
        for shard, numbers in enumerate(batches.shards):
            self._shard[numbers], self._local[numbers] = shard, np.arange(len(numbers))
        self._places = np.full(n_rows, -1, dtype=np.int32)

    def neighbours(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers and the weights of the neighbours of rows, both (m, k); rows of one shard."""
        shard, local = self._shard[rows[0]], self._local[rows]
        weights = np.diff(self._cumulative[shard][local].astype(np.float32), axis=1, prepend=np.float32(0))
        return self._numbers[shard][self._tables[shard][local]], weights

    def among(self, rows: np.ndarray, lines: slice = slice(None)) -> Tensor:
        """Return the pairs of different rows of a batch that are neighbours, by their places in it, (2, pairs).

        Each pair comes in both directions, where the first place is among the lines. The rows are of one shard.
        """
        shard = self._shard[rows[0]]
        table = self._numbers[shard][self._tables[shard][self._local[rows]]]
        self._places[rows] = np.arange(len(rows))
        places = self._places[table]
        self._places[rows] = -1
        row, column = np.nonzero(places >= 0)
        neighbour = places[row, column]
        start, stop, _ = lines.indices(len(rows))
        near = np.zeros((stop - start, len(rows)), dtype=bool)
        for first, second in ((row, neighbour), (neighbour, row)):
            # A row with too few neighbours is listed as its own.
            asked = (first >= start) & (first < stop) & (first != second)
            near[first[asked] - start, second[asked]] = True
        line, column = np.divmod(np.flatnonzero(near), len(rows))
        return torch.from_numpy(np.stack([start + line, column]))


def heaviest(graph: sparse.csr_matrix, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the heaviest neighbours of each row and their whole weights, both (n, k).

    A neighbour weighs its tie times the neighbours that both have. A row with fewer neighbours has others of weight
    0; one without any is its own.

    Examples
    --------
    >>> graph = sparse.csr_matrix([[0, 2, 1, 0], [2, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    >>> table, weights = heaviest(graph, 1)
    >>> table[:, 0].tolist(), (weights[:, 0] > 0).tolist()
    ([1, 0, 0, 3], [True, True, True, True])
    """
    n_rows = graph.shape[0]
    table = np.repeat(np.arange(n_rows, dtype=np.int32)[:, None], n_neighbors, axis=1)
    weights = np.zeros((n_rows, n_neighbors), dtype=np.float32)
    ties = sparse.csr_matrix((np.ones(graph.nnz, dtype=np.float32), graph.indices, graph.indptr), graph.shape)
    for first in range(0, n_rows, _CHUNK):
        part = slice(first, first + _CHUNK)
        common = (ties[part] @ ties).multiply(ties[part])
        scores = sparse.csr_matrix(graph[part].multiply(common) + 1e-3 * graph[part])
        line = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
        order = np.lexsort((-scores.data, line))  # within a line the heaviest first
        rank = np.arange(len(line)) - scores.indptr[line]
        best = rank < n_neighbors
        chosen = order[best]
        table[first + line[best], rank[best]] = scores.indices[chosen]
        weights[first + line[best], rank[best]] = scores.data[chosen]
    return table, _whole(weights)


def _whole(weights: np.ndarray) -> np.ndarray:
    """Return weights as whole numbers of at most 100, those that are not 0 at least 1; a row without any gets a 1."""
    largest = weights.max(axis=1, keepdims=True)
    scaled = np.ceil(_FINEST * weights / np.where(largest > 0, largest, 1))
    scaled[largest[:, 0] == 0, 0] = 1
    return np.asarray(scaled)
