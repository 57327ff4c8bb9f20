"""Sources of rows: the protocol, and the two sources in memory."""

# n rows, d columns, b rows asked for

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

Rows = slice | np.ndarray


class Source(Protocol):
    """A table of numbers that is read by blocks of rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def on_disk(self) -> bool:
        """Whether reading touches a file."""

    @property
    def known_finite(self) -> bool:
        """Whether all values are known, without reading them, to be finite in float32."""

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows in the given order as a new C-contiguous float32 array (b, d)."""


def plain_rows(rows: Any, n: int) -> Rows:
    """Return any row selection as a forward slice of step one or an array of indices in [0, n).

    Examples
    --------
    >>> plain_rows(slice(-3, None), 10)
    slice(7, 10, 1)
    >>> plain_rows([True, False, True], 3)
    array([0, 2])
    """
    if isinstance(rows, slice):
        start, stop, step = rows.indices(n)
        return slice(start, max(start, stop), 1) if step == 1 else np.arange(start, stop, step)
    index = np.atleast_1d(np.asarray(rows))
    if index.dtype == bool:
        if index.shape != (n,):
            raise IndexError(f"a boolean selection of rows needs {n} entries, not {index.size}")
        return np.flatnonzero(index)
    index = index.astype(np.int64)
    if index.size and not (-n <= index.min() and index.max() < n):
        raise IndexError(
            f"row {index.max() if index.max() >= n else index.min()} is out of range for {n} rows"
        )
    return np.where(index < 0, index + n, index)


def count_rows(rows: Rows) -> int:
    """Return the number of rows of a plain selection."""
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def to_float32(block: np.ndarray) -> np.ndarray:
    """Return a C-contiguous float32 copy of a block; values too large become infinite without a warning."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(block, dtype=np.float32, order="C")


class ArrayRows:
    """Shape and dtype of a NumPy array in memory or mapped from a file."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def known_finite(self) -> bool:
        """True for integers and booleans."""
        return self.array.dtype.kind in "biu"


class DenseRows(ArrayRows):
    """A NumPy array in memory, kept in its own dtype."""

    on_disk = False

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as float32."""
        if isinstance(rows, slice):
            return to_float32(self.array[rows])
        taken = self.array.take(rows, axis=0)
        return taken if taken.dtype == np.float32 and taken.flags.c_contiguous else to_float32(taken)


class CsrRows:
    """A sparse matrix in memory, made dense by blocks."""

    on_disk = False

    def __init__(self, matrix: Any) -> None:
        self.matrix = sparse.csr_matrix(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def known_finite(self) -> bool:
        """Whether all stored values are finite in float32; the others are zero."""
        return bool(np.isfinite(to_float32(self.matrix.data)).all())

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as dense float32."""
        return to_float32(self.matrix[rows].toarray())
