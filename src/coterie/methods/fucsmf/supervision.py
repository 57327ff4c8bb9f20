"""Supervision: labels, must-links and cannot-links without contradictions; pseudo-labels where there are none."""

# n rows, e constrained groups, c classes

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.errors import InputError
from coterie.ops.anchors import spectral_embedding
from coterie.ops.distances import squared_distances
from coterie.ops.kmeans import kmeans

_PSEUDO_LABELS_PER_CLASS = 5


@dataclass(frozen=True)
class Supervision:
    """Labels and links of rows, without contradictions."""

    codes: np.ndarray  # (n,), class index, -1 where unlabelled; propagated along must-links
    group: np.ndarray  # (n,), group of an unlabelled row with links, else -1; its rows share one variable
    together: np.ndarray  # (pairs, 2), must-links that are penalties
    apart: np.ndarray  # (pairs, 2), cannot-links

    @property
    def labelled(self) -> np.ndarray:
        """Which rows have a label, (n,)."""
        return self.codes >= 0

    @property
    def n_groups(self) -> int:
        """Number of groups, e."""
        return int(self.group.max(initial=-1)) + 1


def read_labels(
    y: Any, n_rows: int, classes: Sequence[int] | None = None, *, allow_unlabelled: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class index of each row, -1 where unlabelled, and the classes in ascending order.

    `allow_unlabelled` accepts classes without a labelled row.

    Examples
    --------
    >>> read_labels([7, -1, 3], 3)
    (array([ 1, -1,  0]), array([3, 7]))
    >>> read_labels([0, -1, 5], 3, [0, 1])
    Traceback (most recent call last):
    coterie.errors.InputError: y has label 5 in row 2, which is none of the classes [0, 1]; -1 is no label.
    """
    labels = np.full(n_rows, -1, dtype=np.int64) if y is None else whole_numbers(y, n_rows)
    labelled = labels >= 0
    used = np.unique(labels[labelled])
    if classes is None:
        wrong = np.flatnonzero(labels < -1)
        if len(wrong):
            raise InputError(
                f"y has label {labels[wrong[0]]} in row {wrong[0]}; classes are numbered from 0, and -1 is no label."
            )
        return np.where(labelled, np.searchsorted(used, labels), -1), used
    all_classes = np.unique(np.asarray(classes, dtype=np.int64))
    wrong = np.flatnonzero(~np.isin(labels, all_classes) & (labels != -1))
    if len(wrong):
        raise InputError(
            f"y has label {labels[wrong[0]]} in row {wrong[0]}, which is none of the classes {all_classes.tolist()}; "
            "-1 is no label."
        )
    unused = np.setdiff1d(all_classes, used)
    if len(unused) and not allow_unlabelled:
        raise InputError(
            f"Class {unused[0]} has no labelled row, so no row could ever be of it; label one, leave it out of "
            "classes, or set allow_unlabelled=True."
        )
    return np.where(labelled, np.searchsorted(all_classes, labels), -1), all_classes


def whole_numbers(y: Any, n_rows: int) -> np.ndarray:
    """Return labels as integers, one per row.

    Examples
    --------
    >>> whole_numbers([1.0, -1.0], 2)
    array([ 1, -1])
    """
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise InputError(
            f"y has shape {given.shape}, but there are {n_rows} rows; give one label a row, -1 where there is none."
        )
    try:
        with np.errstate(invalid="ignore"):  # NaN is no whole number, as the sentence below says
            labels = given.astype(np.int64)
        if (labels == given).all():
            return labels
    except (TypeError, ValueError):
        pass
    raise InputError("y must hold whole numbers: classes from 0, and -1 for rows without a label.")


def as_pairs(pairs: Any, n_rows: int, name: str) -> np.ndarray:
    """Return links as an array of row numbers, (pairs, 2).

    Examples
    --------
    >>> as_pairs([(0, 2)], 3, "must_link")
    array([[0, 2]])
    >>> as_pairs([(0, 9)], 3, "must_link")
    Traceback (most recent call last):
    coterie.errors.InputError: must_link names row 9, but the rows are 0 to 2.
    """
    given = np.asarray([] if pairs is None else pairs)
    if given.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InputError(
            f"{name} must be pairs of row numbers, an array of shape (pairs, 2), not of {given.shape}."
        )
    wrong = given[(given < 0) | (given >= n_rows)]
    if len(wrong):
        raise InputError(f"{name} names row {wrong[0]}, but the rows are 0 to {n_rows - 1}.")
    same = given[given[:, 0] == given[:, 1]]
    if len(same):
        raise InputError(f"{name} pairs row {same[0, 0]} with itself; leave that pair out.")
    return given.astype(np.int64)


def combine(codes: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray, *, hard: bool) -> Supervision:
    """Combine labels and links; raise where they contradict each other.

    With `hard` must-links, linked rows are one group and share their label; otherwise a penalty draws them together.
    """
    component = _components(must_link, len(codes))
    propagated = _propagate(codes, component)
    _check_cannot_links(propagated, component, cannot_link)
    known = propagated if hard else codes
    free = known < 0
    linked = np.zeros(len(codes), dtype=bool)
    linked[np.concatenate([must_link.ravel(), cannot_link.ravel()])] = True
    linked &= free
    group = np.full(len(codes), -1, dtype=np.int64)
    group[linked] = np.unique(component[linked] if hard else np.flatnonzero(linked), return_inverse=True)[1]
    together = must_link[:0] if hard else must_link
    return Supervision(known, group, *(pairs[free[pairs].any(axis=1)] for pairs in (together, cannot_link)))


def _components(pairs: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the connected component of each row in the graph of must-links, (n,)."""
    if not len(pairs):
        return np.arange(n_rows)
    edges = sparse.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(n_rows, n_rows))
    return connected_components(edges, directed=False)[1]


def _propagate(codes: np.ndarray, component: np.ndarray) -> np.ndarray:
    """Return the labels with every row of a component labelled as its labelled rows are."""
    labelled = np.flatnonzero(codes >= 0)
    first = np.full(component.max(initial=-1) + 1, -1, dtype=np.int64)
    first[component[labelled[::-1]]] = labelled[::-1]  # the lowest row number is written last
    clash = labelled[codes[labelled] != codes[first[component[labelled]]]]
    if len(clash):
        row, other = sorted((int(clash[0]), int(first[component[clash[0]]])))
        raise InputError(
            f"Rows {row} and {other} must be together by must_link but have different labels; "
            "remove one of the labels or a link between them."
        )
    return np.where(first[component] >= 0, codes[first[component]], -1)


def _check_cannot_links(codes: np.ndarray, component: np.ndarray, cannot_link: np.ndarray) -> None:
    left, right = cannot_link.T
    linked = np.flatnonzero(component[left] == component[right])
    if len(linked):
        row, other = cannot_link[linked[0]]
        raise InputError(
            f"Rows {row} and {other} are in cannot_link, but must_link ties them; remove one of the links."
        )
    alike = np.flatnonzero((codes[left] >= 0) & (codes[left] == codes[right]))
    if len(alike):
        row, other = cannot_link[alike[0]]
        raise InputError(
            f"Rows {row} and {other} are in cannot_link but have the same label, given or passed on by must_link; "
            "remove the link or one of the labels."
        )


def pseudo_labels(weights: sparse.csr_matrix, n_classes: int, *, seed: int) -> np.ndarray:
    """Label the five rows nearest to the centre of each cluster of the graph, -1 elsewhere, (n,).

    The clusters are those of spectral clustering: k-means on the graph's spectral embedding (spec fucsmf 3.9).
    """
    embedding = torch.from_numpy(spectral_embedding(weights, n_classes))
    generator = torch.Generator().manual_seed(seed)
    centers = kmeans(embedding, n_classes, generator=generator, quiet=True).centers
    distances, codes = squared_distances(embedding, centers), np.full(len(embedding), -1, dtype=np.int64)
    clusters = distances.argmin(1)
    for k in range(n_classes):
        members = (clusters == k).nonzero().squeeze(1)
        nearest = distances[members, k].argsort()[:_PSEUDO_LABELS_PER_CLASS]
        codes[members[nearest].numpy()] = k
    return codes
