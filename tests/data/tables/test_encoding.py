"""The encoding of a table: every column counts once, gaps do not speak, new rows are encoded as in the fit."""

import json
import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from coterie.data import as_views
from coterie.data.tables.describe import describe_gaps, describe_table
from coterie.data.tables.encoding import TableEncoding
from coterie.data.tables.frames import frame_table
from coterie.data.tables.gaps import fill_from_similar
from coterie.errors import InputError


def made(n=60):
    rng = np.random.default_rng(0)
    group = np.arange(n) % 3
    return pd.DataFrame(
        {
            "no": np.arange(n),
            "income": np.exp(3.0 * group + rng.normal(size=n)),
            "height": group + rng.normal(size=n) / 9,
            "town": np.array(["Rom", "Bern", "Oslo"])[group],
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(group * 366, unit="D"),
            "size": pd.Categorical(np.array(["M", "S", "L"])[group], ["S", "M", "L"], ordered=True),
        }
    )


def encoded(frame, kinds=None):
    table = frame_table(frame, "X")
    encoding = TableEncoding.fit(table, kinds)
    return encoding, encoding.encode(table)


def test_each_kind_of_column_is_encoded_in_its_way():
    encoding, rows = encoded(made())
    assert encoding.left_out == {"no": "identifier"}
    kinds = {column.name: column.kind.name for column in encoding.columns}
    assert kinds == {
        "income": "number",
        "height": "number",
        "town": "category",
        "member": "boolean",
        "since": "date",
        "size": "grade",
    }
    assert [column.log for column in encoding.columns] == [True] + [False] * 5
    by_name = dict(zip(encoding.features, rows.T, strict=True))
    weight = encoding.columns[2].weight
    assert [column.weight for column in encoding.columns] == [1, 1, weight, weight, 1, weight]
    for name in ("income", "height", "since (year)", "size (1 S to 3 L)"):
        assert abs(by_name[name].mean()) < 1e-5
        assert abs(by_name[name].std() - (weight if "size" in name else 1)) < 1e-5
    assert np.ptp(by_name["member = True"]) == pytest.approx(weight)
    towns = np.column_stack([by_name[f"town = {town}"] for town in ("Bern", "Oslo", "Rom")])
    assert np.linalg.norm(towns[0] - towns[1]) == pytest.approx(weight)


def test_words_weigh_the_less_the_nearer_neighbours_are_by_numbers():
    rng = np.random.default_rng(0)
    words = {"town": rng.choice(["Rom", "Bern"], 200), "size": rng.choice(["S", "M", "L"], 200)}
    weights = {}
    for width in (0, 1, 3, 9):
        frame = pd.DataFrame(rng.normal(size=(200, width)), columns=list("abcdefghi")[:width]).assign(**words)
        encoding, rows = encoded(frame)
        weights[width] = encoding.columns[-1].weight
        tenth = [np.sort(np.linalg.norm(rows[:, :width] - row[:width], axis=1))[10] for row in rows]
        if width == 3:
            assert weights[width] == pytest.approx(np.median(tenth) ** 2, rel=1e-4)
    assert (weights[0], weights[1], weights[9]) == (1, 0.35, 1)
    assert 0.35 < weights[3] < 1


def test_a_tail_that_tells_nothing_more_by_its_logarithm_stays():
    rng = np.random.default_rng(0)
    height = rng.exponential(size=400)
    frame = pd.DataFrame(
        {"height": height, "width": height + 0.01 * rng.normal(size=400), "town": ["a", "b"] * 200}
    )
    frame["width"] -= frame["width"].min() - 1e-9
    encoding, _ = encoded(frame)
    assert not encoding.columns[1].log


def test_numbers_alone_keep_their_units():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 2.0], "b": [100.0, 300.0, 300.0, np.inf]})
    with pytest.raises(InputError, match="X, row 3, column 'b' is inf or too large"):
        encoded(frame)
    encoding, rows = encoded(frame[:3])
    assert encoding.in_units
    np.testing.assert_array_equal(rows, [[1, 100], [2, 300], [3, 300]])
    assert as_views(frame[:3]).own_scale("auto") == "auto"
    assert as_views(made()).own_scale("auto") == "none"
    assert as_views(made()).own_scale("minmax") == "minmax"


def test_a_gap_gets_what_similar_rows_have():
    frame = made()
    hidden = frame.astype({"height": "Float64"})
    hidden.loc[[4, 7], "height"] = None
    hidden.loc[5, "town"] = None
    encoding, rows = encoded(hidden)
    assert encoding.n_gaps == {"height": 2, "town": 1}
    shown = dict(zip(encoding.features, encoding.readable(rows).T, strict=True))
    assert np.abs(shown["height"][[4, 7]] - 1).max() < 0.2
    assert shown["town = Oslo"][5] > 0.9
    assert describe_gaps(as_views(hidden)) == (
        "3 cells are empty and get what the ten most similar rows have (height, town)."
    )


def test_similar_rows_are_found_on_what_both_know():
    rng = np.random.default_rng(0)
    donors = rng.normal(size=(30, 4))
    donors[rng.random((30, 4)) < 0.3] = np.nan
    rows = rng.normal(size=(5, 4))
    rows[:, 1] = np.nan
    rows[0, 2] = np.nan
    expected = rows.copy()
    for i, j in np.argwhere(np.isnan(rows)):
        far = []
        for donor in donors:
            both = ~np.isnan(rows[i]) & ~np.isnan(donor)
            far.append(((rows[i] - donor)[both] ** 2).mean() if both.any() else np.inf)
        known = [r for r in np.argsort(far, kind="stable") if not np.isnan(donors[r, j])]
        expected[i, j] = donors[known[:10], j].mean()
    np.testing.assert_allclose(fill_from_similar(rows, donors), expected)


def test_new_rows_are_encoded_like_those_of_the_fit_alone_and_after_saving():
    frame = made()
    frame.loc[3, "height"] = None
    encoding, rows = encoded(frame)
    values, donors = encoding.state()
    again = TableEncoding.from_state(json.loads(json.dumps(values)), donors)
    other = frame[frame.columns[::-1]].assign(extra=1)[2:5]
    np.testing.assert_array_equal(again.encode(frame_table(other, "X")), rows[2:5])
    np.testing.assert_array_equal(again.encode(frame_table(other[1:2], "X")), rows[3:4])
    with pytest.raises(InputError, match="X lacks the column 'town': new rows need every column of the fit"):
        again.encode(frame_table(frame.drop(columns="town"), "X"))


def test_a_word_that_the_fit_did_not_have_is_a_gap_and_said():
    encoding, rows = encoded(made())
    new = made()[:3].assign(town="Wien")
    with pytest.warns(UserWarning, match=r"Column 'town' has words that the fit did not have \('Wien'\)"):
        odd = encoding.encode(frame_table(new, "X"))
    np.testing.assert_allclose(odd, rows[:3], atol=0.1)


def test_a_category_of_very_many_words_keeps_the_commonest():
    words = [f"w{i}" for i in range(150)] * 2 + ["w149"]
    frame = pd.DataFrame({"word": words, "a": np.arange(301.0)})
    encoding, rows = encoded(frame)
    assert len(encoding.columns[0].levels) == 101
    assert encoding.columns[0].levels[0] == "w149"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoding.encode(frame_table(frame[:1].assign(word="new"), "X"))
    assert (rows[:, :101].sum(axis=1) == rows[0, :101].sum()).all()


def test_columns_of_pandas_polars_and_arrow_are_the_same_table():
    frame = made()
    frame.loc[2, "height"] = None
    _, rows = encoded(frame)
    for other in (frame.convert_dtypes(), frame.convert_dtypes(dtype_backend="pyarrow")):
        np.testing.assert_allclose(encoded(other)[1], rows, atol=1e-5)
    plain = frame.drop(columns="size")
    table = pa.Table.from_pandas(plain, preserve_index=False)
    for other in (table, polars.from_arrow(table)):
        np.testing.assert_allclose(encoded(other)[1], encoded(plain)[1], atol=1e-5)
    grades = polars.Series("size", frame["size"].astype(str), dtype=polars.Enum(["S", "M", "L"]))
    np.testing.assert_allclose(encoded(polars.from_arrow(table).with_columns(grades))[1], rows, atol=1e-5)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": [1, 2], "b": [[1], [2, 3]]},
            "X, row 0, column 'b' is a list: a cell must be a number, a word",
        ),
        ({"a": ["x", "y"], "b": ["p", {"q": 1}]}, "X, row 1, column 'b' is a dict"),
        ({"a": [f"a remark that is long {i}" for i in range(30)]}, r"X has free text only \(a\)"),
    ],
)
def test_a_cell_that_no_table_can_have_is_named(columns, message):
    with pytest.raises(InputError, match=message):
        as_views(pd.DataFrame(columns)).read(slice(None))


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([[1, "x", 2]], columns=["a", "b", "a"])
    with pytest.raises(
        InputError, match=r"X has two columns called 'a' \(columns 1 and 3\): rename one of them"
    ):
        as_views(frame)


def test_the_columns_are_described_in_words():
    lines = describe_table(as_views(made())).splitlines()
    assert lines[1].split() == ["no", "identifier", "left", "out:", "it", "names", "the", "rows"]
    assert lines[2].endswith("; by its logarithm")
    assert lines[4:] == [
        "town    category    Rom 33 %, Bern 33 %, Oslo 33 %",
        lines[5],
        "since   date        2020-01-01 to 2022-01-02",
        "size    grade       S < M < L",
    ]
    assert describe_table(as_views(made()[["height"]])).splitlines()[1].startswith("height  number  -0.")
    assert describe_table(as_views(np.eye(3))) == ""


def test_columns_of_a_table_become_views():
    views = as_views(made(), views={"who": ["town", "member"], "what": ["income", "height"]})
    assert views.dims == (4, 2)
    with pytest.raises(InputError, match="kinds= goes with a DataFrame or a file"):
        as_views(views, kinds={"town": "text"})
    assert as_views(made(), kinds={"town": "text", "no": "number"}).feature_names[0][0] == "no"
