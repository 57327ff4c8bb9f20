"""Agreement of clusters with known classes: the scores that scikit-learn lacks, and all scores in one call."""

# n rows, c classes, k clusters

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

from coterie.errors import InputError


def accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows in the right cluster under the best one-to-one matching of clusters and classes (ACC).

    The matching is the Hungarian one. With more clusters than classes the surplus clusters count as wrong, and
    with more classes than clusters the surplus classes do.

    Parameters
    ----------
    truth : array-like of shape (n,)
        The known class of each row: integers, strings or any hashable values. Rows with the integer -1, which is
        how scikit-learn and coterie write "not labelled", are left out.
    labels : array-like of shape (n,)
        The cluster of each row, of any such kind. Here -1 is a cluster like any other.

    Returns
    -------
    float
        Between 0 and 1; 1 when clusters and classes are the same groups.

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> accuracy([0, 0, 0, 0], [0, 1, 2, 2])
    0.5
    """
    counts = _coded(truth, labels).counts()
    return float(counts[_best_matching(counts)].sum() / counts.sum())


def purity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that belong to the commonest class of their cluster.

    Splitting clusters never lowers it, so compare it only at equal numbers of clusters.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row, as in `accuracy`.

    Returns
    -------
    float
        Above 0, at most 1.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    counts = _coded(truth, labels).counts()
    return float(counts.max(axis=0).sum() / counts.sum())


def pairwise_f(truth: ArrayLike, labels: ArrayLike) -> float:
    """Harmonic mean of precision and recall over pairs of rows.

    Precision is the share of pairs with one cluster that also have one class, recall the share of pairs with
    one class that also have one cluster.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row, as in `accuracy`.

    Returns
    -------
    float
        Between 0 and 1. Two groupings without any pair (every row alone) agree, and score 1.

    Examples
    --------
    >>> pairwise_f([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    coded = _coded(truth, labels)
    (_, labels_only), (truth_only, both) = metrics.cluster.pair_confusion_matrix(coded.truth, coded.labels)
    either = int(labels_only) + int(truth_only)
    return 2 * int(both) / (2 * int(both) + either) if both + either else 1.0


def score_all(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Compute every score of clusters against known classes, scikit-learn's included.

    Parameters
    ----------
    truth : array-like of shape (n,)
        Known classes, as in `accuracy`.
    labels : array-like of shape (n,)
        Clusters.

    Returns
    -------
    dict of str to float
        `accuracy`, `nmi` (normalised by the arithmetic mean), `ari`, `purity`, `pairwise_f` and `fowlkes_mallows`.

    Examples
    --------
    >>> score_all([0, 0, 1, 1], [1, 1, 0, 0])
    {'accuracy': 1.0, 'nmi': 1.0, 'ari': 1.0, 'purity': 1.0, 'pairwise_f': 1.0, 'fowlkes_mallows': 1.0}
    """
    coded = _coded(truth, labels)
    both = coded.truth, coded.labels
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        pairs = metrics.cluster.pair_confusion_matrix(*both)
        # Without any pair of rows in a class or a cluster, scikit-learn's score is 0 where the groupings agree.
        alone = not pairs[0, 1] and not pairs[1].any()
        return {
            "accuracy": accuracy(*both),
            "nmi": float(metrics.normalized_mutual_info_score(*both)),
            "ari": float(metrics.adjusted_rand_score(*both)),
            "purity": purity(*both),
            "pairwise_f": pairwise_f(*both),
            "fowlkes_mallows": 1.0 if alone else float(metrics.fowlkes_mallows_score(*both)),
        }


def matching(truth: ArrayLike, labels: ArrayLike) -> dict[Hashable, Hashable]:
    """Match clusters with classes one to one so that the most rows agree.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row, as in `accuracy`.

    Returns
    -------
    dict
        From cluster to class. With more clusters than classes, the clusters left over are not in it.

    Examples
    --------
    >>> matching(["cat", "cat", "dog"], [7, 7, 3])
    {7: 'cat', 3: 'dog'}
    """
    coded = _coded(truth, labels)
    pairs = zip(*_best_matching(coded.counts()), strict=True)
    return {coded.clusters[column]: coded.classes[row] for row, column in pairs}


def as_column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as a 1-D array in which distinct labels stay distinct."""
    column = np.asarray(values)
    if column.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # numpy turns [1, "1"] into two equal strings; objects keep them apart.
        column = np.asarray(values, dtype=object)
    if column.ndim != 1:
        raise InputError(f"{name} must be one value per row, but it has {column.ndim} dimensions.")
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise InputError(
            f"{name} is NaN at row {int(np.flatnonzero(np.isnan(column))[0])}; write -1 if unknown."
        )
    return column


def as_codes(column: NDArray[Any]) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
    """Return the distinct values of a column, and the code of each row."""
    try:
        values, codes = np.unique(column, return_inverse=True)
        return tuple(values.tolist()), codes
    except TypeError:  # values of several types have no order: number them as they appear
        numbers: dict[Hashable, int] = {}
        codes = np.fromiter(
            (numbers.setdefault(value, len(numbers)) for value in column), np.intp, len(column)
        )
        return tuple(numbers), codes


@dataclass(frozen=True)
class _Coded:
    """Classes and clusters of labelled rows as codes from 0, (n,), and the values they encode."""

    truth: NDArray[np.intp]
    labels: NDArray[np.intp]
    classes: tuple[Hashable, ...]
    clusters: tuple[Hashable, ...]

    def counts(self) -> sparse.csr_array:
        """Rows that a class and a cluster share, (c, k); sparse, for there may be as many classes as rows."""
        return sparse.csr_array(metrics.cluster.contingency_matrix(self.truth, self.labels, sparse=True))


def _coded(truth: ArrayLike, labels: ArrayLike) -> _Coded:
    true, clusters = as_column(truth, "truth"), as_column(labels, "labels")
    if len(true) != len(clusters):
        raise InputError(
            f"truth has {len(true)} entries but labels has {len(clusters)}; give one of each per row."
        )
    if true.dtype.kind in "ifO":
        known = np.asarray(true != -1, dtype=bool)
        true, clusters = true[known], clusters[known]
    if len(true) == 0:
        raise InputError(
            "truth has no labelled row, so there is nothing to score; give at least one known class."
        )
    names, numbers = as_codes(true)
    cluster_names, cluster_numbers = as_codes(clusters)
    return _Coded(numbers, cluster_numbers, names, cluster_names)


def _best_matching(counts: sparse.csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return linear_sum_assignment(counts.toarray(), maximize=True)
