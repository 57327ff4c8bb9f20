"""CSV files, parsed in chunks by NumPy and the standard library; tables with words keep their cells."""

# n rows, d columns of the view

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from coterie.data.readers.files import columns_to_drop, parsing
from coterie.data.readers.labels import (
    LABEL_NAMES,
    encode_labels,
    is_class_number,
    label_columns,
    label_words,
)
from coterie.data.readers.numbers import find_decimal, is_number, to_number
from coterie.data.sources import DenseRows, Source
from coterie.data.tables.columns import Column, MixedTable, cells_of
from coterie.data.tables.kinds import is_identifier_name, numbers_rows
from coterie.data.tables.rows import EncodedRows
from coterie.data.views import Views
from coterie.errors import InputError

_DELIMITERS = ("\t", ";", ",")
_CHUNK_LINES = 8192
_MAX_DIGITS = 19  # int64

Line = tuple[int, str]


@dataclass(frozen=True)
class Layout:
    """Format of a text file: delimiter, number of columns, their names if it has a header, decimal sign."""

    delimiter: str
    n_columns: int
    names: tuple[str, ...] | None
    decimal: str = "."

    def name(self, column: int) -> str:
        """Return the column as messages name it: counted from one, with its name if it has one."""
        return f"column {column + 1}" + (f" ({self.names[column]!r})" if self.names else "")


def read_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    drop: Sequence[str | int] = (),
    kinds: Mapping[str, str] | None = None,
) -> Views:
    """Read a CSV file as one view: numbers as they are, a table with words, dates or gaps to be encoded.

    Parameters
    ----------
    path : Path
        A text file in UTF-8, or in UTF-16 with a mark at its start.
    delimiter : str, optional
        Comma, semicolon or tab; detected by default.
    header : bool, optional
        Whether the first line names the columns; detected by default.
    drop : sequence of str or int
        Columns to leave out, by name or by number from 0.
    kinds : mapping from column to kind, optional
        Kinds that are not to be guessed.

    Returns
    -------
    Views
        Without the columns called label, y, class or target, the first of which becomes the labels, and
        without the nameless first column in which pandas writes the index. In a file that semicolons divide,
        numbers may have a decimal comma.
    """
    with parsing(path, "UTF-8 text"):
        layout = find_layout(path, delimiter, header)
    labels = label_columns(layout.names or ())
    dropped = columns_to_drop(drop, layout.names or (), layout.n_columns, path)
    excluded = {*labels, *dropped, *_index_column(layout)}
    kept = [i for i in range(layout.n_columns) if i not in excluded]
    if not kept:
        raise InputError(f"{path} has no column left: nothing can be clustered.")
    names = [layout.names[i] for i in kept] if layout.names else None
    with parsing(path, "UTF-8 text"):
        rows = None if kinds else _read_numbers(path, with_decimal(path, layout, kept), kept)
        source: Source
        if rows is not None and _is_plain(rows, names):
            source = DenseRows(rows)
        else:
            source, names = EncodedRows(_read_table(path, layout, kept, rows), kinds=kinds), None
        classes = _read_classes(path, layout, labels[0]) if labels else None
    return Views([source], names=[path.stem], labels=classes, feature_names=[names])


def _read_numbers(path: Path, layout: Layout, kept: Sequence[int]) -> np.ndarray | None:
    """Read numbers as float32 (n, d), NaN for an empty cell; None where a cell is no number."""
    blocks = []
    for lines in _chunks(path, skip_first=layout.names is not None):
        block = parse_lines(lines, layout, kept, path)
        if block is None:
            return None
        blocks.append(block)
    if not blocks:
        raise InputError(f"{path} has no rows below its header: nothing can be clustered.")
    return np.concatenate(blocks)


def _is_plain(rows: np.ndarray, names: Sequence[str] | None) -> bool:
    """Return whether a table of numbers has no gap and no column that numbers its rows."""
    identifiers = (
        is_identifier_name(name) and numbers_rows(rows[:, j].astype(np.float64))
        for j, name in enumerate(names or ())
    )
    return not np.isnan(rows).any() and not any(identifiers)


def _read_table(path: Path, layout: Layout, kept: Sequence[int], rows: np.ndarray | None) -> MixedTable:
    """Return a table of named columns: of its numbers, where it has nothing else, or of its cells."""
    names = [layout.names[i] if layout.names else str(i) for i in kept]
    if rows is not None:
        return MixedTable(tuple(Column(name, rows[:, j]) for j, name in enumerate(names)), str(path))
    cells: list[list[str]] = [[] for _ in kept]
    numbers: list[int] = []
    for lines in _chunks(path, skip_first=layout.names is not None):
        full = _full_lines(lines, layout, path)
        for place, j in enumerate(kept):
            cells[place] += [line[j] for line in full]
        numbers += [number for number, _ in lines]
    if not numbers:
        raise InputError(f"{path} has no rows below its header: nothing can be clustered.")
    columns = tuple(Column(name, cells_of(texts)) for name, texts in zip(names, cells, strict=True))
    return MixedTable(columns, str(path), np.array(numbers))


def _read_classes(path: Path, layout: Layout, column: int) -> np.ndarray:
    """Read the column of labels."""
    texts = [
        line[column]
        for lines in _chunks(path, skip_first=layout.names is not None)
        for line in _full_lines(lines, layout, path)
    ]
    return encode_labels(texts, str(path))


def find_layout(path: Path, delimiter: str | None = None, header: bool | None = None) -> Layout:
    """Detect the format of a text file from its first lines."""
    with _opened(path) as file:
        first = [line for _, line in islice(_lines(file), 2)]
    if not first:
        raise InputError(f"{path} is empty.")
    delimiter = delimiter or sniff_delimiter(first)
    cells = list(_cells(first, delimiter))
    if header is None:
        header = looks_like_header(cells[0], cells[1] if len(cells) > 1 else None)
    names = tuple(cell.strip() for cell in cells[0]) if header else None
    return Layout(delimiter, len(cells[0]), names)


def with_decimal(path: Path, layout: Layout, kept: Sequence[int]) -> Layout:
    """Detect the decimal sign: only a file delimited by semicolons may have a decimal comma."""
    if layout.delimiter != ";":
        return layout
    cells = (
        row[j]
        for lines in _chunks(path, skip_first=layout.names is not None)
        for row in _cells([text for _, text in lines if "," in text], layout.delimiter)
        for j in kept
        if j < len(row)
    )
    return replace(layout, decimal=find_decimal(cells))


def sniff_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits all lines into equally many cells.

    Examples
    --------
    >>> sniff_delimiter(["a;b;c", "1,5;2,5;3"])
    ';'
    """
    for delimiter in _DELIMITERS:
        counts = {len(cells) for cells in _cells(lines, delimiter)}
        if len(counts) == 1 and counts != {1}:
            return delimiter
    return max(reversed(_DELIMITERS), key=lines[0].count)


def looks_like_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Return whether the first line holds names: text above a number, only text, or 0, 1, 2, ... as pandas writes.

    Examples
    --------
    >>> looks_like_header(["name", "2019"], ["ann", "3.5"])
    False
    >>> looks_like_header(["size", "2019"], ["1.0", "3.5"])
    True
    """
    counted = first[1:] if first[0].strip() == "" else first
    if len(counted) > 1 and [cell.strip() for cell in counted] == [str(i) for i in range(len(counted))]:
        return True
    text = [not _is_number(cell) for cell in first]
    if second is not None and any(t and _is_number(cell) for t, cell in zip(text, second, strict=False)):
        return True
    return all(text)


def parse_lines(lines: Sequence[Line], layout: Layout, kept: Sequence[int], path: Path) -> np.ndarray | None:
    """Parse numbered lines into float32 (n, d): by NumPy if all are regular, otherwise cell by cell.

    None where a cell is no number.
    """
    texts = [text for _, text in lines]
    regular = all(text.count(layout.delimiter) == layout.n_columns - 1 and '"' not in text for text in texts)
    if layout.decimal == ",":
        regular &= not any("." in text for text in texts)
    if regular:
        try:
            plain = [text.replace(",", ".") for text in texts] if layout.decimal == "," else texts
            return np.loadtxt(
                plain, dtype=np.float32, delimiter=layout.delimiter, usecols=kept, comments=None, ndmin=2
            )
        except ValueError:
            pass  # an empty cell, or text: parsing cell by cell tells which
    table = np.empty((len(lines), len(kept)), dtype=np.float32)
    for i, cells in enumerate(_full_lines(lines, layout, path)):
        for place, j in enumerate(kept):
            if not is_number(cells[j], layout.decimal):
                return None
            with np.errstate(
                over="ignore"
            ):  # what is too large is told by its place when all rows are checked
                table[i, place] = to_number(cells[j], layout.decimal)
    return table


def _full_lines(lines: Sequence[Line], layout: Layout, path: Path) -> list[list[str]]:
    """Return the cells of each line; raise where a line has more or fewer than the first."""
    rows = list(_cells([text for _, text in lines], layout.delimiter))
    for (number, _), cells in zip(lines, rows, strict=False):
        if len(cells) != layout.n_columns:
            raise InputError(
                f"{path}, line {number} has {len(cells)} cells but the first line has {layout.n_columns}: "
                "give every line the same number."
            )
    return rows


def read_label_column(path: Path, key: str, *, words: bool = True) -> np.ndarray:
    """Read labels from the only column of a text file, or the one called `key` or by a usual name.

    Labels must be whole numbers unless `words` are allowed.
    """
    texts = _label_texts(path, key)
    word = None if words else next((text for text in texts if not is_class_number(text)), None)
    if word is not None:
        raise InputError(
            f"{path} has the label {word.strip()!r}, not a whole number: a label is the number of a cluster, as in "
            "labels.csv of the run, or a new number for a new class."
        )
    return encode_labels(texts, str(path))


def read_label_words(path: Path, key: str) -> list[str]:
    """Read the distinct words among the labels of a text file, in the order of their codes."""
    return label_words(_label_texts(path, key))


def _label_texts(path: Path, key: str) -> list[str]:
    """Read the label column of a text file as strings."""
    with parsing(path, "UTF-8 text"):
        layout = find_layout(path)
        columns = label_columns(layout.names or ())
        with _opened(path) as file:
            rows = _full_lines(list(_lines(file)), layout, path)
    if layout.n_columns == 1:
        name = rows[0][0].strip().lower()
        named = name in (*LABEL_NAMES, key.lower()) or (len(rows) > 1 and looks_like_header(rows[0], rows[1]))
        both_text = len(rows) > 1 and not _is_number(rows[1][0]) and name not in (*LABEL_NAMES, key.lower())
        column, skip = 0, int(named and not both_text)
    elif layout.names and key in layout.names:
        column, skip = layout.names.index(key), 1
    elif columns:
        column, skip = columns[0], 1
    else:
        raise InputError(
            f"{path} has {layout.n_columns} columns and none is called {key!r} or label: "
            "call the column with the labels so, or name it where there is --column (evaluate, report, explore)."
        )
    return [cells[column] for cells in rows[skip:]]


def read_row_column(path: Path) -> np.ndarray | None:
    """Read the column called row of a text file; None if there is none."""
    with parsing(path, "UTF-8 text"):
        layout = find_layout(path)
        names = [name.strip().lower() for name in layout.names or ()]
        if "row" not in names:
            return None
        with _opened(path) as file:
            lines = _full_lines(list(_lines(file)), layout, path)[1:]
    cells = [line[names.index("row")].strip() for line in lines]
    wrong = next((cell for cell in cells if not (cell.isdecimal() and len(cell) < _MAX_DIGITS)), None)
    if wrong is not None:
        raise InputError(f"The column 'row' of {path} holds {wrong[:50]!r}: rows are numbered from 0.")
    return np.array(cells, dtype=np.int64)


def read_text_column(path: Path, column: int, most: int | None = None) -> Iterator[list[str]]:
    """Yield the cells of one column of a text file in parts, of the first part only where `most` rows are enough."""
    with parsing(path, "UTF-8 text"):
        layout = find_layout(path)
        for lines in _chunks(path, skip_first=layout.names is not None):
            yield [cells[column] for cells in _full_lines(lines[:most], layout, path)]
            if most is not None:
                return


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number with either decimal sign."""
    return is_number(cell) or is_number(cell, ",")


def _cells(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter)


def find_encoding(path: Path) -> str:
    """Return UTF-16, which spreadsheets call Unicode text, for a file with its byte order mark, otherwise UTF-8."""
    with path.open("rb") as file:
        marked = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if marked else "utf-8-sig"


def _opened(path: Path) -> TextIO:
    return path.open(encoding=find_encoding(path), newline="")


def _lines(file: Iterator[str]) -> Iterator[Line]:
    """Yield the non-blank lines with their numbers from one."""
    for number, line in enumerate(file, start=1):
        if line.strip(" \r\n"):
            yield number, line.rstrip("\r\n")


def _chunks(path: Path, *, skip_first: bool) -> Iterator[list[Line]]:
    with _opened(path) as file:
        lines = _lines(file)
        if skip_first:
            next(lines)
        while chunk := list(islice(lines, _CHUNK_LINES)):
            yield chunk


def _index_column(layout: Layout) -> list[int]:
    """Return the first column if it has no name: pandas and R write row names there."""
    named = layout.names and layout.n_columns > 1
    return [0] if named and layout.names[0].lower() in ("", "unnamed: 0") else []  # type: ignore[index]
