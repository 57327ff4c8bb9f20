"""A file that shrinks or changes under its reader is one sentence; a mapping would end the process."""

import os

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie.data import as_views, read_views
from coterie.data.mapped import FileLayout, MemmapRows
from coterie.errors import InputError

TABLE = np.random.default_rng(0).normal(size=(5000, 20)).astype(np.float32)


def npy(folder):
    np.save(folder / "x.npy", TABLE)
    return folder / "x.npy", read_views(folder / "x.npy")


def columns(folder):
    np.save(folder / "x.npy", np.asfortranarray(TABLE))
    return folder / "x.npy", read_views(folder / "x.npy")


def memmap(mode):
    def made(folder):
        np.save(folder / "x.npy", TABLE)
        return folder / "x.npy", as_views(np.load(folder / "x.npy", mmap_mode=mode))

    return made


def strided(folder):
    np.save(folder / "x.npy", TABLE)
    return folder / "x.npy", as_views(np.load(folder / "x.npy", mmap_mode="r")[:, ::2])


def hdf5(folder):
    with h5py.File(folder / "x.h5", "w") as file:
        file["X"] = TABLE
    return folder / "x.h5", read_views(folder / "x.h5")


def parquet(folder):
    columns = {f"c{j}": TABLE[:, j] for j in range(20)}
    pq.write_table(pa.table(columns), folder / "x.parquet", row_group_size=700)
    return folder / "x.parquet", read_views(folder / "x.parquet")


KINDS = {
    "npy": npy, "npy by columns": columns, "writable memmap": memmap("r+"), "private memmap": memmap("c"),
    "strided memmap": strided, "hdf5": hdf5, "parquet": parquet,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [slice(0, 4), slice(4990, 5000), np.array([4999, 3, 77])], ids=str)
def test_a_file_that_was_cut_short_is_one_sentence(kind, rows, tmp_path):
    path, views = KINDS[kind](tmp_path)
    views.read(slice(0, 2))
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(InputError, match=rf"{path.name} (changed|was cut short) while it was being read"):
        views.read(rows)


@pytest.mark.parametrize("kind", ["npy", "hdf5", "parquet"])
def test_a_file_that_was_replaced_or_written_to_is_one_sentence(kind, tmp_path):
    path, views = KINDS[kind](tmp_path)
    views.read(slice(0, 2))
    whole = path.read_bytes()
    (tmp_path / "other").write_bytes(whole)
    (tmp_path / "other").replace(path)
    with pytest.raises(InputError, match="changed while it was being read"):
        views.read(slice(2000, 2002))
    path.unlink()
    with pytest.raises(InputError, match="cannot be read any more"):
        views.read(slice(4000, 4002))


def test_rows_that_are_written_through_a_writable_map_are_read(tmp_path):
    path, _ = npy(tmp_path)
    table = np.load(path, mmap_mode="r+")
    views = as_views(table)
    table[7] = 3.0
    assert (views.read(slice(7, 8))[0] == 3.0).all()


def test_a_file_that_ends_between_the_look_and_the_read_is_one_sentence(tmp_path, monkeypatch):
    path, views = npy(tmp_path)
    monkeypatch.setattr(type(views.sources[0].version), "check", lambda *given, **options: None)
    os.truncate(path, 1000)
    with pytest.raises(InputError, match="it is shorter than it was"):
        views.read(slice(0, 5000))


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["f4", ">f8", "u1", "?"])
@pytest.mark.parametrize(
    "part",
    [
        np.s_[:, :],
        np.s_[10:4000, 3:9],
        np.s_[::3, 5:],
        np.s_[:, ::2],
        np.s_[::-1, :],
        np.s_[:, :1],
        np.s_[7:8],
    ],
    ids=str,
)
def test_any_part_of_a_map_reads_as_indexing_would(order, dtype, part, tmp_path):
    np.save(tmp_path / "x.npy", np.asarray((TABLE * 50).astype(dtype), order=order))
    table = np.load(tmp_path / "x.npy", mmap_mode="r")[part]
    source = MemmapRows(table)
    n = len(table)
    many = np.random.default_rng(1).integers(n, size=300)
    for rows in (slice(0, n), slice(n // 3, n // 2), many, np.sort(many), np.arange(n)[n // 2 :]):
        np.testing.assert_array_equal(source.read(rows), np.asarray(table[rows], dtype=np.float32))


def test_plain_parts_of_a_map_are_read_from_the_file(tmp_path):
    np.save(tmp_path / "x.npy", TABLE)
    table = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert FileLayout.of(table[5:, 2:9]) is not None
    assert FileLayout.of(table.T) is not None
    assert FileLayout.of(table[:, ::2]) is None
