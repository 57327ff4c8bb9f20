"""One graph from several layers, and views that a row lacks filled in from its neighbours."""

# n rows, l layers, k neighbours

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coterie.collectives import ALONE, Collectives
from coterie.graph.compare import Comparison
from coterie.graph.neighbours import MISSING, NeighbourIndex, Neighbours, neighbours_of_each
from coterie.graph.weights import Kernel, fit_kernel, symmetric_graph

_FILLS = 2
_SEVERAL = 2.0


@dataclass(frozen=True)
class Layer:
    """The rows that can be compared in one layer, and the neighbours of each.

    Attributes
    ----------
    index : NeighbourIndex
        Of the rows that are there.
    numbers : ndarray
        Their numbers among all rows.
    neighbours : Neighbours
        Of all rows, by their numbers, (n, k); `MISSING` in the lines of rows that are not there.
    kernel : Kernel
        Of all rows.
    weight : float
    """

    index: NeighbourIndex
    numbers: np.ndarray
    neighbours: Neighbours
    kernel: Kernel
    weight: float

    def weights(self) -> np.ndarray:
        """Return the fuzzy weight of each neighbour, (n, k)."""
        nearest, scale, _ = self.kernel
        return Kernel(nearest[:, None], scale[:, None], scale).weights(self.neighbours.distances)


@dataclass(frozen=True)
class JoinedGraph:
    """The graph of all layers.

    Attributes
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric.
    layers : list of Layer
    counted : ndarray of bool, shape (n, l)
        Which layers a row has; its edges in them are scaled up to the weight of all.
    scaled : list of ndarray of shape (n, d)
        The scaled rows of each compared view, missing ones filled in.
    bandwidth : float
        Of the edge weights.
    """

    matrix: sparse.csr_matrix
    layers: list[Layer]
    counted: np.ndarray
    scaled: list[np.ndarray]
    bandwidth: float

    def layer_matrices(self) -> list[sparse.csr_matrix]:
        """Return the symmetric graph of each layer, whose sum the matrix is; the concatenated views last."""
        if len(self.layers) == 1:
            return [self.matrix]
        weights = np.array([layer.weight for layer in self.layers])
        indices, edges = directed_weights(self.layers, self.counted, weights, self.bandwidth)
        ends = np.cumsum([0] + [layer.neighbours.indices.shape[1] for layer in self.layers])
        return [
            symmetric_graph(indices[:, start:stop], edges[:, start:stop], len(self.counted))
            for start, stop in itertools.pairwise(ends)
        ]


def search_layer(
    table: np.ndarray, there: np.ndarray, n_neighbors: int, weight: float, collectives: Collectives
) -> Layer:
    """Search the neighbours of the rows that are there in a layer, among each other."""
    numbers = np.flatnonzero(there)
    k = max(0, min(n_neighbors, len(numbers) - 1))
    indices = np.full((len(there), k), MISSING)
    distances = np.full((len(there), k), np.inf)
    index, near = neighbours_of_each(table[numbers], max(k, 1), collectives=collectives)
    if k:
        indices[numbers], distances[numbers] = numbers[near.indices], near.distances
    return Layer(index, numbers, Neighbours(indices, distances), fit_kernel(distances), weight)


def directed_weights(
    layers: Sequence[Layer], counted: np.ndarray, weights: np.ndarray, bandwidth: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the neighbours (n, k l) of each row in all layers, side by side, and the weights of the edges.

    .. math:: w_{ij} = \frac{\sum_l a_l}{\sum_{l \ni i} a_l} \, a_l \, w^{(l)}_{ij}

    where a_l is the weight of layer l: a row that lacks some layers has the same total weight as one that has all.
    """
    full = weights.sum() / np.maximum(counted @ weights, np.finfo(float).tiny)
    indices = np.hstack([layer.neighbours.indices for layer in layers])
    edges = [layer.weight * full[:, None] * layer.weights() ** (1 / bandwidth) for layer in layers]
    return indices, np.hstack(edges)


def join_layers(
    comparison: Comparison,
    scaled: Sequence[np.ndarray],
    there: np.ndarray,
    n_neighbors: int,
    *,
    missing: np.ndarray | None = None,
    collectives: Collectives = ALONE,
) -> JoinedGraph:
    """Return the weighted sum of the kNN graphs of all layers.

    A row that lacks a view is compared in the layers of the views it has. For the concatenated layer the missing
    view becomes the weighted mean of the row's neighbours that have it; twice, for the second graph is better than
    the first. A view that is there but says nothing (a text without words) or is corrupt is not filled in: its row
    stays out of the concatenated layer, and is tied less to the others.

    Parameters
    ----------
    comparison : Comparison
    scaled : sequence of ndarray of shape (n, d)
        The compared views.
    there : ndarray of bool, shape (n, views)
        Where a view of a row is compared.
    n_neighbors : int
    missing : ndarray of bool, shape (n, views), optional
        Where a row lacks a view; by default wherever it is not compared.
    collectives : Collectives
        Processes that have the same rows and share the search.
    """
    missing = ~there if missing is None else missing
    weights = comparison.layer_weights()
    bandwidth = _SEVERAL if len(weights) > 1 else 1.0
    layers = comparison.layers(scaled, there)

    def graph(searched: list[Layer], counted: np.ndarray, of: np.ndarray) -> sparse.csr_matrix:
        return symmetric_graph(*directed_weights(searched, counted, of, bandwidth), len(there))

    n_single = len(scaled)
    single = [
        search_layer(layers.tables[i], layers.there[:, i], n_neighbors, weights[i], collectives)
        for i in range(n_single)
    ]
    if len(weights) == n_single:
        return JoinedGraph(graph(single, ~missing, weights), single, ~missing, list(scaled), bandwidth)
    table, filled = layers.tables[-1], list(scaled)
    matrix = graph(single, ~missing, weights[:-1]) if missing.any() else None
    counted = np.column_stack([~missing, np.ones(len(there), dtype=bool)])
    for _ in range(_FILLS):
        if matrix is not None:
            filled = [fill(rows, there[:, v], matrix) for v, rows in enumerate(scaled)]
            table = comparison.concatenated(filled)
        whole = (there | missing).all(axis=1)
        last = search_layer(table, whole, n_neighbors, weights[-1], collectives)
        joined = graph([*single, last], counted, weights)
        if matrix is None:
            break
        matrix = joined
    return JoinedGraph(joined, [*single, last], counted, filled, bandwidth)


def fill(rows: np.ndarray, there: np.ndarray, graph: sparse.csr_matrix) -> np.ndarray:
    """Return the rows (n, d) of a view with missing ones replaced by the weighted mean of neighbours that have it.

    Examples
    --------
    >>> rows, there = np.array([[1.0], [3.0], [0.0]], dtype=np.float32), np.array([True, True, False])
    >>> fill(rows, there, sparse.csr_matrix([[0, 0, 3.0], [0, 0, 1.0], [3.0, 1.0, 0]]))
    array([[1. ],
           [3. ],
           [1.5]], dtype=float32)
    """
    if there.all():
        return rows
    ties = graph[~there][:, there]
    totals = np.maximum(np.asarray(ties.sum(axis=1)), np.finfo(float).tiny)
    filled = rows.copy()
    filled[~there] = (ties @ rows[there]) / totals
    return filled
