"""DataFrames of pandas and polars and tables of pyarrow as columns."""

# n rows

from __future__ import annotations

from datetime import date, time, timedelta
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.stable.v1.dependencies import is_pandas_dataframe, is_polars_dataframe, is_pyarrow_table

from coterie.data.tables.columns import Column, MixedTable, cells_of, check_names
from coterie.data.tables.kinds import is_identifier_name, numbers_rows
from coterie.errors import InputError

_CELLS = (str, Number, np.generic, date, time, timedelta)


def is_frame(x: Any) -> bool:
    """Return whether an object is a DataFrame of pandas or polars, or a table of pyarrow."""
    tests = (is_pandas_dataframe, is_polars_dataframe, is_pyarrow_table)
    return any(test(x) for test in tests)


def frame_names(x: Any) -> list[str]:
    """Return the names of the columns of a frame, as text."""
    names = x.column_names if hasattr(x, "column_names") else x.columns
    return [str(name) for name in names]


def is_numeric_frame(x: Any, where: str) -> bool:
    """Return whether a frame has columns of numbers alone, without gaps and identifiers."""
    frame = _named(x, where)
    plain = all(kind.is_numeric() or kind == nw.Boolean for kind in frame.schema.values())
    return plain and not any(_has_gaps(frame[name]) or _is_identifier(frame[name]) for name in frame.columns)


def frame_table(x: Any, where: str) -> MixedTable:
    """Return a frame as columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = frame_table(pd.DataFrame({"age": [3, None], "town": ["Rom", None]}), "X")
    >>> [column.words().tolist() for column in table.columns]
    [['3', None], ['Rom', None]]
    """
    frame = _named(x, where)
    return MixedTable(tuple(_column(frame[name], where) for name in frame.columns), where)


def _named(x: Any, where: str) -> nw.DataFrame:
    names = frame_names(x)
    check_names(names, where)
    if hasattr(x, "set_axis") and any(not isinstance(name, str) for name in x.columns):
        x = x.set_axis(names, axis=1)
    return nw.from_native(x, eager_only=True)


def _has_gaps(series: nw.Series) -> bool:
    if series.null_count():
        return True
    return bool(series.dtype.is_float() and np.isnan(series.to_numpy()).any())


def _is_identifier(series: nw.Series) -> bool:
    return is_identifier_name(series.name) and numbers_rows(series.to_numpy().astype(np.float64))


def _column(series: nw.Series, where: str) -> Column:
    kind = series.dtype
    if kind.is_numeric():
        values = series.cast(nw.Float64).to_numpy()
        return Column(series.name, np.array(values, dtype=np.float64))
    if kind in (nw.Date, nw.Datetime):
        values = np.array(
            [
                np.datetime64("NaT") if day is None else np.datetime64(str(day)[:19])
                for day in series.to_list()
            ],
            dtype="datetime64[s]",
        )
        return Column(series.name, values)
    empty = series.is_null().to_numpy()
    cells = [None if gap else cell for cell, gap in zip(series.to_list(), empty, strict=True)]
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, _CELLS):
            raise InputError(
                f"{where}, row {row}, column {series.name!r} is a {type(cell).__name__}: a cell must be a number, a "
                "word or a date; leave the column out, or give it columns of its own."
            )
    words = cells_of(["" if cell is None else str(cell) for cell in cells])
    hint: str | None = None
    levels: tuple[str, ...] = ()
    if kind == nw.Enum or (kind == nw.Categorical and _is_ordered(series)):
        hint, levels = "grade", tuple(str(level) for level in series.cat.get_categories().to_list())
    elif kind == nw.Categorical:
        hint = "category"
    return Column(series.name, words, hint, levels)


def _is_ordered(series: nw.Series) -> bool:
    return bool(getattr(series.to_native().dtype, "ordered", False))
