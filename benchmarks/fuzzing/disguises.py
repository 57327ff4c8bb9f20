"""Data files as an adversary, or a careless export, would write them, each with what a reader may make of it.

A file is refused, or is read as the numbers that a person would read in it: anything else is a silent wrong answer.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import socket
import sqlite3
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import io as matlab

from benchmarks.fuzzing.containers import npy, pack_zip

Table = np.ndarray
Made = tuple[str, bytes]
_HUGE = 2**60


def table(seed: int) -> Table:
    """Return rows of three decimals, more or fewer, large or small."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(21, 40)), int(rng.integers(2, 7)))
    return (10.0 ** rng.integers(-1, 4) * rng.normal(size=shape)).round(3)


def _lines(rows: Table, cell: Callable[[float], str] = repr, comma: str = ",", end: str = "\n") -> str:
    names = comma.join(f"c{j}" for j in range(rows.shape[1])) + end
    return names + "".join(comma.join(cell(float(v)) for v in row) + end for row in rows)


def _csv(text: str, coding: str = "utf-8", suffix: str = "csv") -> Made:
    return f"x.{suffix}", text.encode(coding, "surrogatepass")


def _digits(first: int) -> Callable[[float], str]:
    """Write numbers with the digits of another script."""
    return lambda v: "".join(chr(first + int(c)) if c.isdigit() else c for c in repr(v))


def _odd_cell(cell: str) -> Callable[[Table], Made]:
    """Put one odd cell into the middle of a table."""

    def make(rows: Table) -> Made:
        lines = _lines(rows).splitlines()
        middle = lines[len(lines) // 2].split(",")
        lines[len(lines) // 2] = ",".join([cell, *middle[1:]])
        return _csv("\n".join(lines) + "\n")

    return make


def _archive(rows: Table) -> Made:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("../../x.npy")
        info.size = len(npy(rows))
        archive.addfile(info, io.BytesIO(npy(rows)))
    return "x.npz", file.getvalue()


def _database(rows: Table) -> Made:
    base = sqlite3.connect(":memory:")
    base.execute("create table x (a, b)")
    base.executemany("insert into x values (?, ?)", rows[:, :2].tolist())
    return "x.csv", base.serialize()


def _hdf5(fill: Callable[[object, Table], None]) -> Callable[[Table], Made]:
    def make(rows: Table) -> Made:
        import h5py

        file = io.BytesIO()
        with h5py.File(file, "w") as handle:
            fill(handle, rows)
        return "x.h5", file.getvalue()

    return make


def _external(handle: object, rows: Table) -> None:
    import h5py

    handle["X"] = h5py.ExternalLink("/etc/passwd", "/X")


def _outside_bytes(handle: object, rows: Table) -> None:
    handle.create_dataset("X", (4, 4), "u1", external=[("/etc/passwd", 0, 16)])


def _virtual(handle: object, rows: Table) -> None:
    import h5py

    layout = h5py.VirtualLayout(shape=(9, 3), dtype="f8")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "X", shape=(9, 3))
    handle.create_virtual_dataset("X", layout, fillvalue=1.0)


def _loop(handle: object, rows: Table) -> None:
    import h5py

    handle["X"] = h5py.SoftLink("/X")


def _huge_hdf5(handle: object, rows: Table) -> None:
    handle.create_dataset("X", (10**9, 10**4), "f4", chunks=(1000, 1000), compression="gzip")


def _references(handle: object, rows: Table) -> None:
    import h5py

    handle["a"] = rows
    handle.create_dataset("X", (3,), h5py.ref_dtype)[:] = handle["a"].ref


def _compound(handle: object, rows: Table) -> None:
    handle["X"] = np.zeros(12, [("a", "f4"), ("b", "S4")])


def _parquet(columns: Callable[[object, Table], object]) -> Callable[[Table], Made]:
    def make(rows: Table) -> Made:
        import pyarrow as pa
        from pyarrow import parquet

        file = io.BytesIO()
        parquet.write_table(columns(pa, rows), file)
        return "x.parquet", file.getvalue()

    return make


def _npy_with(head: str, body: bytes) -> Callable[[Table], Made]:
    def make(rows: Table) -> Made:
        text = head.encode() + b" " * (-(10 + len(head) + 1) % 64) + b"\n"
        return "x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body

    return make


def _mat(content: Callable[[Table], dict[str, object]], **options: object) -> Callable[[Table], Made]:
    def make(rows: Table) -> Made:
        file = io.BytesIO()
        matlab.savemat(file, content(rows), **options)
        return "x.mat", file.getvalue()

    return make


def _cells(*values: object) -> np.ndarray:
    cells = np.empty((1, len(values)), dtype=object)
    cells[0, :] = values
    return cells


READS: dict[str, Callable[[Table], Made]] = {
    "carriage returns alone": lambda r: _csv(_lines(r, end="\r")),
    "line ends of three kinds": lambda r: _csv(_lines(r).replace("\n", "\r\n", 3)),
    "UTF-16, big end first": lambda r: ("x.csv", b"\xfe\xff" + _lines(r).encode("utf-16-be")),
    "UTF-8 with a mark": lambda r: _csv(_lines(r), "utf-8-sig"),
    "tabs": lambda r: _csv(_lines(r, comma="\t"), suffix="tsv"),
    "decimal commas": lambda r: _csv(_lines(r, lambda v: repr(v).replace(".", ","), ";")),
    "all cells in quotes": lambda r: _csv(_lines(r, lambda v: f'"{v!r}"')),
    "spaces around cells": lambda r: _csv(_lines(r, lambda v: f"  {v!r} ")),
    "capital exponents": lambda r: _csv(_lines(r, lambda v: f"{v:.17E}")),
    "plus signs": lambda r: _csv(_lines(r, lambda v: f"{v:+.17g}")),
    "a column of names that are numbers": lambda r: _csv("\n".join(_lines(r).splitlines()[1:]) + "\n"),
    "blank lines at the end": lambda r: _csv(_lines(r) + "\n\n\n"),
    "no line end at the end": lambda r: _csv(_lines(r).rstrip("\n")),
    "capital suffix": lambda r: _csv(_lines(r), suffix="CSV"),
    "non-breaking spaces": lambda r: _csv(_lines(r, lambda v: f"\xa0{v!r}")),
    "digits of another script": lambda r: _csv(_lines(r, _digits(0x0660))),
    "wide digits": lambda r: _csv(_lines(r, _digits(0xFF10))),
    "numbers in words of an array": lambda r: ("x.npy", npy(r.astype(str))),
    "big end first": lambda r: ("x.npy", npy(r.astype(">f8"))),
    "quadruple precision": lambda r: ("x.npy", npy(r.astype("g"))),
    "the last axis first": lambda r: ("x.npy", npy(np.asfortranarray(r))),
    "an archive without compression": lambda r: ("x.npz", pack_zip({"X.npy": npy(r)})),
    "an archive packed by LZMA": lambda r: ("x.npz", pack_zip({"X.npy": npy(r)}, zipfile.ZIP_LZMA)),
    "version 4 of MATLAB": _mat(lambda r: {"X": r}, format="4"),
    "a MATLAB cell": _mat(lambda r: {"X": _cells(r)}),
    "packed and chunked": _hdf5(
        lambda h, r: h.create_dataset("X", data=r, chunks=(5, 1), compression="gzip")
    ),
    "a link inside": _hdf5(lambda h, r: (h.create_dataset("a/b", data=r), h.__setitem__("X", h["a/b"]))),
    "a dictionary column": _parquet(
        lambda pa, r: pa.table({f"c{j}": pa.array(r[:, j]).dictionary_encode() for j in range(r.shape[1])})
    ),
}
"""Odd files that hold a table: read as that table, or refused."""

REFUSED: dict[str, Callable[[Table], Made]] = {
    "hexadecimal": _odd_cell("0x1F"),
    "grouped by underscores": _odd_cell("1_000"),
    "grouped by apostrophes": _odd_cell("1'000"),
    "per cent": _odd_cell("12%"),
    "money": _odd_cell("$3.50"),
    "a date": _odd_cell("2026-11-18"),
    "too large": _odd_cell("1e400"),
    "infinity in words": _odd_cell("infinity"),
    "two points": _odd_cell("1.2.3"),
    "a sign of its own script": _odd_cell("\u22125"),
    "a zero byte": _odd_cell("1\x002"),
    "an imaginary number": _odd_cell("1j"),
    "a formula": _odd_cell("=1+2"),
    "a fraction": _odd_cell("1/2"),
    "an unclosed quote": _odd_cell('"1'),
    "a cell too many": _odd_cell("1,2"),
    "UTF-32": lambda r: _csv(_lines(r), "utf-32"),
    "EBCDIC": lambda r: _csv(_lines(r), "cp500"),
    "a web page": lambda r: _csv("<html><body><table><tr><td>1</td></tr></table></body></html>\n"),
    "JSON lines": lambda r: _csv('{"a": 1, "b": 2}\n' * 9),
    "gzip in a text file": lambda r: ("x.csv", gzip.compress(_lines(r).encode())),
    "bzip2 in a text file": lambda r: ("x.csv", bz2.compress(_lines(r).encode())),
    "a database": _database,
    "a zip in a text file": lambda r: ("x.csv", pack_zip({"x.csv": _lines(r).encode()})),
    "only names": lambda r: _csv("a,b,c\n"),
    "only line ends": lambda r: _csv("\n" * 50),
    "a line of a megabyte": lambda r: _csv("a\n" + "9" * 2**20 + "\n"),
    "a script": lambda r: ("x.npy", b"#!/bin/sh\ntouch fuzz-was-executed\n"),
    "a tar with a way up": _archive,
    "numbers in four dimensions": lambda r: ("x.npy", npy(np.zeros((2, 2, 2, 2)))),
    "times": lambda r: ("x.npy", npy(np.array([["2026-11-18", "2026-11-19"]], dtype="M8[D]"))),
    "complex numbers": lambda r: ("x.npy", npy(r + 1j)),
    "records": lambda r: ("x.npy", npy(np.zeros(9, [("a", "f4"), ("b", "f4", (2, 2))]))),
    "a header that computes": _npy_with(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2**40, 9**9**9)}", b"\0" * 64
    ),
    "a header that calls": _npy_with(
        "{'descr': __import__('os').system('touch fuzz-was-executed'), 'fortran_order': False, 'shape': (2, 2)}",
        b"\0" * 64,
    ),
    "a shape beyond the file": _npy_with(
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({_HUGE}, 3)}}", b"\0" * 64
    ),
    "views of other lengths": lambda r: ("x.npz", pack_zip({"view0.npy": npy(r), "view1.npy": npy(r[1:])})),
    "an archive in an archive": lambda r: ("x.npz", pack_zip({"X.npy": pack_zip({"X.npy": npy(r)})})),
    "an empty archive": lambda r: ("x.npz", pack_zip({})),
    "a MATLAB structure": _mat(lambda r: {"X": {"a": r, "b": {"c": r}}}),
    "MATLAB cells of other lengths": _mat(lambda r: {"X": _cells(r, r[:-2, :-1])}),
    "MATLAB text": _mat(lambda r: {"X": "rows"}),
    "a link to another file": _hdf5(_external),
    "bytes of another file": _hdf5(_outside_bytes),
    "values of another file": _hdf5(_virtual),
    "a link to itself": _hdf5(_loop),
    "a table larger than all disks": _hdf5(_huge_hdf5),
    "references": _hdf5(_references),
    "compound rows": _hdf5(_compound),
    "lists in cells": _parquet(lambda pa, r: pa.table({"a": [[1.0, 2.0]] * 9})),
    "nothing but texts": _parquet(lambda pa, r: pa.table({"a": ["x"] * 9})),
    "no columns": _parquet(lambda pa, r: pa.table({})),
}
"""Files that hold no table of numbers, or not all of one."""


def _socket(path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.close()


def _links_in_a_ring(path: Path) -> None:
    other = path.with_name("y.csv")
    other.symlink_to(path)
    path.symlink_to(other)


SPECIAL: dict[str, Callable[[Path], None]] = {
    "a pipe that nobody writes to": lambda path: os.mkfifo(path),
    "a socket": _socket,
    "links in a ring": _links_in_a_ring,
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("/nowhere"),
}
"""What is no file at all; refused."""
