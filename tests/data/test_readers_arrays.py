"""NumPy's files, and what all readers say about files that are missing, unknown or damaged."""

import os
import pickle
import shutil
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse

from coterie.data import read_labels, read_views
from coterie.data.readers.labels import encode_labels
from coterie.errors import InputError

A = np.arange(12.0).reshape(4, 3)
B = np.arange(8, dtype=np.uint8).reshape(4, 2)


def same(views, *arrays):
    for block, array in zip(views.read(slice(None)), arrays, strict=True):
        np.testing.assert_array_equal(block, np.asarray(array, dtype=np.float32))


def parts(name, array, index=np.uint16):
    matrix = sparse.csr_matrix(array)
    return {
        f"{name}_data": matrix.data,
        f"{name}_indices": matrix.indices.astype(index),
        f"{name}_indptr": matrix.indptr,
        f"{name}_shape": np.array(matrix.shape),
    }


def test_a_npy_file_stays_on_disk(tmp_path):
    np.save(tmp_path / "pixels.npy", A)
    views = read_views(tmp_path / "pixels.npy")
    assert views.names == ("pixels",)
    assert not views.in_memory
    same(views, A)


def test_npz_views_dense_and_sparse_come_in_order_with_names_and_labels(tmp_path):
    path = tmp_path / "set.npz"
    many = {f"view{v}": A + v for v in range(11) if v != 1}
    np.savez_compressed(
        path, **many, **parts("view1", B), y=np.array([2, 0, 1, 1]), view_names=list("abcdefghijk")
    )
    views = read_views(path)
    assert views.names == tuple("abcdefghijk")
    assert views.in_memory
    np.testing.assert_array_equal(views.labels, [2, 0, 1, 1])
    same(views, A, B, *(A + v for v in range(2, 11)))
    assert sparse.issparse(views.sources[1].matrix)


@pytest.mark.parametrize("key", ["X", "data", "arr_0", "features", "anything"])
def test_a_npz_file_with_one_table_is_one_view(key, tmp_path):
    np.savez(tmp_path / "one.npz", **{key: A, "y": [0, 1, 0, 1], "note": np.array("made by hand")})
    views = read_views(tmp_path / "one.npz")
    same(views, A)
    np.testing.assert_array_equal(views.labels, [0, 1, 0, 1])


def test_a_table_with_a_usual_name_comes_before_others(tmp_path):
    np.savez(tmp_path / "w.npz", affinity=np.eye(4), X=A)
    same(read_views(tmp_path / "w.npz"), A)


def test_a_npz_file_may_say_which_views_are_there(tmp_path):
    present = np.array([[1, 1], [0, 1], [1, 1], [1, 0]], dtype=bool)
    np.savez(tmp_path / "m.npz", view0=A, view1=B, present=present)
    np.testing.assert_array_equal(read_views(tmp_path / "m.npz").present, present)


@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csc_matrix])
def test_a_sparse_matrix_saved_by_scipy_is_one_view(layout, tmp_path):
    sparse.save_npz(tmp_path / "s.npz", layout(A))
    same(read_views(tmp_path / "s.npz"), A)


def test_sparse_parts_that_point_outside_the_matrix_are_refused(tmp_path):
    broken = parts("view0", A) | {"view0_indices": np.full(11, 9)}
    np.savez(tmp_path / "s.npz", **broken)
    with pytest.raises(InputError, match=r"s.npz is damaged or not a NumPy .npz file"):
        read_views(tmp_path / "s.npz")


def test_a_directory_of_npy_files_is_one_view_a_file(tmp_path):
    np.save(tmp_path / "v10.npy", A)
    np.save(tmp_path / "v9.npy", B)
    np.save(tmp_path / "y.npy", [1, 1, 0, 0])
    views = read_views(tmp_path)
    assert views.names == ("v9", "v10")
    np.testing.assert_array_equal(views.labels, [1, 1, 0, 0])
    same(views, B, A)
    assert not views.in_memory


def test_a_directory_without_tables_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"is a directory without .npy files"):
        read_views(tmp_path)


def test_tables_of_different_length_name_the_file_and_the_view(tmp_path):
    np.savez(tmp_path / "d.npz", view0=A, view1=B[:2])
    with pytest.raises(InputError, match=r"d.npz: View 'view1' has 2 rows but view 'view0' has 4"):
        read_views(tmp_path / "d.npz")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def test_pickled_objects_are_refused_and_never_run(tmp_path):
    np.save(tmp_path / "o.npy", np.array([[Bomb()]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", view0=A, extra=np.array([Bomb()], dtype=object))
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Bomb()))
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Bomb()))
    holding, posing = "holds Python objects, which could run code", "not a NumPy"
    for name, words in {"o.npy": holding, "o.npz": holding, "p.npy": posing, "p.npz": posing}.items():
        with pytest.raises(InputError, match=rf"{name} is damaged or {words}"):
            read_views(tmp_path / name)
        with pytest.raises(InputError, match=rf"{name} is damaged or {words}"):
            read_labels(tmp_path / name)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".h5", ".parquet", ".h5mu", ".csv"])
@pytest.mark.parametrize("content", [b"", b"\x00\x81garbage\xff\xfe" * 9], ids=["empty", "garbage"])
def test_a_file_of_garbage_is_one_sentence_with_its_path(suffix, content, tmp_path):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"broken\{suffix} is (damaged or|empty|not UTF-8 text)"):
        read_views(path)


def test_a_truncated_file_is_one_sentence_with_its_path(tmp_path):
    import scipy.io

    big = np.random.default_rng(0).normal(size=(200, 20))
    np.save(tmp_path / "a.npy", big)
    np.savez_compressed(tmp_path / "a.npz", view0=big)
    scipy.io.savemat(tmp_path / "a.mat", {"X": big}, do_compression=True)
    for name in ("a.npy", "a.npz", "a.mat"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-900])
        with pytest.raises(InputError, match=f"{name} is damaged"):
            read_views(path)


def test_an_array_without_rows_and_columns_names_its_file(tmp_path):
    np.save(tmp_path / "flat.npy", np.arange(5.0))
    with pytest.raises(InputError, match=r"flat.npy is 1-D .* Reshape your data"):
        read_views(tmp_path / "flat.npy")
    np.savez(tmp_path / "flat.npz", view0=np.arange(5.0))
    with pytest.raises(
        InputError, match=r"flat.npz has no table that could be a view \(it holds: view0 \(5,\)\)"
    ):
        read_views(tmp_path / "flat.npz")


def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        for read in (read_views, read_labels):
            with pytest.raises(InputError, match=f"{name} is a pipe or a device: save the data in a file"):
                read(tmp_path / name)


def test_a_missing_file_an_unknown_suffix_and_stray_options_are_named(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*nothing.npy"):
        read_views(tmp_path / "nothing.npy")
    (tmp_path / "x.docx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"x.docx has an unknown suffix: coterie reads .npy, .npz"):
        read_views(tmp_path / "x.docx")
    np.save(tmp_path / "x.npy", A)
    with pytest.raises(InputError, match="delimiter can only be given for text files"):
        read_views(tmp_path / "x.npy", delimiter=",")
    with pytest.raises(InputError, match="drop can only be given for text files"):
        read_views(tmp_path, drop=["a"])


@pytest.mark.parametrize(
    ("suffix", "module", "package", "extra"),
    [
        (".parquet", "pyarrow", "pyarrow", "parquet"),
        (".zarr", "zarr", "zarr", "zarr"),
        (".h5mu", "mudata", "mudata", "omics"),
        (".h5", "h5py", "h5py", "hdf5"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    suffix, module, package, extra, tmp_path, monkeypatch
):
    import sys

    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"anything")
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as caught:
        read_views(path)
    assert str(caught.value) == f"Reading {suffix} files needs {package}: pip install 'coterie[{extra}]'"


@pytest.mark.parametrize("key", ["y", "Y", "gt", "truth", "labels"])
def test_labels_are_found_in_npz_under_their_usual_names(key, tmp_path):
    np.savez(tmp_path / "l.npz", view0=A, **{key: np.array([[3], [1], [3], [2]])})
    np.testing.assert_array_equal(read_labels(tmp_path / "l.npz"), [3, 1, 3, 2])


def test_the_key_of_labels_comes_first(tmp_path):
    np.savez(tmp_path / "l.npz", y=[0, 0], mine=["b", "a"])
    np.testing.assert_array_equal(read_labels(tmp_path / "l.npz", key="mine"), [1, 0])
    np.testing.assert_array_equal(read_labels(tmp_path / "l.npz"), [0, 0])


def test_labels_in_npy_are_one_number_a_row(tmp_path):
    np.save(tmp_path / "l.npy", np.array([[1.0], [np.nan], [4.0]]))
    np.testing.assert_array_equal(read_labels(tmp_path / "l.npy"), [1, -1, 4])
    np.save(tmp_path / "m.npy", A)
    with pytest.raises(InputError, match=r"m.npy has shape \(4, 3\), but labels are one number a row"):
        read_labels(tmp_path / "m.npy")
    np.save(tmp_path / "f.npy", [0.5, 1.0])
    with pytest.raises(InputError, match=r"f.npy are not whole numbers"):
        read_labels(tmp_path / "f.npy")


def test_a_file_without_labels_says_so(tmp_path):
    np.savez(tmp_path / "l.npz", view0=A)
    with pytest.raises(InputError, match=r"l.npz holds no labels: call them 'y'"):
        read_labels(tmp_path / "l.npz")
    with pytest.raises(InputError, match="There is no file"):
        read_labels(tmp_path / "gone.csv")


def test_one_hot_labels_are_numbered(tmp_path):
    np.savez(tmp_path / "l.npz", Y=np.eye(3)[[2, 0, 1, 1]])
    np.testing.assert_array_equal(read_labels(tmp_path / "l.npz"), [2, 0, 1, 1])


def test_a_copy_of_a_file_reads_the_same(tmp_path):
    np.savez(tmp_path / "a.npz", view0=A, y=[0, 0, 1, 1])
    shutil.copy(tmp_path / "a.npz", tmp_path / "B.NPZ")
    same(read_views(tmp_path / "B.NPZ"), A)


def lying(shape, kind="'<f8'"):
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(96)


@pytest.mark.parametrize(
    "array",
    [
        lying(f"({10**12}, 3)"),
        lying("(4, -3)"),
        lying("(3, 3)"),
        lying("(9,)", "'|S0'"),
    ],
    ids=["huge", "negative", "other", "no bytes"],
)
@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_a_header_that_lies_about_its_array_is_refused_before_numpy_makes_room(array, name, tmp_path):
    if name == "x.npy":
        (tmp_path / name).write_bytes(array)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("X.npy", array)
    with pytest.raises(InputError, match=rf"{name} is damaged or not a NumPy .* in 96 bytes"):
        read_views(tmp_path / name)


def test_an_array_twice_in_a_zip_and_names_that_are_no_names_are_refused(tmp_path):
    np.savez(tmp_path / "n.npz", view0=A, view_names=np.zeros((5, 2)))
    with pytest.raises(InputError, match="view_names must be text, one name a view"):
        read_views(tmp_path / "n.npz")
    np.savez(tmp_path / "t.npz", X=A)
    with (
        zipfile.ZipFile(tmp_path / "t.npz", "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("X.npy", lying("(12,)"))
    with pytest.raises(InputError, match="holds an array twice"):
        read_views(tmp_path / "t.npz")


def test_one_long_label_does_not_make_all_of_them_long(tmp_path):
    texts = ["a"] * 3000 + ["b" * 100_000]
    tracemalloc.start()
    codes = encode_labels(texts, "labels.csv")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert codes.tolist() == [0] * 3000 + [1]
    assert most < 2_000_000
