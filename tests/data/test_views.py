"""`Views` and `as_views`: what is accepted, what is missing, and the sentence for what is wrong."""

import sys

import numpy as np
import pandas as pd
import pytest
import torch
import zarr
from scipy import sparse

from coterie.data import Views, as_views
from coterie.errors import InputError

A = np.arange(12.0).reshape(4, 3)
B = np.arange(8).reshape(4, 2)
NAN = np.nan


def same(views, *arrays):
    for block, array in zip(views.read(slice(None)), arrays, strict=True):
        np.testing.assert_array_equal(block, np.asarray(array, dtype=np.float32))


@pytest.mark.parametrize(
    "one",
    [
        A,
        A.tolist(),
        [tuple(row) for row in A],
        list(A),
        A.astype(object),
        A.astype(str),
        pd.DataFrame(A),
        sparse.csc_matrix(A),
        sparse.dok_array(A),
        torch.tensor(A, requires_grad=True),
        zarr.array(A),
    ],
    ids=lambda x: type(x).__name__,
)
def test_one_table_of_any_kind_is_one_view(one):
    views = as_views(one)
    assert (views.names, views.dims, views.n_rows, views.n_views, len(views)) == (("X",), (3,), 4, 1, 4)
    same(views, A)


@pytest.mark.parametrize(
    "several",
    [[A, B], (A, B), [sparse.csr_matrix(A), B], [pd.DataFrame(A), B.tolist()], [A.tolist(), B.tolist()]],
)
def test_a_list_of_tables_is_several_views(several):
    views = as_views(several)
    assert views.names == ("view0", "view1")
    assert views.dims == (3, 2)
    assert views.nbytes == 4 * 4 * 5
    same(views, A, B)


def test_a_mapping_names_its_views():
    views = as_views({"left": A, "right": B})
    assert views.names == ("left", "right")
    same(views, A, B)


def test_views_come_back_as_they_are():
    views = as_views(A)
    assert as_views(views) is views


def test_paths_stand_for_the_tables_in_them(tmp_path):
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "b.npy", B)
    same(as_views(str(tmp_path / "a.npy")), A)
    same(as_views([tmp_path / "a.npy", tmp_path / "b.npy"]), A, B)
    same(as_views({"b": tmp_path / "b.npy"}), B)
    np.savez(tmp_path / "two.npz", view0=A, view1=B)
    with pytest.raises(InputError, match=r"View 0: .*two.npz holds 2 views, but one table is needed"):
        as_views([tmp_path / "two.npz"])


@pytest.mark.parametrize(
    ("groups", "expected", "names"),
    [
        ([2, 1], [A[:, :2], A[:, 2:]], ("view0", "view1")),
        ([[0, 2], [1]], [A[:, [0, 2]], A[:, [1]]], ("view0", "view1")),
        ([slice(0, 2), slice(2, None)], [A[:, :2], A[:, 2:]], ("view0", "view1")),
        ({"p": [2, 0], "q": -2}, [A[:, [2, 0]], A[:, [1]]], ("p", "q")),
    ],
)
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_column_groups_cut_one_table_into_views(groups, expected, names, wrap):
    views = as_views(wrap(A), views=groups)
    assert views.names == names
    same(views, *expected)


def test_column_groups_may_use_the_names_of_columns():
    views = as_views(pd.DataFrame(A, columns=["x", "y", "z"]), views={"p": ["z", "x"], "q": "y"})
    same(views, A[:, [2, 0]], A[:, [1]])
    assert views.feature_names == (["z", "x"], ["y"])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([2, 2], r"views=\[2, 2\] are widths that add up to 4, but X has 3 columns"),
        ([4, -1], r"give positive widths"),
        ([[0, 3]], r"asks for column 3, but X has 3 columns"),
        ([["x"]], r"names the column 'x', which X does not have"),
        ([[0.5]], r"has 0.5 where a column number or name is needed"),
        ([[0], []], r"has a group without columns \(\[\]\)"),
        ("ab", r"views= must be a list of column groups"),
    ],
)
def test_wrong_column_groups_are_named(groups, message):
    with pytest.raises(InputError, match=message):
        as_views(A, views=groups)


def test_column_groups_need_a_single_table():
    with pytest.raises(InputError, match="views= cuts one table into views, but the data already have 2"):
        as_views([A, B], views=[1, 2])


def test_names_can_be_given_and_must_fit():
    assert as_views([A, B], names=["p", "q"]).names == ("p", "q")
    with pytest.raises(InputError, match="There are 2 views but 1 names"):
        as_views([A, B], names=["p"])
    with pytest.raises(InputError, match=r"The view names \['p', 'p'\] repeat"):
        as_views([A, B], names=["p", "p"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (A[0], r"X is 1-D \(shape \(3,\)\).*Reshape your data"),
        (3.0, "X is 0-D.*Reshape your data"),
        (np.zeros((4, 2, 2)), r"X is 3-D \(shape \(4, 2, 2\)\).*Reshape your data"),
        ({"img": np.zeros((4, 2, 2))}, "View 'img' is 3-D"),
        (
            np.zeros((0, 3)),
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required",
        ),
        (np.zeros((4, 0)), r"0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1 is required."),
        (A + 1j, "Complex data not supported"),
        (sparse.csr_matrix(A + 1j), "Complex data not supported"),
        ([[1, 2], [3]], "X has rows of different lengths"),
        ([], "X is 1-D"),
        ({}, "There is no view in the data"),
        ([A, B[:3]], "View 'view1' has 3 rows but view 'view0' has 4"),
        (np.array([["1", "2"], ["3", "cat"]]), "X, row 1, column 1 is 'cat', not a number"),
        (np.array([[1, "dog"]], dtype=object), "X, row 0, column 1 is 'dog', not a number"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), r"X has dtype datetime64\[D\], which is not numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_a_clear_error(X, message):
    with pytest.raises(InputError, match=message):
        as_views(X)


def test_an_object_that_is_no_number_is_also_a_type_error_as_scikit_learn_wants():
    with pytest.raises(
        TypeError, match=r"row 0, column 1 is a dict: this argument must be .* string.* number"
    ):
        as_views(np.array([[1, {"a": 1}]], dtype=object))
    with pytest.raises(InputError, match="is a dict"):
        as_views(np.array([[1, {"a": 1}]], dtype=object))


def test_rows_without_any_view_are_counted():
    rows = A.copy()
    rows[1:3] = NAN
    with pytest.raises(
        InputError, match=r"Row 1 has no view at all \(.*\): remove the 2 rows that are like it\."
    ):
        as_views(rows).check()


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_frames_with_the_same_row_names_in_another_order_are_refused(names):
    frame = pd.DataFrame(A, index=list("pqrs"))
    pair = [frame, frame[::-1]]
    with pytest.raises(InputError, match=r"has the row names of View '?[0a]'? in another order"):
        as_views(pair if names is None else dict(zip(names, pair, strict=True)))
    same(as_views([frame, frame[::-1].reset_index()[[0, 1]]]), A, A[::-1, :2])


def missing_in_two_places():
    a, b = A.copy(), B.astype(float)
    a[1] = NAN
    b[3] = NAN
    return [a, b]


def test_a_row_that_is_all_nan_in_a_view_is_missing_there():
    views = as_views(missing_in_two_places())
    views.check()
    expected = np.array([[True, True], [False, True], [True, True], [True, False]])
    np.testing.assert_array_equal(views.present, expected)
    np.testing.assert_array_equal(views.present_rows([3, 1, 1]), expected[[3, 1, 1]])


def test_a_missing_entry_reads_as_zeros_before_and_after_the_check():
    views = as_views(missing_in_two_places())
    expected = [np.nan_to_num(block) for block in missing_in_two_places()]
    same(views, *expected)
    views.check()
    same(views, *expected)
    np.testing.assert_array_equal(views.read_view(1, [3, 0]), expected[1][[3, 0]])


def test_presence_is_known_before_the_check_too():
    views = as_views(missing_in_two_places())
    np.testing.assert_array_equal(
        views.present_rows(slice(1, 4)), [[False, True], [True, True], [True, False]]
    )


def test_a_mask_hides_values_whatever_they_are():
    a = A.copy()
    a[2] = [NAN, np.inf, 1.0]
    views = as_views([a, B], mask=[[1, 1], [1, 1], [0, 1], [1, 0]])
    views.check()
    same(views, np.where(np.arange(4)[:, None] == 2, 0.0, A), np.where(np.arange(4)[:, None] == 3, 0, B))
    np.testing.assert_array_equal(views.present_rows([2, 3]), [[False, True], [True, False]])


def test_a_mask_and_nan_rows_add_up():
    views = as_views(missing_in_two_places(), mask=[[0, 1], [1, 1], [1, 1], [1, 1]])
    views.check()
    np.testing.assert_array_equal(views.present, [[False, True], [False, True], [True, True], [True, False]])
    again = as_views(views, mask=[[1, 1], [1, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(again.present, [[False, True], [False, True], [True, False], [True, False]])


def test_present_is_none_when_nothing_is_missing():
    assert as_views([A, B], mask=np.ones((4, 2))).present is None
    views = as_views([A, B])
    views.check()
    assert views.present is None


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((4, 3)), r"The mask has shape \(4, 3\) .* \(4, 2\)"),
        (np.full((4, 2), 0.5), "must hold only True"),
        ([[1, 1], [1, 0], [0, 0], [1, 1]], r"Row 2 has no view at all \(it is masked out in each\)"),
    ],
)
def test_a_wrong_mask_is_named(mask, message):
    with pytest.raises(InputError, match=message):
        as_views([A, B], mask=mask)


def spoilt(value, row=2, column=1):
    X = A.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (spoilt(NAN), "View 'X', row 2, column 1 is NaN"),
        (spoilt(np.inf), "View 'X', row 2, column 1 is inf or too large for float32"),
        (spoilt(-1e39), "View 'X', row 2, column 1 is inf or too large for float32"),
        (spoilt(NAN, row=2, column=slice(None)), r"Row 2 has no view at all \(it is all NaN"),
        (sparse.csr_matrix(spoilt(NAN)), "View 'X', row 2, column 1 is NaN"),
        ({"p": A, "q": spoilt(NAN, column=0)}, "View 'q', row 2, column 0 is NaN"),
        ([spoilt(NAN, 3, slice(None)), spoilt(NAN, 3, slice(None))], "Row 3 has no view at all"),
        (pd.DataFrame(spoilt(np.inf), columns=["r", "s", "t"]), "View 'X', row 2, column 's' is inf"),
    ],
)
@pytest.mark.parametrize("batch_rows", [None, 1, 3])
def test_the_check_names_the_first_value_that_cannot_be_clustered(X, message, batch_rows):
    views = as_views(X)
    views.chunks = lambda: Views.chunks(views, batch_rows)
    with pytest.raises(InputError, match=message):
        views.check()


def test_the_check_accepts_large_values_whose_sum_overflows():
    views = as_views(np.full((4, 3), 3e38))
    views.check()
    assert views.present is None


def test_the_check_reads_integers_never_and_floats_once():
    class Counted:
        on_disk = False
        shape = (4, 1)
        reads = 0

        def __init__(self, known_finite):
            self.known_finite = known_finite

        def read(self, rows):
            self.reads += 1
            return np.zeros((len(range(*rows.indices(4))), 1), dtype=np.float32)

    integers, floats = Counted(True), Counted(False)
    views = Views([integers, floats])
    views.check()
    views.check()
    assert (integers.reads, floats.reads) == (0, 1)


def test_integers_stay_in_their_dtype_until_read():
    pixels = np.arange(12, dtype=np.uint8).reshape(4, 3)
    views = as_views(pixels)
    assert views.sources[0].array is pixels
    assert views.read(slice(0, 2))[0].dtype == np.float32


def test_select_keeps_order_labels_and_presence():
    views = Views(as_views(missing_in_two_places()).sources, labels=[5, 6, 7, 8])
    views.check()
    chosen = views.select([3, 1, 3])
    np.testing.assert_array_equal(chosen.labels, [8, 6, 8])
    np.testing.assert_array_equal(chosen.present, [[True, False], [False, True], [True, False]])
    same(chosen, A[[3, 3, 3]] * [[1], [0], [1]], B[[1, 1, 1]] * [[0], [1], [0]])
    assert chosen.select(slice(0, 1)).n_rows == 1


def test_labels_must_be_one_a_row():
    with pytest.raises(InputError, match=r"There are 4 rows but labels of shape \(3,\)"):
        Views(as_views(A).sources, labels=[1, 2, 3])


def test_the_representation_says_what_is_inside():
    assert repr(as_views({"a": A, "b": B})) == "Views(4 rows: a 3, b 2)"


def test_importing_the_data_room_loads_no_heavy_package():
    import subprocess

    heavy = {"torch", "pandas", "h5py", "zarr", "pyarrow", "mudata", "sklearn"}
    code = f"import sys, coterie.data; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
