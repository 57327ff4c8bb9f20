"""The column of a table that names its rows: read as it is written, for files of labels."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coterie.data.readers.files import parsing
from coterie.data.readers.parquet import parquet_names, read_parquet_column
from coterie.data.readers.text import find_layout, read_text_column
from coterie.errors import InputError, listed

_TEXTS = (".csv", ".tsv", ".txt")
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # text that a number gives back
_TAKEN = ("", "row", "cluster", "confidence", "name")
_LOOKED_AT = 1000


class Identifiers(NamedTuple):
    """The column that names the rows.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n,)
        Whole numbers, or texts as they are written.
    """

    name: str
    values: np.ndarray

    @property
    def column(self) -> str:
        """The name of the column in files of labels, whose own columns are not taken."""
        return "id" if self.name in _TAKEN else self.name

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same."""
        return len(np.unique(self.values)) == len(self.values)


def read_identifiers(path: str | os.PathLike[str], column: str | None = None) -> Identifiers | None:
    r"""Read the identifiers of the rows of a text or Parquet file.

    Parameters
    ----------
    path : str or Path
    column : str, optional
        By default the first column, if no two rows have the same value there, and the values are no numbers or the
        column is called id (``customer_id``, ``ID``).

    Returns
    -------
    Identifiers or None
        None where no column was given and none is found.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_text("name,size\nann,1.5\nbob,2.5\n")
    >>> read_identifiers(path)
    Identifiers(name='name', values=array(['ann', 'bob'], dtype=object))
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if column is None:
        with suppress(InputError):  # what is wrong with the file, its reader says
            return _guessed(path, suffix)
        return None
    names = _names(path, suffix)
    if column not in names:
        has = f"it has {listed(names)}" if names else "its columns have no names"
        raise InputError(f"--id {column}: {path} has no such column; {has}.")
    return Identifiers(column, _values(path, suffix, names.index(column)))


def _guessed(path: Path, suffix: str) -> Identifiers | None:
    names = _names(path, suffix)
    if len(names) < 2 or not path.is_file():
        return None
    named_id = _called_id(names[0])
    first = _values(path, suffix, 0, most=_LOOKED_AT)
    if not named_id and not _all_words(first):
        return None
    found = Identifiers(names[0], _values(path, suffix, 0))
    as_name = named_id or _all_words(found.values)
    return found if as_name and len(found.values) and found.unique else None


def _called_id(name: str) -> bool:
    return re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name.strip())[-1].lower() == "id"


def _all_words(values: np.ndarray) -> bool:
    """Whether every value is a text that is no number; empty ones are no identifiers."""
    return values.dtype.kind == "O" and not any(_is_number(value) for value in values)


def _is_number(text: str) -> bool:
    try:
        float(str(text).replace(",", ".") or "nan")
    except ValueError:
        return False
    return True


def _names(path: Path, suffix: str) -> tuple[str, ...]:
    if suffix in _TEXTS:
        with parsing(path, "UTF-8 text"):
            return find_layout(path).names or ()
    return parquet_names(path) if suffix == ".parquet" else ()


def _values(path: Path, suffix: str, column: int, most: int | None = None) -> np.ndarray:
    if suffix == ".parquet":
        values = read_parquet_column(path, column, most)
        if values.dtype.kind in "iu":
            return values
        return np.array([str(value) for value in values], dtype=object)
    return from_texts([cell.strip() for cell in chain.from_iterable(read_text_column(path, column, most))])


def from_texts(texts: list[str]) -> np.ndarray:
    """Return identifiers as whole numbers, where each is written as one.

    Examples
    --------
    >>> from_texts(["7", "12"]), from_texts(["007", "12"])
    (array([ 7, 12]), array(['007', '12'], dtype=object))
    """
    if all(_WHOLE.fullmatch(text) for text in texts):
        return np.array(texts, dtype=np.int64)
    return np.array(texts, dtype=object)
