"""Imputation of empty cells by the median of their column."""

# n rows, d columns of a view

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.data.memory import fits, into_memory
from coterie.data.sources import DenseRows
from coterie.data.views import Views
from coterie.errors import InputError


def count_empty_cells(views: Views) -> list[np.ndarray]:
    """Count the empty cells of each column (d,) of each view; a row that is all empty is a missing view.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> count_empty_cells(as_views([[1.0, 2.0], [np.nan, 4.0], [np.nan, np.nan]]))
    [array([1, 0])]
    """
    counts = [np.zeros(dim, dtype=np.int64) for dim in views.dims]
    for v, source in enumerate(views.sources):
        for rows in () if source.known_finite else views.chunks():
            counts[v] += _empty(source.read(rows)).sum(axis=0)
    return counts


def column_medians(views: Views) -> list[list[float]]:
    """Return the median of each column of each view, empty cells left out.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> column_medians(as_views([[1.0, 2.0], [np.nan, 4.0], [5.0, 9.0]]))
    [[3.0, 4.0]]
    """
    medians = []
    for v, source in enumerate(_in_memory(views).sources):
        table = source.read(slice(0, views.n_rows))
        names = views.feature_names[v] or range(table.shape[1])
        for column, name in zip(table.T, names, strict=True):
            if np.isnan(column).all():
                raise InputError(
                    f"View {views.names[v]!r}, column {name!r} is empty in every row: leave it out (--drop)."
                )
        medians.append([float(value) for value in np.nanmedian(table, axis=0)])
    return medians


def impute(views: Views, values: Sequence[Sequence[float]]) -> Views:
    """Fill empty cells with `values`, one per column of each view; missing views stay missing.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> impute(as_views([[1.0, 2.0], [np.nan, 4.0]]), [[7.0, 8.0]]).read(slice(None))[0]
    array([[1., 2.],
           [7., 4.]], dtype=float32)
    """
    tables = [source.read(slice(0, views.n_rows)) for source in _in_memory(views).sources]
    for table, value in zip(tables, values, strict=True):
        empty = _empty(table)
        table[empty] = np.broadcast_to(np.asarray(value, dtype=np.float32), table.shape)[empty]
    return views.copy(sources=[DenseRows(table) for table in tables])


def _in_memory(views: Views) -> Views:
    if not fits(views):
        raise InputError(
            "--fill reads all rows into memory, and these do not fit: fill the gaps in the file."
        )
    return into_memory(views)


def _empty(block: np.ndarray) -> np.ndarray:
    """Return which cells are empty in rows that are not empty as a whole."""
    empty = np.isnan(block)
    empty[empty.all(axis=1)] = False
    return empty
