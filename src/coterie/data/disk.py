"""Rows on disk: scattered rows in few reads, files that change while they are read, HDF5 and zarr arrays."""

# n rows, d columns

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from coterie.data.sources import Rows
from coterie.errors import InputError

# Scattered rows on disk that are closer than this are fetched in one read: seeking costs more than reading.
_NEAR_BYTES = 64 * 1024


def contiguous_runs(rows: np.ndarray, block: int) -> Iterator[tuple[int, int]]:
    """Split increasing row numbers into ranges ``[start, stop)``, one for each read.

    A range spans a gap only inside one block of `block` rows, the unit that storage fetches anyway.

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
    """Read any rows as float32 with a function that reads contiguous ranges."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(rows, slice):
            return np.asarray(read_range(rows.start, rows.stop), dtype=np.float32, order="C")
        unique, inverse = np.unique(rows, return_inverse=True)
        values = np.empty((len(unique), width), dtype=np.float32)
        done = 0
        for start, stop in contiguous_runs(unique, block):
            end = int(np.searchsorted(unique, stop))
            part = read_range(start, stop)
            values[done:end] = part if len(part) == end - done else part[unique[done:end] - start]
            done = end
    return values if np.array_equal(unique, rows) else values[inverse.reshape(-1)]


def near_rows(row_bytes: int) -> int:
    """Return how many rows one read of unchunked storage fetches at no extra cost."""
    return max(1, _NEAR_BYTES // max(1, row_bytes))


@dataclass(frozen=True)
class FileVersion:
    """Size, inode and time of last writing of a file: a run must not mix rows of two versions of it.

    Examples
    --------
    >>> path = Path(getfixture("tmp_path")) / "rows.bin"
    >>> _ = path.write_bytes(b"1234")
    >>> version = FileVersion.of(path)
    >>> version.check()
    >>> _ = path.write_bytes(b"12")
    >>> version.check()
    Traceback (most recent call last):
    coterie.errors.InputError: ... changed while it was being read (it had 4 bytes and has 2): put it back, ...
    """

    path: Path
    size: int
    inode: int
    written_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Return the version that a file has now."""
        status = os.stat(path)
        return cls(Path(path), status.st_size, status.st_ino, status.st_mtime_ns)

    def check(self, descriptor: int | None = None, *, may_be_written: bool = False) -> None:
        """Raise when the file, open under `descriptor` or at its path, has changed.

        With `may_be_written`, for files that are written to on purpose, only a shorter file is an error.
        """
        try:
            status = os.stat(self.path if descriptor is None else descriptor)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read any more ({error.strerror}): put it back."
            ) from error
        same = (status.st_size, status.st_ino, status.st_mtime_ns) == (self.size, self.inode, self.written_ns)
        if not (same or (may_be_written and status.st_size >= self.size)):
            sizes = f"it had {self.size} bytes and has {status.st_size}"
            raise self.changed(sizes if status.st_size != self.size else "somebody wrote to it")

    def changed(self, how: str) -> InputError:
        """Return the error that says how the file changed."""
        return InputError(
            f"{self.path} changed while it was being read ({how}): put it back, or start anew with the file as it is."
        )


class ChunkedRows:
    """An HDF5 dataset or a zarr array: anything on disk that is sliced like an array.

    Parameters
    ----------
    array : h5py.Dataset or zarr.Array
        The 2-D table.
    transposed : bool
        Whether the rows of the table are the columns of `array`, as in MATLAB's HDF5 files.
    version : FileVersion, optional
        Of the file, which must not change while it is read.
    """

    on_disk = True

    def __init__(self, array: Any, *, transposed: bool = False, version: FileVersion | None = None) -> None:
        self.array = array
        self.transposed = transposed
        self.version = version

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        first, second = self.array.shape
        return (second, first) if self.transposed else (first, second)

    @property
    def T(self) -> ChunkedRows:  # noqa: N802
        """The same table with rows and columns exchanged."""
        return ChunkedRows(self.array, transposed=not self.transposed, version=self.version)

    @property
    def known_finite(self) -> bool:
        """True for integers and booleans."""
        return np.dtype(self.array.dtype).kind in "biu"

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as float32."""
        if self.version is not None:
            self.version.check()
        chunks = getattr(self.array, "chunks", None)
        axis = 1 if self.transposed else 0
        width = self.shape[1]
        block = chunks[axis] if chunks else near_rows(width * np.dtype(self.array.dtype).itemsize)
        return read_by_runs(self._range, rows, width, block)

    def _range(self, start: int, stop: int) -> np.ndarray:
        try:
            if self.transposed:
                return np.asarray(self.array[:, start:stop]).T
            return np.asarray(self.array[start:stop])
        except Exception as error:  # codecs raise what they like, down to MemoryError at a lying header
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"Rows {start} to {stop - 1} of {self.array} cannot be read ({reason}): write the file again."
            ) from error
