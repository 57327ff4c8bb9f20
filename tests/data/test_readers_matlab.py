"""MATLAB's files of both kinds, in the layouts in which multi-view data are passed around."""

import h5py
import numpy as np
import pytest
import scipy.io
from scipy import sparse

from coterie.data import read_labels, read_views
from coterie.data.readers.mat5 import csr_of_columns, mat5_entries
from coterie.data.readers.selection import find_transposed
from coterie.errors import InputError

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.integers(0, 9, size=(6, 2))
S = sparse.random(6, 5, density=0.4, random_state=0, format="csc")
Y = np.array([1, 1, 2, 2, 3, 3])


def same(views, *arrays):
    for block, array in zip(views.read(slice(None)), arrays, strict=True):
        np.testing.assert_array_equal(block, np.asarray(array, dtype=np.float32))


def write_v5(path, variables):
    content = {}
    for name, value in variables.items():
        if isinstance(value, list):
            cell = np.empty((1, len(value)), dtype=object)
            for i, item in enumerate(value):
                cell[0, i] = item
            value = cell
        content[name] = value
    scipy.io.savemat(path, content)


def put(file, parent, name, value):
    """Write one variable as MATLAB does: transposed, sparse as a group, text as codes."""
    if sparse.issparse(value):
        value = value.tocsc()
        node = parent.create_group(name)
        node.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
        node.attrs["MATLAB_class"] = np.bytes_("double")
        node["data"], node["ir"], node["jc"] = (
            value.data,
            value.indices.astype("u8"),
            value.indptr.astype("u8"),
        )
        return node
    if isinstance(value, str):
        node = parent.create_dataset(name, data=np.array([[ord(c)] for c in value], dtype="u2"))
        node.attrs["MATLAB_class"] = np.bytes_("char")
        return node
    value = np.asarray(value)
    node = parent.create_dataset(name, data=np.atleast_2d(value).T)
    node.attrs["MATLAB_class"] = np.bytes_("double")
    return node


def write_v73(path, variables):
    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        for name, value in variables.items():
            if isinstance(value, list):
                nodes = [put(file, refs, f"{name}{i}", item) for i, item in enumerate(value)]
                cell = file.create_dataset(name, (len(value), 1), dtype=h5py.ref_dtype)
                cell[:, 0] = [node.ref for node in nodes]
                cell.attrs["MATLAB_class"] = np.bytes_("cell")
            else:
                put(file, file, name, value)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


WRITERS = pytest.mark.parametrize("write", [write_v5, write_v73], ids=["v5", "v7.3"])


@WRITERS
@pytest.mark.parametrize("name", ["X", "fea", "data", "views", "mycell"])
def test_a_cell_array_is_several_views(write, name, tmp_path):
    write(tmp_path / "m.mat", {name: [A, B], "Y": Y[:, None]})
    views = read_views(tmp_path / "m.mat")
    same(views, A, B)
    np.testing.assert_array_equal(views.labels, Y)
    assert views.names == (f"{name}0", f"{name}1")


@WRITERS
def test_numbered_variables_are_views_in_order(write, tmp_path):
    write(tmp_path / "m.mat", {"X10": B, "X2": A, "gt": Y[None, :], "n": np.array([[7.0]])})
    views = read_views(tmp_path / "m.mat")
    assert views.names == ("X2", "X10")
    same(views, A, B)


@WRITERS
@pytest.mark.parametrize("name", ["X", "fea", "data", "measurements"])
def test_a_single_table_is_one_view(write, name, tmp_path):
    write(tmp_path / "m.mat", {name: A, "truth": Y[:, None]})
    views = read_views(tmp_path / "m.mat")
    assert views.names == (name,)
    same(views, A)


@WRITERS
def test_tables_with_their_own_names_are_all_views(write, tmp_path):
    write(tmp_path / "m.mat", {"gist": A, "hog": B, "gnd": Y[:, None]})
    views = read_views(tmp_path / "m.mat")
    assert set(views.names) == {"gist", "hog"}


@WRITERS
def test_labels_are_never_a_view(write, tmp_path):
    write(tmp_path / "m.mat", {"gist": A, "Y": B})
    views = read_views(tmp_path / "m.mat")
    assert views.names == ("gist",)
    assert views.labels is None


@WRITERS
def test_a_table_with_one_column_keeps_its_rows(write, tmp_path):
    write(tmp_path / "m.mat", {"X": A[:, :1]})
    same(read_views(tmp_path / "m.mat"), A[:, :1])


@WRITERS
def test_a_sparse_view_keeps_its_empty_last_rows(write, tmp_path):
    empty_end = S.toarray() * (np.arange(6) < 3)[:, None]
    write(tmp_path / "m.mat", {"X": sparse.csc_matrix(empty_end)})
    same(read_views(tmp_path / "m.mat"), empty_end)


@WRITERS
def test_sparse_views_stay_sparse(write, tmp_path):
    write(tmp_path / "m.mat", {"X": [S, A], "Y": Y[:, None]})
    views = read_views(tmp_path / "m.mat")
    same(views, S.toarray(), A)
    assert sparse.issparse(views.sources[0].matrix)
    assert not views.read(slice(0, 2))[0].base


@WRITERS
@pytest.mark.parametrize("with_labels", [True, False])
def test_rows_in_columns_are_recognised(write, with_labels, tmp_path):
    write(tmp_path / "m.mat", {"X": [A.T, S.T, B.T], **({"Y": Y[:, None]} if with_labels else {})})
    same(read_views(tmp_path / "m.mat"), A, S.toarray(), B)


@WRITERS
def test_a_single_table_with_rows_in_columns_is_recognised_from_its_labels(write, tmp_path):
    write(tmp_path / "m.mat", {"X": A.T, "y": Y[:, None]})
    same(read_views(tmp_path / "m.mat"), A)


@WRITERS
def test_labels_may_be_texts_in_a_cell_array(write, tmp_path):
    words = ["cat", "ant", "cat", "dog", "ant", "ant"]
    write(tmp_path / "m.mat", {"X": A, "labels": words})
    expected = [1, 0, 1, 2, 0, 0]
    np.testing.assert_array_equal(read_views(tmp_path / "m.mat").labels, expected)
    np.testing.assert_array_equal(read_labels(tmp_path / "m.mat"), expected)


@WRITERS
def test_labels_may_be_one_hot_or_repeated_for_each_view(write, tmp_path):
    write(tmp_path / "m.mat", {"X": [A, B], "truelabel": [Y[:, None], Y[:, None]]})
    np.testing.assert_array_equal(read_views(tmp_path / "m.mat").labels, Y)
    write(tmp_path / "n.mat", {"X": A.T, "Y": np.eye(4)[Y]})
    views = read_views(tmp_path / "n.mat")
    np.testing.assert_array_equal(views.labels, Y)
    same(views, A)


@WRITERS
def test_a_file_without_tables_lists_what_it_holds(write, tmp_path):
    write(tmp_path / "m.mat", {"options": np.array([[1.0]]), "Y": Y[:, None]})
    with pytest.raises(
        InputError, match=r"m.mat has no table that could be a view \(it holds: .*options \(1, 1\)"
    ):
        read_views(tmp_path / "m.mat")


@WRITERS
def test_labels_that_fit_no_side_of_the_tables_are_an_error(write, tmp_path):
    write(tmp_path / "m.mat", {"X": A, "Y": np.arange(11)[:, None]})
    with pytest.raises(InputError, match=r"m.mat: There are 6 rows but labels of shape \(11,\)"):
        read_views(tmp_path / "m.mat")


def test_a_new_file_stays_on_disk_and_an_old_one_is_in_memory(tmp_path):
    write_v73(tmp_path / "new.mat", {"X": [A, B]})
    write_v5(tmp_path / "old.mat", {"X": [A, B]})
    assert not read_views(tmp_path / "new.mat").in_memory
    assert read_views(tmp_path / "old.mat").in_memory


def test_a_new_file_without_h5py_names_the_extra(tmp_path, monkeypatch):
    import sys

    write_v73(tmp_path / "new.mat", {"X": A})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(
        InputError, match=r"Reading .mat v7.3 files needs h5py: pip install 'coterie\[hdf5\]'"
    ):
        read_views(tmp_path / "new.mat")


def test_a_truncated_new_file_is_one_sentence(tmp_path):
    write_v73(tmp_path / "new.mat", {"X": np.zeros((300, 40))})
    content = (tmp_path / "new.mat").read_bytes()
    (tmp_path / "new.mat").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"new.mat is damaged or not a HDF5 file"):
        read_views(tmp_path / "new.mat")


def test_a_plain_hdf5_file_is_not_transposed(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["X1"], file["X2"], file["y"] = A, B, Y
    views = read_views(tmp_path / "x.h5")
    same(views, A, B)
    np.testing.assert_array_equal(views.labels, Y)
    np.testing.assert_array_equal(read_labels(tmp_path / "x.h5"), Y)


@pytest.mark.parametrize(
    ("shapes", "n_labels", "flips"),
    [
        ([(6, 3), (6, 2)], None, [False, False]),
        ([(3, 6), (2, 6)], None, [True, True]),
        ([(6, 3), (2, 6)], None, [False, True]),
        ([(6, 6), (6, 3)], None, [False, False]),
        ([(6, 6), (3, 6)], None, [True, True]),
        ([(6, 6)], 6, [False]),
        ([(3, 6)], 6, [True]),
        ([(3, 6)], None, [False]),
        ([(3, 6)], 9, [False]),
        ([(3, 6), (3, 6)], None, [False, False]),
        ([(3, 6), (3, 6)], 6, [True, True]),
    ],
)
def test_where_the_rows_are(shapes, n_labels, flips):
    assert find_transposed(shapes, n_labels) == flips


def test_a_file_of_version_4_is_refused_with_what_to_do(tmp_path):
    scipy.io.savemat(tmp_path / "m.mat", {"X": A}, format="4")
    with pytest.raises(InputError, match=r"m\.mat is a MATLAB 4 file, .*: save it again with -v7\."):
        read_views(tmp_path / "m.mat")


@pytest.mark.parametrize("compressed", [False, True])
def test_old_files_are_read_as_scipy_reads_them(compressed, tmp_path):
    cell = np.empty((2, 1), dtype=object)
    cell[0, 0], cell[1, 0] = np.arange(6, dtype=np.int16).reshape(2, 3), "text"
    content = {
        "u8": np.arange(3, dtype=np.uint8), "f4": A.astype(np.float32), "i8": np.array([[2**60]]), "c": A + 2j,
        "empty": np.zeros((0, 3)), "three": np.arange(24.0).reshape(2, 3, 4), "texts": np.array(["ab", "cd"]),
        "no": {"a": 1}, "bits": A > 0, "sparse": S, "cell": cell,
    }  # fmt: skip
    scipy.io.savemat(tmp_path / "m.mat", content, do_compression=compressed)
    wanted = scipy.io.loadmat(tmp_path / "m.mat")
    found = mat5_entries((tmp_path / "m.mat").read_bytes())
    assert set(found) == set(content)
    assert found.pop("no") is None
    np.testing.assert_array_equal(found.pop("sparse").toarray(), wanted["sparse"].toarray())
    pieces = found.pop("cell")
    np.testing.assert_array_equal(pieces[0], wanted["cell"][0, 0])
    assert pieces[1].tolist() == ["text"]
    for name, array in found.items():
        np.testing.assert_array_equal(array, wanted[name])
        assert array.dtype.kind == wanted[name].dtype.kind


def test_every_truncation_of_an_old_file_is_one_sentence(tmp_path):
    path = tmp_path / "m.mat"
    scipy.io.savemat(path, {"X": A})
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"m\.mat (is damaged|has no table)"):
            read_views(path)


@pytest.mark.parametrize(
    ("starts", "rows"), [([0, 9, 0], []), ([0, 2, 1], [0]), ([0, 1], [7]), ([1, 1], [0]), ([], [])]
)
def test_a_sparse_matrix_with_values_outside_of_it_is_refused(starts, rows):
    with pytest.raises(ValueError, match="a sparse matrix"):
        csr_of_columns(np.ones(len(rows)), np.array(rows, dtype=int), np.array(starts, dtype=int), 3)


@pytest.mark.parametrize("kind", ["bytes", "virtual", "link", "sparse"])
def test_values_of_other_files_are_refused(tmp_path, kind):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.arange(27.0).reshape(9, 3)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        if kind == "bytes":
            file.create_dataset("X", (9, 3), "u1", external=[(tmp_path / "secret.h5", 0, 27)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape=(9, 3), dtype="f8")
            layout[:] = h5py.VirtualSource(tmp_path / "secret.h5", "X", shape=(9, 3))
            file.create_virtual_dataset("X", layout)
        elif kind == "link":
            file["X"] = h5py.ExternalLink(tmp_path / "secret.h5", "X")
        else:
            file["X/ir"] = file["X/jc"] = np.zeros(2, dtype=int)
            file.create_dataset("X/data", (2,), "u1", external=[(tmp_path / "secret.h5", 0, 2)])
    with pytest.raises(InputError, match=r"rows\.h5 .*(values of other files|a link to another file)"):
        read_views(tmp_path / "rows.h5")
