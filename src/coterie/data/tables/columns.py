"""`MixedTable`: named columns of numbers, words and dates, as a file or a DataFrame has them."""

# n rows

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coterie.data.tables.parsing import is_empty
from coterie.errors import InputError

_MORE_GAPS = ("-", "--", "\u2013", "#n/a", "n.a.", "k.a.", "k. a.")


@dataclass(frozen=True)
class Column:
    """A column before encoding.

    Attributes
    ----------
    name : str
    values : ndarray (n,)
        Numbers with NaN where there is a gap, datetime64[s] with NaT, or an object array of str with None.
    hint : str or None
        The kind that a DataFrame says it is.
    levels : tuple of str
        The order of the words, of an ordered categorical.
    """

    name: str
    values: np.ndarray
    hint: str | None = None
    levels: tuple[str, ...] = ()

    @property
    def is_words(self) -> bool:
        """Whether the cells are words, which may be written numbers and dates."""
        return self.values.dtype.kind == "O"

    @property
    def gaps(self) -> np.ndarray:
        """Which cells are empty, (n,)."""
        if self.is_words:
            return np.array([cell is None for cell in self.values], dtype=bool)
        return np.isnat(self.values) if self.values.dtype.kind == "M" else np.isnan(self.values)

    def words(self) -> np.ndarray:
        """Return the cells as they are written, (n,), None where there is a gap."""
        if self.is_words:
            return self.values
        if self.values.dtype.kind == "M":
            shown = [str(cell).replace("T00:00:00", "").replace("T", " ") for cell in self.values]
        else:
            shown = [f"{cell:.15g}" for cell in self.values.astype(np.float64)]
        words = np.array(shown, dtype=object)
        words[self.gaps] = None
        return words


@dataclass(frozen=True)
class MixedTable:
    """Columns of the same rows.

    `where` is what messages call the table: a file or an argument; `lines` (n,) are the numbers of the rows' lines in
    that file, None where rows are counted.
    """

    columns: tuple[Column, ...]
    where: str
    lines: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def check_names(self) -> None:
        """Raise where two columns have one name."""
        check_names(self.names, self.where)

    def cell(self, name: str, row: int) -> str:
        """Return how messages call a cell."""
        place = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.where}, {place}, column {name!r}"

    def pick(self, names: Sequence[str]) -> MixedTable:
        """Return the columns of these names, in that order; raise for those that are lacking."""
        by_name = {column.name: column for column in self.columns}
        check_complete(by_name, names, self.where)
        return replace(self, columns=tuple(by_name[name] for name in names))

    def take(self, rows: np.ndarray) -> MixedTable:
        """Return some rows."""
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        return replace(self, columns=columns, lines=None if self.lines is None else self.lines[rows])


def check_names(names: Sequence[str], where: str) -> None:
    """Raise where two columns have one name."""
    for j, name in enumerate(names):
        if name in names[:j]:
            raise InputError(
                f"{where} has two columns called {name!r} (columns {names.index(name) + 1} and {j + 1}): rename one "
                "of them."
            )


def check_complete(names: Collection[str], fitted: Sequence[str], where: str) -> None:
    """Raise where new rows lack a column of the fit."""
    lacking = [repr(name) for name in fitted if name not in names]
    if lacking:
        raise InputError(
            f"{where} lacks the column {', '.join(lacking)}: new rows need every column of the fit (cells may be "
            "empty)."
        )


def cells_of(texts: Sequence[str]) -> np.ndarray:
    """Return cells of a file without blanks around them, None for gaps, (n,)."""
    known: dict[str, str | None] = {}
    for text in texts:
        if text not in known:
            bare = text.strip()
            known[text] = None if is_empty(bare) or bare.lower() in _MORE_GAPS else bare
    values = np.empty(len(texts), dtype=object)
    values[:] = [known[text] for text in texts]
    return values
