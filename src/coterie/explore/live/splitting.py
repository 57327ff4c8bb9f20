"""Two halves of a cluster, for a person who sees that it is two."""

# b rows, d columns

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from coterie.errors import InputError
from coterie.explore.rows import Table
from coterie.methods.active_learning import concatenate_views

_MOST_ROWS = 1000
_MOST_VALUES = 2**24
_TYPICAL = 10
_FEWEST = 4


def halves(
    model: Any, table: Table, rows: NDArray[np.integer], random_state: int = 0
) -> tuple[list[int], list[int]]:
    """Part rows in two by k-means, and return typical rows of the larger and of the smaller part.

    Rows are compared by the model's code and by their own views, each of which weighs the same: a code that was
    trained to keep a cluster together may have lost what parts it.

    Parameters
    ----------
    model : estimator
    table : Table
    rows : ndarray
        The rows of one cluster; at most a thousand, evenly spaced, are looked at.
    random_state : int
    """
    if len(rows) < _FEWEST:
        raise InputError(f"A cluster of {len(rows)} rows is too small to be split; label its rows instead.")
    width = sum(dim for _, dim in table.views)
    most = max(_FEWEST, min(_MOST_ROWS, _MOST_VALUES // width))
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(np.int64))]
    code = np.concatenate(
        [np.asarray(model.transform(table.for_model(part))) for part in table.chunks(chosen)]
    )
    points = concatenate_views([code, *table.read(chosen)[0]])
    if not points.any():
        raise InputError("All rows of this cluster are the same; there is nothing to split.")
    found = KMeans(2, n_init=4, random_state=random_state).fit(points)
    away = found.transform(points)
    parts = [np.flatnonzero(found.labels_ == part) for part in (0, 1)]
    larger, smaller = sorted(
        ((part, away[part, i]) for i, part in enumerate(parts)), key=lambda p: -len(p[0])
    )
    return _nearest(chosen, *larger), _nearest(chosen, *smaller)


def _nearest(rows: NDArray[np.integer], part: NDArray[np.intp], away: NDArray[np.float64]) -> list[int]:
    return rows[part[np.argsort(away, kind="stable")[:_TYPICAL]]].tolist()
