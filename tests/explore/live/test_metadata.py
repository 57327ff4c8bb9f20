import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie.errors import InputError
from coterie.explore.live.metadata import Groups, Metadata


@pytest.fixture
def metadata(tmp_path):
    table = pa.table(
        {
            "name": ["Ann", None, "anna <b>", "Bob"] * 20,
            "size": np.arange(80) / 2,
            "many": [[1, 2]] * 80,
            "day": pa.array([0, 1, 2, 3] * 20, pa.date32()),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "known.parquet")
    return Metadata.read(tmp_path / "known.parquet", 80)


def test_a_row_is_read_as_text(metadata):
    assert metadata.row(1) == [("name", ""), ("size", "0.5"), ("many", "[1, 2]"), ("day", "1970-01-02")]


def test_a_text_file_may_have_semicolons_between_its_cells(tmp_path):
    (tmp_path / "known.csv").write_text("id;city\n1;Oslo, N\n2;Bern\n")
    assert Metadata.read(tmp_path / "known.csv", 2).row(0) == [("id", "1"), ("city", "Oslo, N")]


def test_a_text_file_may_be_in_utf_16(tmp_path):
    (tmp_path / "about.csv").write_text("name\tcity\nÅse\tZürich\n", encoding="utf-16")
    assert Metadata.read(tmp_path / "about.csv", 1).row(0) == [("name", "Åse"), ("city", "Zürich")]


def test_numbers_with_a_decimal_comma_are_amounts(tmp_path):
    lines = [f"{i},5;{i}. Street, N" for i in range(40)]
    (tmp_path / "known.csv").write_text("size;home\n" + "\n".join(lines) + "\n")
    known = Metadata.read(tmp_path / "known.csv", 40)
    np.testing.assert_array_equal(known.values(0, np.arange(40)), np.arange(40) + 0.5)


def test_words_are_found_in_any_column_in_upper_or_lower_case(metadata):
    assert metadata.search("ANN", 3) == [0, 2, 4]
    assert metadata.search("1970-01-04", 2) == [3, 7]
    assert metadata.search("39.5", 9) == [79]
    assert metadata.search("(", 9) == []


def test_many_numbers_are_amounts_and_few_values_are_groups(metadata):
    rows = np.arange(40)
    np.testing.assert_array_equal(metadata.values(1, rows), rows / 2)
    groups = metadata.values(0, rows)
    assert isinstance(groups, Groups)
    assert sorted(groups.names) == ["", "Ann", "Bob", "anna <b>"]
    assert [groups.names[code] for code in groups.codes[:4]] == ["Ann", "", "anna <b>", "Bob"]


def test_rare_values_beyond_thirty_have_no_group():
    groups = Groups.of([str(i) for i in range(40)] + ["0"])
    assert len(groups.names) == 30
    assert groups.names[0] == "0"
    assert (groups.codes == -1).sum() == 10


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.csv", None, "There is no file"),
        ("known.xlsx", "a", "unknown suffix"),
        ("known.csv", "a,b\n1,2\n", "has 1 lines but the data have 80 rows"),
        ("known.csv", "a,b\n1,2,3\n", "cannot be read as a table"),
        ("known.parquet", "nonsense", "known.parquet"),
    ],
)
def test_mistakes_are_named_in_one_sentence(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        Metadata.read(tmp_path / name, 80)
