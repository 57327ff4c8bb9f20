"""What differs between two groupings of the same rows: which cluster became which, and which rows moved."""

# n rows, k clusters before, l clusters after

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

from coterie.errors import InputError
from coterie.metrics.agreement import as_codes, as_column


@dataclass(frozen=True)
class Changes:
    """What differs between two groupings of the same rows.

    Attributes
    ----------
    before, after : tuple of int
        The clusters of each grouping, ascending; -1 are outliers.
    counts : ndarray of shape (k, l)
        Rows that a cluster before and one after share.
    matched : dict of int to int
        The cluster after that each cluster before became: one to one, so that the fewest rows move. Outliers only
        match outliers.
    moved : ndarray
        Row numbers of the rows that are not where their cluster went.
    ari, nmi : float
        Adjusted Rand index and normalised mutual information.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    counts: np.ndarray
    matched: dict[int, int]
    moved: np.ndarray
    ari: float
    nmi: float

    def flows(self) -> list[tuple[int, int, int]]:
        """Return the moves as (cluster before, cluster after, number of rows), the largest first."""
        found = [
            (one, other, int(self.counts[i, j]))
            for i, one in enumerate(self.before)
            for j, other in enumerate(self.after)
            if self.counts[i, j] and self.matched.get(one) != other
        ]
        return sorted(found, key=lambda flow: (-flow[2], flow[:2]))


def compare_labels(before: ArrayLike, after: ArrayLike) -> Changes:
    """Compare two groupings of the same rows, whatever their clusters are numbered.

    Parameters
    ----------
    before, after : array-like of int, shape (n,)

    Returns
    -------
    Changes

    Examples
    --------
    >>> changes = compare_labels([0, 0, 0, 1, 1], [5, 5, 3, 3, 3])
    >>> changes.matched, changes.moved
    ({0: 5, 1: 3}, array([2]))
    >>> changes.flows()
    [(0, 3, 1)]
    """
    one, other = as_column(before, "before"), as_column(after, "after")
    if len(one) != len(other):
        raise InputError(f"There are {len(one)} rows before and {len(other)} after: compare the same rows.")
    if not len(one):
        raise InputError("There is no row to compare.")
    clusters, codes = as_codes(one)
    others, other_codes = as_codes(other)
    counts = np.bincount(codes * len(others) + other_codes, minlength=len(clusters) * len(others))
    counts = counts.reshape(len(clusters), len(others))
    matched = _matched(clusters, others, counts)
    target = np.array([others.index(matched[name]) if name in matched else -1 for name in clusters])
    return Changes(
        clusters,  # type: ignore[arg-type]
        others,  # type: ignore[arg-type]
        counts,
        matched,
        np.flatnonzero(target[codes] != other_codes),
        float(metrics.adjusted_rand_score(codes, other_codes)),
        float(metrics.normalized_mutual_info_score(codes, other_codes)),
    )


def _matched(before: tuple, after: tuple, counts: np.ndarray) -> dict[int, int]:
    """Match clusters that share rows one to one; outliers are no cluster."""
    alike = np.equal.outer(np.array(before) == -1, np.array(after) == -1)
    rows, columns = linear_sum_assignment(np.where(alike, counts, -1), maximize=True)
    return {before[i]: after[j] for i, j in zip(rows, columns, strict=True) if alike[i, j] and counts[i, j]}
