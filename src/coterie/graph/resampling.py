"""Partitions of resampled graphs, which tell how sure a cluster is."""

# n rows, k clusters

from __future__ import annotations

import numpy as np
from scipy import sparse

from coterie.graph.candidates import absorbed_communities, different, merged_candidates, refine_labels
from coterie.graph.quality import Quality

_RESOLUTION = 4.0


def resampled(graph: sparse.csr_matrix, seed: int) -> sparse.csr_matrix:
    """Multiply every edge's weight by an exponential variable of mean one (the Bayesian bootstrap of Rubin 1981)."""
    rng = np.random.default_rng([seed, 7])
    upper = sparse.triu(graph, format="csr")
    upper.data = upper.data * rng.exponential(size=upper.nnz)
    return sparse.csr_matrix(upper + upper.T)


def partition_once(graph: sparse.csr_matrix, n_clusters: int, seed: int) -> np.ndarray:
    """Return the partition (n,) of highest J among those from one resolution and one seed.

    Far fewer candidates than in `choose.partition`, so that a fit can afford several resampled graphs.

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(2), np.ones((5, 5))))
    >>> partition_once(resampled(graph, seed=0), 2, seed=0)
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    rng = np.random.default_rng(seed)
    refined = [
        refine_labels(graph, labels, n_clusters, rng)
        for _, labels in different(merged_candidates(graph, n_clusters, seed, (_RESOLUTION,)))
        if len(np.unique(labels)) == n_clusters
    ]
    if not refined:
        return absorbed_communities(graph, n_clusters, seed)
    return max(refined, key=lambda labels: Quality.of(graph, labels, n_clusters).score)


def resampled_partitions(
    graph: sparse.csr_matrix, n_clusters: int, *, n_resamples: int, seed: int
) -> list[np.ndarray]:
    """Return a partition (n,) of each of some resampled graphs."""
    return [partition_once(resampled(graph, seed + b), n_clusters, seed + b) for b in range(n_resamples)]
