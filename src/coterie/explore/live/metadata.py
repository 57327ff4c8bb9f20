"""Metadata of the rows: columns to colour by, to read and to search."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.readers.files import need, parsing
from coterie.data.readers.text import find_encoding, find_layout, with_decimal
from coterie.errors import InputError

_MOST_GROUPS = 30
_LONGEST_TEXT = 500


class Metadata:
    """A pyarrow table with one line for each row of the data."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.names = [str(name) for name in table.column_names]

    @classmethod
    def read(cls, path: str | os.PathLike[str], n_rows: int) -> Metadata:
        """Read a CSV or Parquet file with `n_rows` lines."""
        source = Path(path)
        if not source.is_file():
            raise InputError(f"There is no file {source}; give --metadata a CSV or Parquet file.")
        suffix = source.suffix.lower()
        if suffix == ".parquet":
            with parsing(source, "Parquet"):
                table = need("pyarrow.parquet", "explore", "--metadata").read_table(source)
                # Text that is no UTF-8 would be found only when it is shown.
                table.validate(full=True)
                metadata = cls(table)
        elif suffix in (".csv", ".tsv"):
            metadata = cls(_read_text(source))
        else:
            raise InputError(f"{source} has an unknown suffix: --metadata reads .csv, .tsv and .parquet.")
        if metadata._table.num_rows != n_rows:
            raise InputError(
                f"{source} has {metadata._table.num_rows} lines but the data have {n_rows} rows; "
                "give one line per row, in the same order."
            )
        return metadata

    def row(self, row: int) -> list[tuple[str, str]]:
        """Return the columns of a row, as text."""
        return [(name, _text(self._table.column(i)[row].as_py())) for i, name in enumerate(self.names)]

    def values(self, column: int, rows: NDArray[np.integer]) -> Groups | NDArray[np.float64]:
        """Return a column for some rows: amounts where it has many distinct numbers, else groups."""
        chosen = self._table.column(column).take(rows)
        kind = need("pyarrow", "explore", "--metadata").types
        number = kind.is_integer(chosen.type) or kind.is_floating(chosen.type) or kind.is_decimal(chosen.type)
        if number and len(chosen.unique()) > _MOST_GROUPS:
            return chosen.cast("float64", safe=False).to_numpy(zero_copy_only=False)
        return Groups.of([_text(value) for value in chosen.to_pylist()])

    def search(self, words: str, most: int) -> list[int]:
        """Return the rows whose columns contain all of these words, in any case and order, by row number."""
        arrow = need("pyarrow", "explore", "--metadata")
        compute = need("pyarrow.compute", "explore", "--metadata")
        texts = [
            column.cast("string")
            for column in self._table.columns
            if not (arrow.types.is_nested(column.type) or arrow.types.is_binary(column.type))
        ]
        hits = np.ones(self._table.num_rows, dtype=bool)
        for word in words.split():
            having = np.zeros(len(hits), dtype=bool)
            for text in texts:
                having |= compute.match_substring(text, word, ignore_case=True).fill_null(False).to_numpy()
            hits &= having
        return np.flatnonzero(hits)[:most].tolist()


class Groups:
    """A column as groups: their names, and the code of each row, -1 for all rare values together."""

    def __init__(self, names: list[str], codes: NDArray[np.int64]) -> None:
        self.names, self.codes = names, codes

    @classmethod
    def of(cls, values: list[str]) -> Groups:
        """Take the commonest values as groups.

        Examples
        --------
        >>> groups = Groups.of(["b", "a", "b"])
        >>> groups.names, groups.codes.tolist()
        (['b', 'a'], [0, 1, 0])
        """
        names, codes, counts = np.unique(np.array(values, dtype=str), return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_GROUPS]
        code_of = np.full(len(names), -1, dtype=np.int64)
        code_of[order] = np.arange(len(order))
        return cls(names[order].tolist(), code_of[codes])


def _read_text(path: Path) -> Any:
    text = need("pyarrow.csv", "explore", "--metadata")
    with parsing(path, "UTF-8 text"):
        layout = find_layout(path, header=True)
        layout = with_decimal(path, layout, range(layout.n_columns))
    options = text.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)
    numbers = text.ConvertOptions(decimal_point=layout.decimal)
    try:
        read = text.ReadOptions(encoding=find_encoding(path))
        table = text.read_csv(path, read_options=read, parse_options=options, convert_options=numbers)
        return table.rename_columns(table.column_names)  # names that are no UTF-8 fail here
    except Exception as error:
        first = (str(error).splitlines() or ["unknown"])[0]
        raise InputError(f"{path} cannot be read as a table with a header ({first}).") from error


def _text(value: Any) -> str:
    if value is None:
        return ""
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown if len(shown) <= _LONGEST_TEXT else shown[: _LONGEST_TEXT - 1] + "…"
