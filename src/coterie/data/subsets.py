"""Some rows or some columns of another source."""

from __future__ import annotations

import numpy as np

from coterie.data.mapped import MemmapRows
from coterie.data.sources import CsrRows, DenseRows, Rows, Source


class RowSubset:
    """Some rows of another source, in any order; an index of -1 is a row that the source does not have."""

    def __init__(self, source: Source, index: np.ndarray) -> None:
        self.source = source
        self.index = index

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.index), self.source.shape[1]

    @property
    def on_disk(self) -> bool:
        """Whether the other source is on disk."""
        return self.source.on_disk

    @property
    def known_finite(self) -> bool:
        """Whether the other source is known to be finite."""
        return self.source.known_finite

    def read(self, rows: Rows) -> np.ndarray:
        """Give the rows as float32, zeros for those that the source does not have."""
        index = self.index[rows]
        absent = index < 0
        if not absent.any():
            return self.source.read(_as_slice(index))
        block = np.zeros((len(index), self.shape[1]), dtype=np.float32)
        block[~absent] = self.source.read(index[~absent])
        return block


class ColumnSubset:
    """Some columns of another source."""

    def __init__(self, source: Source, columns: np.ndarray) -> None:
        self.source = source
        self.columns = columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.source.shape[0], len(self.columns)

    @property
    def on_disk(self) -> bool:
        """Whether the other source is on disk."""
        return self.source.on_disk

    @property
    def known_finite(self) -> bool:
        """Whether the other source is known to be finite."""
        return self.source.known_finite

    def read(self, rows: Rows) -> np.ndarray:
        """Give the chosen columns of the rows as float32."""
        return np.ascontiguousarray(self.source.read(rows)[:, self.columns])


def take_rows(source: Source, index: np.ndarray) -> RowSubset:
    """Take some rows of a source, without stacking one subset on another."""
    if isinstance(source, RowSubset):
        return RowSubset(source.source, source.index[index])
    return RowSubset(source, index)


def take_columns(source: Source, columns: np.ndarray) -> Source:
    """Take some columns of a source, without a copy where columns are next to each other in memory."""
    adjacent = len(columns) > 0 and bool((np.diff(columns) == 1).all())
    span = slice(int(columns[0]), int(columns[-1]) + 1) if adjacent else columns
    if isinstance(source, DenseRows):
        return DenseRows(source.array[:, span])
    if isinstance(source, CsrRows):
        return CsrRows(source.matrix[:, span])
    if isinstance(source, MemmapRows) and adjacent:
        return MemmapRows(source.array[:, span])
    return ColumnSubset(source, columns)


def _as_slice(index: np.ndarray) -> Rows:
    """Give a slice when the indices count up by one, so that the source can read them in one piece."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def some_rows(n_rows: int, most: int, seed: int) -> np.ndarray:
    """Return at most `most` row numbers, drawn evenly without repeats, ascending.

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
