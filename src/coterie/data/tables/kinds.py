"""The kind of each column, guessed from its cells and its name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.data.tables.columns import Column, MixedTable
from coterie.data.tables.parsing import (
    BOOLEANS,
    find_column_decimal,
    find_day_first,
    is_empty,
    is_money,
    parse_date,
    parse_number,
)
from coterie.errors import InputError

NUMBERS = ("number", "money", "percent")
USED = (*NUMBERS, "boolean", "date", "grade", "category")
KINDS = (*USED, "text", "identifier", "empty", "constant")
"""Kinds of columns; those of `USED` enter the distances."""

_IDENTIFIERS = ("id", "index", "row", "no", "nr", "number", "nummer", "key", "uuid", "guid")
_ENDINGS = ("nummer", "number", "_id", "uuid")
_LEAST_ROWS = 20  # fewer may differ by chance
_MOSTLY = 0.9
_WORDS_OF_TEXT = 3  # on average, in a cell of free text
_CODE = re.compile(r"0\d+")  # a zero in front: an area code, no number
_GRADES = (
    ("very low", "low", "medium", "high", "very high"),
    ("sehr gering", "gering", "mittel", "hoch", "sehr hoch"),
    ("sehr niedrig", "niedrig", "mittel", "hoch", "sehr hoch"),
    ("xs", "s", "m", "l", "xl", "xxl", "xxxl"),
    ("small", "medium", "large"),
    ("klein", "mittel", "groß"),
    ("bronze", "silver", "gold", "platinum"),
    ("bronze", "silber", "gold", "platin"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("nie", "selten", "manchmal", "oft", "immer"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("ungenügend", "mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
)


@dataclass(frozen=True)
class Kind:
    """The kind of a column, and how its cells are written.

    Attributes
    ----------
    name : str
        One of `KINDS`.
    decimal : str
        The decimal sign of written numbers.
    day_first : bool
        Whether written dates have the day before the month.
    levels : tuple of str
        Grades from the lowest; no and yes of a boolean.
    """

    name: str
    decimal: str = "."
    day_first: bool = True
    levels: tuple[str, ...] = ()


def guess_kinds(table: MixedTable, given: Mapping[str, str] | None = None) -> list[Kind]:
    """Return the kind of each column: the one given, or else a guess.

    Examples
    --------
    >>> from coterie.data.tables.columns import cells_of
    >>> table = MixedTable((Column("spend", cells_of(["1,50 €", "2,50 €", ""])),), "t.csv")
    >>> [kind.name for kind in guess_kinds(table)], guess_kinds(table, {"spend": "category"})[0].name
    (['money'], 'category')
    """
    given = dict(given or {})
    unknown = [name for name in given if name not in table.names]
    if unknown:
        raise InputError(
            f"kinds= (--kind) names the column {unknown[0]!r}, which {table.where} does not have: its columns are "
            f"{', '.join(table.names[:12])}."
        )
    counts = [_counted(column, given.get(column.name)) for column in table.columns]
    # "1.234" is told by the other columns: one sign for a file whose other numbers show it.
    shown = {find_column_decimal(cells, "") for cells in counts} - {""}
    decimal = shown.pop() if len(shown) == 1 else "."
    return [
        _kind_of(column, cells, decimal, given.get(column.name))
        for column, cells in zip(table.columns, counts, strict=True)
    ]


def _kind_of(column: Column, counts: Counter[str], decimal: str, given: str | None) -> Kind:
    if given is None:
        return _guess(column, counts, decimal)
    if "<" in given:
        return Kind("grade", levels=tuple(level.strip() for level in given.split("<")))
    if given == "grade":
        levels = column.levels or _scale_of(counts) or _counted_levels(counts)
        return Kind("grade", levels=levels)
    if given == "boolean":
        return Kind("boolean", levels=_two_levels(column.name, counts))
    if given not in KINDS:
        raise InputError(
            f"kinds= (--kind) gives {column.name!r} the kind {given!r}: give one of {', '.join(KINDS[:9])}, or the "
            "words of a grade from the lowest, such as S<M<L."
        )
    return _written(given, counts, decimal)


def _counted(column: Column, given: str | None) -> Counter[str]:
    """Count the words of a column; those of measurements are not needed, for they are as many as the rows."""
    needed = column.is_words or given is not None
    return Counter(cell for cell in column.words() if cell is not None) if needed else Counter()


def _written(kind: str, counts: Mapping[str, int], decimal: str) -> Kind:
    """Return a kind with how its cells are written."""
    if kind in NUMBERS:
        return Kind(kind, decimal=find_column_decimal(counts, decimal))
    return Kind(kind, day_first=find_day_first(list(counts))) if kind == "date" else Kind(kind)


def _guess(column: Column, counts: Counter[str], decimal: str) -> Kind:
    if not column.is_words:
        return _guess_of_numbers(column)
    n_filled = counts.total()
    if len(counts) < 2:
        return Kind("constant" if counts else "empty")
    if column.hint == "grade":
        return Kind("grade", levels=column.levels)
    if column.hint == "category":
        return Kind("category")
    pair = _boolean_words(counts)
    if pair:
        return Kind("boolean", levels=pair)
    if not any(_CODE.fullmatch(cell) for cell in counts):
        sign = find_column_decimal(counts, decimal)
        numbers = sum(many for cell, many in counts.items() if parse_number(cell, sign) is not None)
        if 2 * numbers > n_filled:
            return _guess_of_written_numbers(column, counts, sign)
    order = find_day_first(list(counts))
    dates = sum(many for cell, many in counts.items() if parse_date(cell, order) is not None)
    if 2 * dates > n_filled:
        return Kind("date", day_first=order)
    scale = _scale_of(counts)
    return Kind("grade", levels=scale) if scale else Kind(_guess_of_words(column, counts))


def _guess_of_words(column: Column, counts: Counter[str]) -> str:
    n_filled = counts.total()
    length = sum(many * len(cell.split()) for cell, many in counts.items()) / n_filled
    unique = n_filled >= _LEAST_ROWS and len(counts) > _MOSTLY * n_filled
    if unique or (is_identifier_name(column.name) and len(counts) == n_filled):
        return "text" if length >= _WORDS_OF_TEXT else "identifier"
    if 2 * len(counts) <= n_filled or n_filled < _LEAST_ROWS:  # values of a category repeat
        return "category"
    return "text"


def _guess_of_numbers(column: Column) -> Kind:
    values = column.values
    if values.dtype.kind == "M":
        known = values[~np.isnat(values)]
        return Kind("date" if len(np.unique(known)) > 1 else "constant" if len(known) else "empty")
    known = values[~np.isnan(values)]
    if not len(known):
        return Kind("empty")
    if known.min() == known.max():
        return Kind("constant")
    return Kind("identifier" if is_identifier_name(column.name) and numbers_rows(values) else "number")


def _guess_of_written_numbers(column: Column, counts: Counter[str], sign: str) -> Kind:
    if is_identifier_name(column.name):
        numbers = [parse_number(cell, sign) if cell is not None else None for cell in column.values]
        if numbers_rows(np.array([np.nan if number is None else number for number in numbers])):
            return Kind("identifier")
    if any(is_money(cell) for cell in counts):
        return Kind("money", decimal=sign)
    return Kind("percent" if any("%" in cell for cell in counts) else "number", decimal=sign)


def is_identifier_name(name: str) -> bool:
    """Return whether a column is called like an identifier.

    Examples
    --------
    >>> [is_identifier_name(name) for name in ("customer_id", "KundenNr", "Kundennummer", "paid", "price")]
    [True, True, True, False, False]
    """
    last = re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name.strip())[-1].lower()
    return last in _IDENTIFIERS or name.lower().endswith(_ENDINGS)


def numbers_rows(values: np.ndarray) -> bool:
    """Return whether a column counts the rows, or has a number of its own for nearly every row.

    Examples
    --------
    >>> numbers_rows(np.array([7.0, 8.0, 9.0])), numbers_rows(np.array([1.0, 1.0, 2.0]))
    (True, False)
    """
    if len(values) > 1 and (np.diff(values) == 1).all():
        return True
    whole = np.isfinite(values).all() and (values == np.round(values)).all()
    return bool(whole and len(values) >= _LEAST_ROWS and len(np.unique(values)) > _MOSTLY * len(values))


def _boolean_words(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words for no and yes as they are written, where there is no other word."""
    written = {cell.lower(): cell for cell in counts}
    pair = next((pair for pair in BOOLEANS if set(written) == set(pair)), ())
    return tuple(written[word] for word in pair) if len(written) == len(counts) else ()


def _two_levels(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    if len(counts) != 2:
        raise InputError(
            f"kinds= (--kind) gives {name!r} the kind boolean, but it has {len(counts)} different values: call it a "
            "category."
        )
    return _boolean_words(counts) or tuple(sorted(counts))


def _scale_of(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the grades among the words as they are written, from the lowest; nothing where one is no known grade."""
    written = {cell.lower(): cell for cell in counts}
    scale = next((scale for scale in _GRADES if set(written) <= set(scale)), ())
    return (
        tuple(written[word] for word in scale if word in written) if 2 < len(written) == len(counts) else ()
    )


def _counted_levels(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return words in the order of the numbers in them, or else of the alphabet."""

    def order(word: str) -> tuple[float, str]:
        found = re.search(r"-?\d+(?:\.\d+)?", word)
        return (float(found.group()) if found else np.inf, word)

    return tuple(sorted((word for word in counts if not is_empty(word)), key=order))


def listed_kinds(names: Sequence[str], kinds: Sequence[Kind], wanted: str) -> list[str]:
    """Return the names of the columns of a kind."""
    return [name for name, kind in zip(names, kinds, strict=True) if kind.name == wanted]
