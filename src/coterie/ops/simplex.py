"""Projection onto the simplex."""

# n rows, p entries of a row

from __future__ import annotations

import numpy as np


def project_simplex(rows: np.ndarray) -> np.ndarray:
    """Return the nearest points with entries of at least zero that sum to one, row by row, (n, p).

    Entries of minus infinity come out as zero (Held, Wolfe and Crowder 1974: a sort and a threshold).

    Examples
    --------
    >>> project_simplex(np.array([[0.2, 0.4], [9.0, -np.inf]]))
    array([[0.4, 0.6],
           [1. , 0. ]])
    """
    falling = -np.sort(-rows, axis=1)
    with np.errstate(invalid="ignore"):
        excess = np.cumsum(falling, axis=1) - 1
        count = np.arange(1, rows.shape[1] + 1)
        kept = np.maximum(1, (falling * count > excess).sum(axis=1))
    threshold = excess[np.arange(len(rows)), kept - 1] / kept
    return np.maximum(rows - threshold[:, None], 0)
