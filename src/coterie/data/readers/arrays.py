"""NumPy files: .npy (memory-mapped), .npz, and a directory of .npy files."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.convert import table_of
from coterie.data.readers.files import check_compressed, check_room, natural_order, parsing
from coterie.data.readers.labels import LABEL_NAMES, encode_labels
from coterie.data.readers.selection import select_views
from coterie.data.views import Views
from coterie.errors import InputError

_LAST_CHARACTER = 0x10FFFF
# Version 3.0 is for the names of fields, which no table has.
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(path: Path) -> Views:
    """Memory-map a .npy file as one view."""
    return Views([table_of(mapped_npy(path), str(path)).source], names=[path.stem])


def read_directory(path: Path) -> Views:
    """Memory-map each .npy file of a directory as one view, in the order of their names."""
    files = sorted(path.glob("*.npy"), key=lambda file: natural_order(file.stem))
    tables = [file for file in files if file.stem.lower() not in LABEL_NAMES]
    if not tables:
        raise InputError(f"{path} is a directory without .npy files: put one there for each view.")
    labels = [mapped_npy(file) for file in files if file.stem.lower() in LABEL_NAMES]
    try:
        return Views(
            [table_of(mapped_npy(file), str(file)).source for file in tables],
            names=[file.stem for file in tables],
            labels=encode_labels(np.ravel(labels[0]), str(path)) if labels else None,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def mapped_npy(path: Path) -> np.ndarray:
    """Memory-map the array of a .npy file, if its header matches the size of the file."""
    with parsing(path, "NumPy .npy"):
        with path.open("rb") as file:
            _check_header(file, path.stat().st_size)
        return _checked_text(np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(path: Path) -> Views:
    """Read the views of a .npz file: view0, view1, ..., dense or as the parts of a CSR matrix."""
    entries = npz_entries(path)
    names = entries.pop("view_names", np.array([], dtype=str))
    mask = entries.pop("present", None)
    if names.ndim != 1 or names.dtype.kind != "U" or len(names) > len(entries):
        raise InputError(f"{path}: view_names must be text, one name a view.")
    return select_views(entries, str(path), names=names.tolist() or None, mask=mask)


def npz_entries(path: Path) -> dict[str, Any]:
    """Load all arrays of a .npz file; the parts of a sparse matrix become one."""
    with parsing(path, "NumPy .npz"), path.open("rb") as file:
        if file.read(6) == np.lib.format.MAGIC_PREFIX:
            raise InputError(f"{path} is a single array: rename it to .npy.")
        with zipfile.ZipFile(file) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            file_bytes = path.stat().st_size
            check_room(sum(info.file_size for info in members), file_bytes)
            if sum(info.compress_size for info in members) > file_bytes:
                raise ValueError("its directory says more than it holds")
            entries = {info.filename.removesuffix(".npy"): _member(archive, info) for info in members}
        if len(entries) < len(members):
            raise ValueError("it holds an array twice")
        for name in [key.removesuffix("indptr") for key in entries if key.endswith("indptr")]:
            entries[name.rstrip("_") or "X"] = _csr_matrix(entries, name)
    return entries


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Load one array, if its header matches its size."""
    with archive.open(info) as file:
        _check_header(file, info.file_size)
    with archive.open(info) as file:
        return _checked_text(np.lib.format.read_array(file, allow_pickle=False))


def _check_header(file: Any, length: int) -> None:
    """Check that the header of an array matches its length in bytes.

    NumPy allocates what a header claims, and crashes on a dtype of size zero.
    """
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"an array of version {version}")
    try:
        shape, _, dtype = _HEADERS[version](file)
    except MemoryError:  # raised by Python's parser for nested brackets
        raise ValueError("a header that is no header") from None
    n_bytes = length - file.tell()
    if dtype.hasobject:
        raise ValueError("Python objects")
    if not dtype.itemsize or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"{dtype} of shape {shape} in {n_bytes} bytes")


def _checked_text(array: np.ndarray) -> np.ndarray:
    """Refuse strings with invalid code points, at which Python fails later without a clear message."""
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder.replace("|", "=") + "u4")
        if (codes > _LAST_CHARACTER).any():
            raise ValueError("text that is no text")
    return array


def _csr_matrix(entries: dict[str, Any], prefix: str) -> sparse.csr_matrix:
    """Build a matrix from data, indices, indptr and shape, as scipy.sparse.save_npz writes them."""
    data, indices, indptr, shape = (
        entries.pop(prefix + part) for part in ("data", "indices", "indptr", "shape")
    )
    kind = str(np.asarray(entries.pop(prefix + "format", b"csr")).astype(str))
    sides = tuple(map(int, shape))
    check_room(8 * max(sides), data.nbytes + indices.nbytes)
    layouts = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}
    if kind not in layouts:
        raise ValueError(f"sparse format {kind}")
    # Indices may be stored narrow (uint16), which SciPy does not take.
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    check_compressed(indices, indptr, sides[1] if kind == "csr" else sides[0])
    return layouts[kind]((data, indices, indptr), shape=sides).tocsr()
