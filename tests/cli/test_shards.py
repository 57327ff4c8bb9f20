"""`coterie predict` over many files: in parallel, restartable, and with a report of drift."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import last_error, read_lines

from coterie.cli import run, shards

RNG = np.random.default_rng(0)
CENTRES = 6 * RNG.normal(size=(3, 4))
COLUMNS = ["age", "spend", "visits", "returns"]


def frame(n, first=0, elsewhere=0):
    rows = CENTRES[RNG.integers(3, size=n)] + RNG.normal(size=(n, 4))
    rows[:elsewhere] = 30 + RNG.normal(size=(elsewhere, 4))
    named = pd.DataFrame(rows, columns=COLUMNS)
    named.insert(0, "customer", [f"c{first + i:04}" for i in range(n)])
    return named


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run, three shards, and the third once more with a group that the fit had not."""
    folder = tmp_path_factory.mktemp("shards")
    frame(300).to_csv(folder / "fit.csv", index=False)
    (folder / "data").mkdir()
    for i in range(3):
        frame(120, 1000 * i).to_parquet(folder / "data" / f"s{i}.parquet", index=False)
    frame(120, 9000, elsewhere=40).to_csv(folder / "new.csv", index=False)
    assert run(["fit", str(folder / "fit.csv"), "-k", "3", "--out", str(folder / "run"), "--quiet"]) == 0
    return folder


def predict(place, out, *more):
    return run(["predict", str(place / "run"), str(place / "data" / "*.parquet"), "--out", str(out), *more])


def test_every_shard_gets_a_file_of_labels_with_its_identifiers(place, tmp_path, capsys):
    assert predict(place, tmp_path / "labels") == 0
    assert "360 rows labelled" in capsys.readouterr().out
    for i in range(3):
        shard = place / "data" / f"s{i}.parquet"
        lines = read_lines(tmp_path / "labels" / f"s{i}.csv")
        assert [line["customer"] for line in lines] == pd.read_parquet(shard)["customer"].tolist()
        assert (
            run(["predict", str(place / "run"), str(shard), "-o", str(tmp_path / "one.csv"), "--quiet"]) == 0
        )
        assert (tmp_path / "one.csv").read_text() == (tmp_path / "labels" / f"s{i}.csv").read_text()
    report = json.loads((tmp_path / "labels" / "drift.json").read_text())
    assert report["rows"] == 360
    assert not report["drift"]


def test_processes_write_the_same_labels_as_one_and_as_parquet_where_asked(place, tmp_path):
    assert predict(place, tmp_path / "one", "--labels-format", "parquet", "--quiet") == 0
    assert predict(place, tmp_path / "two", "--labels-format", "parquet", "--jobs", "2", "--quiet") == 0
    for i in range(3):
        one, two = (pd.read_parquet(tmp_path / name / f"s{i}.parquet") for name in ("one", "two"))
        pd.testing.assert_frame_equal(one, two)
    drift = [(tmp_path / name / "drift.json").read_text() for name in ("one", "two")]
    assert drift[0] == drift[1]


def test_a_shard_that_is_done_is_left_alone_and_one_that_changed_is_labelled_again(
    place, tmp_path, monkeypatch
):
    (tmp_path / "data").mkdir()
    for i in range(3):
        frame(50).to_parquet(tmp_path / "data" / f"s{i}.parquet", index=False)
    command = [
        "predict",
        str(place / "run"),
        str(tmp_path / "data" / "*"),
        "--out",
        str(tmp_path / "l"),
        "--quiet",
    ]
    assert run(command) == 0
    labelled = []
    label = shards.Labelling.label
    monkeypatch.setattr(
        shards.Labelling, "label", lambda task, shard: (labelled.append(shard.name), label(task, shard))
    )
    assert run(command) == 0
    assert labelled == []
    frame(51).to_parquet(tmp_path / "data" / "s0.parquet", index=False)
    (tmp_path / "l" / "s1.csv").write_text("row,cluster\n")
    (tmp_path / "l" / "s2.csv").unlink()
    assert run(command) == 0
    assert labelled == ["s0.parquet", "s1.parquet", "s2.parquet"]
    assert [len(read_lines(tmp_path / "l" / f"s{i}.csv")) for i in range(3)] == [51, 50, 50]


def test_labels_of_another_model_are_made_again(place, tmp_path):
    assert predict(place, tmp_path / "l", "--quiet") == 0
    again = ["fit", str(place / "fit.csv"), "-k", "2", "--out", str(tmp_path / "run"), "--quiet"]
    assert run(again) == 0
    other = [
        "predict",
        str(tmp_path / "run"),
        str(place / "data" / "*.parquet"),
        "--out",
        str(tmp_path / "l"),
    ]
    assert run([*other, "--quiet"]) == 0
    assert {line["cluster"] for i in range(3) for line in read_lines(tmp_path / "l" / f"s{i}.csv")} == {
        "0",
        "1",
    }


def test_a_shard_that_cannot_be_read_is_named_and_the_others_are_done(place, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    frame(20).to_csv(tmp_path / "data" / "a.csv", index=False)
    frame(20).drop(columns="age").to_csv(tmp_path / "data" / "b.csv", index=False)
    frame(20).to_csv(tmp_path / "data" / "c.csv", index=False)
    command = ["predict", str(place / "run"), str(tmp_path / "data" / "*.csv"), "--out", str(tmp_path / "l")]
    assert run(command) == 2
    said = last_error(capsys)
    assert "1 of 3 shards could not be labelled" in said
    assert "b.csv lacks the column 'age'" in said
    assert sorted(path.name for path in (tmp_path / "l").glob("*.csv")) == ["a.csv", "c.csv"]
    assert not (tmp_path / "l" / "drift.json").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["data/*.parquet"], "--out FOLDER"),
        (["data/*.zip", "--out", "l"], "There is no file data/*.zip"),
        (["data/s0.parquet", "copy/s0.csv", "--out", "l"], "Several shards are called 's0'"),
    ],
)
def test_shards_that_cannot_be_kept_apart_are_one_sentence(place, tmp_path, monkeypatch, capsys, more, said):
    monkeypatch.chdir(tmp_path)
    os.symlink(place / "data", "data")
    (tmp_path / "copy").mkdir()
    frame(9).to_csv(tmp_path / "copy" / "s0.csv", index=False)
    assert run(["predict", str(place / "run"), *more]) == 2
    assert said in last_error(capsys)


def test_a_group_that_the_fit_had_not_is_said_with_the_names_of_its_rows(place, tmp_path, capsys):
    command = ["predict", str(place / "run"), str(place / "new.csv"), str(place / "data" / "s0.parquet")]
    assert run([*command, "--out", str(tmp_path / "l")]) == 0
    said = capsys.readouterr().out
    assert "Drift: A possible new group of about 40 rows, such as rows c90" in said
    (group,) = json.loads((tmp_path / "l" / "drift.json").read_text())["new_groups"]
    assert all(row["file"] == str(place / "new.csv") and row["row"] < 40 for row in group["exemplars"])
    assert run([*command[:3], "-o", str(tmp_path / "one.csv")]) == 0
    assert "Drift: A possible new group of about 40 rows" in capsys.readouterr().out


def test_shards_of_a_killed_command_are_whole_or_not_there_and_the_same_command_goes_on(place, tmp_path):
    (tmp_path / "data").mkdir()
    for i in range(12):
        frame(400).to_csv(tmp_path / "data" / f"s{i:02}.csv", index=False)
    pattern, out = str(tmp_path / "data" / "*.csv"), tmp_path / "l"
    command = ["predict", str(place / "run"), pattern, "--out", str(out), "--quiet"]
    process = subprocess.Popen([sys.executable, "-m", "coterie", *command])
    while process.poll() is None and not list(out.glob("s0*.csv")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all(len(read_lines(path)) == 400 for path in out.glob("s*.csv"))
    assert run(command) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        ".shards",
        "drift.json",
        *(f"s{i:02}.csv" for i in range(12)),
    ]
