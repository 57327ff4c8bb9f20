"""Files of texts, pictures, series and cells, found by what they are or by what the user says they are."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.readers import read_views
from coterie.data.readers.arrays import mapped_npy
from coterie.data.readers.cells import open_cells
from coterie.data.readers.files import natural_order, need, parsing
from coterie.data.readers.labels import encode_labels
from coterie.data.readers.text import find_encoding
from coterie.errors import InputError, listed

KINDS = ("table", "texts", "images", "series", "cells")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
TEXTS = (".txt", ".md", ".rst", ".text")
CELLS = (".h5ad", ".h5mu")
_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_CELL = 2**24


@dataclass(frozen=True)
class Things:
    """What a path holds that is no table: texts, pictures, an array of series, or cells.

    Attributes
    ----------
    kind : str
    items : Any
        Texts, paths or arrays of pictures, an array of series, an AnnData or MuData object.
    labels : ndarray or None
        The folder of each file, where there are several folders.
    """

    kind: str
    items: Any
    labels: np.ndarray | None = None


def find_kind(path: Path, kind: str | None = None, column: str | None = None) -> str:
    """Return what a path holds: what the user says, or what its suffix, its files or its shape tell.

    Examples
    --------
    >>> find_kind(Path("cells.h5ad")), find_kind(Path("rows.csv")), find_kind(Path("rows.csv"), column="body")
    ('cells', 'table', 'texts')
    """
    if kind is not None and kind not in KINDS:
        raise InputError(f"--as {kind} is not known: it is one of {', '.join(KINDS)}.")
    if column is not None:
        if kind not in (None, "texts"):
            raise InputError(
                f"--text names a column of texts, and --as {kind} is another kind: leave one out."
            )
        return "texts"
    if kind is not None:
        return kind
    suffix = path.suffix.lower()
    if suffix in CELLS:
        return "cells"
    if suffix == ".npy" and path.is_file():
        return _kind_of_array(path)
    if path.is_dir() and suffix != ".zarr" and not any(path.glob("*.npy")):
        files = _files(path)
        for found, suffixes in (("images", PICTURES), ("texts", TEXTS)):
            if any(file.suffix.lower() in suffixes for file in files):
                return found
    return "table"


def _kind_of_array(path: Path) -> str:
    array = mapped_npy(path)
    if array.ndim < 3:
        return "table"
    if array.ndim == 4 or array.dtype == np.uint8:
        return "images"
    raise InputError(f"{path} has shape {array.shape}: say --as series, or --as images.")


def read_things(path: Path, kind: str, column: str | None = None) -> Things:
    """Read what `find_kind` found."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    if kind == "cells":
        if path.suffix.lower() not in CELLS:
            raise InputError(f"{path} is no file of cells: AnnData has .h5ad, MuData .h5mu.")
        return Things(kind, open_cells(path))
    if path.is_dir():
        if kind == "series":
            raise InputError(
                f"{path} is a folder: give series as one .npy, .csv or .parquet file, a series a row."
            )
        return _read_folder(path, kind)
    if kind == "texts":
        return Things(kind, _read_column(path, column))
    if path.suffix.lower() == ".npy":
        return Things(kind, mapped_npy(path))
    if kind == "images":
        raise InputError(
            f"{path} holds no pictures: give a folder of picture files, or a .npy of shape (n, h, w)."
        )
    table = read_views(path)
    return Things(kind, np.stack(table.read(slice(None)), axis=2), table.labels)


def _files(folder: Path) -> list[Path]:
    """Return the files below a folder in natural order, hidden ones left out."""
    found = [file for file in folder.rglob("*") if file.is_file()]
    shown = [
        file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    return sorted(shown, key=lambda file: natural_order(str(file.relative_to(folder))))


def _read_folder(folder: Path, kind: str) -> Things:
    suffixes = PICTURES if kind == "images" else TEXTS
    files = [file for file in _files(folder) if file.suffix.lower() in suffixes]
    if not files:
        raise InputError(f"{folder} has no {kind}: put files there that end in {listed(suffixes)}.")
    owners = [str(file.parent.relative_to(folder)) for file in files]
    labels = encode_labels(owners, str(folder)) if len(set(owners)) > 1 else None
    return Things(kind, files if kind == "images" else [_text_of(file) for file in files], labels)


def _text_of(file: Path) -> str:
    with parsing(file, "UTF-8 text"):
        return file.read_bytes().decode("utf-8-sig")


def _read_column(path: Path, column: str | None) -> Sequence[str]:
    if column is None:
        raise InputError(f"{path} is a table: say with --text which of its columns holds the texts.")
    if path.suffix.lower() == ".parquet":
        table = need("pyarrow.parquet", "parquet", ".parquet")
        with parsing(path, "Parquet"):
            names = table.read_schema(path).names
            _check_column(column, names, path)
            cells = table.read_table(path, columns=[column]).column(0).to_pylist()
    else:
        cells = _column_of_csv(path, column)
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, str):
            raise InputError(
                f"{path}, row {row}, column {column!r} is {cell!r}, not a text: --text names the column of texts."
            )
    if cells and all(_is_number(cell) for cell in cells):
        raise InputError(f"{path}, row 0, column {column!r} is {cells[0]!r}, and so on: numbers, not texts.")
    return [cell or "" for cell in cells]


def _column_of_csv(path: Path, column: str) -> list[str]:
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        with parsing(path, "UTF-8 text"):
            for delimiter in _DELIMITERS:
                with path.open(encoding=find_encoding(path), newline="") as file:
                    rows = csv.reader(file, delimiter=delimiter)
                    names = [name.strip() for name in next(rows, [])]
                    if column in names:
                        place = names.index(column)
                        return [row[place] if place < len(row) else "" for row in rows if row]
                    if len(names) > 1:
                        break
            _check_column(column, names, path)
            return []
    finally:
        csv.field_size_limit(before)


def _check_column(column: str, names: Sequence[str], path: Path) -> None:
    if column not in names:
        raise InputError(f"--text {column}: {path} has no such column; it has {listed(names)}.")


def _is_number(cell: Any) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True
