"""Cells as numbers: measurements, years of dates, ranks of grades, codes of words."""

# n rows

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coterie.data.tables.columns import Column, MixedTable
from coterie.data.tables.kinds import NUMBERS, Kind
from coterie.data.tables.parsing import parse_date, parse_number, seconds
from coterie.errors import InputError, listed

OTHER = "(other)"
"""The level of all words of a category but the commonest."""
_YEAR = 365.25 * 86400


def measured(table: MixedTable, column: Column, kind: Kind, levels: Sequence[str] = ()) -> np.ndarray:
    """Return the cells of a column as numbers (n, 1), NaN for gaps: ranks, codes of words, years of dates."""
    if kind.name == "date":
        values = _dates(table, column, kind.day_first)
    elif kind.name in NUMBERS:
        values = _numbers(table, column, kind.decimal)
    else:
        values = _codes(column, levels)
    return values[:, None]


def _numbers(table: MixedTable, column: Column, decimal: str) -> np.ndarray:
    if column.is_words:
        values = _parsed(table, column, lambda cell: parse_number(cell, decimal), "number", decimal)
    else:
        values = column.values.astype(np.float64)
    endless = np.flatnonzero(np.abs(values) > np.finfo(np.float32).max)
    if len(endless):
        raise InputError(
            f"{table.cell(column.name, int(endless[0]))} is inf or too large for float32 (3.4e38): correct the value "
            "or remove the row."
        )
    return values


def _dates(table: MixedTable, column: Column, day_first: bool) -> np.ndarray:
    def years(cell: str) -> float | None:
        date = parse_date(cell, day_first)
        return None if date is None else float(_years(seconds([date]))[0])

    return _parsed(table, column, years, "date") if column.is_words else _years(column.values)


def _years(dates: np.ndarray) -> np.ndarray:
    """Return datetime64[s] as years with decimals, NaN for NaT."""
    since = dates.astype("datetime64[s]").astype(np.int64) / _YEAR + 1970
    return np.where(np.isnat(dates), np.nan, since)


def _parsed(
    table: MixedTable, column: Column, parse: Callable[[str], float | None], noun: str, decimal: str = ""
) -> np.ndarray:
    """Return written values as numbers; raise for the first cell that is none."""
    known: dict[str | None, float] = {None: np.nan}
    for row, cell in enumerate(column.values):
        if cell not in known:
            value = parse(cell)
            if value is None:
                raise InputError(_not_parsed(table, column.name, row, cell, noun, decimal))
            known[cell] = value
    return np.array([known[cell] for cell in column.values], dtype=np.float64)


def _not_parsed(table: MixedTable, name: str, row: int, cell: str, noun: str, decimal: str) -> str:
    other = {",": ".", ".": ","}.get(decimal, "")
    if other and parse_number(cell, other) is not None:
        sign = "comma" if decimal == "," else "point"
        hint = f"other cells of the column have a decimal {sign}; write all in one way"
    else:
        hint = (
            f"correct that cell or empty it, leave the column out (--drop {name}), or take its cells as words "
            f"(--kind {name}=category)"
        )
    return f"{table.cell(name, row)} is {cell[:50]!r}, not a {noun}, as most of its cells are: {hint}."


def _codes(column: Column, levels: Sequence[str]) -> np.ndarray:
    """Return the place of each word among the levels; a word that is not among them is a gap."""
    code: dict[Any, float] = {level: float(place) for place, level in enumerate(levels)}
    code[None] = np.nan
    other = code.get(OTHER, np.nan)
    words = column.words()
    unknown = Counter(word for word in words if word not in code)
    if unknown and np.isnan(other):
        shown = listed([repr(word) for word in unknown], 3)
        warnings.warn(
            f"Column {column.name!r} has words that the fit did not have ({shown}); they are taken as empty cells.",
            UserWarning,
            stacklevel=6,
        )
    return np.array([code.get(word, other) for word in words], dtype=np.float64)
