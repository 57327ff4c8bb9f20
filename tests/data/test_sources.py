"""Every source gives the same rows as plain indexing of the array it was made from."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from coterie.data import as_views, read_views
from coterie.data.disk import ChunkedRows, contiguous_runs
from coterie.data.sources import DenseRows, plain_rows
from coterie.data.subsets import RowSubset
from coterie.data.views import Views
from coterie.errors import InputError

N, D = 53, 4


def table() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, D)).round(3)


def _npy(path, order):
    file = path / "x.npy"
    np.save(file, np.asarray(table(), order=order))
    return read_views(file)


def _memmap(path, mode):
    np.save(path / "x.npy", table())
    return as_views(np.load(path / "x.npy", mmap_mode=mode))


def _sliced_memmap(path):
    wide = np.zeros((N + 7, D + 3), dtype=np.float32)
    wide[5 : N + 5, 2 : D + 2] = table()
    np.save(path / "wide.npy", wide)
    return as_views(np.load(path / "wide.npy", mmap_mode="r")[5 : N + 5, 2 : D + 2])


def _hdf5(path, flipped, chunks):
    file = h5py.File(path / "x.h5", "w")
    dataset = file.create_dataset("X", data=table().T if flipped else table(), chunks=chunks)
    return Views([ChunkedRows(dataset, transposed=flipped)])


def _zarr(path):
    array = zarr.create_array(path / "x.zarr", shape=(N, D), chunks=(10, 3), dtype="float64")
    array[:] = table()
    return as_views(array)


def _parquet(path):
    frame = pa.table({f"c{j}": table()[:, j] for j in range(D)})
    pq.write_table(frame, path / "x.parquet", row_group_size=9)
    return read_views(path / "x.parquet")


def _columns_of_hdf5(path):
    dataset = h5py.File(path / "x.h5", "w").create_dataset("X", data=np.hstack([table()[:, ::-1], table()]))
    return as_views(dataset, views=[[3, 2, 1, 0], slice(4, 8)])


def _columns_of_memmap(path):
    np.save(path / "x.npy", np.hstack([table()[:, ::-1], table()]))
    return as_views(np.load(path / "x.npy", mmap_mode="r"), views=[[3, 2, 1, 0], slice(4, 8)])


def _subset_of_subset(path):
    doubled = as_views(np.repeat(table(), 2, axis=0))
    return doubled.select(slice(None, None, 2)).select(np.arange(N)[::-1]).select(np.arange(N)[::-1])


SOURCES = {
    "float64 in memory": lambda path: as_views(table()),
    "float32 in memory": lambda path: as_views(table().astype(np.float32)),
    "column-major in memory": lambda path: as_views(np.asfortranarray(table())),
    "sparse": lambda path: as_views(sparse.coo_array(table())),
    "npy": lambda path: _npy(path, "C"),
    "column-major npy": lambda path: _npy(path, "F"),
    "memmap": lambda path: _memmap(path, "r"),
    "copy-on-write memmap": lambda path: _memmap(path, "c"),
    "part of a memmap": _sliced_memmap,
    "hdf5": lambda path: _hdf5(path, False, None),
    "chunked hdf5": lambda path: _hdf5(path, False, (8, 2)),
    "transposed hdf5": lambda path: _hdf5(path, True, (2, 8)),
    "zarr": _zarr,
    "parquet": _parquet,
    "columns of hdf5": _columns_of_hdf5,
    "columns of a memmap": _columns_of_memmap,
    "subset of a subset": _subset_of_subset,
}
ON_DISK = {"npy", "memmap", "hdf5", "zarr", "parquet"}
ROWS = {
    "all": slice(None),
    "range": slice(7, 31),
    "backwards": slice(40, 3, -2),
    "empty": slice(5, 5),
    "no index": np.array([], dtype=int),
    "any order with repeats": np.array([50, 3, 3, 17, 0, 51, 18, 52, 3]),
    "negative": np.array([-1, 0, -N]),
    "boolean": np.arange(N) % 3 == 1,
    "long runs": np.r_[30:45, 2:25, 30:33],
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_reads_what_indexing_would_give(kind, rows, tmp_path):
    views = SOURCES[kind](tmp_path)
    for block in views.read(ROWS[rows]):
        np.testing.assert_array_equal(block, table()[ROWS[rows]].astype(np.float32))
        assert block.dtype == np.float32
        assert block.flags.c_contiguous


@pytest.mark.parametrize("kind", SOURCES)
def test_a_block_can_be_written_to_without_changing_the_data(kind, tmp_path):
    views = SOURCES[kind](tmp_path)
    for rows in (slice(0, 5), np.array([4, 2])):
        views.read(rows)[0][:] = 99.0
        np.testing.assert_array_equal(views.read(rows)[0], table()[rows].astype(np.float32))


@pytest.mark.parametrize("kind", SOURCES)
def test_only_sources_in_files_are_not_in_memory(kind, tmp_path):
    assert SOURCES[kind](tmp_path).in_memory == (not any(word in kind for word in ON_DISK))


@pytest.mark.parametrize("kind", ["memmap", "copy-on-write memmap", "part of a memmap"])
def test_a_memmap_reads_the_same_again_after_its_pages_were_released(kind, tmp_path):
    views = SOURCES[kind](tmp_path)
    rows = np.random.default_rng(1).integers(N, size=200)
    first = views.read(rows)[0]
    views.read(slice(None))
    np.testing.assert_array_equal(views.read(rows)[0], first)


def test_changes_to_a_copy_on_write_memmap_survive_reading(tmp_path):
    np.save(tmp_path / "x.npy", table())
    array = np.load(tmp_path / "x.npy", mmap_mode="c")
    array[3, 1] = 42.0
    views = as_views(array)
    views.read(slice(None))
    assert views.read(slice(3, 4))[0][0, 1] == 42.0


def test_scattered_columns_of_a_memmap_are_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", table())
    views = as_views(np.load(tmp_path / "x.npy", mmap_mode="r"), views=[[3, 1], [0, 2]])
    assert all(isinstance(source.source.array, np.memmap) for source in views.sources)


@given(st.lists(st.integers(0, 200), min_size=1, unique=True).map(sorted), st.integers(1, 40))
def test_runs_cover_every_row_once_and_gaps_stay_inside_one_block(rows, block):
    runs = list(contiguous_runs(np.array(rows), block))
    covered = [row for start, stop in runs for row in range(start, stop)]
    assert len(covered) == len(set(covered))
    assert set(rows) <= set(covered)
    for extra in set(covered) - set(rows):
        before, after = max(r for r in rows if r < extra), min(r for r in rows if r > extra)
        assert before // block == after // block


def test_scattered_rows_of_one_chunk_are_fetched_together():
    class Counting:
        shape, dtype, chunks = (100, 1), np.dtype(float), (10, 1)
        asked: list = []  # noqa: RUF012

        def __getitem__(self, rows):
            self.asked.append((rows.start, rows.stop))
            return np.arange(100.0)[rows, None]

    block = ChunkedRows(Counting()).read(np.array([57, 3, 9, 41]))
    assert block.ravel().tolist() == [57, 3, 9, 41]
    assert Counting.asked == [(3, 10), (41, 42), (57, 58)]


def test_a_missing_row_of_a_subset_reads_as_zeros():
    subset = RowSubset(DenseRows(table()), np.array([2, -1, 0]))
    np.testing.assert_array_equal(
        subset.read(slice(None)), np.stack([table()[2], np.zeros(D), table()[0]]).astype("f4")
    )


@pytest.mark.parametrize("rows", [np.array([N]), np.array([0, -N - 1])])
def test_a_row_beyond_the_data_is_an_index_error(rows):
    with pytest.raises(IndexError, match=f"out of range for {N} rows"):
        plain_rows(rows, N)


def test_a_boolean_selection_must_have_one_entry_a_row():
    with pytest.raises(IndexError, match="needs 53 entries, not 3"):
        plain_rows([True, False, True], N)


def test_a_damaged_chunk_is_a_clear_error(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset(
            "X", data=np.random.default_rng(0).normal(size=(200, 20)), compression="gzip"
        )
        offset = dataset.id.get_chunk_info(0).byte_offset
    with (tmp_path / "x.h5").open("r+b") as raw:
        raw.seek(offset)
        raw.write(b"\xff" * 64)
    views = read_views(tmp_path / "x.h5")
    with pytest.raises(InputError, match=r"Rows 0 to 199 of .*X.* cannot be read .*: write the file again"):
        views.read(slice(None))
