"""Subsets of the rows or columns of a source."""

from __future__ import annotations

import numpy as np

from coterie.data.mapped import MemmapRows
from coterie.data.sources import CsrRows, DenseRows, Rows, Source


class Subset:
    """Some rows or columns, by their numbers, of another source."""

    def __init__(self, source: Source, index: np.ndarray) -> None:
        self.source = source
        self.index = index

    @property
    def on_disk(self) -> bool:
        """Whether the other source is on disk."""
        return self.source.on_disk

    @property
    def known_finite(self) -> bool:
        """Whether the other source is known to be finite."""
        return self.source.known_finite


class RowSubset(Subset):
    """Some rows of another source, in any order; an index of -1 is a row that the source lacks."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.index), self.source.shape[1]

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as float32, zeros for those that the source lacks."""
        index = self.index[rows]
        absent = index < 0
        if not absent.any():
            return self.source.read(_as_slice(index))
        block = np.zeros((len(index), self.shape[1]), dtype=np.float32)
        block[~absent] = self.source.read(index[~absent])
        return block


class ColumnSubset(Subset):
    """Some columns of another source."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.source.shape[0], len(self.index)

    def read(self, rows: Rows) -> np.ndarray:
        """Return the chosen columns of the rows as float32."""
        return np.ascontiguousarray(self.source.read(rows)[:, self.index])


def take_rows(source: Source, index: np.ndarray) -> RowSubset:
    """Return some rows of a source; a subset of a subset is one subset."""
    if isinstance(source, RowSubset):
        return RowSubset(source.source, source.index[index])
    return RowSubset(source, index)


def take_columns(source: Source, columns: np.ndarray) -> Source:
    """Return some columns of a source, without a copy where they are contiguous in memory."""
    contiguous = len(columns) > 0 and bool((np.diff(columns) == 1).all())
    span = slice(int(columns[0]), int(columns[-1]) + 1) if contiguous else columns
    if isinstance(source, DenseRows):
        return DenseRows(source.array[:, span])
    if isinstance(source, CsrRows):
        return CsrRows(source.matrix[:, span])
    if isinstance(source, MemmapRows) and contiguous:
        return MemmapRows(source.array[:, span])
    return ColumnSubset(source, columns)


def _as_slice(index: np.ndarray) -> Rows:
    """Return consecutive indices as a slice, which a source reads at once; others as they are."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def some_rows(n_rows: int, most: int, seed: int) -> np.ndarray:
    """Return at most `most` row numbers, drawn uniformly without replacement, ascending.

    Examples
    --------
    >>> some_rows(3, 5, seed=0)
    array([0, 1, 2])
    >>> len(some_rows(10, 5, seed=0))
    5
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, 1]).choice(n_rows, most, replace=False))
