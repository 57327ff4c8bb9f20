"""Initial partitions for the methods that train: the graph core on rows that a method has already compared."""

# n rows, d columns, v views, k clusters

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.subsets import some_rows
from coterie.graph.agreement import agreement
from coterie.graph.choose import partition
from coterie.graph.compare import Comparison
from coterie.graph.duplicates import first_of_equal, row_hashes
from coterie.graph.model import MAX_ROWS
from coterie.graph.neighbours import NeighbourIndex, neighbour_count, neighbours_of_each
from coterie.graph.quality import Quality, block_weights
from coterie.graph.views import JoinedGraph, join_layers
from coterie.graph.weights import fuzzy_weights, knn_graph
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.distributed_rows import agreed, gathered

_CHUNK = 4096


class RowGraph(NamedTuple):
    """The kNN graph of rows in one table; equal rows are one node.

    Attributes
    ----------
    matrix : sparse matrix of shape (nodes, nodes)
    nodes : ndarray of shape (n,)
        The node of each row.
    """

    matrix: sparse.csr_matrix
    nodes: np.ndarray

    def partition(self, n_clusters: int, *, seed: int) -> np.ndarray:
        """Return labels (n,); fewer clusters where there are not so many different rows."""
        most = min(n_clusters, self.matrix.shape[0])
        return partition(self.matrix, most, seed=seed).labels[self.nodes]

    def quality(self, labels: np.ndarray, n_clusters: int) -> Quality:
        """Return how well labels of the rows (n,) fit the graph; a node has the label of its last row."""
        own = np.zeros(self.matrix.shape[0], dtype=np.int64)
        own[self.nodes] = labels
        return Quality.of(self.matrix, own, n_clusters)


def graph_of_rows(
    table: np.ndarray, n_neighbors: int | None = None, *, collectives: Collectives = ALONE
) -> RowGraph:
    """Return the kNN graph of rows (n, d) by their Euclidean distance; by default with `neighbour_count` neighbours.

    Examples
    --------
    >>> rows = np.array([[0.0], [0.1], [0.2], [0.2], [5.0], [5.1], [5.2]], dtype=np.float32)
    >>> graph_of_rows(rows, 2).partition(2, seed=0)
    array([0, 0, 0, 0, 1, 1, 1])
    """
    table = np.ascontiguousarray(table, dtype=np.float32)
    first, nodes = first_of_equal(row_hashes([table], np.ones((len(table), 1), dtype=bool)))
    if len(first) == 1:
        return RowGraph(sparse.csr_matrix((1, 1)), nodes)
    near = neighbours_of_each(
        table[first], n_neighbors or neighbour_count(len(first)), collectives=collectives
    )[1]
    return RowGraph(knn_graph(near), nodes)


def initial_labels(
    read: Callable[[np.ndarray], np.ndarray],
    n_rows: int,
    n_clusters: int,
    *,
    seed: int,
    max_rows: int = MAX_ROWS,
    collectives: Collectives = ALONE,
) -> np.ndarray:
    """Return the partition of rows by their kNN graph, (n,); of many rows a sample is partitioned, the rest follow.

    Parameters
    ----------
    read : callable
        Returns rows (b, d) as they are compared, from their numbers.
    n_rows, n_clusters : int
    seed : int
    max_rows : int
        The most rows of the graph; the others take the label of most of their nearest neighbours in it.
    collectives : Collectives
        Processes that have the same rows and share the search.

    Examples
    --------
    >>> rows = np.repeat([[0.0], [9.0]], 50, axis=0).astype(np.float32) + np.linspace(0, 1, 100)[:, None]
    >>> labels = initial_labels(lambda numbers: rows[numbers], 100, 2, seed=0, max_rows=40)
    >>> np.unique(labels[:50]).size, np.unique(labels[50:]).size, labels[0] != labels[-1]
    (1, 1, np.True_)
    """
    sample = some_rows(n_rows, max_rows, seed)
    table = read(sample)
    graph = graph_of_rows(table, collectives=collectives)
    labels = agreed(graph.partition(n_clusters, seed=seed), collectives)
    if len(sample) == n_rows:
        return labels
    index, mine = NeighbourIndex(table), np.arange(n_rows)[share_of(n_rows, collectives)]
    followed = ArrayBuilder()
    for start in range(0, len(mine), _CHUNK):
        followed.add(voted_labels(index, labels, read(mine[start : start + _CHUNK])))
    everyone = gathered(followed.joined(), n_rows, collectives)
    everyone[sample] = labels
    return everyone


def voted_labels(index: NeighbourIndex, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the label (b,) of most of the nearest of some labelled rows (n,) for other rows (b, d).

    Examples
    --------
    >>> index = NeighbourIndex(np.array([[0.0], [1.0], [8.0], [9.0]], dtype=np.float32))
    >>> voted_labels(index, np.array([1, 1, 0, 0]), np.array([[0.5], [8.5]], dtype=np.float32))
    array([1, 0])
    """
    n_clusters = int(labels.max()) + 1
    near = index.search(rows, neighbour_count(len(index.rows)))
    cells = np.arange(len(near.indices))[:, None] * n_clusters + labels[near.indices]
    votes = np.bincount(cells.ravel(), fuzzy_weights(near.distances).ravel(), len(cells) * n_clusters)
    return votes.reshape(-1, n_clusters).argmax(axis=1)


def join_sample(
    comparison: Comparison,
    scaled: Sequence[np.ndarray],
    present: np.ndarray,
    n_neighbors: int,
    *,
    missing: np.ndarray | None = None,
    collectives: Collectives = ALONE,
) -> JoinedGraph:
    """Return the joined graph of rows whose views, all of them, are scaled already.

    Parameters
    ----------
    comparison : Comparison
    scaled : sequence of ndarray of shape (n, d)
    present : ndarray of bool, shape (n, v)
    n_neighbors : int
    missing : ndarray of bool, shape (n, v), optional
        As `join_layers` takes it.
    collectives : Collectives
    """
    views = comparison.views
    return join_layers(
        comparison,
        [scaled[v] for v in views],
        present[:, views],
        n_neighbors,
        missing=None if missing is None else missing[:, views],
        collectives=collectives,
    )


def view_agreement(comparison: Comparison, joined: JoinedGraph) -> np.ndarray:
    """Return how much the views agree on who is near whom, (v, v); idle views agree with themselves only."""
    agree = np.eye(len(comparison.idle))
    views = comparison.views
    for i, v in enumerate(views):
        for j, u in enumerate(views):
            one, other = (joined.layers[at].neighbours.indices for at in (i, j))
            agree[v, u] = agreement(one, other)
    return agree


def partition_views(joined: JoinedGraph, n_clusters: int, *, seed: int) -> np.ndarray:
    """Return the partition of a joined graph, (n,)."""
    return partition(joined.matrix, n_clusters, seed=seed, layers=joined.layer_matrices()).labels


def share_inside(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> float:
    """Return the share of the edge weight that lies inside clusters; 1 where there is no edge.

    Examples
    --------
    >>> path = sparse.csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> share_inside(path, np.array([0, 0, 1]), 2)
    0.5
    """
    blocks = block_weights(graph, labels, n_clusters)
    return float(np.trace(blocks) / blocks.sum()) if blocks.sum() > 0 else 1.0
