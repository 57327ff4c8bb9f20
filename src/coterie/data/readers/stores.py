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
from coterie.data.readers.heaps import check_heaps
from coterie.data.readers.labels import LABEL_NAMES, encode_labels, label_columns
from coterie.data.readers.layout import views_among
from coterie.data.subsets import take_rows
from coterie.data.views import Views
from coterie.errors import InputError

_DEEPEST = 10
_TABLE = re.compile("/mod/[^/]+/X")


def read_zarr(path: Path) -> Views:
    """Open a zarr array as one view, or a group as one view for each of its tables; they stay on disk."""
    zarr = need("zarr", "zarr", ".zarr")
    with parsing(path, "zarr"):
        node = zarr.open(path, mode="r")
        members = {path.stem: node} if isinstance(node, zarr.Array) else dict(node.arrays())
        for name, array in members.items():
            _refuse_pickle(array, f"{path}, array '{name}'")
        held = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        entries = {name: _entry(name, array, held) for name, array in members.items()}
        if isinstance(node, zarr.Array):
            return Views([table_of(node, str(path)).source], names=[path.stem])
        return views_among(entries, str(path))


def _refuse_pickle(array: Any, where: str) -> None:
    """Old zarr arrays may ask for a codec that unpickles, and so runs, what the file holds."""
    metadata = array.metadata
    codecs = [*(getattr(metadata, "filters", None) or ()), getattr(metadata, "compressor", None)]
    codecs += getattr(metadata, "codecs", None) or ()
    if array.dtype.kind in "OV" or any("pickle" in repr(codec).lower() for codec in codecs):
        raise InputError(f"{where} holds Python objects, which could run code and are never loaded.")


def _entry(name: str, array: Any, held: int) -> Any:
    """Load what may be labels, leave tables on disk; `held` are the bytes of the store."""
    if name.lower() in LABEL_NAMES:
        check_room(array.nbytes, held)
        return np.asarray(array[...])
    return ChunkedRows(array) if array.ndim == 2 and array.dtype.kind in "biuf" else None


def read_mudata(path: Path) -> Views:
    """Read the modalities of a .h5mu file as views; dense ones stay on disk."""
    mudata = need("mudata", "omics", ".h5mu")
    with parsing(path, "MuData .h5mu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notices about the package's own future defaults
        check_heaps(path)
        _check_tree(path)
        data = mudata.read_h5mu(path, backed="r")
        return mudata_views(data, str(path))


def _check_tree(path: Path) -> None:
    """Refuse a file that mudata would follow for ever, or that says more than it holds: all but tables is loaded."""
    h5py, held = need("h5py", "omics", ".h5mu"), path.stat().st_size

    def check(group: Any, depth: int) -> None:
        for name in group:
            if depth > _DEEPEST or not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{group.name} holds links, or is too deep")
            node = group[name]
            if isinstance(node, h5py.Group):
                check(node, depth + 1)
            elif not _TABLE.fullmatch(node.name) and node.shape is not None:
                check_room(node.size * node.dtype.itemsize, held)

    with h5py.File(path, "r") as file:
        check(file, 0)
        if not isinstance(file.get("mod"), h5py.Group):
            raise ValueError("it has no modalities")


def mudata_views(data: Any, where: str = "The MuData object") -> Views:
    """Turn the modalities of a MuData object into views; an observation that a modality lacks is missing."""
    rows = data.obs_names
    sources, masks, columns = [], [], []
    for name, modality in data.mod.items():
        if not modality.obs_names.is_unique:
            raise InputError(f"{where}, modality '{name}' repeats names of observations: make them unique.")
        index = modality.obs_names.get_indexer(rows)
        source = table_of(_in_reach(modality.X), f"{where}, modality '{name}'").source
        aligned = len(index) == source.shape[0] and (index == np.arange(len(index))).all()
        sources.append(source if aligned else take_rows(source, index))
        masks.append(index >= 0)
        columns.append([str(column) for column in modality.var_names])
    if not sources:
        raise InputError(f"{where} has no modality: there is nothing to cluster.")
    found = label_columns([str(column) for column in data.obs.columns])
    return Views(
        sources,
        names=list(data.mod),
        mask=np.column_stack(masks),
        labels=encode_labels(data.obs.iloc[:, found[0]].to_numpy(), where) if found else None,
        feature_names=columns,
    )


def _in_reach(x: Any) -> Any:
    """Load a sparse matrix that is still on disk."""
    return x.to_memory() if hasattr(x, "to_memory") else x
