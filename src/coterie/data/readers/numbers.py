"""Cells of a text file as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from coterie.data.tables.parsing import is_empty

_BOOLEANS = {"true": 1.0, "false": 0.0}
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def is_boolean(cell: str) -> bool:
    """Return whether a cell is true or false."""
    return cell.strip().lower() in _BOOLEANS


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number, true or false, or empty.

    Examples
    --------
    >>> is_number("1.5"), is_number("1,5"), is_number("1,5", ","), is_number("1.5", ","), is_number("TRUE")
    (True, False, True, False, True)
    """
    if is_empty(cell) or is_boolean(cell):
        return True
    if decimal == ",":
        if "." in cell:
            return False
        cell = cell.replace(",", ".")
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def find_decimal(cells: Iterable[str]) -> str:
    """Return the decimal sign of a file delimited by semicolons, as spreadsheets write in much of Europe.

    A comma before three digits may separate thousands: such cells alone do not make it a decimal sign.

    Examples
    --------
    >>> find_decimal(["3", "2,5"]), find_decimal(["3.5", "2"]), find_decimal(["1,000", "12,345"])
    (',', '.', '.')
    """
    decimals = (
        is_number(cell, ",") and not _COMMA_THOUSANDS.fullmatch(cell.strip()) for cell in cells if "," in cell
    )
    return "," if any(decimals) else "."


def to_number(cell: str, decimal: str = ".") -> float:
    """Return the number in a cell for which `is_number` holds: 1 for true, 0 for false, NaN for an empty cell."""
    if is_empty(cell):
        return np.nan
    if is_boolean(cell):
        return _BOOLEANS[cell.strip().lower()]
    return float(cell.replace(",", ".") if decimal == "," else cell)
