"""Silhouettes of a sample of rows, each against all rows."""

# n rows, k clusters, s sampled rows, b rows of one chunk, d features

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.metrics import euclidean_distances
from sklearn.utils import check_random_state, gen_batches

from coterie.errors import InputError
from coterie.metrics.agreement import as_codes, as_column

_CHUNK_BYTES = 32 * 2**20


def silhouette(
    X: Any, labels: ArrayLike, *, sample_size: int | None = 1000, random_state: Any = None
) -> float:
    r"""Mean silhouette of a sample of rows, each measured against all rows.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    where :math:`a_i` is the mean Euclidean distance of row i to the other rows of its cluster and :math:`b_i`
    the smallest mean distance to the rows of another cluster. Both are exact; only the rows i are sampled,
    uniformly, so the result is an unbiased estimate of the full silhouette with a standard error of at most
    :math:`1/\sqrt{s}`. Time grows with s n d, memory with the sample and one chunk of rows, never with n.

    Parameters
    ----------
    X : array, memory map or scipy sparse array of shape (n, d)
        The rows, or better their embedding. Read in chunks.
    labels : array-like of shape (n,)
        The cluster of each row.
    sample_size : int or None, default=1000
        Rows whose silhouette is averaged. None, or n and more, takes all.
    random_state : int, RandomState instance or None, default=None
        Decides which rows are sampled.

    Returns
    -------
    float
        Between -1 and 1. A row that is alone in its cluster counts as 0.

    Examples
    --------
    >>> round(silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    if sample_size is not None and sample_size < 1:
        raise InputError(f"sample_size must be at least 1 or None, not {sample_size}.")
    n = len(as_column(labels, "labels"))
    sample = None
    if sample_size is not None and sample_size < n:
        sample = np.sort(check_random_state(random_state).choice(n, sample_size, replace=False))
    return float(silhouettes(X, labels, sample).mean())


def silhouettes(X: Any, labels: ArrayLike, rows: ArrayLike | None = None) -> NDArray[np.float64]:
    """Silhouette of each of some rows, measured against all rows; see `silhouette`.

    Parameters
    ----------
    X : array, memory map or scipy sparse array of shape (n, d)
        The rows, or better their embedding. Read in chunks.
    labels : array-like of shape (n,)
        The cluster of each row.
    rows : array-like of shape (s,), optional
        Numbers of the rows to measure. None takes all.

    Returns
    -------
    ndarray of shape (s,)
        Between -1 and 1, in the order of `rows`. A row that is alone in its cluster has 0.

    Examples
    --------
    >>> silhouettes([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], rows=[1, 0]).round(3)
    array([0.895, 0.905])
    """
    X = X.tocsr() if sparse.issparse(X) else np.asanyarray(X)
    column = as_column(labels, "labels")
    if X.ndim != 2:
        raise InputError(f"X must be a table with rows and columns, but it has {X.ndim} dimension(s).")
    n = X.shape[0]
    if n != len(column):
        raise InputError(f"X has {n} rows but labels has {len(column)} entries; give one label per row.")
    clusters, codes = as_codes(column)
    if len(clusters) < 2:
        raise InputError(
            "labels holds fewer than two clusters, and a silhouette compares clusters; give two or more."
        )
    sample = np.arange(n) if rows is None else np.asarray(rows, dtype=np.intp)
    sums = _distance_sums(X, codes, len(clusters), sample)
    return _from_sums(sums, codes[sample], np.bincount(codes))


def _dense(rows: Any) -> NDArray[np.float64]:
    rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
    if not np.isfinite(rows).all():
        raise InputError(
            "X holds NaN or infinite values; the silhouette needs complete rows, such as an embedding."
        )
    return rows


def _distance_sums(X: Any, codes: NDArray[np.intp], k: int, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the sum of distances from each sampled row to all rows of each cluster, (s, k)."""
    sample = _dense(X[numbers])
    centre = sample.mean(axis=0)  # far from the origin the distances would lose digits
    sums = np.zeros((len(numbers), k))
    chunk = max(1, _CHUNK_BYTES // (8 * (len(numbers) + X.shape[1])))
    for part in gen_batches(X.shape[0], chunk):
        distance = euclidean_distances(_dense(X[part]) - centre, sample - centre)
        inside = np.flatnonzero((numbers >= part.start) & (numbers < part.stop))
        distance[numbers[inside] - part.start, inside] = 0
        b = part.stop - part.start
        member = sparse.csr_array((np.ones(b), (codes[part], np.arange(b))), shape=(k, b))
        sums += (member @ distance).T
    return sums


def _from_sums(
    sums: NDArray[np.float64], own: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the silhouette of each sampled row (s,) from the sums of distances (s, k)."""
    at = np.arange(len(own))
    within = sums[at, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[at, own] = np.inf
    between = means.min(axis=1)
    widest = np.maximum(within, between)
    values = np.divide(between - within, widest, out=np.zeros(len(own)), where=widest > 0)
    values[sizes[own] == 1] = 0
    return values
