"""`Views`: several tables of the same rows, in memory or on disk, some of them missing for some rows."""

# n rows, v views, d_v columns of view v, b rows asked for

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coterie.data.convert import column_groups, find_tables
from coterie.data.sources import Source, count_rows, plain_rows
from coterie.data.subsets import take_columns, take_rows
from coterie.errors import InputError

# One streaming pass holds about this much at a time.
_PASS_BYTES = 32 * 1024 * 1024


class Views:
    """Several sources with the same rows.

    Users build one with `as_views` or `read_views`; the methods read from it in batches.

    Parameters
    ----------
    sources : sequence of Source
        One table a view.
    names : sequence of str, optional
        A name for each view; ``view0``, ``view1``, ... by default, or ``X`` when there is only one.
    mask : array-like of bool (n, v), optional
        True where the view is there for the row.
    labels : array-like (n,), optional
        Classes that came with the data. They are carried along for evaluation and never train anything.
    feature_names : sequence, optional
        For each view the names of its columns, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.data import as_views
    >>> views = as_views({"size": [[1.0], [2.0], [3.0]], "colour": [[0, 1], [np.nan, np.nan], [5, 6]]})
    >>> views
    Views(3 rows: size 1, colour 2)
    >>> views.check()
    >>> views.present
    array([[ True,  True],
           [ True, False],
           [ True,  True]])
    >>> views.read(slice(1, 3))[1]
    array([[0., 0.],
           [5., 6.]], dtype=float32)
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        names: Sequence[str] | None = None,
        mask: Any = None,
        labels: Any = None,
        feature_names: Sequence[Sequence[str] | None] | None = None,
    ) -> None:
        self.sources = tuple(sources)
        if not self.sources:
            raise InputError("There is no view in the data: give at least one 2-D array.")
        self.names = _checked_names(names, len(self.sources))
        _check_shapes(self.sources, self.names)
        self.present: np.ndarray | None = _checked_mask(mask, self.n_rows, self.n_views)
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.shape != (self.n_rows,):
            raise InputError(
                f"There are {self.n_rows} rows but labels of shape {self.labels.shape}: give one label a row."
            )
        self.feature_names: tuple[Sequence[str] | None, ...] = tuple(feature_names or [None] * self.n_views)
        self._checked = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.sources[0].shape[0]

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.sources)

    @property
    def dims(self) -> tuple[int, ...]:
        """Number of columns of each view."""
        return tuple(source.shape[1] for source in self.sources)

    @property
    def in_memory(self) -> bool:
        """False when any view lives on disk."""
        return not any(source.on_disk for source in self.sources)

    @property
    def nbytes(self) -> int:
        """Bytes that all the rows would take as dense float32."""
        return 4 * self.n_rows * sum(self.dims)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {dim}" for name, dim in zip(self.names, self.dims, strict=True))
        return f"Views({self.n_rows} rows: {columns})"

    def read(self, rows: Any) -> list[np.ndarray]:
        """Read rows of every view.

        Parameters
        ----------
        rows : slice or array
            Row numbers in any order, repeats allowed, or a boolean selection.

        Returns
        -------
        list of ndarray (b, d_v)
            Fresh C-contiguous float32 arrays. A view that is missing for a row is zeros.
        """
        rows = plain_rows(rows, self.n_rows)
        return [self._read(v, rows) for v in range(self.n_views)]

    def read_view(self, v: int, rows: Any) -> np.ndarray:
        """Read rows of view `v`, as `read` does."""
        return self._read(v, plain_rows(rows, self.n_rows))

    def _read(self, v: int, rows: slice | np.ndarray) -> np.ndarray:
        block = self.sources[v].read(rows)
        if self.present is not None:
            block[~self.present[rows, v]] = 0.0
        if not self._checked:
            block[_all_nan_rows(block)] = 0.0
        return block

    def select(self, rows: Any) -> Views:
        """Return the chosen rows, in that order, without reading them."""
        rows = plain_rows(rows, self.n_rows)
        index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        chosen = self.copy(
            sources=[take_rows(source, index) for source in self.sources],
            mask=None if self.present is None else self.present[index],
            labels=None if self.labels is None else self.labels[index],
        )
        chosen._checked = self._checked
        return chosen

    def copy(self, **changes: Any) -> Views:
        """Return the same views with other `sources`, `names`, `mask`, `labels` or `feature_names`."""
        same = {
            "sources": self.sources,
            "names": self.names,
            "mask": self.present,
            "labels": self.labels,
            "feature_names": self.feature_names,
        }
        return Views(**(same | changes))

    def arranged(self, names: Sequence[str]) -> Views:
        """Reorder the views to match `names`; views that share no name with them are renamed in their own order.

        Examples
        --------
        >>> import numpy as np
        >>> from coterie.data import as_views
        >>> views = as_views({"sound": np.eye(3), "sight": np.ones((3, 2))})
        >>> views.arranged(["sight", "sound"]), views.arranged(["ear", "eye"])
        (Views(3 rows: sight 2, sound 3), Views(3 rows: ear 3, eye 2))
        """
        lacking = [repr(name) for name in names if name not in self.names]
        if lacking and len(lacking) < len(names):
            raise InputError(
                f"X lacks the view {', '.join(lacking)}: new rows need every view that was there in fit, all NaN in "
                "rows without it."
            )
        if len(names) != self.n_views:
            return self
        order = list(range(self.n_views)) if lacking else [self.names.index(name) for name in names]
        reordered = self.copy(
            sources=[self.sources[v] for v in order],
            names=names,
            mask=None if self.present is None else self.present[:, order],
            feature_names=[self.feature_names[v] for v in order],
        )
        reordered._checked = self._checked
        return reordered

    def present_rows(self, rows: Any) -> np.ndarray:
        """Return which views are present for which rows, as booleans (b, v)."""
        rows = plain_rows(rows, self.n_rows)
        if self.present is None:
            present = np.ones((count_rows(rows), self.n_views), dtype=bool)
        else:
            present = self.present[rows].copy()
        if not self._checked:
            for v, source in enumerate(self.sources):
                if not source.known_finite:
                    present[:, v] &= ~_all_nan_rows(source.read(rows))
        return present

    def chunks(self, batch_rows: int | None = None) -> Iterator[slice]:
        """Yield slices of rows for one pass in order, each of at most 32 MB in its widest view."""
        step = batch_rows or max(1, _PASS_BYTES // (4 * max(self.dims)))
        for start in range(0, self.n_rows, step):
            yield slice(start, min(start + step, self.n_rows))

    def check(self) -> None:
        """Validate every value in one pass, and fill the mask of missing views.

        Fills `present` from the rows that are all NaN in a view. The result is remembered, so a second call
        costs nothing.

        Raises
        ------
        InputError
            At the first NaN or infinite value, with its view, row and column, and at the first row that
            no view has.
        """
        if self._checked:
            return
        unknown = [v for v, source in enumerate(self.sources) if not source.known_finite]
        present = np.ones((self.n_rows, self.n_views), bool) if self.present is None else self.present.copy()
        for rows in self.chunks() if unknown else ():
            for v in unknown:
                block = self.sources[v].read(rows)
                block[~present[rows, v]] = 0.0
                present[rows, v] &= ~self._missing_or_raise(v, rows.start, block)
        _check_every_row_has_a_view(present, "all NaN or masked out")
        self.present = None if present.all() else present
        self._checked = True

    def _missing_or_raise(self, v: int, first: int, block: np.ndarray) -> np.ndarray:
        """Return which rows of a block are all NaN; raise for any other value that is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum()):  # several times faster than looking at each value
                return np.zeros(len(block), dtype=bool)
        missing = _all_nan_rows(block)
        bad = ~np.isfinite(block)
        bad[missing] = False
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            raise self._not_finite(v, first + row, column, float(block[row, column]))
        return missing

    def _not_finite(self, v: int, row: int, column: int, value: float) -> InputError:
        names = self.feature_names[v]
        where = (
            f"View '{self.names[v]}', row {row}, column {column if names is None else repr(names[column])}"
        )
        if np.isnan(value):
            return InputError(
                f"{where} is NaN: fill it in (coterie fit --fill does, and predict after it) or remove the row (a "
                "missing view is a row that is all NaN)."
            )
        return InputError(
            f"{where} is inf or too large for float32 (3.4e38): correct the value or remove the row."
        )


def _all_nan_rows(block: np.ndarray) -> np.ndarray:
    """Return which rows (b,) are NaN in every column; the other columns are only read where the first is NaN."""
    missing = np.isnan(block[:, 0])
    if missing.any():
        missing[missing] = np.isnan(block[missing]).all(axis=1)
    return missing


def _checked_names(names: Sequence[str] | None, n_views: int) -> tuple[str, ...]:
    if names is None:
        return ("X",) if n_views == 1 else tuple(f"view{v}" for v in range(n_views))
    names = tuple(str(name) for name in names)
    if len(names) != n_views:
        raise InputError(f"There are {n_views} views but {len(names)} names: give one name a view.")
    if len(set(names)) != n_views:
        raise InputError(f"The view names {list(names)} repeat: give each view its own name.")
    return names


def _check_shapes(sources: Sequence[Source], names: Sequence[str]) -> None:
    n = sources[0].shape[0]
    for source, name in zip(sources, names, strict=True):
        rows, columns = source.shape
        if rows != n:
            raise InputError(
                f"View '{name}' has {rows} rows but view '{names[0]}' has {n}: "
                "all views need the same rows in the same order (fill the missing ones with NaN)."
            )
        if columns == 0:
            raise InputError(
                f"View '{name}': 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required."
            )


def _checked_mask(mask: Any, n_rows: int, n_views: int) -> np.ndarray | None:
    if mask is None:
        return None
    mask = np.array(mask)
    if mask.shape != (n_rows, n_views):
        raise InputError(
            f"The mask has shape {mask.shape} but needs one row a sample and one column a view: "
            f"({n_rows}, {n_views})."
        )
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise InputError("The mask must hold only True (the view is there) and False (it is missing).")
    mask = mask.astype(bool)
    _check_every_row_has_a_view(mask, "masked out")
    return None if mask.all() else mask


def _check_every_row_has_a_view(present: np.ndarray, why: str) -> None:
    empty = np.flatnonzero(~present.any(axis=1))
    if len(empty):
        rows = "the row" if len(empty) == 1 else f"the {len(empty):,} rows that are like it"
        raise InputError(f"Row {empty[0]} has no view at all (it is {why} in each): remove {rows}.")


def as_views(X: Any, *, views: Any = None, mask: Any = None, names: Sequence[str] | None = None) -> Views:
    """Convert arrays, frames, files, AnnData or MuData to `Views`.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame, list, mapping, path, AnnData, MuData or Views
        One 2-D table; or a list or mapping of tables with the same rows; or the path of a file (see
        `read_views`). Memory-mapped, HDF5 and zarr arrays stay on disk. A plain nested list of numbers is
        one table.
    views : list or mapping, optional
        Cuts one table into views by its columns: a list of widths that add up to the number of columns, a
        list of slices or of lists of column numbers (or column names of a DataFrame), or a mapping from the
        name of a view to such columns.
    mask : array-like of bool (n, v), optional
        True where the view is there for the row. A view is also missing where its row is all NaN.
    names : sequence of str, optional
        Names of the views.

    Returns
    -------
    Views

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.data import as_views
    >>> as_views(np.eye(4))
    Views(4 rows: X 4)
    >>> as_views(np.eye(4), views={"left": [0, 1, 2], "right": [3]})
    Views(4 rows: left 3, right 1)
    >>> as_views([np.eye(4), np.ones((4, 2))], mask=[[1, 0], [1, 1], [1, 1], [0, 1]]).present_rows([0, 3])
    array([[ True, False],
           [False,  True]])
    """
    data = X if isinstance(X, Views) else _convert(X)
    if views is not None:
        data = _split_columns(data, views)
    if mask is not None:
        mask = _checked_mask(mask, data.n_rows, data.n_views)
        if data.present is not None:
            mask = data.present if mask is None else mask & data.present
        data = data.copy(mask=mask)
    return data if names is None else data.copy(names=names)


def _convert(X: Any) -> Views:
    """Build Views from a path, an AnnData or MuData object, or tables in memory."""
    # These import Views, so they can only be imported once it exists.
    from coterie.data.readers import cell_views, read_views

    if isinstance(X, str | os.PathLike):
        return read_views(X)
    if hasattr(X, "obs_names") and (hasattr(X, "mod") or hasattr(X, "var_names")):
        return cell_views(X)
    tables = find_tables(X)
    named = any(table.name is not None for table in tables)
    return Views(
        [table.source for table in tables],
        names=[str(table.name) for table in tables] if named else None,
        feature_names=[table.columns for table in tables],
    )


def _split_columns(table: Views, views: Any) -> Views:
    """Split the columns of one table into views."""
    if table.n_views != 1:
        raise InputError(f"views= cuts one table into views, but the data already have {table.n_views}.")
    columns = table.feature_names[0]
    groups, names = column_groups(views, table.dims[0], columns)
    return Views(
        [take_columns(table.sources[0], group) for group in groups],
        names=names,
        labels=table.labels,
        feature_names=[None if columns is None else [columns[i] for i in group] for group in groups],
    )
