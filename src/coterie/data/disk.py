"""Sources that live on disk: how scattered rows are read in few pieces; HDF5 datasets and zarr arrays.

n rows, d columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from coterie.data.sources import Rows
from coterie.data.stamp import Stamp
from coterie.errors import InputError

# Scattered rows on disk that are closer than this are fetched in one read: seeking costs more than reading.
_NEAR_BYTES = 64 * 1024


def contiguous_runs(rows: np.ndarray, block: int) -> Iterator[tuple[int, int]]:
    """Cut increasing rows into ranges ``[start, stop)`` that are each worth one read.

    Neighbouring rows stay together; rows with a gap between them stay together only inside one block of
    `block` rows, which is the unit that storage fetches anyway.

    Examples
    --------
    >>> list(contiguous_runs(np.array([0, 1, 2, 9, 30, 33]), 10))
    [(0, 10), (30, 34)]
    """
    if not len(rows):
        return
    apart = (np.diff(rows) > 1) & (np.diff(rows // block) > 0)
    ends = np.append(np.flatnonzero(apart), len(rows) - 1)
    start = 0
    for end in ends:
        yield int(rows[start]), int(rows[end]) + 1
        start = end + 1


def read_by_runs(
    read_range: Callable[[int, int], np.ndarray], rows: Rows, width: int, block: int
) -> np.ndarray:
    """Read any rows with a function that reads contiguous ranges into fresh arrays."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(rows, slice):
            return np.asarray(read_range(rows.start, rows.stop), dtype=np.float32, order="C")
        wanted, back = np.unique(rows, return_inverse=True)
        found = np.empty((len(wanted), width), dtype=np.float32)
        done = 0
        for start, stop in contiguous_runs(wanted, block):
            upto = int(np.searchsorted(wanted, stop))
            part = read_range(start, stop)
            found[done:upto] = part if len(part) == upto - done else part[wanted[done:upto] - start]
            done = upto
    return found if np.array_equal(wanted, rows) else found[back.reshape(-1)]


def near_rows(row_bytes: int) -> int:
    """Count the rows that one read of unchunked storage may as well fetch together."""
    return max(1, _NEAR_BYTES // max(1, row_bytes))


def is_scattered(rows: np.ndarray) -> bool:
    """Say whether runs of neighbouring rows are too short to be worth a read each."""
    return 4 * int(np.count_nonzero(np.diff(rows) != 1)) > len(rows)


class ChunkedRows:
    """An HDF5 dataset or a zarr array: anything on disk that is sliced like an array.

    Parameters
    ----------
    array : h5py.Dataset or zarr.Array
        The 2-D table.
    flipped : bool
        Whether the rows of the table are the columns of `array`, as in MATLAB's HDF5 files.
    stamp : Stamp, optional
        Of the file, which must not change while it is read.
    """

    on_disk = True

    def __init__(self, array: Any, *, flipped: bool = False, stamp: Stamp | None = None) -> None:
        self.array = array
        self.flipped = flipped
        self.stamp = stamp

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        first, second = self.array.shape
        return (second, first) if self.flipped else (first, second)

    @property
    def T(self) -> ChunkedRows:  # noqa: N802
        """The same table with rows and columns exchanged."""
        return ChunkedRows(self.array, flipped=not self.flipped, stamp=self.stamp)

    @property
    def known_finite(self) -> bool:
        """True for integers and booleans."""
        return np.dtype(self.array.dtype).kind in "biu"

    def read(self, rows: Rows) -> np.ndarray:
        """Give the rows as float32."""
        if self.stamp is not None:
            self.stamp.check()
        chunks = getattr(self.array, "chunks", None)
        axis = 1 if self.flipped else 0
        width = self.shape[1]
        block = chunks[axis] if chunks else near_rows(width * np.dtype(self.array.dtype).itemsize)
        return read_by_runs(self._range, rows, width, block)

    def _range(self, start: int, stop: int) -> np.ndarray:
        try:
            if self.flipped:
                return np.asarray(self.array[:, start:stop]).T
            return np.asarray(self.array[start:stop])
        except Exception as error:  # codecs raise what they like, down to MemoryError at a lying header
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"Rows {start} to {stop - 1} of {self.array} cannot be read ({reason}): write the file again."
            ) from error
