"""Cells of a text file as numbers, and what to do about a cell that is none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

import numpy as np

from coterie.errors import InputError

_EMPTY = ("", "nan", "na", "n/a", "null", "none", "?")
_TRUTHS = {"true": 1.0, "false": 0.0}
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_POINTED_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")
_ORNAMENTS = re.compile(r"[\s'%€$£]")
_MOST_NAMED = 12


def is_empty(cell: str) -> bool:
    """Whether a cell says that nothing is known."""
    return cell.strip().lower() in _EMPTY


def is_truth(cell: str) -> bool:
    """Whether a cell is true or false, as programs write a column of booleans."""
    return cell.strip().lower() in _TRUTHS


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number, true or false, or empty.

    Examples
    --------
    >>> is_number("1.5"), is_number("1,5"), is_number("1,5", ","), is_number("1.5", ","), is_number("TRUE")
    (True, False, True, False, True)
    """
    if is_empty(cell) or is_truth(cell):
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
    """Find the decimal sign of a file that semicolons divide, as spreadsheets write it in much of Europe.

    A comma before three digits may divide thousands: such cells alone do not make it a decimal sign.

    Examples
    --------
    >>> find_decimal(["3", "2,5"]), find_decimal(["3.5", "2"]), find_decimal(["1,000", "12,345"])
    (',', '.', '.')
    """
    commas = (cell for cell in cells if "," in cell)
    return (
        ","
        if any(is_number(cell, ",") and not _THOUSANDS.fullmatch(cell.strip()) for cell in commas)
        else "."
    )


def to_number(cell: str, decimal: str = ".") -> float:
    """Turn a cell for which `is_number` holds into a number; true is 1, false 0, an empty one NaN."""
    if is_empty(cell):
        return np.nan
    if is_truth(cell):
        return _TRUTHS[cell.strip().lower()]
    return float(cell.replace(",", ".") if decimal == "," else cell)


def no_number(
    where: str, cell: str, decimal: str, columns: Sequence[Sequence[str]], j: int, names: Sequence[str]
) -> InputError:
    """Say that a cell is no number, and what to do.

    Parameters
    ----------
    where : str
        File, line and column, for the message.
    cell : str
        What it holds.
    decimal : str
        The decimal sign of the file.
    columns : sequence of sequences of str
        The cells of the columns that are wanted as numbers, this one and others.
    j : int
        Which of `columns` the cell is of.
    names : sequence of str
        How ``--drop`` calls each of `columns`.
    """
    wordy = [name for i, name in enumerate(names) if _is_text(columns[i], decimal)]
    if decimal == "," and "." in cell and is_number(cell):
        hint = "other cells of this file have a decimal comma; write all numbers in one way"
    elif _is_ornate(cell, decimal):
        more = sum(_is_ornate(other, decimal) for other in columns[j]) > 1
        hint = f"write it as {_plain(cell, decimal)}" + (
            f" and the other cells of that column likewise, or leave it out (--drop {shlex.quote(names[j])})"
            if more
            else ""
        )
    else:
        hint = _hint(cell, wordy, names[j])
    return InputError(f"{where} is {cell.strip()!r}, not a number: {hint}.")


def _hint(cell: str, wordy: Sequence[str], name: str) -> str:
    if is_number(cell.replace(",", ".")):
        return "write decimals with a point"
    if name not in wordy:
        return "correct that cell or empty it, or leave its column out (drop=, or --drop at the command line)"
    return leave_out(wordy)


def leave_out(wordy: Sequence[str]) -> str:
    """Say how to leave out the columns that hold words.

    Examples
    --------
    >>> leave_out(["name", "town"])
    'leave out the columns of text (--drop name --drop town at the command line, drop= in Python) or encode them'
    """
    if len(wordy) == 1:
        return "leave that column out (drop=, or --drop at the command line) or encode it"
    drops = " ".join(f"--drop {shlex.quote(one)}" for one in wordy[:_MOST_NAMED])
    more = f" and {len(wordy) - _MOST_NAMED} more" if len(wordy) > _MOST_NAMED else ""
    return (
        f"leave out the columns of text ({drops}{more} at the command line, drop= in Python) or encode them"
    )


def _plain(cell: str, decimal: str) -> str:
    """Return a number without what people put around it: signs of currency, percent, gaps between thousands.

    Examples
    --------
    >>> _plain("$1,500.20", "."), _plain("1.500,20 €", ","), _plain("1.500,20 €", ".")
    ('1500.20', '1500,20', '1500.20')
    """
    bare = _ORNAMENTS.sub("", cell)
    if _POINTED_THOUSANDS.fullmatch(bare):
        return bare.replace(".", "").replace(",", decimal)
    return bare.replace(",", "") if _THOUSANDS.fullmatch(bare) and not is_number(bare, decimal) else bare


def _is_ornate(cell: str, decimal: str) -> bool:
    """Whether a cell is no number only for what was put around it."""
    return not is_number(cell, decimal) and is_number(_plain(cell, decimal), decimal)


def _is_text(cells: Sequence[str], decimal: str) -> bool:
    """Whether at least half of what a column holds is no number: one stray word is a mistake in a cell."""
    held = [cell for cell in cells if not is_empty(cell)]
    return bool(held) and sum(not is_number(_plain(cell, decimal), decimal) for cell in held) * 2 >= len(held)
