"""From an anchor graph and supervision to the objective, and from its minimiser back to the classes of rows."""

# n rows, m anchors, e groups, c classes

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from scipy import sparse

from coterie.methods.fucsmf.anchors import AnchorViews
from coterie.methods.fucsmf.newton import RANK, Newton
from coterie.methods.fucsmf.objective import Links, Objective, centred
from coterie.methods.fucsmf.supervision import Supervision
from coterie.ops.distances import nearest
from coterie.ops.sparse import as_tensor

# With fewer rows per anchor too many eigenvalues are near 1, and the Newton step saves no time.
_ROWS_PER_ANCHOR = 10
_UNREACHED = 1e-6  # of the largest norm


@dataclass(frozen=True)
class AnchorGraph:
    """An anchor graph with the products that every solve needs."""

    weights: sparse.csr_matrix  # Z (n, m); rows sum to one, and every anchor has a row
    used: np.ndarray  # which of all anchors have a row; the others are left out of Z
    degrees: np.ndarray  # (m,), column sums of Z
    gram: sparse.csr_matrix  # (m, m), Z'Z
    _newton: dict[float, Newton] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, weights: sparse.csr_matrix) -> AnchorGraph:
        """Build the graph of these weights."""
        degrees = np.asarray(weights.sum(axis=0)).ravel()
        used = degrees > 0
        weights = weights if used.all() else weights[:, used]
        return cls(weights, used, degrees[used], (weights.T @ weights).tocsr())

    @cached_property
    def squared_norm(self) -> float:
        """The squared norm of B = Z diag(degrees)^-1 Z'."""
        root = sparse.diags(1 / np.sqrt(self.degrees))
        inner = root @ self.gram @ root
        return float(inner.multiply(inner).sum())

    @cached_property
    def nearest(self) -> np.ndarray:
        """The anchor of the largest weight of each row, the first where several tie, (n,)."""
        counts = np.diff(self.weights.indptr)
        largest = np.maximum.reduceat(self.weights.data, self.weights.indptr[:-1])
        entries = np.flatnonzero(self.weights.data == np.repeat(largest, counts))
        first = np.unique(np.repeat(np.arange(len(counts)), counts)[entries], return_index=True)[1]
        return self.weights.indices[entries[first]]

    def newton(self, smoothness: float) -> Newton | None:
        """Return the Newton step of this graph, cached for the next solve; None where it would not pay."""
        n, m = self.weights.shape
        if m < 4 * RANK or n < _ROWS_PER_ANCHOR * m:
            return None
        if smoothness not in self._newton:
            self._newton.clear()
            self._newton[smoothness] = Newton.of(self.gram, self.degrees, smoothness)
        return self._newton[smoothness]


def label_lengths(codes: np.ndarray, n_classes: int, scale: str) -> np.ndarray:
    """Return the norm of a labelled row of each class, (c,).

    "balanced" gives the labelled rows of every class the same total weight (spec fucsmf 3.7); "one" gives each row
    norm 1, as the paper does.

    Examples
    --------
    >>> label_lengths(np.array([0, 0, 0, 0, 1, -1]), 2, "balanced")
    array([0.5, 1. ])
    """
    if scale == "one":
        return np.ones(n_classes)
    return 1 / np.sqrt(np.maximum(1, np.bincount(codes[codes >= 0], minlength=n_classes)))


def build_objective(
    graph: AnchorGraph, known: Supervision, lengths: np.ndarray, *, smoothness: float, link_weight: float
) -> Objective:
    """Build the objective of the unlabelled rows, for label lengths (c,), lambda and mu."""
    counts = np.bincount(known.codes[known.labelled], minlength=len(lengths))
    groups = _indicator(known.group, known.n_groups)
    labels = _indicator(known.codes, len(lengths))
    return Objective(
        smoothness=smoothness,
        gram=_gram_without(graph, known.labelled | (known.group >= 0)),
        degrees=graph.degrees,
        groups=(groups @ graph.weights).tocsr(),
        sizes=np.asarray(groups.sum(axis=1)).ravel(),
        labelled_sums=(labels @ graph.weights).T.toarray() * lengths,
        labelled_scatter=np.diag(lengths**2 * counts),
        constant=graph.squared_norm,
        links=_links(known, lengths, link_weight),
    )


def _indicator(numbers: np.ndarray, n_kinds: int) -> sparse.csr_matrix:
    """Return the (kinds, n) indicator matrix; rows of number -1 are of no kind."""
    rows = np.flatnonzero(numbers >= 0)
    return sparse.csr_matrix((np.ones(len(rows)), (numbers[rows], rows)), shape=(n_kinds, len(numbers)))


def _gram_without(graph: AnchorGraph, excluded: np.ndarray) -> sparse.csr_matrix:
    """Return Z'Z of the rows that are not excluded, from the smaller of the two parts."""
    if excluded.mean() > 0.5:
        rest = graph.weights[~excluded]
        return (rest.T @ rest).tocsr()
    gone = graph.weights[excluded]
    return (graph.gram - gone.T @ gone).tocsr()


def _links(known: Supervision, lengths: np.ndarray, weight: float) -> Links:
    together, from_must, must_constant = _quadratic(known, known.together, -1.0, lengths, weight)
    apart, from_cannot, cannot_constant = _quadratic(known, known.apart, 1.0, lengths, weight)
    return Links(together, apart, from_must + from_cannot, must_constant + cannot_constant)


def _quadratic(
    known: Supervision, pairs: np.ndarray, sign: float, lengths: np.ndarray, weight: float
) -> tuple[sparse.csr_matrix, np.ndarray, float]:
    """Return the form, half the gradient at zero and the value at zero of weight * sum |w_i + sign w_j|^2."""
    shape = len(pairs), known.n_groups
    if not len(pairs):
        return sparse.csr_matrix((known.n_groups,) * 2), np.zeros((known.n_groups, len(lengths))), 0.0
    each = np.arange(len(pairs))
    incidence = sparse.csr_matrix(shape)
    fixed = np.zeros((len(pairs), len(lengths)))
    for rows, factor in zip(pairs.T, (1.0, sign), strict=True):
        free = known.group[rows] >= 0
        incidence = incidence + sparse.csr_matrix(
            (np.full(free.sum(), factor), (each[free], known.group[rows[free]])), shape=shape
        )
        codes = known.codes[rows[~free]]
        fixed[each[~free], codes] += factor * lengths[codes]
    if sign > 0:
        fixed = centred(fixed)
    form = (weight * incidence.T @ incidence).tocsr()
    return form, weight * (incidence.T @ fixed), weight * float(np.vdot(fixed, fixed))


def recover_rows(
    graph: AnchorGraph, known: Supervision, lengths: np.ndarray, anchor_codes: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Return V, (n, c): labelled rows as given, linked rows as their group, the others from their anchors."""
    rows = (as_tensor(graph.weights) @ torch.from_numpy(anchor_codes)).numpy()
    grouped = known.group >= 0
    rows[grouped] = groups[known.group[grouped]]
    rows[known.labelled] = np.eye(len(lengths))[known.codes[known.labelled]] * lengths
    return rows


def fill_unreached_anchors(codes: np.ndarray, anchors: AnchorViews) -> np.ndarray:
    """Give anchors without class scores, (m, c), those of the nearest scored anchor of the same view."""
    codes, unreached = codes.copy(), _unreached(codes)
    offsets = np.cumsum([0, *anchors.counts])
    for view, first, last in zip(anchors.parts, offsets, offsets[1:], strict=False):
        empty = unreached[first:last]
        if empty.any() and not empty.all():
            closest = nearest(view.anchors[empty], view.anchors[~empty])[0].cpu().numpy()
            codes[first:last][empty] = codes[first:last][~empty][closest]
    return codes


def fill_unreached_rows(
    rows: np.ndarray, labelled: np.ndarray, weights: sparse.csr_matrix, codes: np.ndarray
) -> np.ndarray:
    """Give rows without class scores, (n, c), those of their anchors, (m, c), with a warning that counts the rows."""
    unreached = np.flatnonzero(_unreached(rows) & ~labelled)
    if not len(unreached):
        return rows
    warnings.warn(
        f"{len(unreached)} rows (the first is row {unreached[0]}) are connected to no labelled row; they took the "
        "class of the nearest rows that are. Label one of them, or raise n_nearest.",
        UserWarning,
        stacklevel=4,
    )
    filled = rows.copy()
    filled[unreached] = weights[unreached] @ codes
    return filled


def _unreached(scores: np.ndarray) -> np.ndarray:
    squares = np.einsum("ij,ij->i", scores, scores)
    return np.asarray(squares <= _UNREACHED**2 * squares.max())


def memberships(rows: np.ndarray) -> np.ndarray:
    """Return class scores (n, c) as shares that sum to one; uniform where no score is positive.

    Examples
    --------
    >>> memberships(np.array([[0.3, 0.1], [0.0, 0.0], [-0.1, 0.2]]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ],
           [0.  , 1.  ]])
    """
    shares = np.maximum(rows, 0)
    total = shares @ np.ones(rows.shape[1])  # several times as fast as a sum over few columns
    empty = total <= 0
    shares /= np.where(empty, 1, total)[:, None]
    shares[empty] = 1 / rows.shape[1]
    return shares


def highest_rows(rows: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the row with the highest score of each class, (c,), unlabelled where possible."""
    columns = rows.copy(order="F")
    if not labelled.all():
        columns[labelled] = -np.inf
    return columns.argmax(axis=0)
