"""Two partitions of the same rows: what they share, how alike they are, which clusters are the same."""

# n rows, k clusters

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def shared_rows(labels: np.ndarray, others: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return how many rows each pair of clusters shares, (k, k).

    Examples
    --------
    >>> shared_rows(np.array([0, 0, 1]), np.array([1, 1, 1]), 2)
    array([[0, 2],
           [0, 1]])
    """
    return np.bincount(labels * n_clusters + others, minlength=n_clusters**2).reshape(n_clusters, n_clusters)


def adjusted_rand(counts: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions from the rows that their clusters share, (k, k').

    Examples
    --------
    >>> adjusted_rand(np.array([[3, 0], [0, 4]]))
    1.0
    """

    def pairs(sizes: np.ndarray) -> float:
        sizes = sizes.astype(np.float64)
        return float((sizes * (sizes - 1)).sum() / 2)

    both, mine, theirs = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    chance = mine * theirs / max(pairs(counts.sum(keepdims=True)), 1.0)
    most = (mine + theirs) / 2
    return (both - chance) / (most - chance) if most > chance else 1.0


def matched(labels: np.ndarray, others: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return other labels (n,) renamed so that as many rows as possible have the same.

    Examples
    --------
    >>> matched(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    array([0, 0, 1, 0])
    """
    mine, theirs = linear_sum_assignment(-shared_rows(others, labels, n_clusters))
    renamed = np.empty(n_clusters, dtype=np.int64)
    renamed[mine] = theirs
    return renamed[others]
