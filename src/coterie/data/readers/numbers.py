"""Cells of a text file as numbers, and error messages for cells that are not."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

import numpy as np

from coterie.errors import InputError

_EMPTY = ("", "nan", "na", "n/a", "null", "none", "?")
_BOOLEANS = {"true": 1.0, "false": 0.0}
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DOT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")
_SYMBOLS = re.compile(r"[\s'%€$£]")
_MOST_LISTED = 12


def is_empty(cell: str) -> bool:
    """Return whether a cell is empty or a word for a missing value."""
    return cell.strip().lower() in _EMPTY


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


def not_a_number(
    where: str, cell: str, decimal: str, columns: Sequence[Sequence[str]], j: int, names: Sequence[str]
) -> InputError:
    """Return the error for a cell that is not a number, with advice.

    `where` is file, line and column; `columns` are the cells of all columns that must be numbers, the cell's own at
    `j`; `names` are what ``--drop`` calls them.
    """
    text_columns = [name for i, name in enumerate(names) if _is_text(columns[i], decimal)]
    if decimal == "," and "." in cell and is_number(cell):
        hint = "other cells of this file have a decimal comma; write all numbers in one way"
    elif _is_decorated(cell, decimal):
        hint = f"write it as {_stripped(cell, decimal)}"
        if sum(_is_decorated(other, decimal) for other in columns[j]) > 1:
            hint += f" and the other cells of that column likewise, or leave it out (--drop {shlex.quote(names[j])})"
    else:
        hint = _hint(cell, text_columns, names[j])
    return InputError(f"{where} is {cell.strip()!r}, not a number: {hint}.")


def _hint(cell: str, text_columns: Sequence[str], name: str) -> str:
    if is_number(cell.replace(",", ".")):
        return "write decimals with a point"
    if name not in text_columns:
        return "correct that cell or empty it, or leave its column out (drop=, or --drop at the command line)"
    return drop_hint(text_columns)


def drop_hint(text_columns: Sequence[str]) -> str:
    """Return the advice to leave out the columns of text.

    Examples
    --------
    >>> drop_hint(["name", "town"])
    'leave out the columns of text (--drop name --drop town at the command line, drop= in Python) or encode them'
    """
    if len(text_columns) == 1:
        return "leave that column out (drop=, or --drop at the command line) or encode it"
    drops = " ".join(f"--drop {shlex.quote(name)}" for name in text_columns[:_MOST_LISTED])
    more = f" and {len(text_columns) - _MOST_LISTED} more" if len(text_columns) > _MOST_LISTED else ""
    return (
        f"leave out the columns of text ({drops}{more} at the command line, drop= in Python) or encode them"
    )


def _stripped(cell: str, decimal: str) -> str:
    """Return a number without currency or percent signs and separators of thousands.

    Examples
    --------
    >>> _stripped("$1,500.20", "."), _stripped("1.500,20 €", ","), _stripped("1.500,20 €", ".")
    ('1500.20', '1500,20', '1500.20')
    """
    bare = _SYMBOLS.sub("", cell)
    if _DOT_THOUSANDS.fullmatch(bare):
        return bare.replace(".", "").replace(",", decimal)
    return (
        bare.replace(",", "") if _COMMA_THOUSANDS.fullmatch(bare) and not is_number(bare, decimal) else bare
    )


def _is_decorated(cell: str, decimal: str) -> bool:
    """Return whether a cell is a number but for signs and separators."""
    return not is_number(cell, decimal) and is_number(_stripped(cell, decimal), decimal)


def _is_text(cells: Sequence[str], decimal: str) -> bool:
    """Return whether at least half of the filled cells are not numbers; fewer are mistakes in single cells."""
    filled = [cell for cell in cells if not is_empty(cell)]
    wrong = sum(not is_number(_stripped(cell, decimal), decimal) for cell in filled)
    return bool(filled) and 2 * wrong >= len(filled)
