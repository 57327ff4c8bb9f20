"""From a graph and what is known of its rows to the objective, and from its minimiser back to rows."""

# n rows, m anchors, e units, c classes

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from scipy import sparse

from coterie.methods.fucsmf.knowledge import Knowledge
from coterie.methods.fucsmf.newton import RANK, Newton
from coterie.methods.fucsmf.objective import Links, Objective, centred
from coterie.ops.sparse import as_tensor

SCALES = ("balanced", "one")
# With fewer, too many eigenvalues are near 1: with 8 Newton saves steps but no time, with 4 not even steps.
_ROWS_AN_ANCHOR = 10


@dataclass(frozen=True)
class Graph:
    """An anchor graph with the products that every solve needs.

    Attributes
    ----------
    weights : sparse matrix of shape (n, m)
        Z; rows sum to one, and every anchor has a row.
    degrees : ndarray of shape (m,)
    gram : sparse matrix of shape (m, m)
        Z'Z.
    """

    weights: sparse.csr_matrix
    degrees: np.ndarray
    gram: sparse.csr_matrix
    _kept: dict[float, Newton] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, weights: sparse.csr_matrix) -> Graph:
        """Return the graph of these weights.

        Examples
        --------
        >>> Graph.of(sparse.csr_matrix([[1.0, 0.0], [0.5, 0.5]])).degrees
        array([1.5, 0.5])
        """
        return cls(weights, column_sums(weights), (weights.T @ weights).tocsr())

    @cached_property
    def squared_norm(self) -> float:
        """The squared norm of B = Z diag(degrees)^-1 Z'."""
        root = sparse.diags(1 / np.sqrt(self.degrees))
        inner = root @ self.gram @ root
        return float(inner.multiply(inner).sum())

    @cached_property
    def nearest(self) -> np.ndarray:
        """The number of the anchor that each row hangs on most, the first where several tie, (n,)."""
        counts = np.diff(self.weights.indptr)
        largest = np.maximum.reduceat(self.weights.data, self.weights.indptr[:-1])
        entries = np.flatnonzero(self.weights.data == np.repeat(largest, counts))
        first = np.unique(np.repeat(np.arange(len(counts)), counts)[entries], return_index=True)[1]
        return self.weights.indices[entries[first]]

    def newton(self, smoothness: float) -> Newton | None:
        """Return Newton's step for this graph, kept for the next solve; None where it would not pay."""
        n, m = self.weights.shape
        if m < 4 * RANK or n < _ROWS_AN_ANCHOR * m:
            return None
        if smoothness not in self._kept:
            self._kept.clear()
            self._kept[smoothness] = Newton.of(self.gram, self.degrees, smoothness)
        return self._kept[smoothness]


def column_sums(matrix: sparse.csr_matrix) -> np.ndarray:
    """Return the sums of the columns as a vector."""
    return np.asarray(matrix.sum(axis=0)).ravel()


def label_sizes(codes: np.ndarray, n_classes: int, scale: str) -> np.ndarray:
    """Return the length of a labelled row of each class, (c,).

    "balanced" makes the labelled rows of a class weigh 1 together, however many they are (spec fucsmf 3.7); "one"
    gives each of them length 1, as the paper does.

    Examples
    --------
    >>> label_sizes(np.array([0, 0, 0, 0, 1, -1]), 2, "balanced")
    array([0.5, 1. ])
    """
    if scale == "one":
        return np.ones(n_classes)
    return 1 / np.sqrt(np.maximum(1, np.bincount(codes[codes >= 0], minlength=n_classes)))


def make_objective(
    graph: Graph, known: Knowledge, sizes: np.ndarray, *, smoothness: float, link_weight: float
) -> Objective:
    """Return the objective of the free rows.

    Parameters
    ----------
    graph : Graph
    known : Knowledge
    sizes : ndarray of shape (c,)
        From `label_sizes`.
    smoothness, link_weight : float
        lambda and mu.
    """
    labelled = known.codes >= 0
    counts = np.bincount(known.codes[labelled], minlength=len(sizes))
    units = _indicator(known.unit, known.n_units)
    set_apart = labelled | (known.unit >= 0)
    gram = _gram_without(graph, set_apart)
    fixed = _indicator(known.codes, len(sizes))
    return Objective(
        smoothness,
        gram,
        graph.degrees,
        (units @ graph.weights).tocsr(),
        column_sums(units.T),
        (fixed @ graph.weights).T.toarray() * sizes,
        np.diag(sizes**2 * counts),
        graph.squared_norm,
        _links(known, sizes, link_weight),
    )


def _indicator(numbers: np.ndarray, n_kinds: int) -> sparse.csr_matrix:
    """Return the (kinds, n) matrix with a one where a row is of a kind; rows of number -1 are of none."""
    rows = np.flatnonzero(numbers >= 0)
    return sparse.csr_matrix((np.ones(len(rows)), (numbers[rows], rows)), shape=(n_kinds, len(numbers)))


def _gram_without(graph: Graph, left_out: np.ndarray) -> sparse.csr_matrix:
    """Return Z'Z of the other rows, from the smaller of the two parts."""
    if left_out.mean() > 0.5:
        rest = graph.weights[~left_out]
        return (rest.T @ rest).tocsr()
    gone = graph.weights[left_out]
    return (graph.gram - gone.T @ gone).tocsr()


def _links(known: Knowledge, sizes: np.ndarray, weight: float) -> Links:
    together, from_known, constant = _quadratic(known, known.together, -1.0, sizes, weight)
    apart, apart_known, apart_constant = _quadratic(known, known.apart, 1.0, sizes, weight)
    return Links(together, apart, from_known + apart_known, constant + apart_constant)


def _quadratic(
    known: Knowledge, pairs: np.ndarray, sign: float, sizes: np.ndarray, weight: float
) -> tuple[sparse.csr_matrix, np.ndarray, float]:
    """Return the form, half its gradient at zero and its value at zero of weight * sum |w_i + sign w_j|^2."""
    shape = len(pairs), known.n_units
    if not len(pairs):
        return sparse.csr_matrix((known.n_units,) * 2), np.zeros((known.n_units, len(sizes))), 0.0
    each = np.arange(len(pairs))
    incidence = sparse.csr_matrix(shape)
    fixed = np.zeros((len(pairs), len(sizes)))
    for rows, factor in zip(pairs.T, (1.0, sign), strict=True):
        free = known.unit[rows] >= 0
        incidence = incidence + sparse.csr_matrix(
            (np.full(free.sum(), factor), (each[free], known.unit[rows[free]])), shape=shape
        )
        codes = known.codes[rows[~free]]
        fixed[each[~free], codes] += factor * sizes[codes]
    if sign > 0:
        fixed = centred(fixed)
    return (
        (weight * incidence.T @ incidence).tocsr(),
        weight * (incidence.T @ fixed),
        weight * float(np.vdot(fixed, fixed)),
    )


def rows_of(
    graph: Graph, known: Knowledge, sizes: np.ndarray, anchor_codes: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """Return V, (n, c): labelled rows as they are, rows with units as their unit, the others from the anchors."""
    rows = (as_tensor(graph.weights) @ torch.from_numpy(anchor_codes)).numpy()
    own = known.unit >= 0
    rows[own] = units[known.unit[own]]
    labelled = known.codes >= 0
    rows[labelled] = np.eye(len(sizes))[known.codes[labelled]] * sizes
    return rows
