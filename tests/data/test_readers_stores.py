"""Parquet, zarr, AnnData and MuData."""

import json
import pickle
import warnings

import anndata
import h5py
import mudata
import numcodecs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from scipy import sparse

from coterie.data import as_views, read_labels, read_views
from coterie.data.readers.stores import _refuse_pickle
from coterie.errors import InputError

A = np.arange(18.0).reshape(6, 3)
B = np.arange(12, dtype=np.uint8).reshape(6, 2)
ALL = slice(None)


def parquet(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_parquet_numbers_of_all_kinds_become_columns(tmp_path):
    import decimal

    columns = {
        "i": pa.array([1, None, 3], pa.int64()),
        "f": pa.array([0.5, 1.5, None], pa.float32()),
        "b": pa.array([True, False, None]),
        "d": pa.array([decimal.Decimal("1.25")] * 3),
        "big": pa.array([2**40 + 1] * 3),
    }
    views = read_views(parquet(tmp_path / "t.parquet", columns))
    assert not views.in_memory
    assert views.feature_names == (list(columns),)
    big = np.float32(2**40 + 1)
    expected = [[1, 0.5, 1, 1.25, big], [np.nan, 1.5, 0, 1.25, big], [3, np.nan, np.nan, 1.25, big]]
    np.testing.assert_array_equal(views.sources[0].read(slice(0, 3)), np.array(expected, dtype=np.float32))


def test_parquet_labels_and_the_index_of_pandas_are_no_features(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "target": ["q", "p"]}, index=["r1", "r2"])
    frame.to_parquet(tmp_path / "t.parquet")
    views = read_views(tmp_path / "t.parquet")
    np.testing.assert_array_equal(views.read(ALL)[0], [[1], [2]])
    np.testing.assert_array_equal(views.labels, [1, 0])
    np.testing.assert_array_equal(read_labels(tmp_path / "t.parquet"), [1, 0])


def test_parquet_text_names_the_column(tmp_path):
    with pytest.raises(InputError, match=r"t.parquet, column 'name' holds string, not numbers"):
        read_views(parquet(tmp_path / "t.parquet", {"a": [1.0], "name": ["x"]}))


def test_all_text_columns_of_a_parquet_file_are_named_at_once(tmp_path):
    file = parquet(tmp_path / "t.parquet", {"id": ["p"], "a": [1.0], "home town": ["x"]})
    with pytest.raises(InputError, match=r"column 'id' holds string.*\(--drop id --drop 'home town' at the"):
        read_views(file)


def test_a_text_column_of_a_parquet_file_can_be_dropped(tmp_path):
    file = parquet(tmp_path / "t.parquet", {"a": [1.0, 2.0], "name": ["x", "y"], "b": [3.0, 4.0]})
    np.testing.assert_array_equal(read_views(file, drop=["name", 0]).read(slice(None))[0], [[3.0], [4.0]])
    with pytest.raises(InputError, match=r"drop= names the column 'z', which .*t.parquet does not have"):
        read_views(file, drop="z")
    with pytest.raises(InputError, match=r"t.parquet: header can only be given for text files"):
        read_views(file, header=True)


def test_parquet_without_rows_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"t.parquet has no rows of numbers"):
        read_views(parquet(tmp_path / "t.parquet", {"a": pa.array([], pa.float64())}))


def test_a_parquet_row_group_is_decoded_once_for_a_run_of_batches(tmp_path):
    views = read_views(parquet(tmp_path / "t.parquet", {"a": np.arange(100.0)}, row_group_size=50))
    source = views.sources[0]
    decoded, read_row_group = [], source.file.read_row_group

    class Spy:
        def read_row_group(self, g, columns):
            decoded.append(g)
            return read_row_group(g, columns=columns)

    source.file = Spy()
    for start in range(0, 100, 10):
        np.testing.assert_array_equal(
            views.read(slice(start, start + 10))[0].ravel(), np.arange(start, start + 10)
        )
    assert decoded == [0, 1]


def test_a_zarr_array_is_one_view_on_disk(tmp_path):
    zarr.save_array(tmp_path / "pixels.zarr", A)
    views = read_views(tmp_path / "pixels.zarr")
    assert views.names == ("pixels",)
    assert not views.in_memory
    np.testing.assert_array_equal(views.read(ALL)[0], A)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", ["set.zarr", "set"])
def test_a_zarr_group_is_one_view_an_array(zarr_format, name, tmp_path):
    group = zarr.open_group(tmp_path / name, mode="w", zarr_format=zarr_format)
    group.create_array("X1", data=A)
    group.create_array("X2", data=B)
    group.create_array("y", data=np.array([0, 0, 1, 1, 2, 2]))
    views = read_views(tmp_path / name)
    assert views.names == ("X1", "X2")
    np.testing.assert_array_equal(views.read([5, 0])[1], B[[5, 0]])
    np.testing.assert_array_equal(views.labels, [0, 0, 1, 1, 2, 2])


def test_a_zarr_group_without_tables_is_an_error(tmp_path):
    zarr.open_group(tmp_path / "g.zarr", mode="w").create_array("s", data=np.arange(3))
    with pytest.raises(InputError, match=r"g.zarr has no table that could be a view \(it holds: s\)"):
        read_views(tmp_path / "g.zarr")


def test_an_empty_directory_called_zarr_is_one_sentence(tmp_path):
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(InputError, match=r"x.zarr is damaged or not a zarr file"):
        read_views(tmp_path / "x.zarr")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


@pytest.mark.parametrize("in_group", [True, False])
def test_a_zarr_array_that_wants_to_be_unpickled_is_refused(in_group, tmp_path):
    folder = tmp_path / "x.zarr"
    place = folder / "y" if in_group else folder
    place.mkdir(parents=True)
    if in_group:
        (folder / ".zgroup").write_text(json.dumps({"zarr_format": 2}))
    (place / ".zarray").write_text(
        json.dumps(
            {
                "zarr_format": 2,
                "shape": [2, 2],
                "chunks": [2, 2],
                "dtype": "<f8",
                "fill_value": 0,
                "order": "C",
                "compressor": None,
                "filters": [{"id": "pickle", "protocol": 5}],
            }
        )
    )
    (place / "0.0").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="could run code and are never loaded"):
        read_views(folder)


@pytest.mark.parametrize("place", ["filters", "compressor", "codecs"])
def test_a_codec_that_unpickles_is_refused_wherever_it_stands(place):
    class Metadata:
        filters = compressor = codecs = None

    class Array:
        dtype, metadata = np.dtype(float), Metadata()

    _refuse_pickle(Array(), "x.zarr")
    codec = numcodecs.Pickle()
    setattr(Array.metadata, place, codec if place == "compressor" else (codec,))
    with pytest.raises(InputError, match=r"x.zarr holds Python objects, which could run code"):
        _refuse_pickle(Array(), "x.zarr")


def test_a_zarr_array_of_objects_is_refused():
    class Array:
        dtype, metadata = np.dtype(object), None

    with pytest.raises(InputError, match=r"x.zarr holds Python objects, which could run code"):
        _refuse_pickle(Array(), "x.zarr")


def modalities():
    names = [f"cell{i}" for i in range(6)]
    rna = anndata.AnnData(
        A[:5], obs=pd.DataFrame(index=names[:5]), var=pd.DataFrame(index=["g1", "g2", "g3"])
    )
    adt = anndata.AnnData(
        sparse.csr_matrix(B[2:].astype(np.float32)),
        obs=pd.DataFrame(index=names[2:][::-1]),
        var=pd.DataFrame(index=["p1", "p2"]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = mudata.MuData({"rna": rna, "adt": adt})
        data.obs["label"] = np.where([int(name[-1]) % 2 for name in data.obs_names], "odd", "even")
    return data


def check_modalities(views, names):
    order = [int(name[-1]) for name in names]
    assert views.names == ("rna", "adt")
    assert views.feature_names == (["g1", "g2", "g3"], ["p1", "p2"])
    np.testing.assert_array_equal(views.present, [[i < 5, i >= 2] for i in order])
    rna = [A[i] if i < 5 else [0, 0, 0] for i in order]
    adt = [B[7 - i] if i >= 2 else [0, 0] for i in order]  # its observations are stored backwards
    np.testing.assert_array_equal(views.read(ALL)[0], rna)
    np.testing.assert_array_equal(views.read(ALL)[1], adt)
    views.check()
    np.testing.assert_array_equal(views.labels, [i % 2 for i in order])


def test_a_mudata_object_aligns_its_modalities_and_masks_what_is_missing():
    data = modalities()
    check_modalities(as_views(data), data.obs_names)


def test_a_mudata_file_reads_like_the_object(tmp_path):
    data = modalities()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.write(tmp_path / "m.h5mu")
    views = read_views(tmp_path / "m.h5mu")
    check_modalities(views, data.obs_names)
    assert not views.in_memory


def test_an_anndata_object_is_one_view():
    views = as_views(modalities().mod["rna"])
    np.testing.assert_array_equal(views.read(ALL)[0], A[:5])
    assert views.feature_names == (["g1", "g2", "g3"],)


def test_repeated_observations_are_named():
    twice = anndata.AnnData(A[:2], obs=pd.DataFrame(index=["a", "a"]))

    class Data:
        mod = {"rna": twice}  # noqa: RUF012
        obs_names = pd.Index(["a"])

    with pytest.raises(InputError, match="modality 'rna' repeats names of observations"):
        as_views(Data())


def test_a_mudata_file_whose_texts_are_damaged_is_refused_where_its_library_would_not_end(tmp_path):
    path = tmp_path / "m.h5mu"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata.MuData({"a": anndata.AnnData(A.astype(np.float32))}).write(path)
    whole = path.read_bytes()
    at = whole.index(b"GCOL") + 16
    while whole[at : at + 2] != b"\x00\x00":  # up to the free room at the end
        at += 16 + -(-int.from_bytes(whole[at + 8 : at + 16], "little") // 8) * 8
    for length in (0, 1, 8, 2**40):
        path.write_bytes(whole[: at + 8] + length.to_bytes(8, "little") + whole[at + 16 :])
        with pytest.raises(InputError, match=r"m.h5mu is damaged .*a global heap that is damaged"):
            read_views(path)
    path.write_bytes(whole)
    assert read_views(path).n_rows == 6


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda file: file.__setitem__("mod/a/again", h5py.SoftLink("/mod")), "holds links, or is too deep"),
        (lambda file: file.__setitem__("mod/a/again", file["mod"]), "holds links, or is too deep"),
        (
            lambda file: file.create_dataset("layer", (10**9, 4), "f4", chunks=(4, 4)),
            "would take 16.0 GB in memory",
        ),
        (lambda file: file.__delitem__("mod"), "it has no modalities"),
    ],
    ids=["loop of links", "loop of groups", "nothing stored", "no modalities"],
)
def test_a_mudata_file_that_leads_nowhere_is_refused(spoil, words, tmp_path):
    path = tmp_path / "m.h5mu"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata.MuData({"a": anndata.AnnData(A.astype(np.float32))}).write(path)
    with h5py.File(path, "r+") as file:
        spoil(file)
    with pytest.raises(InputError, match=words):
        read_views(path)
