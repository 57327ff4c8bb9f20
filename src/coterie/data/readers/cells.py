"""AnnData and MuData: files checked before their libraries read them, cells and modalities as views."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.convert import table_of
from coterie.data.readers.files import check_own_values, check_room, need, parsing
from coterie.data.readers.labels import encode_labels, label_columns
from coterie.data.sources import Source
from coterie.data.subsets import take_rows
from coterie.data.views import Views
from coterie.errors import InputError, listed

_MAX_DEPTH = 10
_HEAP_MAGIC = b"GCOL\x01\x00\x00\x00"
_HEAP_HEADER = 16  # of a heap, and of each object in it
_SCAN_BYTES = 16 * 2**20
_COUNT_ROWS = 200
_TABLE = re.compile("(/mod/[^/]+)?/X")


def read_cells(path: Path) -> Views:
    """Read X of a .h5ad file as one view, or the modalities of a .h5mu file; dense ones stay on disk."""
    with parsing(path, f"{path.suffix} ({_kind(path)})"):
        return cell_views(open_cells(path), str(path))


def open_cells(path: Path) -> Any:
    """Return the AnnData or MuData object of a file, its dense tables on disk."""
    kind = _kind(path)
    package = need(kind.lower(), "omics", path.suffix)
    with parsing(path, f"{path.suffix} ({kind})"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notices about older files, and the packages' own future defaults
        _check_global_heaps(path)
        _check_tree(path, "mod" if kind == "MuData" else "obs")
        return (package.read_h5mu if kind == "MuData" else package.read_h5ad)(path, backed="r")


def _kind(path: Path) -> str:
    return "MuData" if path.suffix.lower() == ".h5mu" else "AnnData"


def _check_tree(path: Path, needed: str) -> None:
    """Refuse links, deep nesting and datasets larger than the file: the packages load all but the tables."""
    h5py, file_bytes = need("h5py", "omics", path.suffix), path.stat().st_size

    def check(group: Any, depth: int) -> None:
        for name in group:
            if depth > _MAX_DEPTH or not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{group.name} holds links, or is too deep")
            node = group[name]
            if isinstance(node, h5py.Group):
                check(node, depth + 1)
                continue
            check_own_values(node)
            if not _TABLE.fullmatch(node.name) and node.shape is not None:
                check_room(node.size * node.dtype.itemsize, file_bytes)

    with h5py.File(path, "r") as file:
        check(file, 0)
        if needed not in file:
            raise ValueError("it has no modalities" if needed == "mod" else f"it has no {needed}")


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


def cell_views(data: Any, where: str | None = None) -> Views:
    """Return X of an AnnData object as one view, or the modalities of a MuData object as they are.

    Raw counts are taken as they are too, with a warning: `coterie.tl.cluster` and `coterie fit` prepare them.
    """
    if not hasattr(data, "mod"):
        where = where or "The AnnData object"
        source = _matrix(data, where)
        names = [[str(name) for name in data.var_names]]
        return Views([source], labels=cell_labels(data, where), feature_names=names)
    where = where or "The MuData object"
    sources = {name: _matrix(own, f"{where}, modality '{name}'") for name, own in data.mod.items()}
    columns = [[str(name) for name in own.var_names] for own in data.mod.values()]
    return modality_views(data, sources, columns, where)


def _matrix(data: Any, where: str) -> Any:
    try:
        source = matrix_of(data)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if is_counts(source):
        warnings.warn(
            f"{where} holds raw counts, which are compared as they are: coterie.tl.cluster, and coterie fit at the "
            "command line, normalise them; or give a representation such as adata.obsm['X_pca'].",
            UserWarning,
            stacklevel=2,
        )
    return source


def matrix_of(X: Any, layer: str | None = None) -> Source:
    """Return X of an AnnData object, or one of its layers; a sparse matrix on disk is read as it is, still sparse."""
    if layer is not None and layer not in X.layers:
        raise InputError(f"There is no layer {layer!r}: {keys_of(X.layers, 'layers')}.")
    try:
        table = X.X if layer is None else X.layers[layer]
    except KeyError:  # a file without it, open on disk
        table = None
    if table is None:
        raise InputError(
            f"The cells have no X: take a layer or a representation ({keys_of(X.layers, 'layers')}; "
            f"{keys_of(X.obsm, 'obsm')})."
        )
    table = table.to_memory() if hasattr(table, "to_memory") else table
    return table_of(table, layer or "X").source


def is_counts(source: Source) -> bool:
    """Return whether a matrix holds raw counts: whole numbers, none negative, some zero, some above one.

    Examples
    --------
    >>> from coterie.data.sources import DenseRows
    >>> [is_counts(DenseRows(np.array(rows))) for rows in ([[0, 3.0]], [[0, 1]], [[0, 0.5]], [[0, -2.0]])]
    [True, False, False, False]
    """
    values = source.read(slice(0, min(_COUNT_ROWS, source.shape[0])))
    whole = bool((values >= 0).all() and (values == np.round(values)).all())
    return whole and values.size > 0 and bool((values == 0).any() and (values > 1).any())


def keys_of(entries: Any, name: str) -> str:
    """Say in words what a part of an AnnData object holds."""
    keys = [str(key) for key in entries]
    return f"{name} has {listed(keys)}" if keys else f"{name} is empty"


def cell_labels(data: Any, where: str) -> np.ndarray | None:
    """Return the classes in a column of `obs` called label, y, class or the like; None where there is none."""
    found = label_columns([str(column) for column in data.obs.columns])
    return encode_labels(data.obs.iloc[:, found[0]].to_numpy(), where) if found else None


def modality_views(data: Any, tables: Mapping[str, Any], columns: Sequence[Any], where: str) -> Views:
    """Return a table for each modality as views of all observations; one that a modality lacks is a missing view."""
    if not tables:
        raise InputError(f"{where} has no modality: there is nothing to cluster.")
    sources, masks = [], []
    for name, table in tables.items():
        names = data.mod[name].obs_names
        if not names.is_unique:
            raise InputError(f"{where}, modality '{name}' repeats names of observations: make them unique.")
        index = names.get_indexer(data.obs_names)
        source = table_of(table, f"{where}, modality '{name}'").source
        aligned = len(index) == source.shape[0] and (index == np.arange(len(index))).all()
        sources.append(source if aligned else take_rows(source, index))
        masks.append(index >= 0)
    return Views(
        sources,
        names=list(tables),
        mask=np.column_stack(masks),
        labels=cell_labels(data, where),
        feature_names=columns,
    )
