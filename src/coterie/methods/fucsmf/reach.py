"""Rows and anchors that no label reaches through the graph."""

# n rows, m anchors, c classes

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from coterie.methods.fucsmf.graph import AnchorViews
from coterie.ops.distances import nearest

_SILENT = 1e-6


def speak_for_silent(codes: np.ndarray, anchors: AnchorViews) -> np.ndarray:
    """Give anchors that no label reaches what their nearest anchor of the same view says, where one says anything.

    Parameters
    ----------
    codes : ndarray of shape (m, c)
        What the anchors of all views say.
    anchors : AnchorViews
    """
    codes, silent = codes.copy(), _silent(codes)
    starts = np.cumsum([0, *anchors.counts])
    for view, first, last in zip(anchors.parts, starts, starts[1:], strict=False):
        mute = silent[first:last]
        if mute.any() and not mute.all():
            closest = nearest(view.anchors[mute], view.anchors[~mute])[0].cpu().numpy()
            codes[first:last][mute] = codes[first:last][~mute][closest]
    return codes


def label_unreached(
    rows: np.ndarray, free: np.ndarray, weights: sparse.csr_matrix, codes: np.ndarray
) -> np.ndarray:
    """Return V with free rows that no label reaches taking what their anchors say now; a warning names them.

    Parameters
    ----------
    rows : ndarray of shape (n, c)
    free : ndarray of bool, shape (n,)
    weights : sparse matrix of shape (n, m)
    codes : ndarray of shape (m, c)
        From `speak_for_silent`.
    """
    unreached = np.flatnonzero(_silent(rows) & free)
    if not len(unreached):
        return rows
    warnings.warn(
        f"{len(unreached)} rows (the first is row {unreached[0]}) hang together with no labelled row; they took the "
        "class of the nearest rows that do. Label one of them, or raise n_nearest.",
        UserWarning,
        stacklevel=5,
    )
    filled = rows.copy()
    filled[unreached] = weights[unreached] @ codes
    return filled


def _silent(values: np.ndarray) -> np.ndarray:
    loudness = np.einsum("ij,ij->i", values, values)
    return np.asarray(loudness <= _SILENT**2 * loudness.max())
