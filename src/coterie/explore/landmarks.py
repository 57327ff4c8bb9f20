"""The graph of landmarks that a model cut, and how well its clusters cut it."""

# l landmarks, e edges, k clusters

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.explore.projection import Projection

_MOST_EDGES = 3000


@dataclass(frozen=True)
class LandmarkGraph:
    """The graph that was cut.

    Attributes
    ----------
    projection : Projection
        Where the landmarks lie in the plane.
    labels : ndarray of shape (l,)
        Their clusters.
    edges : ndarray of shape (e, 2)
        Pairs of landmarks, the strongest edge first; not all when there are very many.
    n_edges, n_components : int
        Of the whole graph.
    within : float
        Share of all edge weight that joins landmarks of one cluster.
    shares : ndarray of shape (k, k)
        Of the edge weight at the landmarks of one cluster, how much leads to each cluster; rows sum to one.
    """

    projection: Projection
    labels: NDArray[np.integer]
    edges: NDArray[np.integer]
    n_edges: int
    n_components: int
    within: float
    shares: NDArray[np.float64]


def read_graph(
    graph: Any, labels: NDArray[np.integer], projection: Projection, *, n_clusters: int
) -> LandmarkGraph:
    """Measure how well the clusters cut a symmetric graph (l, l).

    Parameters
    ----------
    graph : sparse matrix of shape (l, l)
        Symmetric, with weights that are not negative; loops do not count.
    labels : ndarray of shape (l,)
        Clusters of the landmarks.
    projection : Projection
        Where they are drawn.
    n_clusters : int
        k, empty clusters included.
    """
    upper = sparse.triu(graph, k=1).tocoo()
    there = upper.data > 0
    ends, weights = np.stack([upper.row, upper.col], axis=1)[there], upper.data[there].astype(np.float64)
    between = np.zeros((n_clusters, n_clusters))
    np.add.at(between, (labels[ends[:, 0]], labels[ends[:, 1]]), weights)
    between += between.T
    total = between.sum(axis=1, keepdims=True)
    strongest = np.argsort(-weights, kind="stable")[:_MOST_EDGES]
    return LandmarkGraph(
        projection=projection,
        labels=labels,
        edges=ends[strongest],
        n_edges=len(ends),
        n_components=int(connected_components(graph, directed=False)[0]),
        within=float(between.trace() / between.sum()) if len(ends) else 1.0,
        shares=np.divide(between, total, out=np.zeros_like(between), where=total > 0),
    )
