"""Gaps in encoded rows: filled with what the most similar rows have there."""

# n rows, r donors, D encoded columns

from __future__ import annotations

import numpy as np

_NEIGHBOURS = 10


def fill_from_similar(rows: np.ndarray, donors: np.ndarray) -> np.ndarray:
    r"""Fill the gaps of rows with means over the most similar donors, so that missing cells do not speak.

    .. math:: \delta(x, r)^2 = \frac{1}{|K|} \sum_{j \in K} (x_j - r_j)^2

    where K are the columns that are known in the row x and in the donor r (Gower 1971). A gap gets the mean of the
    ten nearest donors that are known there.

    Parameters
    ----------
    rows : ndarray (n, D)
        With NaN; a row of nothing but NaN stays.
    donors : ndarray (r, D)
        With NaN.

    Returns
    -------
    ndarray (n, D)

    Examples
    --------
    >>> donors = np.array([[0.0, 1.0]] * 10 + [[9.0, 5.0]] * 10)
    >>> fill_from_similar(np.array([[8.0, np.nan], [np.nan, np.nan]]), donors).tolist()
    [[8.0, 5.0], [nan, nan]]
    """
    filled = rows.copy()
    known = ~np.isnan(donors)
    at_zero = np.where(known, donors, 0.0)
    gaps = np.isnan(rows)
    for i in np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1)):
        there = ~gaps[i]
        both = known[:, there]
        shared = both.sum(axis=1)
        squares = (np.square(at_zero[:, there] - rows[i, there]) * both).sum(axis=1)
        distances = np.where(shared > 0, squares / np.maximum(shared, 1), np.inf)
        order = np.argsort(distances, kind="stable")
        for j in np.flatnonzero(gaps[i]):
            nearest = order[known[order, j]][:_NEIGHBOURS]
            if len(nearest):
                filled[i, j] = donors[nearest, j].mean()
    return filled
