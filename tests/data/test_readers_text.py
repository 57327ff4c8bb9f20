"""CSV files as strangers write them."""

import numpy as np
import pandas as pd
import pytest

from coterie.data import as_views, read_labels, read_views
from coterie.data.readers import text
from coterie.data.tables.rows import whole_table
from coterie.errors import InputError

NAN = np.nan


def write(path, content, name="t.csv", encoding="utf-8"):
    file = path / name
    file.write_text(content, encoding=encoding, newline="")
    return file


def numbers_in(views):
    """The numbers of a file as they were read, before their gaps are filled."""
    rows = whole_table(views.sources[0])
    if rows is None:
        return views.sources[0].array
    return np.column_stack([column.values for column in rows.table.columns])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a;b\r\n1;2.5\r\n3;4\r\n", [[1, 2.5], [3, 4]]),
        ("1\t2\n3\t4", [[1, 2], [3, 4]]),
        ("\n1,2\n\n3,4\n\n", [[1, 2], [3, 4]]),
        ('"a","b"\n"1","2"\n3,4\n', [[1, 2], [3, 4]]),
        ("a,b\n1,\n,4\nNA,nan\n", [[1, NAN], [NAN, 4], [NAN, NAN]]),
        ("height\n1\n2\n", [[1], [2]]),
        ("1e3,-2.5E-1\n .5 , +7\n", [[1000, -0.25], [0.5, 7]]),
        ("0,1,2\n5,6,7\n", [[5, 6, 7]]),
        (",0,1\n0,5,6\n1,7,8\n", [[5, 6], [7, 8]]),
        (",p,q\nann,5,6\nbob,7,8\n", [[5, 6], [7, 8]]),
        ("2019,cost\n1,2\n", [[1, 2]]),
        ("1\t\n\t\n", [[1, NAN], [NAN, NAN]]),
        ("7,8\n", [[7, 8]]),
    ],
)
def test_numbers_are_found_however_they_are_written(content, expected, tmp_path):
    views = read_views(write(tmp_path, content))
    np.testing.assert_array_equal(numbers_in(views), np.array(expected, dtype=np.float32))
    assert views.in_memory


def test_a_byte_order_mark_does_not_hide_a_header(tmp_path):
    views = read_views(write(tmp_path, "a,b\n1,2\n", encoding="utf-8-sig"))
    assert views.feature_names == (["a", "b"],)


def test_a_frame_written_by_pandas_comes_back(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("pqrs"))
    frame.to_csv(tmp_path / "f.csv")
    views = read_views(tmp_path / "f.csv")
    np.testing.assert_allclose(views.read(slice(None))[0], frame, rtol=1e-6)
    assert views.feature_names == (list("pqrs"),)
    assert views.names == ("f",)


@pytest.mark.parametrize("name", ["label", "y", "Class", "target", "labels"])
def test_a_column_of_labels_is_left_out_and_kept(name, tmp_path):
    views = read_views(write(tmp_path, f"a,{name},b\n1,cat,2\n3,ant,4\n5,,6\n"))
    np.testing.assert_array_equal(views.read(slice(None))[0], [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(views.labels, [1, 0, -1])
    assert views.feature_names == (["a", "b"],)


def test_y_beside_x_is_a_coordinate(tmp_path):
    views = read_views(write(tmp_path, "x,y,label\n1,2,0\n3,4,1\n"))
    np.testing.assert_array_equal(views.read(slice(None))[0], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(views.labels, [0, 1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a,b\n1,2\n3,4\nunknown,5\n",
            r"t.csv, line 4, column 'a' is 'unknown', not a number, as .* correct that",
        ),
        ("1,2\n\n\n3,4\n5,x\n", r"t.csv, line 5, column '1' is 'x', not a number"),
        ("a;b\n1,5;x\n2,5;y\n1.5;z\n", r"line 4, column 'a' is '1.5', not a number, .* have a decimal comma"),
        ("a,b\n1_000,2\n3,4\n5,6\n", r"is '1_000', not a number"),
        ("a,b\n1e99,x\n3,y\n5,x\n", r"t.csv, line 2, column 'a' is inf or too large for float32"),
        ("a,b\n1.2.2024,2\n3.2.2024,4\n31.2.2024,6\n", r"line 4, column 'a' is '31.2.2024', not a date, as"),
        ("a,b,a\n1,x,2\n3,y,4\n", r"t.csv has two columns called 'a' \(columns 1 and 3\): rename"),
        ("1,2\n3,4,5\n", r"t.csv, line 2 has 3 cells but the first line has 2"),
        ("1,2\n3,4\n5\n", r"t.csv, line 3 has 1 cells but the first line has 2"),
        ("a,b\n", r"t.csv has no rows below its header"),
        ("", r"t.csv is empty"),
        ("label\n1\n2\n", r"t.csv has no column left"),
        ("id,a\n1,x\n2,x\n", r"has no column that tells rows apart \(id: identifier, a: constant\)"),
    ],
)
def test_what_is_no_number_is_named_by_line_and_column(content, message, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        read_views(write(tmp_path, content)).read(slice(None))
    assert "damaged" not in str(caught.value)


@pytest.mark.parametrize("name", ["", ";x.y"])
def test_a_file_with_semicolons_may_have_decimal_commas(name, tmp_path):
    head = "size;2019;date" + (";name" if name else "")
    views = read_views(
        write(tmp_path, f"{head}\n3;-2,5;1.2.24{name}\n1,25;4e2;2.2.24{name}\n"),
        drop=["date", "name"] if name else ["date"],
    )
    np.testing.assert_array_equal(views.read(slice(None))[0], [[3, -2.5], [1.25, 400]])


def test_decimal_commas_without_a_header_and_without_points_are_read_in_c(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "to_number", None)
    views = read_views(write(tmp_path, "1,5;2,5\n3,5;4\n"))
    np.testing.assert_array_equal(views.read(slice(None))[0], [[1.5, 2.5], [3.5, 4]])


def test_a_delimiter_inside_quotes_does_not_stand_for_a_missing_cell(tmp_path):
    file = write(tmp_path, 'a,label,name,b\n1,"x,y",7\n')
    with pytest.raises(InputError, match=r"line 2 has 3 cells but the first line has 4"):
        read_views(file, drop="name")


def test_text_in_another_encoding_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"t.csv is not UTF-8 text \(byte 2\): save it as CSV UTF-8"):
        read_views(write(tmp_path, "größe,b\n1,2\n", encoding="latin-1"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_mark_at_the_start_of_a_text_tells_its_encoding(encoding, tmp_path):
    file = write(tmp_path, "größe\tlabel\n1.5\tä\n2\tö\n", encoding=encoding)
    views = read_views(file)
    assert views.feature_names == (["größe"],)
    np.testing.assert_array_equal(read_labels(file), [0, 1])
    np.testing.assert_array_equal(views.read(slice(None))[0], [[1.5], [2]])


def test_true_and_false_are_one_and_zero(tmp_path):
    views = read_views(write(tmp_path, "active,paid,size\nTrue,FALSE,2\nfalse,true,\n"))
    np.testing.assert_array_equal(numbers_in(views), [[1, 0, 2], [0, 1, np.nan]])
    with pytest.raises(InputError, match="has the label 'true', not a whole number"):
        read_labels(write(tmp_path, "row,label\n0,true\n1,3\n"), words=False)


def test_a_name_leaves_out_every_column_of_that_name(tmp_path):
    views = read_views(write(tmp_path, "a,b,a\n1,2,3\n4,5,6\n"), drop=["a"])
    assert views.feature_names == (["b"],)


def test_an_error_far_down_the_file_names_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_CHUNK_LINES", 10)
    lines = [f"{i},{i}" for i in range(100)]
    lines[57] = "57,oops"
    with pytest.raises(InputError, match=r"line 59, column 'b' is 'oops'"):
        read_views(write(tmp_path, "a,b\n" + "\n".join(lines))).read(slice(None))


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_chunks_join_to_the_whole_file(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_CHUNK_LINES", chunk)
    rows = np.random.default_rng(0).integers(0, 99, size=(40, 3)).astype(float)
    rows[5, 1] = NAN
    frame = pd.DataFrame(rows, columns=list("abc"))
    frame["label"] = np.arange(40) % 3
    frame.to_csv(tmp_path / "t.csv", index=False)
    views = read_views(tmp_path / "t.csv")
    np.testing.assert_array_equal(numbers_in(views), rows.astype(np.float32))
    np.testing.assert_array_equal(views.labels, np.arange(40) % 3)


def test_options_override_what_would_be_guessed(tmp_path):
    file = write(tmp_path, "1|2|3\n4|5|6\n")
    views = read_views(file, delimiter="|", header=True, drop=["2"])
    np.testing.assert_array_equal(views.read(slice(None))[0], [[4, 6]])
    assert views.feature_names == (["1", "3"],)
    views = read_views(write(tmp_path, "0,1\n2,3\n"), header=False, drop=[0])
    np.testing.assert_array_equal(views.read(slice(None))[0], [[1], [3]])
    with pytest.raises(InputError, match=r"drop= names the column 'z', which .*t.csv does not have"):
        read_views(file, drop=["z"])


def test_a_text_column_can_be_dropped(tmp_path):
    views = read_views(write(tmp_path, "name,a\nann,1\nbob,2\n"), drop="name")
    np.testing.assert_array_equal(views.read(slice(None))[0], [[1], [2]])


@pytest.mark.parametrize("name", ["PassengerId", "order no", "ID", "Kundennummer"])
def test_a_column_of_identifiers_in_any_order_is_left_out(name, tmp_path):
    ids = np.random.default_rng(0).permutation(9000)[:40]
    lines = "\n".join(f"{i % 7},{number}" for i, number in enumerate(ids))
    assert read_views(write(tmp_path, f"a,{name}\n{lines}\n")).feature_names == (["a"],)
    assert read_views(write(tmp_path, f"{name},area\n{lines}\n")).feature_names == ([name, "area"],)


def test_a_column_that_counts_the_rows_is_left_out_where_its_name_says_so(tmp_path):
    assert read_views(write(tmp_path, "customer_id,a\n10000,7\n10001,9\n10002,8\n")).dims == (1,)
    assert read_views(write(tmp_path, "customer_id,a\n5,7\n9,9\n2,8\n")).dims == (2,)
    assert read_views(write(tmp_path, "paid,a\n1,7\n2,9\n3,8\n")).dims == (2,)


def test_columns_of_a_csv_file_can_be_cut_into_views(tmp_path):
    views = as_views(write(tmp_path, "a,b,c\n1,2,3\n4,5,6\n"), views={"p": ["c", "a"], "q": ["b"]})
    assert views.names == ("p", "q")
    np.testing.assert_array_equal(views.read(slice(None))[0], [[3, 1], [6, 4]])


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("1\n0\n2\n", "l.txt", [1, 0, 2]),
        ("cat\nant\ncat\n", "l.txt", [1, 0, 1]),
        ("label\ncat\nant\n", "l.csv", [1, 0]),
        ("y\n5\n6\n", "l.csv", [5, 6]),
        ("anything\n5\n6\n", "l.csv", [5, 6]),
        ("row,label\n0,3\n1,4\n", "l.csv", [3, 4]),
        ("row;mine;label\n0;8;3\n1;9;4\n", "l.csv", [8, 9]),
        ("3\n", "l.txt", [3]),
        ("x,y\n1,5\n2,6\n", "l.csv", [5, 6]),
    ],
)
def test_labels_in_text_files_are_found(content, name, expected, tmp_path):
    key = "mine" if "mine" in content else "y"
    np.testing.assert_array_equal(read_labels(write(tmp_path, content, name), key=key), expected)


def test_a_table_without_a_column_of_labels_says_so(tmp_path):
    with pytest.raises(InputError, match=r"t.csv has 2 columns and none is called 'y' or label"):
        read_labels(write(tmp_path, "a,b\n1,2\n"))
