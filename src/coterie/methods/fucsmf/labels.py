"""From the solution to labels: memberships, exemplars, and rows that no label reaches through the graph."""

# n rows, m anchors, c classes

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from coterie.methods.fucsmf.anchors import AnchorViews
from coterie.ops.distances import nearest

_UNREACHED = 1e-6  # of the largest norm


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
