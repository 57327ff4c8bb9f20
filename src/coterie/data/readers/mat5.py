"""MATLAB files of version 5 to 7, parsed here because SciPy's reader crashes on some damaged ones.

Every length is compared with the bytes that are left before anything is allocated.
"""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coterie.data.readers.files import check_compressed, check_room

_HEADER = 128
_COMPRESSED, _MATRIX = 15, 14
_KINDS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
    16: "u1", 17: "u2", 18: "u4",
}  # fmt: skip
_CELL, _CHAR, _SPARSE = 1, 4, 5
_NUMBERS = range(6, 16)
_COMPLEX = 0x0800
_MAX_DEPTH = 16


class Element(NamedTuple):
    """A data element: its type, its bytes, and the bytes after it."""

    kind: int
    body: memoryview
    rest: memoryview


def mat5_entries(data: bytes) -> dict[str, Any]:
    """Return the variables of a file: arrays, strings, sparse matrices, lists for cell arrays, None for others."""
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128])
    if order is None:
        raise ValueError("no mark of its byte order")
    variables, rest = {}, memoryview(data)[_HEADER:]
    while len(rest):
        kind, body, rest = _element(rest, order, padded=False)
        if kind == _COMPRESSED:
            kind, body, _ = _element(memoryview(zlib.decompressobj().decompress(body)), order)
        if kind != _MATRIX:
            raise ValueError(f"an element of type {kind} where a variable should be")
        name, value = _matrix(body, order, _MAX_DEPTH)
        variables[name] = value
    return variables


def _element(data: memoryview, order: str, padded: bool = True) -> Element:
    """Parse the first element; a small one has its length and bytes inside the tag."""
    if len(data) < 8:
        raise ValueError("it ends inside a tag")
    first, second = (int(number) for number in np.frombuffer(data[:8], order + "u4"))
    small = first >> 16
    kind, size, start = (first & 0xFFFF, small, 4) if small else (first, second, 8)
    if size > (4 if small else len(data) - 8):
        raise ValueError(f"it says {size} bytes where {len(data) - start} are left")
    end = 8 if small else 8 + size
    padding = -end % 8 if padded and kind != _COMPRESSED else 0
    return Element(kind, data[start : start + size], data[end + padding :])


def _numbers(data: memoryview, order: str) -> tuple[np.ndarray, memoryview]:
    """Parse an element of numbers into an array on the same memory; return it with the bytes after it."""
    kind, body, rest = _element(data, order)
    if kind not in _KINDS:
        raise ValueError(f"an element of type {kind} where numbers should be")
    dtype = np.dtype(order + _KINDS[kind])
    if len(body) % dtype.itemsize:
        raise ValueError("a piece of a number")
    return np.frombuffer(body, dtype), rest


def _matrix(data: memoryview, order: str, depth: int) -> tuple[str, Any]:
    if not len(data) or depth == 0:  # MATLAB writes an empty cell as nothing at all
        return "", None
    flags, data = _numbers(data, order)
    sides, data = _numbers(data, order)
    name, data = _numbers(data, order)
    if len(flags) < 1 or len(sides) < 2 or (sides.astype(np.int64) < 0).any():
        raise ValueError("a variable without flags or dimensions")
    shape, kind = tuple(int(side) for side in sides), int(flags[0]) & 0xFF
    return name.tobytes().decode("utf-8", "replace"), _value(kind, shape, int(flags[0]), data, order, depth)


def _value(kind: int, shape: tuple[int, ...], flags: int, data: memoryview, order: str, depth: int) -> Any:
    if kind == _CELL:
        return _cell(math.prod(shape), data, order, depth)
    if kind == _SPARSE:
        return _columns(shape, flags, data, order)
    if kind == _CHAR:
        return _text(_shaped(_numbers(data, order)[0], shape))
    if kind not in _NUMBERS:
        return None
    real, data = _numbers(data, order)
    if not flags & _COMPLEX:
        return _shaped(real, shape)
    return _shaped(real, shape) + 1j * _shaped(_numbers(data, order)[0], shape)


def _shaped(numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if math.prod(shape) != len(numbers):
        raise ValueError(f"{len(numbers)} numbers for the shape {shape}")
    return numbers.reshape(shape, order="F")


def _cell(count: int, data: memoryview, order: str, depth: int) -> list[Any]:
    if 8 * count > len(data):
        raise ValueError(f"{count} cells in {len(data)} bytes")
    cells = []
    for _ in range(count):
        kind, body, data = _element(data, order)
        if kind != _MATRIX:
            raise ValueError(f"an element of type {kind} where a cell should be")
        cells.append(_matrix(body, order, depth - 1)[1])
    return cells


def _text(codes: np.ndarray) -> np.ndarray:
    """Return each row of a table of characters as one string."""
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError("a text that is no table of characters")
    return np.array(["".join(map(chr, line)) for line in codes.tolist()], dtype=str)


def _columns(shape: tuple[int, ...], flags: int, data: memoryview, order: str) -> sparse.csr_matrix:
    rows, data = _numbers(data, order)
    starts, data = _numbers(data, order)
    values, _ = _numbers(data, order)
    if flags & _COMPLEX or len(shape) != 2:
        raise ValueError("a sparse matrix of complex numbers, or of more than two dimensions")
    return csr_of_columns(values, rows, starts, shape[0])


def csr_of_columns(
    values: np.ndarray, rows: np.ndarray, starts: np.ndarray, n_rows: int
) -> sparse.csr_matrix:
    """Return the CSR form of a CSC matrix; MATLAB may allocate more values than there are.

    Examples
    --------
    >>> csr_of_columns(np.array([5.0, 7.0]), np.array([1, 0]), np.array([0, 1, 2]), 2).toarray()
    array([[0., 7.],
           [5., 0.]])
    """
    starts, count = starts.astype(np.int64), int(starts[-1]) if len(starts) else -1
    if not 0 <= count <= min(len(values), len(rows)):
        raise ValueError(f"a sparse matrix of {count} values that has {min(len(values), len(rows))}")
    indices = rows[:count].astype(np.int64)
    check_room(8 * n_rows, values.nbytes + rows.nbytes)
    check_compressed(indices, starts, n_rows)
    return sparse.csc_matrix((values[:count], indices, starts), (n_rows, len(starts) - 1)).tocsr()
