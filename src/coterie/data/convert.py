"""Conversion of arrays, frames and sparse matrices into sources of rows; errors name the argument and the cell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.disk import ChunkedRows
from coterie.data.mapped import MemmapRows
from coterie.data.sources import CsrRows, DenseRows, Source
from coterie.data.tables.frames import frame_names, frame_table, is_frame, is_numeric_frame
from coterie.data.tables.rows import EncodedRows
from coterie.errors import InputError


class NotNumbersError(InputError, TypeError):
    """A cell holds an object that is not a number; scikit-learn's checks expect a `TypeError`."""


@dataclass(frozen=True)
class Table:
    """A source of rows, with the names of the table and of its columns where known."""

    source: Source
    name: str | None = None
    columns: Sequence[str] | None = None


def find_tables(X: Any, kinds: Mapping[str, str] | None = None) -> list[Table]:
    """Return the tables of one table, a list of tables or a mapping from names to tables."""
    if isinstance(X, Mapping) and not sparse.issparse(X):  # a sparse "dok" is both
        _check_same_order([(f"View '{name}'", x) for name, x in X.items()])
        return [replace(table_of(x, f"View '{name}'", kinds), name=str(name)) for name, x in X.items()]
    if isinstance(X, list | tuple) and any(_is_table(x) for x in X):
        _check_same_order([(f"View {v}", x) for v, x in enumerate(X)])
        return [table_of(x, f"View {v}", kinds) for v, x in enumerate(X)]
    return [table_of(X, "X", kinds)]


def _check_same_order(tables: Sequence[tuple[str, Any]]) -> None:
    """Check that DataFrames with the same row names have them in the same order: rows are matched by position."""
    frames = [(label, x.index) for label, x in tables if hasattr(getattr(x, "index", None), "equals")]
    for label, index in frames[1:]:
        first, rows = frames[0]
        if len(index) == len(rows) and not index.equals(rows) and set(index) == set(rows):
            raise InputError(
                f"{label} has the row names of {first} in another order: put all views in one order "
                "(frame.loc[names])."
            )


def _is_table(x: Any) -> bool:
    """Return whether an item is a table and not a row of numbers."""
    if isinstance(x, str | os.PathLike):
        return True
    if isinstance(x, list | tuple):
        return len(x) > 0 and isinstance(x[0], list | tuple | np.ndarray)
    return len(getattr(x, "shape", ())) >= 2


def table_of(x: Any, label: str, kinds: Mapping[str, str] | None = None) -> Table:
    """Return one object as a table; `label` names it in messages."""
    if isinstance(x, str | os.PathLike):
        return _table_in_file(x, label)
    if all(hasattr(x, name) for name in ("read", "shape", "on_disk", "known_finite")):
        return Table(x)
    if hasattr(x, "obs_names") and hasattr(x, "var_names"):
        return Table(table_of(x.X, label).source, columns=[str(name) for name in x.var_names])
    if is_frame(x):
        return _table_of_frame(x, label, kinds)
    if hasattr(x, "columns") and hasattr(x, "to_numpy"):
        columns = [str(name) for name in x.columns]
        cells = x.to_numpy()
        if cells.dtype.kind == "O" and hasattr(x, "isna"):
            cells = np.where(x.isna(), np.nan, cells)  # None, and the NA of nullable columns
        _check_numeric(cells, columns, label)
        return Table(_dense(cells, label), columns=columns)
    if sparse.issparse(x):
        _check_two_dimensional(x.shape, label)
        return Table(CsrRows(x if x.dtype.kind in "biuf" else x.astype(_real(x.dtype, label))))
    if type(x).__module__.partition(".")[0] in ("h5py", "zarr") and hasattr(x, "shape"):
        _check_two_dimensional(x.shape, label)
        _real(np.dtype(x.dtype), label)
        return Table(ChunkedRows(x))
    if hasattr(x, "detach") and hasattr(x, "cpu"):
        x = x.detach().cpu().numpy()
    return Table(_dense(x, label))


def _table_of_frame(x: Any, label: str, kinds: Mapping[str, str] | None) -> Table:
    """Return numbers alone as they are, and any other frame as encoded rows."""
    names = frame_names(x)
    _check_two_dimensional((len(x), len(names)), label)
    own = {name: kind for name, kind in (kinds or {}).items() if name in names}
    if not own and is_numeric_frame(x, label):
        cells = x.to_numpy() if hasattr(x, "to_numpy") else x.to_pandas().to_numpy()
        return Table(_dense(cells, label), columns=names)
    return Table(EncodedRows(frame_table(x, label), kinds=own))


def _table_in_file(path: Any, label: str) -> Table:
    from coterie.data.readers import read_views  # above this file: a file becomes Views

    views = read_views(path)
    if views.n_views != 1:
        raise InputError(f"{label}: {path} holds {views.n_views} views, but one table is needed here.")
    return Table(views.sources[0], columns=views.feature_names[0])


def _dense(x: Any, label: str) -> Source:
    """Return an array-like as a source, in its own dtype if that is real."""
    if isinstance(x, np.memmap) and x._mmap is not None and x.dtype.kind in "biuf":  # type: ignore[attr-defined]
        _check_two_dimensional(x.shape, label)
        return MemmapRows(x)
    if isinstance(x, np.ma.MaskedArray) and x.dtype.kind in "biuf" and x.mask.any():
        x = np.where(x.mask, np.nan, x.data)  # what a mask hides is no number
    try:
        array = np.asarray(x)
    except ValueError:
        raise InputError(f"{label} has rows of different lengths: give every row the same columns.") from None
    if array.dtype.kind == "c":
        raise InputError(f"{label}: Complex data not supported (take real and imaginary parts as columns).")
    _check_two_dimensional(array.shape, label)
    if array.dtype.kind not in "biuf":
        array = _numbers(array, label)
    return DenseRows(array)


def _check_two_dimensional(shape: tuple[int, ...], label: str) -> None:
    if len(shape) < 2:
        raise InputError(
            f"{label} is {len(shape)}-D (shape {shape}) but rows by columns are needed. "
            "Reshape your data with array.reshape(-1, 1) for one column or array.reshape(1, -1) for one row."
        )
    if len(shape) > 2:
        raise InputError(
            f"{label} is {len(shape)}-D (shape {shape}) but rows by columns are needed. "
            "Reshape your data using array.reshape(len(array), -1)."
        )
    if shape[0] == 0:
        raise InputError(
            f"{label}: Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise InputError(f"{label}: 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def _real(dtype: np.dtype, label: str) -> type:
    """Return the dtype that values of this dtype convert to; raise if they are not real numbers."""
    if dtype.kind == "c":
        raise InputError(f"{label}: Complex data not supported (take real and imaginary parts as columns).")
    if dtype.kind not in "biufO":
        raise InputError(f"{label} has dtype {dtype}, which is not numbers: convert it to float first.")
    return np.float64


def _numbers(array: np.ndarray, label: str) -> np.ndarray:
    """Return objects and strings as numbers; raise for the first that is not a number."""
    if array.dtype.kind not in "OUST":
        raise InputError(f"{label} has dtype {array.dtype}, which is not numbers: convert it to float first.")
    try:
        return array.astype(np.float64)
    except (ValueError, TypeError):
        pass
    for (row, column), value in np.ndenumerate(array):
        where = f"{label}, row {row}, column {column}"
        try:
            float(value)
        except ValueError:
            raise InputError(
                f"{where} is {str(value)!r}, not a number: remove that column, or give a DataFrame, whose columns "
                "may hold words."
            ) from None
        except TypeError:
            raise NotNumbersError(
                f"{where} is a {type(value).__name__}: this argument must be a table in which each cell is "
                "a numeric string or a number."
            ) from None
    raise InputError(f"{label} has dtype {array.dtype}, which could not be converted to float.")


def _check_numeric(cells: np.ndarray, columns: Sequence[str], label: str) -> None:
    """Raise for the columns of a DataFrame that are not numbers."""
    text = [name for j, name in enumerate(columns) if cells.dtype.kind == "O" and not _converts(cells[:, j])]
    if text:
        raise NotNumbersError(
            f"{label} has columns that are not numbers: leave them out (X.drop(columns={text})) or encode them."
        )


def _converts(cells: np.ndarray) -> bool:
    try:
        cells.astype(np.float64)
    except (ValueError, TypeError):
        return False
    return True


def column_groups(
    views: Any, n_columns: int, columns: Sequence[str] | None
) -> tuple[list[np.ndarray], list[str] | None]:
    """Return the columns of each view in `views=` as index arrays, and the names of the views if given.

    Examples
    --------
    >>> column_groups([2, 1], 3, None)
    ([array([0, 1]), array([2])], None)
    >>> column_groups({"a": slice(1, 3), "b": ["x"]}, 3, ["x", "y", "z"])
    ([array([1, 2]), array([0])], ['a', 'b'])
    """
    if isinstance(views, Mapping):
        return [_group(group, n_columns, columns) for group in views.values()], [str(n) for n in views]
    if not isinstance(views, list | tuple) or not views:
        raise InputError(
            "views= must be a list of column groups or of widths, or a mapping from names to columns."
        )
    if all(isinstance(width, int | np.integer) and not isinstance(width, bool) for width in views):
        return _groups_of_widths([int(width) for width in views], n_columns), None
    return [_group(group, n_columns, columns) for group in views], None


def _groups_of_widths(widths: list[int], n_columns: int) -> list[np.ndarray]:
    if min(widths) < 1 or sum(widths) != n_columns:
        raise InputError(
            f"views={widths} are widths that add up to {sum(widths)}, but X has {n_columns} columns: "
            "give positive widths that add up to it."
        )
    return np.split(np.arange(n_columns), np.cumsum(widths)[:-1])


def _group(group: Any, n_columns: int, columns: Sequence[str] | None) -> np.ndarray:
    if isinstance(group, slice):
        index = np.arange(n_columns)[group]
    else:
        position = {name: i for i, name in enumerate(columns or ())}
        members = [group] if isinstance(group, str | int | np.integer) else list(group)
        index = np.array([_column(member, n_columns, position) for member in members], dtype=np.int64)
    if not len(index):
        raise InputError(f"views= has a group without columns ({group!r}): give each view at least one.")
    return index


def _column(member: Any, n_columns: int, position: Mapping[str, int]) -> int:
    if isinstance(member, str):
        if member not in position:
            raise InputError(f"views= names the column {member!r}, which X does not have.")
        return position[member]
    if isinstance(member, bool) or not isinstance(member, int | np.integer):
        raise InputError(f"views= has {member!r} where a column number or name is needed.")
    if not -n_columns <= member < n_columns:
        raise InputError(f"views= asks for column {member}, but X has {n_columns} columns.")
    return int(member) % n_columns
