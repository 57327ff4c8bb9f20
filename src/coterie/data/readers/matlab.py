"""MATLAB's .mat files from version 5 on, those of v7.3 with h5py, and HDF5 files in general."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.disk import ChunkedRows, FileVersion
from coterie.data.readers.files import check_own_values, check_room, need, parsing
from coterie.data.readers.labels import LABEL_NAMES
from coterie.data.readers.mat5 import csr_of_columns, mat5_entries
from coterie.data.readers.selection import select_views
from coterie.data.views import Views
from coterie.errors import InputError

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path) -> Views:
    """Read a .mat file: a cell array X{v}, or X1, X2, ..., or one X."""
    return select_views(mat_entries(path), str(path), may_transpose=True)


def read_hdf5(path: Path) -> Views:
    """Read the tables of an HDF5 file, which stay on disk."""
    return select_views(hdf5_entries(path, transposed=False), str(path))


def mat_entries(path: Path) -> dict[str, Any]:
    """Return the variables of a .mat file."""
    return hdf5_entries(path, transposed=True) if _is_hdf5(path) else _old_entries(path)


def _is_hdf5(path: Path) -> bool:
    """Return whether a file has HDF5's signature, which MATLAB puts after a header of 512 bytes."""
    with parsing(path, "MATLAB .mat"), path.open("rb") as file:
        head = file.read(520)
    return head.startswith(_HDF5_SIGNATURE) or head[512:] == _HDF5_SIGNATURE


def _old_entries(path: Path) -> dict[str, Any]:
    """Return the variables of a file before v7.3; version 4 starts with a number, later versions with text."""
    with parsing(path, "MATLAB .mat"):
        data = path.read_bytes()
        if len(data) >= 20 and min(int.from_bytes(data[:4], order) for order in ("little", "big")) < 5000:
            raise InputError(
                f"{path} is a MATLAB 4 file, which coterie does not read: save it again with -v7."
            )
        return mat5_entries(data)


def hdf5_entries(path: Path, *, transposed: bool) -> dict[str, Any]:
    """Return the variables of an HDF5 file; MATLAB's arrays are `transposed`."""
    h5py = need("h5py", "hdf5", ".mat v7.3" if transposed else path.suffix)
    with parsing(path, "HDF5"):
        file = h5py.File(path, "r")
        names = [name for name in file if not name.startswith("#")]
        for name in names:
            if isinstance(file.get(name, getlink=True), h5py.ExternalLink):
                raise ValueError(f"{name} is a link to another file")
        return {name: _value(h5py, file, file[name], name, transposed) for name in names}


def _value(h5py: Any, file: Any, node: Any, name: str, transposed: bool) -> Any:
    if isinstance(node, h5py.Group):
        return _sparse(node) if {"data", "ir", "jc"} <= set(node) else None
    check_own_values(node)
    if node.dtype == h5py.ref_dtype:
        # MATLAB's column-major order is the row-major order of the transposed array.
        return [_value(h5py, file, file[ref], name, transposed) for ref in _loaded(node).ravel()]
    if node.dtype.kind == "O":  # strings in a global heap, where libhdf5 can loop for ever
        return None
    if _matlab_class(node) == "char":
        return np.array("".join(map(chr, _loaded(node).T.ravel(order="F"))))
    if node.ndim != 2 or node.size == 0:
        return _loaded(node) if node.dtype.kind in "biufS" and node.shape is not None else None
    if 1 in node.shape or name.lower() in LABEL_NAMES:
        return _loaded(node).T if transposed else _loaded(node)
    if node.dtype.kind not in "biuf":
        return None
    return ChunkedRows(node, transposed=transposed, version=FileVersion.of(node.file.filename))


def _matlab_class(node: Any) -> str:
    if "MATLAB_class" not in node.attrs or node.attrs.get_id("MATLAB_class").dtype.kind != "S":
        return ""
    return bytes(node.attrs["MATLAB_class"]).decode("ascii", "replace")


def _sparse(group: Any) -> sparse.csr_matrix:
    """Read a sparse matrix by columns, as MATLAB stores it; the number of rows is an attribute."""
    for part in ("data", "ir", "jc"):
        check_own_values(group[part])
    values, rows, starts = (_loaded(group[part]).ravel() for part in ("data", "ir", "jc"))
    rows = rows.astype(np.int64)
    n_rows = int(group.attrs.get("MATLAB_sparse", rows.max(initial=-1) + 1))
    return csr_of_columns(values, rows, starts, n_rows)


def _loaded(node: Any) -> np.ndarray:
    """Read a dataset into memory, unless it is too large for its file: values never written take no bytes there."""
    if node.dtype.kind not in "biufSO":
        raise ValueError(f"{node.name} holds {node.dtype}")
    check_room(node.size * node.dtype.itemsize, node.file.id.get_filesize())
    return np.asarray(node)
