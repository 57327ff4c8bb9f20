"""Whether a skewed positive column is compared by its logarithm."""

# n rows, D columns of the others

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

_NEIGHBOURS = 10
_SKEWED = 1.0


def is_skewed(values: np.ndarray) -> bool:
    """Return whether values (n,), none below zero, have a long upper tail: a moment skewness above 1.

    Examples
    --------
    >>> is_skewed(np.exp(np.arange(9.0))), is_skewed(np.arange(9.0)), is_skewed(-np.exp(np.arange(9.0)))
    (True, False, False)
    """
    known = values[~np.isnan(values)]
    if len(known) < 3 or known.min() < 0 or known.min() == known.max():
        return False
    centred = known - known.mean()
    return bool((centred**3).mean() / (centred**2).mean() ** 1.5 > _SKEWED)


def log_scale(values: np.ndarray, smallest: float) -> np.ndarray:
    """Return the logarithm of values, of 1 + value / smallest where zeros occur (`smallest` is above 0 then)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.log1p(np.maximum(values, 0.0) / smallest) if smallest else np.log(np.maximum(values, 1e-300))
        )


def predicted_share(values: np.ndarray, others: np.ndarray) -> float:
    r"""Return how far rows that are near by the other columns agree on a column.

    .. math:: 1 - \sum_i (x_i - \bar x_{N(i)})^2 \,/\, \sum_i (x_i - \bar x)^2

    where N(i) are the ten rows nearest to row i by the other columns.

    Parameters
    ----------
    values : ndarray (n,)
    others : ndarray (n, D)
        The other columns, without gaps.

    Examples
    --------
    >>> others = np.arange(50.0)[:, None]
    >>> predicted_share(others[:, 0], others) > 0.9
    True
    """
    distances = cdist(others, others)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, min(_NEIGHBOURS, len(values) - 1) - 1, axis=1)[:, :_NEIGHBOURS]
    error = np.square(values - values[nearest].mean(axis=1)).sum()
    return float(1 - error / max(np.square(values - values.mean()).sum(), np.finfo(float).tiny))
