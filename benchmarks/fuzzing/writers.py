"""Files that their own libraries write without complaint and that no honest data set looks like."""

from __future__ import annotations

import io
import zlib
from functools import cache
from typing import Any

import numpy as np

from benchmarks.fuzzing.mutate import EDGES, Random, mutate_bytes
from benchmarks.fuzzing.seeds import A, Y, hdf5

_CELLS = (
    "", "nan", "NaN", "1e999", "-1e-999", "0x10", "1_0", "inf", "-inf", "1,5", "٣", "é", "\x00", "\ufeff", '"', '""',
    "'", "a" * 2000, "9" * 5000, "-", "+", ".", "e", "1e", "None", "row", "label", "true", "=1+1", "\\", "\u2028",
)  # fmt: skip
_LINES = ("", " ", ",", ",,,,,", ";", "\t", '"', "#", "\r", "1," * 3000, "x" * 70_000)


def odd_csv(data: bytes, rng: Random) -> bytes:
    """Return a text file with odd cells, lines, delimiters, quotes or encoding."""
    lines = data.decode("utf-8", "replace").splitlines()
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(lines)) if lines else 0
        what = rng.randrange(7)
        if what < 3 and lines:
            cells = lines[at].split(",")
            cells[rng.randrange(len(cells))] = rng.choice(_CELLS)
            lines[at] = ",".join(cells)
        elif what == 3:
            lines.insert(at, rng.choice(_LINES))
        elif what == 4 and lines:
            lines[at] = lines[at].replace(",", rng.choice((";", "\t", " ", ",,", '","')))
        elif what == 5:
            lines[at:at] = lines * rng.choice((1, 30))
        elif lines:
            del lines[at]
    kind = rng.choice(("utf-8",) * 8 + ("utf-16", "utf-8-sig", "latin-1", "cp037"))
    return rng.choice(("\n",) * 4 + ("\r\n", "\r", "\n\n", "\x0b")).join(lines).encode(kind, "replace")


def odd_parquet(data: bytes, rng: Random) -> bytes:
    """Return a Parquet file of any types, or one whose footer is wrong."""
    import pyarrow.parquet as pq

    if rng.random() < 0.4:  # the footer holds the schema, the places and the counts
        at = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        return data[:at] + mutate_bytes(data[at:-8], rng) + data[-8:]
    sink = io.BytesIO()
    pq.write_table(_odd_table(rng), sink, compression=rng.choice(("none", "snappy", "gzip", "zstd")))
    return sink.getvalue()


def _odd_table(rng: Random) -> Any:
    import pyarrow as pa

    length = rng.choice((0, 1, 12, 12, 12, 300))
    arrays = [_column(kind, length) for kind in rng.choices(range(14), k=rng.choice((0, 1, 2, 5)))]
    names = rng.choices(("a", "b", "label", "y", "", "x", "row", "é", "__index_level_0__"), k=len(arrays))
    return pa.table(arrays, names=names)


def _column(kind: int, length: int) -> Any:
    import decimal

    import pyarrow as pa

    numbers = range(length)
    return (
        lambda: pa.array([None] * length),
        lambda: pa.array([i % 2 == 0 for i in numbers], pa.bool_()),
        lambda: pa.array([2**63 - 1 - i for i in numbers], pa.int64()),
        lambda: pa.array([2**64 - 1 - i for i in numbers], pa.uint64()),
        lambda: pa.array([float("nan") if i % 2 else 1e308 for i in numbers], pa.float64()),
        lambda: pa.array(np.full(length, 0.5, np.float16)),
        lambda: pa.array([decimal.Decimal(10) ** 37 for _ in numbers], pa.decimal128(38, 0)),
        lambda: pa.array([decimal.Decimal(10) ** 70 for _ in numbers], pa.decimal256(76, 0)),
        lambda: pa.array([f"t{i}" for i in numbers], pa.string()),
        lambda: pa.array(["x"] * length).dictionary_encode(),
        lambda: pa.array([[i, i] for i in numbers], pa.list_(pa.int32())),
        lambda: pa.array([{"a": i} for i in numbers], pa.struct([("a", pa.int32())])),
        lambda: pa.array(list(numbers), pa.timestamp("ns")),
        lambda: pa.array([b"\xff"] * length, pa.binary()),
    )[kind]()


@cache
def _contents() -> tuple[dict[str, Any], ...]:
    from scipy import sparse

    cell = np.empty((2, 2), dtype=object)
    cell[0, 0], cell[0, 1], cell[1, 1] = A, "text", np.zeros((0, 3))
    cell[1, 0] = cell[:1].copy()
    return (
        {"X": cell},
        {"X": {"data": A, "inner": {"Y": Y}}},
        {"X": np.zeros((0, 0)), "Y": Y},
        {"X": A + 1j, "label": "abc"},
        {"X": np.zeros((2, 3, 4)), "gt": A},
        {"X": sparse.csc_matrix((5, 0)), "Y": sparse.csc_matrix(A)},
        {"X": np.array([["ab", "c"], ["d", "e"]]), "labels": cell},
        {"X": A > 0, "Y": np.array([True, False])},
        {f"X{i}": A for i in range(40)},
        {"X1": A, "X2": A[:5], "Y": Y[:4]},
    )


def odd_mat(data: bytes, rng: Random) -> bytes:
    """Return a .mat file of odd variables, or one that is wrong inside its compressed elements."""
    from scipy.io import savemat

    if rng.random() < 0.2:
        sink = io.BytesIO()
        savemat(sink, rng.choice(_contents()), do_compression=rng.random() < 0.5)
        return sink.getvalue()
    elements = [*_elements(data)]
    at = rng.randrange(len(elements))
    kind, body = elements[at]
    if kind == 15:
        elements[at] = (15, zlib.compress(_tagged(zlib.decompress(body), rng)))
    else:
        elements[at] = (kind, _tagged(body, rng))
    return data[:128] + b"".join(
        k.to_bytes(4, "little") + len(b).to_bytes(4, "little") + b for k, b in elements
    )


def _elements(data: bytes) -> list[tuple[int, bytes]]:
    elements, at = [], 128
    while at + 8 <= len(data):
        kind, size = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4))
        elements.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    return elements


def _tagged(body: bytes, rng: Random) -> bytes:
    """Change a number of four bytes, which is what tags, dimensions and lengths are made of, or anything."""
    if rng.random() < 0.4:
        return mutate_bytes(body, rng)
    at = 4 * rng.randrange(max(1, min(len(body), 120) // 4))
    return body[:at] + (rng.choice(EDGES) % 2**32).to_bytes(4, "little") + body[at + 4 :]


def odd_hdf5(data: bytes, rng: Random) -> bytes:
    """Return an HDF5 file with odd objects in it, or one whose bytes are wrong where numbers are kept."""
    if rng.random() < 0.5:
        at = 8 * rng.randrange(max(1, len(data) // 8))
        return data[:at] + (rng.choice(EDGES) % 2**64).to_bytes(8, "little") + data[at + 8 :]
    return hdf5(lambda file: [_odd_object(file, rng) for _ in range(rng.choice((1, 2, 3)))])


def _odd_object(file: Any, rng: Random) -> None:
    import h5py

    name = rng.choice(("X", "Y", "X1", "label", "fea", "data", "mod", "obs"))
    if name in file:
        return
    kind = rng.randrange(12)
    if kind == 0:
        file[name] = h5py.SoftLink(rng.choice(("/" + name, "/nowhere", "/")))
    elif kind == 1:
        file[name] = h5py.ExternalLink(rng.choice(("/etc/passwd", "gone.h5", "../up.h5")), "/")
    elif kind == 2:  # a cell that holds itself, or nothing
        cell = file.create_dataset(name, (1, 2), dtype=h5py.ref_dtype)
        if rng.random() < 0.7:
            cell[0, 0] = cell.ref
    elif kind == 3:  # much is declared and nothing is stored
        shape = rng.choice(((10**12, 3), (3, 10**12), (1, 10**13), (10**10,), (10**6, 10**6)))
        file.create_dataset(name, shape, chunks=tuple(min(side, 4) for side in shape), dtype="f8")
    elif kind == 4:
        file.create_dataset(name, (10**9, 4), chunks=(10**7, 4), dtype="f8")
    elif kind == 5:
        group = file.create_group(name)
        group["data"], group["ir"] = np.ones(3), np.array([0, 1, rng.choice((2, 10**12, -1))])
        group["jc"] = np.array([0, rng.choice((1, 3, 9, -1)), 3])
        group.attrs["MATLAB_sparse"] = rng.choice((3, 0, -1, 10**15))
    elif kind == 6:
        file[name] = Y
        file[name].attrs["MATLAB_class"] = rng.choice((b"char", b"\xff", 3, np.zeros(2)))
    elif kind == 7:
        file.create_dataset(name, data=np.zeros((3, 2), dtype=[("a", "f4"), ("b", "i8")]))
    elif kind == 8:
        file.create_dataset(name, data=["a", "b", "c"], dtype=h5py.string_dtype())
    elif kind == 9:
        file[name] = rng.choice((A, A[:, :1], A[:0], np.zeros((2, 2, 2)), 7, h5py.Empty("f4"), A + 1j))
    elif kind == 10:
        file.create_dataset(name, (4, 3), dtype="f8", external=[("outside.bin", 0, 96)])
    else:
        file.create_group(name)[name] = h5py.SoftLink("/" + name)
