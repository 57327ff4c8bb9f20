"""Parquet files, read one row group at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.disk import FileVersion
from coterie.data.readers.files import columns_to_drop, need, parsing
from coterie.data.readers.labels import encode_labels, label_columns
from coterie.data.readers.numbers import drop_hint
from coterie.data.sources import Rows
from coterie.data.views import Views
from coterie.errors import InputError


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


def read_parquet(path: Path, *, drop: Sequence[str | int] = ()) -> Views:
    """Read the numeric columns of a Parquet file except `drop` as one view that stays on disk."""
    file, fields = _open(path)
    names = [field.name for field in fields]
    labels = label_columns(names)
    excluded = {*labels, *columns_to_drop(drop, names, len(names), path)}
    kept = [field for i, field in enumerate(fields) if i not in excluded]
    _check_numeric(kept, path)
    names = [field.name for field in kept]
    if not names or not file.metadata.num_rows:
        raise InputError(f"{path} has no rows of numbers: nothing can be clustered.")
    classes = _labels(path, file, fields[labels[0]].name) if labels else None
    return Views([ParquetRows(path, file, names)], names=[path.stem], labels=classes, feature_names=[names])


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


def _check_numeric(fields: list[Any], path: Path) -> None:
    types = need("pyarrow", "parquet", ".parquet").types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    text = [field for field in fields if not any(test(field.type) for test in tests)]
    if text:
        hint = drop_hint([field.name for field in text])
        raise InputError(f"{path}, column {text[0].name!r} holds {text[0].type}, not numbers: {hint}.")


def _matrix(table: Any) -> np.ndarray:
    matrix = np.empty((table.num_rows, table.num_columns), dtype=np.float32)
    with np.errstate(over="ignore"):
        for j, column in enumerate(table.columns):
            matrix[:, j] = column.cast("float64", safe=False).to_numpy()
    return matrix
