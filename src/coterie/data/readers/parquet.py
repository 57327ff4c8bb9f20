"""Parquet files, read one row group at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.disk import FileVersion
from coterie.data.memory import SHARE, available_bytes
from coterie.data.readers.files import columns_to_drop, need, parsing
from coterie.data.readers.labels import encode_labels, label_columns
from coterie.data.sources import Rows, Source
from coterie.data.tables.frames import frame_table
from coterie.data.tables.kinds import is_identifier_name, numbers_rows
from coterie.data.tables.rows import EncodedRows
from coterie.data.views import Views
from coterie.errors import InputError

_BYTES_OF_CELL = 100  # a word and the places that point to it


class ParquetRows:
    """The numeric columns of a Parquet file; the last row group read stays in memory."""

    on_disk = True
    known_finite = False

    def __init__(self, path: Path, file: Any, columns: list[str]) -> None:
        self.path = path
        self.file = file
        self.columns = columns
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        self._starts = np.cumsum([0, *sizes])
        self._last: tuple[int, np.ndarray] | None = None
        self._version = FileVersion.of(path)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self._starts[-1]), len(self.columns)

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as float32."""
        self._version.check()
        index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        block = np.empty((len(index), len(self.columns)), dtype=np.float32)
        group = np.searchsorted(self._starts, index, side="right") - 1
        for g in np.unique(group):
            here = group == g
            block[here] = self._group(int(g))[index[here] - self._starts[g]]
        return block

    def _group(self, g: int) -> np.ndarray:
        if self._last is None or self._last[0] != g:
            with parsing(self.path, "Parquet"):
                self._last = (g, _matrix(self.file.read_row_group(g, columns=self.columns)))
        return self._last[1]


def read_parquet(
    path: Path, *, drop: Sequence[str | int] = (), kinds: Mapping[str, str] | None = None
) -> Views:
    """Read a Parquet file except `drop` as one view.

    Numbers stay on disk; a table with words, dates or gaps is read into memory, to be encoded.
    """
    file, fields = _open(path)
    names = [field.name for field in fields]
    labels = label_columns(names)
    excluded = {*labels, *columns_to_drop(drop, names, len(names), path)}
    kept = [field for i, field in enumerate(fields) if i not in excluded]
    names = [field.name for field in kept]
    if not names or not file.metadata.num_rows:
        raise InputError(f"{path} has no column or no row left: nothing can be clustered.")
    classes = _labels(path, file, fields[labels[0]].name) if labels else None
    if not kinds and _is_plain(path, file, kept):
        source: Source = ParquetRows(path, file, names)
        return Views([source], names=[path.stem], labels=classes, feature_names=[names])
    _check_room(path, file, len(names))
    with parsing(path, "Parquet"):
        table = frame_table(file.read(columns=names), str(path))
    return Views([EncodedRows(table, kinds=kinds)], names=[path.stem], labels=classes)


def _is_plain(path: Path, file: Any, fields: list[Any]) -> bool:
    """Return whether all columns are numbers without gaps, and none numbers the rows."""
    if not all(_is_numeric(field) for field in fields):
        return False
    named = [field.name for field in fields if is_identifier_name(field.name)]
    with parsing(path, "Parquet"):
        counted = any(numbers_rows(_matrix(file.read(columns=[name])).ravel()) for name in named)
    return not counted and not _has_nulls(path, file, [field.name for field in fields])


def _has_nulls(path: Path, file: Any, names: list[str]) -> bool:
    """Return whether a cell is null, of a file beyond the memory in its first row group.

    Statistics would tell without reading, but pyarrow ends the process on those of a damaged file.
    """
    metadata = file.metadata
    small = 4 * metadata.num_rows * len(names) <= SHARE * available_bytes()
    groups = range(metadata.num_row_groups if small else 1)
    with parsing(path, "Parquet"):
        return any(
            column.null_count for g in groups for column in file.read_row_group(g, columns=names).columns
        )


def _check_room(path: Path, file: Any, n_columns: int) -> None:
    needed = _BYTES_OF_CELL * file.metadata.num_rows * n_columns
    if needed > available_bytes():
        raise InputError(
            f"{path} has words, dates or gaps and would take {needed / 2**30:.1f} GB, more than the free memory: "
            "write its columns as numbers, which stay on disk, or leave columns out (--drop)."
        )


def parquet_labels(path: Path, key: str) -> np.ndarray | None:
    """Read labels from the column called `key` or by a usual name; None if there is none."""
    file, fields = _open(path)
    names = [field.name for field in fields]
    columns = [key] if key in names else [names[i] for i in label_columns(names)]
    return _labels(path, file, columns[0]) if columns else None


def _labels(path: Path, file: Any, name: str) -> np.ndarray:
    with parsing(path, "Parquet"):
        return encode_labels(file.read(columns=[name]).column(0).to_numpy(), str(path))


def read_parquet_column(path: Path, column: int, most: int | None = None) -> np.ndarray:
    """Read one column of a Parquet file as it is, or its first `most` rows."""
    file, fields = _open(path)
    with parsing(path, "Parquet"):
        if most is None:
            read: Any = file.read(columns=[fields[column].name])
        else:
            read = file.read_row_group(0, columns=[fields[column].name]).slice(0, most)
        values: np.ndarray = read.column(0).to_numpy(zero_copy_only=False)
    return values


def parquet_names(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of a Parquet file."""
    return tuple(field.name for field in _open(path)[1])


def _open(path: Path) -> tuple[Any, list[Any]]:
    """Return a Parquet file and its columns without the index that pandas writes."""
    pq = need("pyarrow.parquet", "parquet", ".parquet")
    with parsing(path, "Parquet"):
        file = pq.ParquetFile(path)
        return file, [field for field in file.schema_arrow if not field.name.startswith("__index_level_")]


def _is_numeric(field: Any) -> bool:
    types = need("pyarrow", "parquet", ".parquet").types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(field.type) for test in tests)


def _matrix(table: Any) -> np.ndarray:
    matrix = np.empty((table.num_rows, table.num_columns), dtype=np.float32)
    with np.errstate(over="ignore"):
        for j, column in enumerate(table.columns):
            matrix[:, j] = column.cast("float64", safe=False).to_numpy()
    return matrix
