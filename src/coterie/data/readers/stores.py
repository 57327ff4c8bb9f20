"""zarr stores and MuData files."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.convert import table_of
from coterie.data.disk import ChunkedRows
from coterie.data.readers.files import check_room, need, parsing
from coterie.data.readers.labels import LABEL_NAMES, encode_labels, label_columns
from coterie.data.readers.selection import select_views
from coterie.data.subsets import take_rows
from coterie.data.views import Views
from coterie.errors import InputError

_MAX_DEPTH = 10
_HEAP_MAGIC = b"GCOL\x01\x00\x00\x00"
_HEAP_HEADER = 16  # of a heap, and of each object in it
_SCAN_BYTES = 16 * 2**20
_TABLE = re.compile("/mod/[^/]+/X")


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


def read_mudata(path: Path) -> Views:
    """Read the modalities of a .h5mu file as views; dense ones stay on disk."""
    mudata = need("mudata", "omics", ".h5mu")
    with parsing(path, "MuData .h5mu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notices about the package's own future defaults
        _check_global_heaps(path)
        _check_tree(path)
        data = mudata.read_h5mu(path, backed="r")
        return mudata_views(data, str(path))


def _check_tree(path: Path) -> None:
    """Refuse links, deep nesting and datasets larger than the file: mudata loads all but the tables."""
    h5py, file_bytes = need("h5py", "omics", ".h5mu"), path.stat().st_size

    def check(group: Any, depth: int) -> None:
        for name in group:
            if depth > _MAX_DEPTH or not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{group.name} holds links, or is too deep")
            node = group[name]
            if isinstance(node, h5py.Group):
                check(node, depth + 1)
            elif not _TABLE.fullmatch(node.name) and node.shape is not None:
                check_room(node.size * node.dtype.itemsize, file_bytes)

    with h5py.File(path, "r") as file:
        check(file, 0)
        if not isinstance(file.get("mod"), h5py.Group):
            raise ValueError("it has no modalities")


def _check_global_heaps(path: Path) -> None:
    """Refuse a file with a damaged global heap (strings of variable length), in which libhdf5 would loop for ever."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for start in range(0, size, _SCAN_BYTES):
            file.seek(start)
            piece = file.read(_SCAN_BYTES + len(_HEAP_MAGIC) - 1)
            at = piece.find(_HEAP_MAGIC)
            while at >= 0:
                if (start + at) % 8 == 0:
                    file.seek(start + at)
                    length = int.from_bytes(file.read(_HEAP_HEADER)[8:], "little")
                    if length <= size - start - at:  # otherwise libhdf5 sees it, or these are numbers
                        _check_heap_objects(file.read(length - _HEAP_HEADER))
                at = piece.find(_HEAP_MAGIC, at + 1)


def _check_heap_objects(heap: bytes) -> None:
    """Check that the objects fill a heap one after the other.

    An object is its number (two bytes, 0 for the free space at the end), six bytes, its length (eight bytes) and its
    bytes, padded to a multiple of eight. The length of the free space includes its header.
    """
    at = 0
    while len(heap) - at >= _HEAP_HEADER:
        number = int.from_bytes(heap[at : at + 2], "little")
        length = int.from_bytes(heap[at + 8 : at + _HEAP_HEADER], "little")
        taken = _HEAP_HEADER + -(-length // 8) * 8 if number else length
        if taken > len(heap) - at or (number == 0 and taken != len(heap) - at):
            raise ValueError("a global heap that is damaged")
        at += taken


def mudata_views(data: Any, where: str = "The MuData object") -> Views:
    """Return the modalities of a MuData object as views; an observation that a modality lacks is a missing view."""
    rows = data.obs_names
    sources, masks, columns = [], [], []
    for name, modality in data.mod.items():
        if not modality.obs_names.is_unique:
            raise InputError(f"{where}, modality '{name}' repeats names of observations: make them unique.")
        index = modality.obs_names.get_indexer(rows)
        table = modality.X.to_memory() if hasattr(modality.X, "to_memory") else modality.X  # sparse, on disk
        source = table_of(table, f"{where}, modality '{name}'").source
        aligned = len(index) == source.shape[0] and (index == np.arange(len(index))).all()
        sources.append(source if aligned else take_rows(source, index))
        masks.append(index >= 0)
        columns.append([str(column) for column in modality.var_names])
    if not sources:
        raise InputError(f"{where} has no modality: there is nothing to cluster.")
    labels = label_columns([str(column) for column in data.obs.columns])
    return Views(
        sources,
        names=list(data.mod),
        mask=np.column_stack(masks),
        labels=encode_labels(data.obs.iloc[:, labels[0]].to_numpy(), where) if labels else None,
        feature_names=columns,
    )
