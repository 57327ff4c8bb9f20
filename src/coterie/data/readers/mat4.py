"""MATLAB's files of version 4: tables of numbers and of characters, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.readers.files import check_room

_HEADER = 20
_KINDS = ("f8", "f4", "i4", "i2", "u2", "u1")
_CHARACTERS, _SPARSE = 1, 2


def mat4_entries(data: bytes) -> dict[str, Any]:
    """Return the variables of a file; every length is compared with the bytes that are there."""
    found, at = {}, 0
    while at < len(data):
        if at + _HEADER > len(data):
            raise ValueError("it ends inside a header")
        order = "<" if 0 <= int(np.frombuffer(data, "<i4", 1, at)[0]) < 5000 else ">"
        mark, n_rows, n_columns, is_complex, length = map(int, np.frombuffer(data, order + "i4", 5, at))
        at += _HEADER
        kind, layout = mark // 10 % 10, mark % 10
        if not 0 <= mark < 5000 or kind >= len(_KINDS) or min(n_rows, n_columns, length) < 0:
            raise ValueError("a header that no MATLAB wrote")
        dtype = np.dtype(order + _KINDS[kind])
        count = n_rows * n_columns
        size = count * dtype.itemsize * (2 if is_complex else 1)
        if at + length + size > len(data):
            raise ValueError(f"it says {length + size} bytes where {len(data) - at} are left")
        name = data[at : at + length].rstrip(b"\x00").decode("latin-1")
        table = np.frombuffer(data, dtype, count, at + length).reshape((n_rows, n_columns), order="F")
        at += length + size
        found[name] = None if is_complex else _value(table, layout)
    return found


def _value(table: np.ndarray, layout: int) -> Any:
    if layout == _CHARACTERS:
        return np.array(
            ["".join(chr(int(code) % 0x110000) for code in line) for line in table.tolist()], dtype=str
        )
    return _sparse(table) if layout == _SPARSE else table


def _sparse(table: np.ndarray) -> sparse.csr_matrix:
    """Return a matrix kept as lines of row, column and value, the last of which tells the shape."""
    if table.shape[1] != 3 or not len(table) or not np.isfinite(table).all():
        raise ValueError("a sparse matrix without its three columns")
    places, shape = table[:-1, :2].astype(np.int64) - 1, tuple(int(side) for side in table[-1, :2])
    check_room(8 * max(shape), table.nbytes)
    if min(shape) < 0 or (places < 0).any() or (places >= shape).any():
        raise ValueError("a sparse matrix with values outside of it")
    return sparse.coo_matrix((table[:-1, 2], (places[:, 0], places[:, 1])), shape).tocsr()
