"""Rows of memory-mapped files, read without touching the mapping.

A page of a mapping whose file was cut short ends the whole process (SIGBUS); a read comes back short instead. Reads
also leave no pages behind that would count as ours.

n rows, d columns.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.disk import is_scattered, read_by_runs
from coterie.data.sources import ArrayRows, Rows, to_float32
from coterie.data.stamp import Stamp
from coterie.errors import InputError

_PAGE = 4096  # the system fetches no less than this
_PIECE_BYTES = 2**18


@dataclass(frozen=True)
class Place:
    """Where a table lies in a file.

    Attributes
    ----------
    offset : int
        The byte at which it begins.
    row_step, column_step : int
        Bytes from a row to the next, and from a column to the next.
    dtype : dtype
    width : int
        Columns.
    """

    offset: int
    row_step: int
    column_step: int
    dtype: np.dtype
    width: int

    @classmethod
    def of(cls, array: Any) -> Place | None:
        """Find where a memory map, or a part of one, lies in its file; None where only the mapping can tell."""
        if not hasattr(os, "preadv") or array.filename is None or not Path(array.filename).is_file():
            return None
        # Pages of a private (copy-on-write) mapping may hold changes that the file does not have.
        if array.mode == "c" or min(array.strides) != array.itemsize:
            return None
        base = np.frombuffer(array._mmap, dtype=np.uint8).__array_interface__["data"][0]
        begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
        inside = array.__array_interface__["data"][0] - base
        row_step, column_step = array.strides
        return cls(begin + inside, row_step, column_step, array.dtype, array.shape[1])

    @property
    def by_rows(self) -> bool:
        """Whether the columns of a row lie side by side."""
        return self.column_step == self.dtype.itemsize

    @property
    def block(self) -> int:
        """Rows that one read may as well fetch together."""
        return max(1, _PAGE // (self.row_step if self.by_rows else self.dtype.itemsize))


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
        self.place = Place.of(array)
        self.stamp = None if self.place is None else Stamp.of(array.filename)
        self._size = array._mmap.size()

    def read(self, rows: Rows) -> np.ndarray:
        """Give the rows as float32."""
        if self.place is None or self.stamp is None:
            return self._read_mapping(rows)
        with _Open(self.stamp, may_be_written=self.array.mode != "r") as file:
            if self.place.by_rows and not isinstance(rows, slice) and is_scattered(rows):
                return to_float32(file.single_rows(self.place, rows))
            return read_by_runs(file.reader(self.place), rows, self.shape[1], self.place.block)

    def _read_mapping(self, rows: Rows) -> np.ndarray:
        if self.array._mmap.size() < self._size:
            raise InputError(f"{self.array.filename} was cut short while it was being read: put it back.")
        return to_float32(self.array[rows])


class _Open:
    """A file while rows are read from it: the one that the stamp is of, or an error."""

    def __init__(self, stamp: Stamp, *, may_be_written: bool) -> None:
        self.stamp, self.may_be_written = stamp, may_be_written
        self._descriptor = -1

    def __enter__(self) -> _Open:
        try:
            self._descriptor = os.open(self.stamp.path, os.O_RDONLY)
        except OSError:
            self.stamp.check(may_be_written=self.may_be_written)  # says what became of it
            raise
        self.stamp.check(self._descriptor, may_be_written=self.may_be_written)
        return self

    def __exit__(self, *details: object) -> None:
        os.close(self._descriptor)

    def reader(self, place: Place) -> Any:
        """Return the function that reads the rows from one number to another, in the dtype of the file."""

        def by_rows(start: int, stop: int) -> np.ndarray:
            at, held = place.offset + start * place.row_step, place.width * place.dtype.itemsize
            if place.row_step == held:
                found = np.empty((stop - start, place.width), place.dtype)
                self._fill(found, at)
                return found
            return self._part_of_rows(place, start, stop)

        def by_columns(start: int, stop: int) -> np.ndarray:
            found = np.empty((place.width, stop - start), place.dtype)
            for column in range(place.width if stop > start else 0):
                self._fill(found[column], place.offset + start * place.row_step + column * place.column_step)
            return found.T

        return by_rows if place.by_rows else by_columns

    def single_rows(self, place: Place, rows: np.ndarray) -> np.ndarray:
        """Read rows one by one, in the order of the file."""
        found = np.empty((len(rows), place.width), place.dtype)
        room, held = found.reshape(-1).view(np.uint8).data, place.width * place.dtype.itemsize
        for i in np.argsort(rows, kind="stable").tolist():
            self._fill_bytes(room[i * held : (i + 1) * held], place.offset + int(rows[i]) * place.row_step)
        return found

    def _part_of_rows(self, place: Place, start: int, stop: int) -> np.ndarray:
        """Read some columns of rows: whole pieces of the file where rows are short, a row at a time where not."""
        held = place.width * place.dtype.itemsize
        step = max(1, _PIECE_BYTES // place.row_step)
        found = np.empty((stop - start, place.width), place.dtype)
        lines = found.view(np.uint8).reshape(stop - start, held)
        for begin in range(start, stop, step):
            end = min(begin + step, stop)
            piece = np.empty((end - begin - 1) * place.row_step + held, np.uint8)
            self._fill(piece, place.offset + begin * place.row_step)
            strides = (place.row_step, 1)
            lines[begin - start : end - start] = np.lib.stride_tricks.as_strided(
                piece, (end - begin, held), strides
            )
        return found

    def _fill(self, found: np.ndarray, at: int) -> None:
        """Read as many bytes as the array has."""
        self._fill_bytes(found.reshape(-1).view(np.uint8).data, at)

    def _fill_bytes(self, room: memoryview, at: int) -> None:
        while len(room):
            got = os.preadv(self._descriptor, [room], at)
            if not got:
                raise self.stamp.changed("it is shorter than it was")
            room, at = room[got:], at + got
