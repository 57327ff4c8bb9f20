"""Valid seed files of every format that coterie reads, each a few kilobytes."""

# Files by their path inside the folder of an input

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.fuzzing.containers import npy, pack_zip

Files = dict[str, bytes]

_RNG = np.random.default_rng(0)
A = _RNG.normal(size=(12, 3)).round(3)
B = _RNG.integers(0, 200, size=(12, 2)).astype(np.uint8)
Y = np.arange(12) % 3
_SPARSE = sparse.csr_matrix(A * (A > 0.5))


def npy_seeds() -> list[Files]:
    """Return tables of several kinds."""
    tables = [A, A.astype(np.float32), np.asfortranarray(A), B, A.astype(">f8"), A > 0]
    return [{"x.npy": npy(table)} for table in tables]


def folder_seeds() -> list[Files]:
    """Return folders of .npy files, with and without labels."""
    return [{"x/a.npy": npy(A), "x/b.npy": npy(B), "x/y.npy": npy(Y)}, {"x/v1.npy": npy(A)}]


def npz_seeds() -> list[Files]:
    """Return .npz files: dense, sparse and compressed."""
    parts = {
        "data": _SPARSE.data,
        "indices": _SPARSE.indices,
        "indptr": _SPARSE.indptr,
        "shape": _SPARSE.shape,
    }
    views = {
        "view0": A,
        "view1": B,
        "y": Y,
        "view_names": np.array(["a", "b"]),
        "present": np.ones((12, 2), bool),
    }
    named = {f"view0_{name}": np.asarray(part) for name, part in parts.items()}
    plain = {name: np.asarray(part) for name, part in parts.items()} | {"format": np.array(b"csr")}
    whole = [
        {f"{name}.npy": npy(array) for name, array in arrays.items()} for arrays in (views, named, plain)
    ]
    return [*({"x.npz": pack_zip(members)} for members in whole), {"x.npz": pack_zip(whole[0], 8)}]


def csv_seeds() -> list[Files]:
    """Return text files with and without a header, quotes and labels."""
    body = "\n".join(",".join(map(str, row)) for row in A)
    labelled = "a,b,c,label\n" + "\n".join(f"{x},{y},{z},{k}" for (x, y, z), k in zip(A, Y, strict=True))
    return [
        {"x.csv": body.encode()},
        {"x.csv": labelled.encode()},
        {"x.csv": b'"a","b"\r\n"1.5",2\r\n4,3\r\n'},
        {"x.csv": body.replace(",", ";").replace("\n", "\r\n").encode("utf-8-sig")},
    ]


def parquet_seeds() -> list[Files]:
    """Return Parquet files with and without compression."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({**{f"c{j}": A[:, j] for j in range(3)}, "label": Y.astype(str)})
    seeds = []
    for options in (
        {"compression": "none"},
        {"compression": "snappy", "row_group_size": 5},
        {"compression": "zstd"},
    ):
        sink = io.BytesIO()
        pq.write_table(table, sink, **options)
        seeds.append({"x.parquet": sink.getvalue()})
    return seeds


def mat_seeds() -> list[Files]:
    """Return MATLAB files of version 5: tables, cells, sparse ones and compressed ones."""
    from scipy.io import savemat

    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = A, B
    contents = [
        {"X": cells, "Y": Y},
        {"X1": A, "X2": B, "gt": Y[:, None]},
        {"fea": _SPARSE.tocsc(), "names": "abc"},
    ]
    seeds = []
    for content in contents:
        for compressed in (False, True):
            sink = io.BytesIO()
            savemat(sink, content, do_compression=compressed)
            seeds.append({"x.mat": sink.getvalue()})
    return seeds


def hdf5_seeds() -> list[Files]:
    """Return HDF5 files: MATLAB's with cells and a sparse matrix, and plain ones in chunks."""

    def matlab(file: object) -> None:
        refs = file.create_group("#refs#")  # type: ignore[attr-defined]
        cells = [refs.create_dataset(name, data=table.T) for name, table in (("a", A), ("b", B))]
        file["X"] = np.array([[cell.ref for cell in cells]], dtype=_ref_dtype())  # type: ignore[index]
        file["Y"] = Y[None]  # type: ignore[index]
        group, columns = file.create_group("S"), _SPARSE.tocsc()  # type: ignore[attr-defined]
        group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr
        group.attrs["MATLAB_sparse"] = columns.shape[0]

    def plain(file: object) -> None:
        file.create_dataset("X1", data=A, chunks=(5, 2), compression="gzip")  # type: ignore[attr-defined]
        file.create_dataset("X2", data=B)  # type: ignore[attr-defined]
        file["label"] = Y  # type: ignore[index]

    return [{"x.mat": bytes(512) + hdf5(matlab)}, {"x.mat": hdf5(matlab)}, {"x.h5": hdf5(plain)}]


def _ref_dtype() -> np.dtype:
    import h5py

    return h5py.ref_dtype


def hdf5(fill: Callable[[object], None]) -> bytes:
    """Return an HDF5 file that a function fills."""
    import h5py

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.h5"
        with h5py.File(path, "w") as file:
            fill(file)
        return path.read_bytes()


def zarr_seeds() -> list[Files]:
    """Return zarr stores: an array, and a group with labels, of both formats."""
    import zarr

    seeds = []
    for version in (2, 3):
        with tempfile.TemporaryDirectory() as folder:
            group = zarr.open_group(Path(folder) / "x.zarr", mode="w", zarr_format=version)
            for name, table in (("X1", A), ("X2", B), ("label", Y)):
                group.create_array(name, shape=table.shape, chunks=table.shape, dtype=table.dtype)[...] = (
                    table
                )
            seeds.append(_tree(Path(folder)))
        with tempfile.TemporaryDirectory() as folder:
            options = {"chunks": (5, 3), "dtype": "f4", "zarr_format": version, "compressors": None}
            array = zarr.create_array(Path(folder) / "x.zarr", shape=A.shape, **options)
            array[...] = A
            seeds.append(_tree(Path(folder)))
    return seeds


def mudata_seeds() -> list[Files]:
    """Return a .h5mu file of two modalities, one of them sparse and with fewer rows."""
    import anndata
    import mudata
    import pandas as pd

    names = [f"r{i}" for i in range(12)]
    some = anndata.AnnData(_SPARSE[:9].astype(np.float32), obs=pd.DataFrame(index=names[:9]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = mudata.MuData(
            {"a": anndata.AnnData(A.astype(np.float32), obs=pd.DataFrame(index=names)), "b": some}
        )
        whole.obs["label"] = pd.Categorical(Y.astype(str))
        whole.write(Path(folder) / "x.h5mu")
        return [_tree(Path(folder))]


def label_seeds() -> list[Files]:
    """Return labels as text and as arrays, of all rows and of some."""
    texts = ["label\n" + "\n".join(map(str, Y)), "row,label\n3,cat\n0,dog\n", "\n".join("abc"[k] for k in Y)]
    seeds = [{"x.csv": text.encode()} for text in texts]
    return [*seeds, {"x.npy": npy(Y)}, {"x.npy": npy(Y.astype("U3"))}, *npz_seeds()[:1], *mat_seeds()[2:3]]


def metadata_seeds() -> list[Files]:
    """Return what a person knows about the rows, as text and as Parquet."""
    lines = "\n".join(f"{i},{0.5 * i},name {i},2024-01-0{1 + i % 9}" for i in range(12))
    return [{"x.csv": f"id,size,name,day\n{lines}\n".encode()}, *parquet_seeds()[:2]]


def answer_seeds() -> list[Files]:
    """Return the log of a person's answers."""
    answers = [
        {"kind": "label", "rows": [1, 2], "to": 0},
        {"kind": "merge", "source": 1, "into": 0},
        {"kind": "split", "cluster": 0, "new": 3, "stay": [1], "go": [2, 3]},
        {"kind": "together", "rows": [1, 2]},
        {"kind": "apart", "rows": [1, 5]},
        {"kind": "name", "cluster": 0, "name": "cats"},
    ]
    lines = [{"at": "2026-01-01T00:00:00+00:00", "answer": answer} for answer in answers]
    lines += [{"at": "2026-01-01T00:00:01+00:00", "step": step} for step in ("undo", "redo")]
    return [{"x.jsonl": "".join(json.dumps(line) + "\n" for line in lines).encode()}]


def _tree(folder: Path) -> Files:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
