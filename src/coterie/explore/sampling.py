"""Which rows to look at when there are too many to look at all."""

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError

# Enough rows to see the shape of a cluster on a map, however small its share of the data.
_ENOUGH_PER_CLUSTER = 30


def quotas(sizes: NDArray[np.int64], max_rows: int) -> NDArray[np.int64]:
    """Decide how many rows to draw from each cluster, so that small clusters are seen too.

    Every cluster first gets up to 30 rows (fewer when there are very many clusters); what is left of
    `max_rows` is shared out in proportion to the rows not yet counted.

    Parameters
    ----------
    sizes : ndarray of shape (k,)
        Rows in each cluster.
    max_rows : int
        The most rows to draw in all.

    Returns
    -------
    ndarray of shape (k,)
        At most `sizes`, in sum at most `max_rows`.

    Examples
    --------
    >>> quotas(np.array([1_000_000, 10, 5000, 0]), max_rows=1000)
    array([955,  10,  34,   0])
    """
    used = int((sizes > 0).sum())
    if max_rows < used:
        raise InputError(f"max_rows is {max_rows}, fewer than the {used} clusters; raise it to see each one.")
    if sizes.sum() <= max_rows:
        return sizes.copy()
    first = np.minimum(sizes, max(1, min(_ENOUGH_PER_CLUSTER, max_rows // (2 * used))))
    rest = sizes - first
    share = rest / rest.sum()
    return first + np.floor(share * (max_rows - first.sum())).astype(np.int64)


def stratified_rows(
    labels: NDArray[np.integer], n_clusters: int, max_rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw rows of every cluster without replacement.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        The cluster of each row, 0 to `n_clusters` - 1.
    n_clusters : int
        How many clusters there are, empty ones included.
    max_rows : int
        The most rows to draw.
    rng : numpy.random.Generator
        Decides which rows.

    Returns
    -------
    ndarray
        Row numbers in ascending order, so that a file is read from front to back.

    Examples
    --------
    >>> stratified_rows(np.array([0, 0, 0, 0, 1]), 2, max_rows=3, rng=np.random.default_rng(0))
    array([2, 3, 4])
    """
    take = quotas(np.bincount(labels, minlength=n_clusters), max_rows)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels, minlength=n_clusters))[:-1])
    picked = [rng.choice(group, size, replace=False) for group, size in zip(groups, take, strict=True)]
    return np.sort(np.concatenate(picked)).astype(np.int64)
