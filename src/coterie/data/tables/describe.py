"""The short table of columns that is shown before a fit: their kinds, their values, and what becomes of them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from coterie.data.memory import fits
from coterie.data.tables.columns import Column, MixedTable
from coterie.data.tables.encoding import ColumnEncoding, TableEncoding
from coterie.data.tables.measure import measured
from coterie.data.tables.parsing import parse_date
from coterie.data.tables.rows import whole_table
from coterie.data.views import Views
from coterie.errors import counted, listed

_MOST_COLUMNS = 40
_MOST_WORDS = 3
_WIDTH = 24
_WHY_LEFT_OUT = {
    "identifier": "left out: it names the rows",
    "text": "left out: free text",
    "constant": "left out: always the same",
    "empty": "left out: empty",
}


def describe_table(views: Views) -> str:
    """Return a line for each column of one table: its name, its kind, and its values; "" for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> from coterie.data import as_views
    >>> frame = pd.DataFrame({"town": ["Rom", "Bern", "Rom", "Rom"], "age": [3.5, None, 8, 4], "note": None})
    >>> print(describe_table(as_views(frame)))
    column  kind      values
    town    category  Rom 75 %, Bern 25 %
    age     number    3.5 to 8, median 4; 1 empty cell
    note    empty     left out: empty
    """
    if views.n_views != 1:
        return ""
    rows = whole_table(views.sources[0])
    lines = _number_lines(views) if rows is None else _lines(rows.table, rows.encoding)
    if not lines:
        return ""
    shown = [("column", "kind", "values"), *lines[:_MOST_COLUMNS]]
    widths = [min(_WIDTH, max(len(line[i]) for line in shown)) for i in range(2)]
    text = [f"{_short(n):{widths[0]}}  {k:{widths[1]}}  {v}" for n, k, v in shown]
    if len(lines) > _MOST_COLUMNS:
        text.append(f"and {counted(len(lines) - _MOST_COLUMNS, 'more column')}")
    return "\n".join(text)


def describe_gaps(views: Views) -> str:
    """Say how many cells of a table are empty, and what becomes of them; "" where none is."""
    rows = whole_table(views.sources[0]) if views.n_views == 1 else None
    if rows is None:
        return ""
    gaps = rows.encoding.n_gaps
    total = sum(gaps.values())
    if not total:
        return ""
    cells = "1 cell is empty and gets" if total == 1 else f"{total:,} cells are empty and get"
    return f"{cells} what the ten most similar rows have ({listed(list(gaps))})."


def _lines(table: MixedTable, encoding: TableEncoding) -> list[tuple[str, str, str]]:
    used = {column.name: column for column in encoding.columns}
    lines = []
    for column in table.columns:
        if column.name in used:
            own = used[column.name]
            values, empty = _values(column, own), encoding.n_gaps.get(column.name, 0)
            lines.append(
                (column.name, own.kind.name, values + (f"; {counted(empty, 'empty cell')}" if empty else ""))
            )
        elif column.name in encoding.left_out:
            kind = encoding.left_out[column.name]
            lines.append((column.name, kind, _WHY_LEFT_OUT[kind]))
    return lines


def _values(column: Column, encoding: ColumnEncoding) -> str:
    kind = encoding.kind.name
    if kind == "grade":
        return " < ".join(encoding.levels)
    if kind in ("category", "boolean"):
        counts = Counter(word for word in column.words() if word is not None)
        total = max(counts.total(), 1)
        first = ", ".join(
            f"{_short(word)} {many / total:.0%}".replace("%", " %") for word, many in counts.most_common(3)
        )
        return first + (f" and {len(counts) - _MOST_WORDS} more" if len(counts) > _MOST_WORDS else "")
    if kind == "date":
        return _span_of_dates(column, encoding)
    values = measured(MixedTable((column,), ""), column, encoding.kind)
    known = values[~np.isnan(values)]
    return _range(known) + ("; by its logarithm" if encoding.log else "")


def _span_of_dates(column: Column, encoding: ColumnEncoding) -> str:
    if not column.is_words:
        known = column.values[~column.gaps].astype("datetime64[D]")
        return f"{known.min()} to {known.max()}"
    dates = [parse_date(word, encoding.kind.day_first) for word in set(column.words()) - {None}]
    known_dates = [date for date in dates if date is not None]
    return f"{min(known_dates):%Y-%m-%d} to {max(known_dates):%Y-%m-%d}"


def _number_lines(views: Views) -> list[tuple[str, str, str]]:
    names = views.feature_names[0]
    if names is None or not fits(views):
        return []
    block = views.read_view(0, np.linspace(0, views.n_rows - 1, min(views.n_rows, 10_000)).astype(int))
    return [(str(name), "number", _range(block[:, j])) for j, name in enumerate(names)]


def _range(values: np.ndarray) -> str:
    return f"{_figure(values.min())} to {_figure(values.max())}, median {_figure(np.median(values))}"


def _figure(value: float) -> str:
    """Write a number with four digits, or all of a larger one before its point.

    Examples
    --------
    >>> _figure(1234567.8), _figure(0.123456), _figure(3.0)
    ('1,234,568', '0.1235', '3')
    """
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
