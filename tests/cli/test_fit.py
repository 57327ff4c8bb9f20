"""`coterie fit`: the folder it leaves, the method it takes, and how it stops and goes on."""

import csv
import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.cli.helpers import FAST, last_error

from coterie import load
from coterie.cli import run


def test_fit_leaves_a_model_labels_and_a_note_and_no_checkpoint(folder):
    names = sorted(path.name for path in (folder / "run").iterdir())
    assert names == ["labels.csv", "model.coterie", "reference.coterie", "run.json"]
    with (folder / "run" / "labels.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [int(row["row"]) for row in rows] == list(range(150))
    assert {row["cluster"] for row in rows} == {"0", "1", "2"}
    assert all(1 / 3 - 1e-6 <= float(row["confidence"]) <= 1 for row in rows)


def test_fit_with_auto_says_how_many_clusters_it_chose(folder, tmp_path, capsys):
    arguments = ["fit", str(folder / "rows.csv"), "-k", "auto", "--out", str(tmp_path / "run")]
    assert run(arguments) == 0
    said = capsys.readouterr().out
    assert "3 clusters, on which resampled graphs agree" in said
    assert "150 rows in 3 clusters by GraphClustering" in said
    assert run(["report", str(tmp_path / "run"), "--quiet"]) == 0
    assert "How many clusters" in (tmp_path / "run" / "report.html").read_text()


def test_several_views_are_fitted_predicted_and_reported(tmp_path, capsys):
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    views = [(np.eye(3)[kind] @ rng.normal(size=(3, d)) * 4 + rng.normal(size=(90, d))) for d in (6, 5)]
    views[1][:9] = np.nan
    np.savez(tmp_path / "both.npz", view0=views[0], view1=views[1], y=kind)
    place, options = str(tmp_path / "run"), ["--set", "options.n_landmarks=20", "--quiet"]
    data = str(tmp_path / "both.npz")
    assert run(["fit", data, "--method", "LargeMvCNet", "-k", "3", "--out", place, *options]) == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"] == {"options.n_landmarks": 20}
    assert load(tmp_path / "run" / "model.coterie").options.n_landmarks == 20
    assert run(["predict", place, data, "-o", str(tmp_path / "again.csv"), "--quiet"]) == 0
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "run" / "labels.csv").read_text()
    assert run(["evaluate", place, "--truth", data]) == 0
    assert float(capsys.readouterr().out.split()[1]) > 0.9
    assert run(["report", place, "--quiet"]) == 0
    assert 'id="views"' in (tmp_path / "run" / "report.html").read_text()


def test_a_setting_of_before_ends_in_the_sentence_that_says_where_it_went(folder, capsys):
    fit = [
        "fit",
        str(folder / "rows.csv"),
        "--method",
        "pcx",
        "-k",
        "3",
        "--out",
        str(folder / "old"),
        "--set",
    ]
    for setting, sentence in {
        "tau=2": "tau is now an option: --set options.tau=2.",
        "n_threads=1": "n_threads is gone: set OMP_NUM_THREADS, or call torch.set_num_threads.",
    }.items():
        assert run([*fit, setting]) == 2
        assert last_error(capsys) == f"coterie: {sentence}\n"
    assert not (folder / "old").exists()


def test_without_a_method_the_recommended_one_is_taken_and_named(folder, capsys):
    rows = str(folder / "rows.csv")
    said = {}
    for name, more in {
        "plain": ["-k", "3"],
        "known": ["--labels", str(folder / "truth.txt")],
    }.items():
        assert run(["fit", rows, "--out", str(folder / name), *more]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[:2] == ["column  kind    values", lines[1]]
        said[name] = next(line for line in lines if line.startswith("Method"))
        assert json.loads((folder / name / "run.json").read_text())["method"] in said[name]
    assert "Method: GraphClustering;" in said["plain"]
    assert "Method: FUCSMF;" in said["known"]


def test_labels_for_a_method_that_uses_none_are_refused(folder, capsys):
    arguments = ["fit", str(folder / "rows.csv"), "--labels", str(folder / "truth.txt")]
    assert run([*arguments, "--method", "pcx", "--out", str(folder / "no")]) == 2
    assert "PCX does not" in last_error(capsys)


def test_a_fit_without_clusters_or_labels_is_refused(folder, capsys):
    assert run(["fit", str(folder / "rows.csv"), "--out", str(folder / "no")]) == 2
    assert "--clusters" in last_error(capsys)


def test_rows_that_do_not_fit_into_memory_stay_on_disk_and_that_is_said(tmp_path, capsys, monkeypatch):
    from coterie.data import memory

    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32))
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    arguments = ["fit", str(tmp_path / "rows.npy"), "-k", "2", "--method", "largemvcnet"]
    assert run([*arguments, "--out", str(tmp_path / "run")]) == 0
    assert "more than 25% of the free memory: its rows stay on disk." in capsys.readouterr().out


def test_sigterm_leaves_a_model_says_so_and_the_same_command_goes_on(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32))
    fit = ["fit", str(tmp_path / "rows.npy"), "-k", "3", *FAST, "--set", "max_epochs=60", "--out"]
    stopped = [sys.executable, "-m", "coterie", *fit, str(tmp_path / "run")]
    process = subprocess.Popen(stopped, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run" / "checkpoint.coterie").exists() and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    lines = process.communicate()[1].splitlines()
    assert re.match(
        r"coterie: Stopped by SIGTERM in epoch \d+ of 60; the model is finished as it is\.", lines[0]
    )
    assert lines[1:] == [
        f"coterie: Stopped by SIGTERM; {tmp_path}/run holds the model that there was, and the same command goes on "
        "to a whole one."
    ]
    assert process.returncode == 143
    rows, again = str(tmp_path / "rows.npy"), tmp_path / "again.csv"
    assert run(["predict", str(tmp_path / "run"), rows, "-o", str(again), "--quiet"]) == 0
    assert again.read_text() == (tmp_path / "run" / "labels.csv").read_text()
    assert run([*fit, str(tmp_path / "run")]) == 0
    assert run([*fit, str(tmp_path / "whole")]) == 0
    assert (tmp_path / "run" / "labels.csv").read_text() == (tmp_path / "whole" / "labels.csv").read_text()
    assert run([*fit, str(tmp_path / "run")]) == 2, "it is whole now"


def test_clusters_without_rows_are_not_counted_among_those_found(tmp_path, capsys):
    np.save(tmp_path / "same.npy", np.repeat([[1.0, 2.0], [5.0, 9.0]], 20, axis=0))
    arguments = ["fit", str(tmp_path / "same.npy"), "-k", "3", "--method", "largemvcnet"]
    assert run([*arguments, "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "40 rows in 2 clusters (1 of the 3 asked for is empty) by LargeMvCNet in " in said


def test_labels_of_one_class_are_refused_where_no_method_was_chosen(folder, tmp_path, capsys):
    (tmp_path / "one.csv").write_text("row,label\n0,cat\n7,cat\n")
    labels = ["--labels", str(tmp_path / "one.csv")]
    assert run(["fit", str(folder / "rows.csv"), *labels, "--out", str(tmp_path / "run")]) == 2
    assert "one.csv has labels of fewer than two classes, which steer nothing" in last_error(capsys)


def test_words_as_labels_are_names_of_the_classes_from_then_on(folder, tmp_path):
    truth = np.loadtxt(folder / "truth.txt", dtype=int)
    words = np.array(["cod", "ant", "bee"])[truth]
    chosen = [int(np.flatnonzero(truth == k)[i]) for k in range(3) for i in range(2)]
    (tmp_path / "some.csv").write_text("row,label\n" + "".join(f"{row},{words[row]}\n" for row in chosen))
    rows, out = str(folder / "rows.csv"), tmp_path / "run"
    assert run(["fit", rows, "--labels", str(tmp_path / "some.csv"), "--out", str(out), "--quiet"]) == 0
    assert run(["predict", str(out), rows, "-o", str(tmp_path / "new.csv")]) == 0
    for path in (out / "labels.csv", tmp_path / "new.csv"):
        with path.open() as handle:
            lines = list(csv.DictReader(handle))
        assert np.mean([line["name"] == word for line, word in zip(lines, words, strict=True)]) > 0.95
        assert {line["cluster"]: line["name"] for line in lines} == {"0": "ant", "1": "bee", "2": "cod"}
    assert load(out / "model.coterie").names_ == {0: "ant", 1: "bee", 2: "cod"}
    assert run(["report", str(out)]) == 0
    assert "cod" in (out / "report.html").read_text()


def test_a_refused_fit_leaves_no_empty_folder_and_keeps_one_that_was_there(folder, tmp_path, capsys):
    fit = ["fit", str(folder / "rows.csv"), "-k", "500", "--method", "pcx", "--out"]
    assert run([*fit, str(tmp_path / "new")]) == 2
    assert "500" in last_error(capsys)
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    assert run([*fit, str(tmp_path / "old")]) == 2
    assert (tmp_path / "old").exists()


@pytest.mark.parametrize(("clusters", "told"), [("5", True), ("3", False), ("auto", False)])
def test_a_number_of_clusters_beside_labels_of_another_is_not_dropped_silently(
    folder, tmp_path, capsys, clusters, told
):
    fit = ["fit", str(folder / "rows.csv"), "--labels", str(folder / "truth.txt"), "-k", clusters, "--quiet"]
    assert run([*fit, "--out", str(tmp_path / "run")]) == 0
    sentence = "--clusters 5 was not followed: the labels are of 3 classes, and FUCSMF looks for no other."
    assert (sentence in capsys.readouterr().err) == told


def test_a_run_of_the_graph_is_predicted_reported_and_refined(tmp_path, capsys):
    rows = np.eye(4)[np.arange(120) % 4] * 9 + np.random.default_rng(0).normal(size=(120, 4))
    np.save(tmp_path / "rows.npy", rows)
    data, place = str(tmp_path / "rows.npy"), str(tmp_path / "run")
    assert run(["fit", data, "-k", "4", "--out", place, "--quiet"]) == 0
    assert run(["predict", place, data, "-o", str(tmp_path / "again.csv"), "--quiet"]) == 0
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "run" / "labels.csv").read_text()
    assert run(["report", place, "--quiet"]) == 0
    (tmp_path / "known.csv").write_text("row,label\n0,7\n")
    assert run(["refine", place, "--labels", str(tmp_path / "known.csv"), "--quiet"]) == 0
    assert "\n0,7," in (tmp_path / "run" / "refined.csv").read_text()
    assert "Traceback" not in capsys.readouterr().err
