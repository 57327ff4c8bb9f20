"""Scores of a clustering against known classes.

Every score is a function of one table, how many rows each pair of class and cluster shares, so `score_all` counts
once and reads all scores off that table.
"""

# n rows, c classes, k clusters

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coterie.errors import InputError
from coterie.metrics.columns import as_codes, as_column


@dataclass(frozen=True)
class Contingency:
    """How many rows each pair of class and cluster shares.

    Attributes
    ----------
    counts : scipy.sparse.csr_array of shape (c, k)
        Rows that are in the class and in the cluster. Sparse, so that a truth with one class per row does
        not ask for a square table.
    classes : tuple of length c
        The class that each row of `counts` stands for.
    clusters : tuple of length k
        The cluster that each column of `counts` stands for.
    """

    counts: sparse.csr_array
    classes: tuple[Hashable, ...]
    clusters: tuple[Hashable, ...]

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Rows in each class, shape (c,)."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    @property
    def cluster_sizes(self) -> NDArray[np.int64]:
        """Rows in each cluster, shape (k,)."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.int64)


def contingency(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> Contingency:
    """Count the rows that each class shares with each cluster.

    Parameters
    ----------
    truth : array-like of shape (n,)
        The known class of each row: integers, strings or any hashable values.
    labels : array-like of shape (n,)
        The cluster of each row, of any such kind.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is the integer -1, which is how scikit-learn and coterie write "not
        labelled". With False, -1 is a class like any other. A -1 in `labels` is always a cluster.

    Returns
    -------
    Contingency
        The table with the names of its rows and columns.

    Examples
    --------
    >>> table = contingency(["cat", "cat", "dog", "dog"], [1, 1, 1, 0])
    >>> table.classes, table.clusters
    (('cat', 'dog'), (0, 1))
    >>> table.counts.toarray().tolist()
    [[0, 2], [1, 1]]
    """
    true, found = as_column(truth, "truth"), as_column(labels, "labels")
    if len(true) != len(found):
        raise InputError(
            f"truth has {len(true)} entries but labels has {len(found)}; give one of each per row."
        )
    if ignore_unlabelled and true.dtype.kind in "ifO":
        known = np.asarray(true != -1, dtype=bool)
        true, found = true[known], found[known]
    if len(true) == 0:
        raise InputError(
            "truth has no labelled row, so there is nothing to score; give at least one known class."
        )
    classes, row = as_codes(true)
    clusters, column = as_codes(found)
    ones = np.ones(len(row), dtype=np.int64)
    counts = sparse.coo_array((ones, (row, column)), shape=(len(classes), len(clusters))).tocsr()
    return Contingency(counts, classes, clusters)


def accuracy(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> float:
    """Share of rows in the right cluster under the best one-to-one pairing of clusters and classes (ACC).

    The pairing is the Hungarian one. With more clusters than classes the surplus clusters count as wrong, and
    with more classes than clusters the surplus classes do.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

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
    return _accuracy(contingency(truth, labels, ignore_unlabelled=ignore_unlabelled))


def nmi(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> float:
    r"""Mutual information over the arithmetic mean of both entropies (NMI).

    .. math:: \mathrm{NMI} = \frac{2\, I(T; L)}{H(T) + H(L)}

    where :math:`T` is the class and :math:`L` the cluster of a row drawn at random.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    float
        Between 0 and 1. Two groupings with a single group each agree, and score 1.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> nmi([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return _nmi(contingency(truth, labels, ignore_unlabelled=ignore_unlabelled))


def ari(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> float:
    r"""Share of agreeing pairs of rows, corrected for chance (adjusted Rand index).

    .. math:: \mathrm{ARI} = \frac{t - pq/m}{(p + q)/2 - pq/m}

    where :math:`t` pairs are together in both groupings, :math:`p` in truth, :math:`q` in labels, and
    :math:`m = n(n-1)/2` pairs exist.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    float
        At most 1, about 0 for labels drawn at random, negative when worse than that.

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> ari([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    return _ari(contingency(truth, labels, ignore_unlabelled=ignore_unlabelled))


def purity(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> float:
    """Share of rows that belong to the commonest class of their cluster.

    Splitting clusters never lowers it, so compare it only at equal numbers of clusters.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    float
        Above 0, at most 1.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return _purity(contingency(truth, labels, ignore_unlabelled=ignore_unlabelled))


def pairwise_f(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> float:
    """Harmonic mean of precision and recall over pairs of rows.

    Precision is the share of pairs with one cluster that also have one class, recall the share of pairs with
    one class that also have one cluster.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    float
        Between 0 and 1. Two groupings without any pair (every row alone) agree, and score 1.

    Examples
    --------
    >>> pairwise_f([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    return _pairwise_f(contingency(truth, labels, ignore_unlabelled=ignore_unlabelled))


def fowlkes_mallows(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> float:
    """Geometric mean of precision and recall over pairs of rows (Fowlkes and Mallows, 1983).

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    float
        Between 0 and 1. Two groupings without any pair (every row alone) agree, and score 1.

    Examples
    --------
    >>> round(fowlkes_mallows([0, 0, 1, 1], [0, 0, 0, 0]), 3)
    0.577
    """
    return _fowlkes_mallows(contingency(truth, labels, ignore_unlabelled=ignore_unlabelled))


def score_all(truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True) -> dict[str, float]:
    """Compute every score against known classes from one pass over the rows.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    dict of str to float
        Keyed by the names of the functions of this module.

    Examples
    --------
    >>> score_all([0, 0, 1, 1], [1, 1, 0, 0])
    {'accuracy': 1.0, 'nmi': 1.0, 'ari': 1.0, 'purity': 1.0, 'pairwise_f': 1.0, 'fowlkes_mallows': 1.0}
    """
    table = contingency(truth, labels, ignore_unlabelled=ignore_unlabelled)
    return {name: score(table) for name, score in _SCORES.items()}


def matching(
    truth: ArrayLike, labels: ArrayLike, *, ignore_unlabelled: bool = True
) -> dict[Hashable, Hashable]:
    """Pair clusters with classes one to one so that the most rows agree.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        Known class and cluster of each row.
    ignore_unlabelled : bool, default=True
        Leave out the rows whose truth is -1, as in `contingency`.

    Returns
    -------
    dict
        From cluster to class. With more clusters than classes, the clusters left over are not in it.

    Examples
    --------
    >>> matching(["cat", "cat", "dog"], [7, 7, 3])
    {7: 'cat', 3: 'dog'}
    """
    table = contingency(truth, labels, ignore_unlabelled=ignore_unlabelled)
    return {table.clusters[column]: table.classes[row] for row, column in zip(*_pairing(table), strict=True)}


def _pairing(table: Contingency) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return linear_sum_assignment(table.counts.toarray(), maximize=True)


def _accuracy(table: Contingency) -> float:
    return float(table.counts[_pairing(table)].sum() / table.counts.sum())


def _entropy(sizes: NDArray[np.int64]) -> float:
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def _nmi(table: Contingency) -> float:
    of_truth, of_labels = _entropy(table.class_sizes), _entropy(table.cluster_sizes)
    if of_truth + of_labels == 0:
        return 1.0
    information = of_truth + of_labels - _entropy(table.counts.data)
    # Rounding can leave the quotient a hair outside its range.
    return float(np.clip(2 * information / (of_truth + of_labels), 0.0, 1.0))


def _pairs(sizes: NDArray[np.int64]) -> int:
    """Count the unordered pairs of rows that share a group, as a Python integer that cannot overflow."""
    return sum(size * (size - 1) // 2 for size in sizes.tolist())


def _pair_counts(table: Contingency) -> tuple[int, int, int]:
    """Count the pairs that are together in both groupings, in truth, and in labels."""
    return _pairs(table.counts.data), _pairs(table.class_sizes), _pairs(table.cluster_sizes)


def _ari(table: Contingency) -> float:
    both, in_truth, in_labels = _pair_counts(table)
    if both == in_truth == in_labels:
        return 1.0
    n = int(table.class_sizes.sum())
    total = n * (n - 1) // 2
    # Everything times twice the number of pairs: whole numbers until the one division.
    by_chance = 2 * in_truth * in_labels
    return (2 * both * total - by_chance) / ((in_truth + in_labels) * total - by_chance)


def _purity(table: Contingency) -> float:
    return float(table.counts.max(axis=0).sum() / table.counts.sum())


def _pairwise_f(table: Contingency) -> float:
    both, in_truth, in_labels = _pair_counts(table)
    return 2 * both / (in_truth + in_labels) if in_truth + in_labels else 1.0


def _fowlkes_mallows(table: Contingency) -> float:
    both, in_truth, in_labels = _pair_counts(table)
    if in_truth == 0 or in_labels == 0:
        return float(in_truth == in_labels)
    return both / math.sqrt(in_truth * in_labels)


_SCORES: dict[str, Callable[[Contingency], float]] = {
    "accuracy": _accuracy,
    "nmi": _nmi,
    "ari": _ari,
    "purity": _purity,
    "pairwise_f": _pairwise_f,
    "fowlkes_mallows": _fowlkes_mallows,
}
