"""Labels as users give them, and labels for when they give none."""

# n rows, m anchors, c classes

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse

from coterie.errors import InputError
from coterie.ops.anchors import spectral_embedding
from coterie.ops.distances import squared_distances
from coterie.ops.kmeans import kmeans

_STAND_INS = 5


def read_labels(
    y: Any, n_rows: int, classes: Sequence[int] | None, *, allow_unlabelled: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of each row's class, -1 where it has no label, and the classes in ascending order.

    Parameters
    ----------
    y : array-like of shape (n,) or None
    n_rows : int
    classes : sequence of int, optional
        The classes there are; by default those in y.
    allow_unlabelled : bool
        Whether a class may have no labelled row.

    Examples
    --------
    >>> read_labels([7, -1, 3], 3, None, allow_unlabelled=False)
    (array([ 1, -1,  0]), array([3, 7]))
    >>> read_labels([0, -1, 5], 3, [0, 1], allow_unlabelled=False)
    Traceback (most recent call last):
    coterie.errors.InputError: y has label 5 in row 2, which is none of the classes [0, 1]; -1 is no label.
    """
    labels = np.full(n_rows, -1, dtype=np.int64) if y is None else whole_numbers(y, n_rows)
    known = labels >= 0
    seen = np.unique(labels[known])
    if classes is None:
        wrong = np.flatnonzero(labels < -1)
        if len(wrong):
            raise InputError(
                f"y has label {labels[wrong[0]]} in row {wrong[0]}; classes are numbered from 0, and -1 is no label."
            )
        return np.where(known, np.searchsorted(seen, labels), -1), seen
    all_classes = np.unique(np.asarray(classes, dtype=np.int64))
    wrong = np.flatnonzero(~np.isin(labels, all_classes) & (labels != -1))
    if len(wrong):
        raise InputError(
            f"y has label {labels[wrong[0]]} in row {wrong[0]}, which is none of the classes {all_classes.tolist()}; "
            "-1 is no label."
        )
    missing = np.setdiff1d(all_classes, seen)
    if len(missing) and not allow_unlabelled:
        raise InputError(
            f"Class {missing[0]} has no labelled row, so no row could ever be of it; label one, leave it out of "
            "classes, or set allow_unlabelled=True."
        )
    return np.where(known, np.searchsorted(all_classes, labels), -1), all_classes


def whole_numbers(y: Any, n_rows: int) -> np.ndarray:
    """Return labels as an array of integers, one a row.

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


def pseudo_labels(weights: sparse.csr_matrix, n_classes: int, *, seed: int) -> np.ndarray:
    """Return labels of the five rows nearest to the centre of each cluster of the graph, -1 elsewhere.

    The clusters are those of k-means on the graph's spectral embedding (spec fucsmf 3.9).
    """
    embedding = torch.from_numpy(spectral_embedding(weights, n_classes))
    generator = torch.Generator().manual_seed(seed)
    centers = kmeans(embedding, n_classes, generator=generator, quiet=True).centers
    distances, codes = squared_distances(embedding, centers), np.full(len(embedding), -1, dtype=np.int64)
    own = distances.argmin(1)
    for k in range(n_classes):
        members = (own == k).nonzero().squeeze(1)
        nearest = distances[members, k].argsort()[:_STAND_INS]
        codes[members[nearest].numpy()] = k
    return codes
