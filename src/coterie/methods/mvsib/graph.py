"""The joined kNN graph of several views: the initial partition, positives to draw, neighbours within a batch."""

# n rows of a shard, V views, k neighbours of a row, m rows of a batch

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.data import Views
from coterie.data.batches import Batches
from coterie.graph.choose import partition
from coterie.graph.duplicates import first_of_equal
from coterie.graph.model import ReferenceRows, comparable
from coterie.graph.neighbour_pairs import Pairs, cumulative_weights
from coterie.graph.views import join_layers
from coterie.ops.distributed_rows import agreed

_CHUNK = 2048
_FINEST = 100


class NodeGraph(NamedTuple):
    """The joined graph of the different rows among some."""

    matrix: sparse.csr_matrix
    first: np.ndarray  # (nodes,): the place of each node's first row
    nodes: np.ndarray  # (n,): the node of each row


def pair_rows(data: Views, reference: ReferenceRows, batches: Batches, n_partners: int) -> JoinedPairs | None:
    """Return the heaviest neighbours of all rows, shard by shard; None for a single row.

    Where the graph was built on all rows of a shard, it is not built again.
    """
    if data.n_rows < 2:
        return None

    def join(numbers: np.ndarray) -> NodeGraph:
        if np.array_equal(numbers, reference.sample):
            first = np.searchsorted(reference.sample, reference.nodes)
            return NodeGraph(reference.joined.matrix, first, reference.groups)
        rows = comparable(reference.comparison, data, numbers)
        first, nodes = first_of_equal(rows.hashes)
        joined = join_layers(
            reference.comparison,
            [view[first] for view in rows.scaled],
            rows.there[first],
            reference.n_neighbors,
            missing=rows.missing[first],
            collectives=batches.collectives,
        )
        return NodeGraph(joined.matrix, first, nodes)

    return JoinedPairs(batches, join, n_partners)


def partition_rows(
    reference: ReferenceRows, pairs: JoinedPairs | None, n_rows: int, n_clusters: int, *, seed: int
) -> Tensor:
    """Return the graph core's partition of the joined graph, (n,); rows beyond its sample follow their neighbours."""
    if pairs is None:
        return torch.zeros(n_rows, dtype=torch.long)
    joined, most = reference.joined, min(n_clusters, len(reference.nodes))
    best = partition(joined.matrix, most, seed=seed, layers=joined.layer_matrices())
    labels = np.full(n_rows, -1)
    labels[reference.sample] = agreed(best.labels, pairs.collectives)[reference.groups]
    return torch.from_numpy(pairs.spread(labels, n_clusters)).long()


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

    def __init__(self, batches: Batches, join: Callable[[np.ndarray], NodeGraph], n_neighbors: int) -> None:
        tables, cumulative = [], []
        for numbers in batches.shards:
            graph = join(numbers)
            table, weights = heaviest(graph.matrix, n_neighbors)
            tables.append(graph.first[table][graph.nodes].astype(np.int32))
            cumulative.append(cumulative_weights(weights)[graph.nodes])
        super().__init__(batches.shards, tables, cumulative)
        self.collectives, n_rows = batches.collectives, batches.views.n_rows
        self._shard, self._local = np.zeros(n_rows, dtype=np.int32), np.zeros(n_rows, dtype=np.int64)
        for shard, numbers in enumerate(batches.shards):
            self._shard[numbers], self._local[numbers] = shard, np.arange(len(numbers))
        self._places = np.full(n_rows, -1, dtype=np.int32)

    def spread(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Give rows without a label (-1) the one of most of their neighbours, by weight, until none changes.

        A row that no label reaches joins the largest cluster.
        """
        labels = labels.copy()
        while len(unknown := np.flatnonzero(labels < 0)):
            reached = False
            for shard in np.unique(self._shard[unknown]):
                rows = unknown[self._shard[unknown] == shard]
                numbers, weights = self.neighbours(rows)
                known = labels[numbers] >= 0
                cells = np.arange(len(rows))[:, None] * n_clusters + np.where(known, labels[numbers], 0)
                votes = np.bincount(cells.ravel(), (weights * known).ravel(), len(rows) * n_clusters)
                votes = votes.reshape(-1, n_clusters)
                found = votes.max(axis=1) > 0
                labels[rows[found]] = votes[found].argmax(axis=1)
                reached |= bool(found.any())
            if not reached:
                labels[unknown] = np.bincount(labels[labels >= 0]).argmax()
        return labels

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
