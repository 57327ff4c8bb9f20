"""Clusters of a graph that is there already, such as scanpy's connectivities."""

# n rows, k clusters

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie.errors import InputError
from coterie.graph.choose import partition
from coterie.graph.confidence import calibrate
from coterie.graph.levels import Levels, build_levels
from coterie.graph.quality import Quality, row_ties
from coterie.methods.choosing.clusters import LEAST_ROWS, KChoice, count_clusters, too_few_to_count
from coterie.methods.params import check_params, cluster_count, draw_seed, whole


class GraphClusters(NamedTuple):
    """Clusters of a graph.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    confidence : ndarray of shape (n,)
        Calibrated probability that the row keeps its cluster in a resampled graph.
    stability : ndarray of shape (k,)
        Mean share of resampled graphs in which the rows of a cluster stay together.
    levels : Levels
        The merge tree; ``levels.labels_at(k)`` cuts it at any number of clusters.
    quality : Quality
    k_choice : KChoice or None
        Evidence for the number of clusters, where ``n_clusters="auto"``.
    """

    labels: np.ndarray
    confidence: np.ndarray
    stability: np.ndarray
    levels: Levels
    quality: Quality
    k_choice: KChoice | None


def cluster_graph(
    weights: Any, n_clusters: int | str = "auto", *, n_resamples: int = 5, random_state: Any = None
) -> GraphClusters:
    """Cluster the rows of a graph that is there already, as `GraphClustering` clusters its own.

    Parameters
    ----------
    weights : sparse matrix or ndarray of shape (n, n)
        Edge weights, none negative, such as ``adata.obsp["connectivities"]``. A graph that is not symmetric is made
        so: an edge gets the mean of its two weights. The diagonal does not count.
    n_clusters : int or "auto"
    n_resamples : int
        Resampled graphs that calibrate the confidence; 0 leaves it uncalibrated.
    random_state : int, RandomState or None

    Returns
    -------
    GraphClusters

    Examples
    --------
    >>> found = cluster_graph(np.kron(np.eye(3), np.ones((6, 6))), 3, random_state=0)
    >>> np.bincount(found.labels).tolist(), np.unique(found.levels.labels_at(2)).tolist()
    ([6, 6, 6], [0, 1])
    """
    rules = {"n_clusters": cluster_count(), "n_resamples": whole(0)}
    check_params("cluster_graph", {"n_clusters": n_clusters, "n_resamples": n_resamples}, rules)
    graph, seed, choice = _checked(weights), draw_seed(random_state), None
    n_rows = graph.shape[0]
    if n_clusters == "auto":
        if n_rows < LEAST_ROWS:
            raise too_few_to_count(n_rows)
        choice = count_clusters(graph, None, n_rows, seed)
        if not choice.clear:
            warnings.warn(choice.sentence, UserWarning, stacklevel=2)
    k = int(n_clusters) if choice is None else choice.k
    if k > n_rows:
        raise InputError(
            f"n_clusters={k} is more than the {n_rows} rows of the graph: ask for fewer clusters."
        )
    best = partition(graph, k, seed=seed)
    calibration = calibrate(graph, best.labels, k, n_resamples=n_resamples, seed=seed)
    return GraphClusters(
        best.labels,
        calibration.confidence(row_ties(graph, best.labels, k), best.labels),
        calibration.stability,
        build_levels(graph, best.labels, k, seed=seed),
        best.quality,
        choice,
    )


def _checked(weights: Any) -> sparse.csr_matrix:
    graph = sparse.csr_matrix(weights, dtype=np.float64, copy=True)
    if graph.shape[0] != graph.shape[1] or not graph.shape[0]:
        raise InputError(f"The graph has shape {graph.shape}, but edge weights are a square matrix.")
    if not (np.isfinite(graph.data).all() and (graph.data >= 0).all()):
        raise InputError(
            "The graph has weights that are negative, NaN or infinite: weights say how near rows are."
        )
    graph.setdiag(0.0)
    graph = ((graph + graph.T) / 2).tocsr()
    graph.eliminate_zeros()
    return graph
