"""Numbers and dates as people write them in cells: money, percentages, separators of thousands, days and months."""

# n cells

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np

_EMPTY = ("", "nan", "na", "n/a", "null", "none", "?")
BOOLEANS = (
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("nein", "ja"),
    ("n", "j"),
    ("falsch", "wahr"),
    ("non", "oui"),
    ("off", "on"),
)
_MONEY = re.compile(r"[€$£¥]|\b(?:EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK)\b|\bFr\.|\bkr\b|zł", re.IGNORECASE)
_SPACES = re.compile(r"[\s'\u2019\u00a0\u202f%‰]")
_APART = re.compile(r"\d\s+\d")
_SPACED = re.compile(r"[+-]?\d{1,3}(?:\s\d{3})+(?:[.,]\d+)?")
_POINT = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*)(?:,\d*)?(?:[eE][+-]?\d+)?")
_THOUSANDS = {".": re.compile(r"[+-]?\d{1,3}(?:,\d{3})+"), ",": re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+")}
_PLAIN_DATE = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?Z?"
)
_OLDEST_SHORT_YEAR = 70  # "70" is 1970, "69" is 2069


def is_empty(cell: str) -> bool:
    """Return whether a cell is empty or a word for a missing value."""
    return cell.strip().lower() in _EMPTY


def is_money(cell: str) -> bool:
    """Return whether a cell has the sign or the code of a currency."""
    return _MONEY.search(cell) is not None


def bare_number(cell: str) -> str:
    """Return a cell without currency, percent sign and spaces.

    Examples
    --------
    >>> bare_number("1.234,50 €"), bare_number("CHF 1'200.-"), bare_number("12 %"), bare_number("171 22 33")
    ('1.234,50', '1200', '12', '171 22 33')
    """
    text = _MONEY.sub("", cell).strip()
    if _APART.search(text) and not _SPACED.fullmatch(text.rstrip(" %‰\u00a0\u202f")):
        return cell  # digits apart, as in a telephone number
    return _SPACES.sub("", text).replace(".-", "").replace(",-", "").replace("\u2212", "-")


def parse_number(cell: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, None if it is none.

    Examples
    --------
    >>> parse_number("1.234,50 €", ","), parse_number("$1,234.5"), parse_number("12,5 %", ","), parse_number("red")
    (1234.5, 1234.5, 12.5, None)
    """
    text = bare_number(cell)
    pattern, thousands = (_COMMA, ".") if decimal == "," else (_POINT, ",")
    if (
        not any(character.isdigit() for character in text)
        or not text.isascii()
        or not pattern.fullmatch(text)
    ):
        return None
    return float(text.replace(thousands, "").replace(",", "."))


def find_column_decimal(cells: Iterable[str], default: str) -> str:
    """Return the decimal sign of a column: what one of its cells shows, else the default.

    "1.234" and "1,234" show nothing, for the sign may separate thousands.

    Examples
    --------
    >>> find = find_column_decimal
    >>> find(["1.234", "2,5"], "."), find(["1.234"], ","), find(["1.5"], ",")
    (',', ',', '.')
    """
    for cell in cells:
        text = bare_number(cell)
        for sign, other in ((",", "."), (".", ",")):
            if (
                sign in text
                and parse_number(cell, sign) is not None
                and not _THOUSANDS[other].fullmatch(text)
            ):
                return sign
    return default


def parse_date(cell: str, day_first: bool = True) -> datetime | None:
    """Return the date in a cell: year first, or day and month first; None if it is none.

    Examples
    --------
    >>> parse_date("2026-11-18").month, parse_date("18.11.2026").day, parse_date("11/18/2026", False).day
    (11, 18, 18)
    >>> parse_date("31.02.2026") is None
    True
    """
    found = _PLAIN_DATE.fullmatch(cell.strip())
    if found is None:
        return None
    first, sign, middle, last = found.group(1), found.group(2), int(found.group(3)), found.group(4)
    if len(first) == 4:
        year, month, day = int(first), middle, int(last)
    elif len(last) in (2, 4) and len(first) <= 2:
        year = int(last)
        if len(last) == 2:
            year += 1900 if year >= _OLDEST_SHORT_YEAR else 2000
        day, month = (int(first), middle) if day_first or sign == "." else (middle, int(first))
    else:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[4:])
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None


def find_day_first(cells: Sequence[str]) -> bool:
    """Return whether dates such as 03/04/2026 have the day first: unless that makes fewer of them dates.

    Examples
    --------
    >>> find_day_first(["03/04/2026", "11/18/2026"]), find_day_first(["03/04/2026"])
    (False, True)
    """
    day_first, month_first = (
        sum(parse_date(cell, order) is None for cell in cells) for order in (True, False)
    )
    return day_first <= month_first


def seconds(dates: Iterable[datetime | None]) -> np.ndarray:
    """Return dates as datetime64[s], NaT for None, (n,)."""
    return np.array(
        [np.datetime64("NaT") if date is None else np.datetime64(date) for date in dates], "datetime64[s]"
    )
