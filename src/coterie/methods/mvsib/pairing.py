"""Neighbours that several views name: partners to draw, and who is near whom in a batch."""

# n rows of a shard, V views, k neighbours of a row, m rows of a batch

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.data.batches import Batches
from coterie.graph.neighbour_pairs import Pairs, cumulative_weights

_CHUNK = 2048
_FINEST = 100


class JoinedPairs(Pairs):
    """Pairs of rows that are neighbours in one view or in several.

    A neighbour weighs as many views as name it, times the neighbours it has in common with the row.

    Parameters
    ----------
    batches : Batches
    join : callable
        Returns the joined graph of the rows of these numbers.
    n_neighbors : int
        Neighbours kept for each row, the heaviest.
    """

    def __init__(
        self, batches: Batches, join: Callable[[np.ndarray], sparse.csr_matrix], n_neighbors: int
    ) -> None:
        tables, heights = [], []
        for numbers in batches.shards:
            table, weights = heaviest(join(numbers), n_neighbors)
            tables.append(table)
            heights.append(cumulative_weights(weights))
        super().__init__(batches.shards, tables, heights)
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
        """Return which different rows of a batch are neighbours: the places of both, (2, pairs).

        Every pair is there once in both directions, if the first place is among the lines; rows of one shard.
        """
        shard = self._shard[rows[0]]
        table = self._numbers[shard][self._tables[shard][self._local[rows]]]
        self._places[rows] = np.arange(len(rows))
        found = self._places[table]
        self._places[rows] = -1
        one, column = np.nonzero(found >= 0)
        other = found[one, column]
        start, stop, _ = lines.indices(len(rows))
        near = np.zeros((stop - start, len(rows)), dtype=bool)
        for first, second in ((one, other), (other, one)):
            # Where a row has too few neighbours it stands itself.
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
