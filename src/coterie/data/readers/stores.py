"""zarr stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.convert import table_of
from coterie.data.disk import ChunkedRows
from coterie.data.readers.files import check_room, need, parsing
from coterie.data.readers.labels import LABEL_NAMES
from coterie.data.readers.selection import select_views
from coterie.data.views import Views
from coterie.errors import InputError


def read_zarr(path: Path) -> Views:
    """Open a zarr array as one view, or a group as one view for each of its tables; they stay on disk."""
    zarr = need("zarr", "zarr", ".zarr")
    with parsing(path, "zarr"):
        node = zarr.open(path, mode="r")
        members = {path.stem: node} if isinstance(node, zarr.Array) else dict(node.arrays())
        for name, array in members.items():
            _refuse_pickle(array, f"{path}, array '{name}'")
        store_bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        entries = {name: _entry(name, array, store_bytes) for name, array in members.items()}
        if isinstance(node, zarr.Array):
            return Views([table_of(node, str(path)).source], names=[path.stem])
        return select_views(entries, str(path))


def _refuse_pickle(array: Any, where: str) -> None:
    """Refuse a codec of old zarr arrays that unpickles, and so could run, what the file holds."""
    metadata = array.metadata
    codecs = [*(getattr(metadata, "filters", None) or ()), getattr(metadata, "compressor", None)]
    codecs += getattr(metadata, "codecs", None) or ()
    if array.dtype.kind in "OV" or any("pickle" in repr(codec).lower() for codec in codecs):
        raise InputError(f"{where} holds Python objects, which could run code and are never loaded.")


def _entry(name: str, array: Any, store_bytes: int) -> Any:
    """Load what may be labels; tables stay on disk."""
    if name.lower() in LABEL_NAMES:
        check_room(array.nbytes, store_bytes)
        return np.asarray(array[...])
    return ChunkedRows(array) if array.ndim == 2 and array.dtype.kind in "biuf" else None
