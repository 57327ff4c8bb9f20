"""NumPy's files: .npy (memory-mapped), .npz, and a directory of .npy files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.convert import table_of
from coterie.data.readers.files import natural_order, parsing
from coterie.data.readers.labels import LABEL_NAMES, encode_labels
from coterie.data.readers.layout import views_among
from coterie.data.views import Views
from coterie.errors import InputError


def read_npy(path: Path) -> Views:
    """Map one array; its rows stay on disk until they are asked for."""
    return Views([table_of(_mapped(path), str(path)).source], names=[path.stem])


def read_directory(path: Path) -> Views:
    """Map every .npy file in a directory as one view, in the order of their names."""
    files = sorted(path.glob("*.npy"), key=lambda file: natural_order(file.stem))
    tables = [file for file in files if file.stem.lower() not in LABEL_NAMES]
    if not tables:
        raise InputError(f"{path} is a directory without .npy files: put one there for each view.")
    labels = [_mapped(file) for file in files if file.stem.lower() in LABEL_NAMES]
    try:
        return Views(
            [table_of(_mapped(file), str(file)).source for file in tables],
            names=[file.stem for file in tables],
            labels=encode_labels(np.ravel(labels[0]), str(path)) if labels else None,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _mapped(path: Path) -> np.ndarray:
    with parsing(path, "NumPy .npy"):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def read_npz(path: Path) -> Views:
    """Read the views of a .npz file: view0, view1, ..., dense or as the parts of a CSR matrix."""
    entries = npz_entries(path)
    names = entries.pop("view_names", None)
    mask = entries.pop("present", None)
    return views_among(entries, str(path), names=None if names is None else [*map(str, names)], mask=mask)


def npz_entries(path: Path) -> dict[str, Any]:
    """Load all arrays of a .npz file, with the parts of sparse matrices joined."""
    with parsing(path, "NumPy .npz"), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if not hasattr(archive, "files"):
            raise InputError(f"{path} is a single array: rename it to .npy.")
        entries = {name: archive[name] for name in archive.files}
        for name in [key.removesuffix("indptr") for key in entries if key.endswith("indptr")]:
            entries[name.rstrip("_") or "X"] = _joined(entries, name)
    return entries


def _joined(entries: dict[str, Any], prefix: str) -> sparse.csr_matrix:
    """Join data, indices, indptr and shape (as scipy.sparse.save_npz writes them, too)."""
    data, indices, indptr, shape = (
        entries.pop(prefix + part) for part in ("data", "indices", "indptr", "shape")
    )
    kind = str(np.asarray(entries.pop(prefix + "format", b"csr")).astype(str))
    layouts = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}
    if kind not in layouts:
        raise ValueError(f"sparse format {kind}")
    # Indices may be stored narrow (uint16), which SciPy does not take.
    joined = layouts[kind](
        (data, indices.astype(np.int64), indptr.astype(np.int64)), shape=tuple(map(int, shape))
    )
    joined.check_format(full_check=True)
    return joined.tocsr()
