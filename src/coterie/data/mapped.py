"""Rows of memory-mapped files, read from the file instead of the mapping.

Touching a page of a truncated file kills the process (SIGBUS); a read comes back short instead. Reads also add
nothing to the resident memory of the process.
"""

# n rows, d columns

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.disk import FileVersion, read_by_runs
from coterie.data.sources import ArrayRows, Rows, to_float32
from coterie.errors import InputError

_PAGE = 4096  # the system fetches no less than this
_PIECE_BYTES = 2**18


@dataclass(frozen=True)
class FileLayout:
    """Where a table lies in a file: offset and strides in bytes, dtype and number of columns."""

    offset: int
    row_stride: int
    column_stride: int
    dtype: np.dtype
    width: int

    @classmethod
    def of(cls, array: Any) -> FileLayout | None:
        """Return the layout of a memory map, or of a part of one; None where it can only be read as a map."""
        if not hasattr(os, "preadv") or array.filename is None or not Path(array.filename).is_file():
            return None
        # Pages of a private (copy-on-write) mapping may hold changes that the file does not have.
        if array.mode == "c" or min(array.strides) != array.itemsize:
            return None
        base = np.frombuffer(array._mmap, dtype=np.uint8).__array_interface__["data"][0]
        begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
        inside = array.__array_interface__["data"][0] - base
        row_stride, column_stride = array.strides
        return cls(begin + inside, row_stride, column_stride, array.dtype, array.shape[1])

    @property
    def row_bytes(self) -> int:
        """Bytes of the columns of a row."""
        return self.width * self.dtype.itemsize

    @property
    def row_major(self) -> bool:
        """Whether the columns of a row are contiguous."""
        return self.column_stride == self.dtype.itemsize

    @property
    def block(self) -> int:
        """Rows that one read fetches at no extra cost."""
        return max(1, _PAGE // (self.row_stride if self.row_major else self.dtype.itemsize))


class MemmapRows(ArrayRows):
    """A memory-mapped file, whose rows are read from the file itself.

    Parameters
    ----------
    array : memmap
        The 2-D table, or a part of one.
    """

    on_disk = True

    def __init__(self, array: Any) -> None:
        super().__init__(array)
        self.layout = FileLayout.of(array)
        self.version = None if self.layout is None else FileVersion.of(array.filename)
        self._size = array._mmap.size()

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as float32."""
        if self.layout is None or self.version is None:
            return self._read_mapping(rows)
        with _OpenFile(self.version, self.layout, may_be_written=self.array.mode != "r") as file:
            read_range = file.read_rows if self.layout.row_major else file.read_columns
            return read_by_runs(read_range, rows, self.shape[1], self.layout.block)

    def _read_mapping(self, rows: Rows) -> np.ndarray:
        if self.array._mmap.size() < self._size:
            raise InputError(f"{self.array.filename} was cut short while it was being read: put it back.")
        return to_float32(self.array[rows])


class _OpenFile:
    """An open file of a known version and layout; every read checks that it is not shorter than it was."""

    def __init__(self, version: FileVersion, layout: FileLayout, *, may_be_written: bool) -> None:
        self.version, self.layout, self.may_be_written = version, layout, may_be_written
        self._descriptor = -1

    def __enter__(self) -> _OpenFile:
        try:
            self._descriptor = os.open(self.version.path, os.O_RDONLY)
        except OSError:
            self.version.check(may_be_written=self.may_be_written)  # says what became of it
            raise
        self.version.check(self._descriptor, may_be_written=self.may_be_written)
        return self

    def __exit__(self, *details: object) -> None:
        os.close(self._descriptor)

    def read_columns(self, start: int, stop: int) -> np.ndarray:
        """Read a range of rows of a column-major table."""
        layout, columns = self.layout, np.empty((self.layout.width, stop - start), self.layout.dtype)
        for j in range(layout.width if stop > start else 0):
            self._fill(
                _bytes(columns[j]), layout.offset + start * layout.row_stride + j * layout.column_stride
            )
        return columns.T

    def read_rows(self, start: int, stop: int) -> np.ndarray:
        """Read a range of rows of a row-major table; by pieces where the table is some columns of the file."""
        layout, rows = self.layout, np.empty((stop - start, self.layout.width), self.layout.dtype)
        if layout.row_stride == layout.row_bytes:
            self._fill(_bytes(rows), layout.offset + start * layout.row_stride)
            return rows
        row_bytes = rows.view(np.uint8).reshape(stop - start, layout.row_bytes)
        step = max(1, _PIECE_BYTES // layout.row_stride)
        for first in range(start, stop, step):
            end = min(first + step, stop)
            piece = np.empty((end - first - 1) * layout.row_stride + layout.row_bytes, np.uint8)
            self._fill(piece.data, layout.offset + first * layout.row_stride)
            row_bytes[first - start : end - start] = np.lib.stride_tricks.as_strided(
                piece, (end - first, layout.row_bytes), (layout.row_stride, 1)
            )
        return rows

    def _fill(self, buffer: memoryview, offset: int) -> None:
        """Read as many bytes as the buffer holds."""
        while len(buffer):
            n_read = os.preadv(self._descriptor, [buffer], offset)
            if not n_read:
                raise self.version.changed("it is shorter than it was")
            buffer, offset = buffer[n_read:], offset + n_read


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
