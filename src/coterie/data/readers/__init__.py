"""Readers of files, chosen by suffix. Nothing in a file is ever executed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.readers.arrays import mapped_npy, npz_entries, read_directory, read_npy, read_npz
from coterie.data.readers.cells import cell_views, read_cells
from coterie.data.readers.files import parsing
from coterie.data.readers.labels import encode_labels, labels_among
from coterie.data.readers.matlab import hdf5_entries, mat_entries, read_hdf5, read_mat
from coterie.data.readers.parquet import parquet_labels, parquet_names, read_parquet
from coterie.data.readers.stores import read_zarr
from coterie.data.readers.text import (
    find_layout,
    read_csv,
    read_label_column,
    read_label_words,
    read_row_column,
)
from coterie.data.views import Views
from coterie.errors import InputError

__all__ = [
    "cell_views",
    "column_names",
    "read_label_names",
    "read_labels",
    "read_pairs",
    "read_some_labels",
    "read_views",
]

_TEXTS = (".csv", ".tsv", ".txt")
_WHOLE_FLOATS = 2**24  # float32 holds every whole number below

_READERS: dict[str, Callable[..., Views]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".zarr": read_zarr,
    ".h5ad": read_cells,
    ".h5mu": read_cells,
}


def read_views(path: str | os.PathLike[str], **options: Any) -> Views:
    """Read one or several views from a file, chosen by its suffix.

    Parameters
    ----------
    path : str or Path
        ============ ====================================================================================
        .npy         one table, memory-mapped: it stays on disk
        .npz         ``view0``, ``view1``, ... (or the CSR parts ``view0_data``, ``view0_indices``,
                     ``view0_indptr``, ``view0_shape``), ``view_names``; or one table such as ``X``
        .mat         a cell array ``X{v}``, or ``X1``, ``X2``, ..., or one ``X``, ``fea`` or ``data``; rows
                     may be columns. v7.3 needs h5py and stays on disk
        .h5, .hdf5   the same names; stays on disk (h5py)
        .csv .tsv    one table of numbers, with or without a header; an empty cell is NaN
        .parquet     the numeric columns; stays on disk (pyarrow)
        .zarr        an array or a group of arrays; stays on disk (zarr)
        .h5ad        AnnData: its X; dense ones stay on disk (anndata)
        .h5mu        MuData: a modality is a view, a missing observation a missing view (mudata)
        a directory  of .npy files, one a view
        ============ ====================================================================================
    **options
        For text files `delimiter`, `header` and `drop` (columns to leave out); for Parquet files `drop`.

    Returns
    -------
    Views
        With `labels` when the file has an array or a column called y, label, gt, truth, class or target.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from coterie.data import read_views
    >>> path = Path(tempfile.mkdtemp()) / "flowers.npz"
    >>> np.savez(path, view0=np.eye(3), view1=np.ones((3, 2)), y=[0, 1, 1])
    >>> views = read_views(path)
    >>> views
    Views(3 rows: view0 3, view1 2)
    >>> views.labels
    array([0, 1, 1])
    """
    path = _existing(path)
    suffix = path.suffix.lower()
    _check_options(path, options)
    if path.is_dir() and suffix != ".zarr":
        is_zarr = any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))
        return read_zarr(path) if is_zarr else read_directory(path)
    if suffix not in _READERS:
        raise InputError(
            f"{path} has an unknown suffix: coterie reads {', '.join(_READERS)} and directories."
        )
    return _READERS[suffix](path, **options)


def column_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    r"""Return the column names of a text or Parquet file; an empty tuple if it has none.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .txt or .parquet file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from coterie.data import column_names
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_text("id;size;city\n1;2.5;Oslo\n")
    >>> column_names(path)
    ('id', 'size', 'city')
    """
    path = _existing(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is read_csv:
        with parsing(path, "UTF-8 text"):
            return find_layout(path).names or ()
    return parquet_names(path) if reader is read_parquet else ()


def read_labels(path: str | os.PathLike[str], key: str = "y", *, words: bool = True) -> np.ndarray:
    r"""Read the class of each row, for evaluation.

    Parameters
    ----------
    path : str or Path
        A text file with one column, or with a column called `key`, label, y, class or target; a .npy file;
        or any file of `read_views` that also holds labels.
    key : str
        The name to look for first.
    words : bool
        Whether labels in a text file may be words, which are numbered; otherwise they are an error.

    Returns
    -------
    ndarray of int64 (n,)
        Whole numbers as they are, texts numbered in alphabetical order, -1 where there is none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from coterie.data import read_labels
    >>> path = Path(tempfile.mkdtemp()) / "truth.csv"
    >>> _ = path.write_text("row,label\n0,cat\n1,ant\n2,cat\n")
    >>> read_labels(path)
    array([1, 0, 1])
    """
    path = _existing(path)
    suffix = path.suffix.lower()
    if suffix in _TEXTS:
        return read_label_column(path, key, words=words)
    if suffix == ".npy":
        return _labels_of_npy(path)
    labels = _labels_among_arrays(path, suffix, key)
    if labels is None:
        raise InputError(f"{path} holds no labels: call them {key!r}, one for each row.")
    return labels


def read_label_names(path: str | os.PathLike[str], key: str = "y") -> dict[int, str]:
    r"""Read the names of the classes of `read_labels`; empty if labels are numbers or the file is not text.

    Parameters
    ----------
    path : str or Path
    key : str
        Both as for `read_labels`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from coterie.data import read_label_names
    >>> path = Path(tempfile.mkdtemp()) / "some.csv"
    >>> _ = path.write_text("row,label\n0,cat\n1,ant\n")
    >>> read_label_names(path)
    {0: 'ant', 1: 'cat'}
    """
    path = _existing(path)
    if path.suffix.lower() not in _TEXTS:
        return {}
    return dict(enumerate(read_label_words(path, key)))


def read_some_labels(path: str | os.PathLike[str], n_rows: int, *, words: bool = True) -> np.ndarray:
    r"""Read the classes of some rows: one label per row, or a table with the columns row and label.

    Parameters
    ----------
    path : str or Path
        As for `read_labels`. In a text file with a column called row, only those rows are labelled.
    n_rows : int
        How many rows the data have.
    words : bool
        As for `read_labels`.

    Returns
    -------
    ndarray of int64 (n,)
        -1 where a row has no label.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from coterie.data import read_some_labels
    >>> path = Path(tempfile.mkdtemp()) / "some.csv"
    >>> _ = path.write_text("row,label\n3,1\n0,0\n")
    >>> read_some_labels(path, 4)
    array([ 0, -1, -1,  1])
    """
    labels, path = read_labels(path, words=words), Path(path)
    rows = read_row_column(path) if path.suffix.lower() in _TEXTS else None
    if rows is None:
        if len(labels) != n_rows:
            raise InputError(
                f"{path} has {len(labels)} labels but the data have {n_rows} rows; give one label a row, empty where "
                "there is none, or the columns row and label."
            )
        return labels
    beyond = rows[rows >= n_rows]
    if len(beyond):
        raise InputError(f"{path} labels row {beyond[0]}, but the rows of the data are 0 to {n_rows - 1}.")
    numbers, counts = np.unique(rows, return_counts=True)
    repeated = numbers[counts > 1]
    if len(repeated):
        raise InputError(f"{path} labels row {repeated[0]} more than once; leave one line of it.")
    known = np.full(n_rows, -1, dtype=np.int64)
    known[rows] = labels
    return known


def read_pairs(path: str | os.PathLike[str]) -> np.ndarray:
    """Read pairs of row numbers: a text file with two columns, or a .npy file of shape (pairs, 2).

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ndarray of int64 (pairs, 2)
    """
    table = read_views(path)
    if table.dims != (2,):
        raise InputError(f"{path} has {sum(table.dims)} columns; pairs of rows have two.")
    pairs = table.read(slice(None))[0]
    if not (pairs == np.round(pairs)).all() or (np.abs(pairs) >= _WHOLE_FLOATS).any():
        raise InputError(f"{path} must hold pairs of row numbers.")
    return pairs.astype(np.int64)


def _labels_of_npy(path: Path) -> np.ndarray:
    array = mapped_npy(path)
    if not array.ndim or array.size != len(array):
        raise InputError(f"{path} has shape {array.shape}, but labels are one number a row.")
    return encode_labels(array.ravel(), str(path))


def _labels_among_arrays(path: Path, suffix: str, key: str) -> np.ndarray | None:
    if suffix == ".npz":
        return labels_among(npz_entries(path), str(path), key)
    if suffix == ".mat":
        return labels_among(mat_entries(path), str(path), key)
    if suffix in (".h5", ".hdf5"):
        return labels_among(hdf5_entries(path, transposed=False), str(path), key)
    if suffix == ".parquet":
        return parquet_labels(path, key)
    return read_views(path).labels


def _check_options(path: Path, options: Mapping[str, Any]) -> None:
    reader = _READERS.get(path.suffix.lower())
    known = ("delimiter", "header", "drop") if reader is read_csv else ("drop",) * (reader is read_parquet)
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InputError(
            f"{path}: {', '.join(unknown)} can only be given for text files (drop for Parquet files too)."
        )


def _existing(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    if not (path.is_file() or path.is_dir()):  # reading a pipe could take for ever
        raise InputError(f"{path} is a pipe or a device: save the data in a file, and give that.")
    return path
