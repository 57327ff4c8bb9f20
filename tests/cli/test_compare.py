"""Runs that can be compared and kept: identifiers in the labels, Parquet labels, `coterie compare`."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from tests.cli.helpers import last_error, read_lines

from coterie.cli import run
from coterie.metrics import compare_labels
from coterie.runs import Run

X, KINDS = make_blobs(90, n_features=4, centers=[[0] * 4, [9] * 4, [-9] * 4], random_state=0)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two runs of the same customers: the second has them in another order, lacks five, and finds two clusters."""
    folder = tmp_path_factory.mktemp("compare")
    frame = pd.DataFrame(X, columns=["age", "spend", "visits", "returns"])
    frame.insert(0, "customer", [f"c{i:03}" for i in range(90)])
    frame.to_csv(folder / "one.csv", index=False)
    frame[5:].sample(frac=1, random_state=1).to_parquet(folder / "two.parquet", index=False)
    assert run(["fit", str(folder / "one.csv"), "-k", "3", "--out", str(folder / "one"), "--quiet"]) == 0
    second = ["-k", "2", "--labels-format", "parquet", "--quiet"]
    assert run(["fit", str(folder / "two.parquet"), *second, "--out", str(folder / "two")]) == 0
    return folder


def test_a_first_column_of_words_that_differ_names_the_rows_in_the_labels(place):
    lines = read_lines(place / "one" / "labels.csv")
    assert list(lines[0]) == ["row", "customer", "cluster", "confidence"]
    assert [line["customer"] for line in lines] == [f"c{i:03}" for i in range(90)]
    note = Run(place / "one").read_note()
    assert note["id"] == "customer"
    assert note["columns"] == ["age", "spend", "visits", "returns"]


def test_labels_as_parquet_are_the_only_labels_of_a_run_and_keep_its_digest(place):
    labels = pd.read_parquet(place / "two" / "labels.parquet")
    assert labels.columns.tolist() == ["row", "customer", "cluster", "confidence"]
    assert not (place / "two" / "labels.csv").exists()
    written = {"model.coterie", "labels.parquet", "reference.coterie"}
    assert set(Run(place / "two").read_note()["digests"]) == written


def test_a_run_that_is_replaced_keeps_no_labels_of_another_format(place, tmp_path):
    shutil.copytree(place / "two", tmp_path / "run")
    again = ["fit", str(place / "one.csv"), "-k", "3", "--out", str(tmp_path / "run"), "--replace", "--quiet"]
    assert run(again) == 0
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "labels.csv",
        "model.coterie",
        "reference.coterie",
        "run.json",
    ]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("customer_id", range(30), True),  # a number called id
        ("year", range(30), False),  # a number called otherwise is a column of the fit
        ("id", [1, *range(29)], False),  # not of its own for each row
    ],
)
def test_a_column_of_numbers_names_rows_only_where_it_is_called_id_and_unique(
    name, values, found, tmp_path, capsys
):
    pd.DataFrame({name: list(values), "a": X[:30, 0], "b": X[:30, 1]}).to_csv(tmp_path / "t.csv", index=False)
    assert run(["fit", str(tmp_path / "t.csv"), "-k", "3", "--out", str(tmp_path / "run")]) == 0
    assert (f"Column {name!r} names the rows" in capsys.readouterr().out) == found
    assert Run(tmp_path / "run").read_note()["columns"] == (
        ["a", "b"] if name.endswith("id") else [name, "a", "b"]
    )


def test_id_none_takes_every_column_and_an_id_that_is_not_there_is_one_sentence(tmp_path, capsys):
    pd.DataFrame({"id": range(30), "a": X[:30, 0]}).to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", str(tmp_path / "t.csv"), "-k", "3", "--quiet", "--out", str(tmp_path / "run")]
    assert run([*command, "--id", "name"]) == 2
    assert "--id name: " in last_error(capsys)
    assert run([*command, "--id", "none"]) == 0
    assert Run(tmp_path / "run").read_note()["columns"] == ["a"]


def test_runs_are_compared_on_the_rows_that_both_name(place, tmp_path, capsys):
    out = tmp_path / "changes.csv"
    assert run(["compare", str(place / "one"), str(place / "two"), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "85 rows in both" in said
    assert "5 in the first, 0 in the second" in said
    assert " is gone" in said
    first = {line["customer"]: line["cluster"] for line in read_lines(place / "one" / "labels.csv")}
    second = pd.read_parquet(place / "two" / "labels.parquet").set_index("customer")["cluster"]
    lines = read_lines(out)
    assert len({line["cluster_before"] for line in lines}) == 1  # two of three clusters became one
    for line in lines:
        assert line["cluster_before"] == first[line["customer"]]
        assert line["cluster_after"] == str(second[line["customer"]])


def test_runs_of_other_rows_without_names_are_refused(place, tmp_path, capsys):
    np.save(tmp_path / "rows.npy", X[:40])
    assert run(["fit", str(tmp_path / "rows.npy"), "-k", "2", "--out", str(tmp_path / "r"), "--quiet"]) == 0
    assert run(["compare", str(place / "one"), str(tmp_path / "r")]) == 2
    assert "has 90 rows and" in last_error(capsys)


def test_names_of_clusters_are_said_and_written(place, tmp_path, capsys):
    np.savetxt(
        tmp_path / "known.csv", [[0, 0], [1, 1]], fmt="%d", delimiter=",", header="row,label", comments=""
    )
    for name, labels in (("a", ["cats", "dogs"]), ("b", ["dogs", "cats"])):
        known = pd.DataFrame({"row": [0, 1, 2], "label": [labels[0], labels[1], labels[1]]})
        known.to_csv(tmp_path / "known.csv", index=False)
        command = ["fit", str(place / "one.csv"), "--labels", str(tmp_path / "known.csv"), "--quiet"]
        assert run([*command, "--out", str(tmp_path / name)]) == 0
    capsys.readouterr()
    out = tmp_path / "moved.parquet"
    assert run(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(out)]) == 0
    assert "0 cats" in capsys.readouterr().out
    assert {"name_before", "name_after"} <= set(pd.read_parquet(out).columns)


def test_a_run_is_the_same_as_itself(place, capsys):
    assert run(["compare", str(place / "one"), str(place / "one")]) == 0
    said = capsys.readouterr().out
    assert "90 rows in both: 0 moved (0.0%), ARI 1.000, NMI 1.000." in said
    assert "Moves" not in said


def test_other_numbers_of_the_same_clusters_are_no_move():
    labels = np.repeat([0, 1, 2], 10)
    changes = compare_labels(labels, np.array([2, 0, 1])[labels])
    assert changes.matched == {0: 2, 1: 0, 2: 1}
    assert not len(changes.moved)


def test_an_outlier_is_no_cluster_that_another_could_become():
    changes = compare_labels([-1, -1, -1, 0, 0], [0, 0, 0, -1, 0])
    assert changes.matched == {0: 0}
    assert changes.moved.tolist() == [0, 1, 2, 3]


def test_the_note_of_a_run_says_which_column_names_its_rows(place):
    assert json.loads((place / "two" / "run.json").read_text())["id"] == "customer"
