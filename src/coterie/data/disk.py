"""Sources that live on disk: memory-mapped files, HDF5 datasets and zarr arrays.

n rows, d columns.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from coterie.data.sources import Rows, to_float32
from coterie.errors import InputError

# Scattered rows on disk that are closer than this are fetched in one read: seeking costs more than reading.
_NEAR_BYTES = 64 * 1024
_SCATTERED_ROWS = 32


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


def _is_scattered(rows: np.ndarray) -> bool:
    """Say whether runs of neighbouring rows are too short to be worth a read each."""
    return 4 * int(np.count_nonzero(np.diff(rows) != 1)) > len(rows)


class MemmapRows:
    """A memory-mapped file, whose pages are given back after each read so that memory stays small."""

    on_disk = True

    def __init__(self, array: Any) -> None:
        self.array = array
        # Pages of a private (copy-on-write) mapping may hold changes that the file does not have.
        self._map = array._mmap if getattr(array, "mode", "c") != "c" else None
        if self._map is not None and hasattr(self._map, "madvise"):
            self._base = np.frombuffer(self._map, dtype=np.uint8).__array_interface__["data"][0]
        else:
            self._map = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def known_finite(self) -> bool:
        """True for integers and booleans."""
        return self.array.dtype.kind in "biu"

    def read(self, rows: Rows) -> np.ndarray:
        """Give the rows as float32."""
        if isinstance(rows, slice) or not _is_scattered(rows):
            return read_by_runs(self._range, rows, self.shape[1], block=1)
        found = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        order = np.argsort(rows, kind="stable")
        # The system may map megabytes around each row it is asked for, so few are held at a time.
        for start in range(0, len(rows), _SCATTERED_ROWS):
            part = order[start : start + _SCATTERED_ROWS]
            found[part] = to_float32(self.array[rows[part]])
            self._release(self.array[rows[part[0]] : rows[part[-1]] + 1])
        return found

    def _range(self, start: int, stop: int) -> np.ndarray:
        part = self.array[start:stop]
        copied = to_float32(part)
        self._release(part)
        return copied

    def _release(self, part: np.ndarray) -> None:
        """Drop the mapped pages of these rows: the kernel counts them as ours otherwise."""
        if self._map is None or not part.size or min(part.strides) < 0:
            return
        first = part.__array_interface__["data"][0] - self._base
        length = sum((k - 1) * step for k, step in zip(part.shape, part.strides, strict=True)) + part.itemsize
        aligned = first - first % mmap.PAGESIZE
        self._map.madvise(mmap.MADV_DONTNEED, aligned, first + length - aligned)


class ChunkedRows:
    """An HDF5 dataset or a zarr array: anything on disk that is sliced like an array.

    Parameters
    ----------
    array : h5py.Dataset or zarr.Array
        The 2-D table.
    flipped : bool
        Whether the rows of the table are the columns of `array`, as in MATLAB's HDF5 files.
    """

    on_disk = True

    def __init__(self, array: Any, *, flipped: bool = False) -> None:
        self.array = array
        self.flipped = flipped

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        first, second = self.array.shape
        return (second, first) if self.flipped else (first, second)

    @property
    def T(self) -> ChunkedRows:  # noqa: N802
        """The same table with rows and columns exchanged."""
        return ChunkedRows(self.array, flipped=not self.flipped)

    @property
    def known_finite(self) -> bool:
        """True for integers and booleans."""
        return np.dtype(self.array.dtype).kind in "biu"

    def read(self, rows: Rows) -> np.ndarray:
        """Give the rows as float32."""
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
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(
                f"Rows {start} to {stop - 1} of {self.array} cannot be read ({error}): write the file again."
            ) from error
