"""`coterie refine`: labels, links, answers of the page, and the runs made of them."""

import csv
import json
import shutil

import numpy as np
import pytest
from tests.cli.helpers import last_error, read_lines

from coterie import load
from coterie.cli import run
from coterie.explore.live.answers import labels_digest


def test_refine_takes_numbers_of_clusters_and_no_words(folder, tmp_path, capsys):
    (tmp_path / "said.csv").write_text("row,label\n0,pro\n5,\n")
    before = (folder / "run" / "labels.csv").read_text()
    assert run(["refine", str(folder / "run"), "--labels", str(tmp_path / "said.csv")]) == 2
    assert (
        "said.csv has the label 'pro', not a whole number: a label is the number of a cluster"
        in last_error(capsys)
    )
    (tmp_path / "said.csv").write_text("row,label\n0,2\n5,\n")
    out = str(tmp_path / "o.csv")
    assert (
        run(["refine", str(folder / "run"), "--labels", str(tmp_path / "said.csv"), "-o", out, "--quiet"])
        == 0
    )
    assert (folder / "run" / "labels.csv").read_text() == before
    with (tmp_path / "o.csv").open() as handle:
        assert next(csv.DictReader(handle))["cluster"] == "2"


def test_a_few_labels_steer_a_fit_and_a_refinement(folder, capsys):
    truth = np.loadtxt(folder / "truth.txt", dtype=int)
    rows = [int(np.flatnonzero(truth == k)[i]) for k in range(3) for i in range(2)]
    with (folder / "known.csv").open("w") as handle:
        handle.write("row,label\n" + "".join(f"{row},{truth[row]}\n" for row in rows))
    out = folder / "steered"
    assert (
        run(
            [
                "fit",
                str(folder / "rows.csv"),
                "--method",
                "fucsmf",
                "--labels",
                str(folder / "known.csv"),
                "--out",
                str(out),
            ]
        )
        == 0
    )
    with (out / "labels.csv").open() as handle:
        found = np.array([int(row["cluster"]) for row in csv.DictReader(handle)])
    assert (found == truth).mean() > 0.95
    capsys.readouterr()
    assert (
        run(["refine", str(folder / "run"), "--labels", str(folder / "known.csv"), "--ask", "4", "--no-keep"])
        == 0
    )
    said = capsys.readouterr().out
    assert "3 classes" in said
    assert len(said.splitlines()[-1].split(", ")) == 4
    with (folder / "run" / "refined.csv").open() as handle:
        refined = np.array([int(row["cluster"]) for row in csv.DictReader(handle)])
    assert (refined == truth).mean() > 0.95
    assert run(["report", str(out), "--quiet"]) == 0
    (folder / "run" / "refined.csv").unlink()


def test_links_between_rows_steer_a_refinement(folder):
    truth = np.loadtxt(folder / "truth.txt", dtype=int)
    (folder / "one.csv").write_text(f"row,label\n0,{truth[0]}\n")
    others = np.flatnonzero(truth != truth[0])[:2]
    (folder / "must.csv").write_text(f"a,b\n0,{others[0]}\n")
    out = folder / "linked.csv"
    arguments = [
        "refine",
        str(folder / "run"),
        "--labels",
        str(folder / "one.csv"),
        "-o",
        str(out),
        "--quiet",
    ]
    assert run([*arguments, "--must-link", str(folder / "must.csv")]) == 0
    with out.open() as handle:
        found = [int(row["cluster"]) for row in csv.DictReader(handle)]
    assert found[0] == found[others[0]] == truth[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,label\n999,1\n", "labels row 999, but the rows of the data are 0 to 149"),
        ("row,label\n3,1\n3,2\n", "labels row 3 more than once"),
        ("row,label\nx,1\n", "holds 'x': rows are numbered from 0"),
        ("row,label\n²,1\n", "holds '²': rows are numbered from 0"),
        (f"row,label\n{'9' * 5000},1\n", "9': rows are numbered from 0"),
        ("label\n1\n2\n", "has 2 labels but the data have 150 rows"),
    ],
)
def test_label_files_that_do_not_fit_are_named(folder, capsys, text, message):
    (folder / "bad.csv").write_text(text)
    assert run(["refine", str(folder / "run"), "--labels", str(folder / "bad.csv")]) == 2
    assert message in last_error(capsys)


@pytest.fixture(scope="module")
def better(folder):
    """A run whose model is a refined one: rows 0 to 2 are of a class 7, which has a name."""
    answers = [{"at": "now", "kind": "label", "rows": [0, 1, 2], "to": 7}]
    answers += [{"at": "now", "kind": "name", "cluster": 7, "name": "früh"}]
    (folder / "answers.json").write_text(json.dumps({"answers": answers, "names": {"7": "früh"}}))
    place = str(folder / "better")
    arguments = ["refine", str(folder / "run"), "--answers", str(folder / "answers.json"), "--out", place]
    assert run([*arguments, "--quiet"]) == 0
    return folder / "better"


def test_what_was_said_on_the_page_makes_a_run_of_its_own(folder, better):
    assert sorted(path.name for path in better.iterdir()) == ["labels.csv", "model.coterie", "run.json"]
    assert not (folder / "run" / "refined.csv").exists()
    lines = read_lines(better / "labels.csv")
    assert [(line["cluster"], line["name"]) for line in lines[:3]] == [("7", "früh")] * 3
    assert {line["name"] for line in lines if line["cluster"] != "7"} == {""}
    assert load(better / "model.coterie").labels_.tolist() == [int(line["cluster"]) for line in lines]


def test_a_model_file_stands_for_a_run_where_no_rows_are_needed(folder, better, tmp_path, capsys):
    model, out = str(better / "model.coterie"), tmp_path / "o.csv"
    assert run(["predict", model, str(folder / "rows.csv"), "-o", str(out), "--quiet"]) == 0
    of_the_run = tmp_path / "same.csv"
    assert run(["predict", str(better), str(folder / "rows.csv"), "-o", str(of_the_run), "--quiet"]) == 0
    assert out.read_text() == of_the_run.read_text()
    assert {(line["cluster"], line["name"]) for line in read_lines(out)} >= {("7", "früh"), ("1", "")}
    assert run(["evaluate", model, "--truth", str(folder / "truth.txt")]) == 0
    assert "accuracy" in capsys.readouterr().out
    for command in ("report", "explore"):
        assert run([command, model]) == 2
        assert "model.coterie is a file; give the folder of a run" in last_error(capsys)


def test_a_refined_run_is_reported_with_its_names_and_refined_again(folder, better, tmp_path):
    assert run(["report", str(better), "--quiet"]) == 0
    page = (better / "report.html").read_text()
    assert "<dd>PCX, refined</dd>" in page
    assert "7: früh" in page
    (tmp_path / "said.csv").write_text("row,label\n5,7\n6,9\n")
    arguments = ["refine", str(better), "--labels", str(tmp_path / "said.csv"), "--out"]
    assert run([*arguments, str(tmp_path / "best"), "--quiet"]) == 0
    lines = read_lines(tmp_path / "best" / "labels.csv")
    assert [lines[row]["cluster"] for row in (0, 1, 2, 5, 6)] == ["7", "7", "7", "7", "9"]
    assert lines[5]["name"] == "früh"
    assert (
        run(["predict", str(tmp_path / "best"), str(folder / "rows.csv"), "-o", str(tmp_path / "o.csv")]) == 0
    )


def test_a_refined_model_may_take_the_place_of_its_run_and_old_answers_are_put_aside(
    folder, tmp_path, capsys
):
    place = tmp_path / "run"
    shutil.copytree(folder / "run", place)
    (tmp_path / "said.csv").write_text("row,label\n0,7\n1,7\n")
    (place / "explore").mkdir()
    (place / "explore" / "answers.jsonl").write_text("what was said of other clusters\n")
    arguments = ["refine", str(place), "--labels", str(tmp_path / "said.csv"), "--out", str(place)]
    assert run(arguments) == 2
    assert "already holds a finished run" in last_error(capsys)
    assert run([*arguments, "--replace", "--quiet"]) == 0
    assert 7 in load(place / "model.coterie").classes_
    assert [path.name for path in (place / "explore").iterdir()] == ["answers-1.jsonl"]


@pytest.mark.parametrize(
    "text", ["{}", "[1]", '{"answers": [{"kind": "label", "rows": [], "to": 1}]}', "\x00"]
)
def test_answers_that_are_none_are_refused(folder, tmp_path, capsys, text):
    (tmp_path / "odd.json").write_text(text)
    assert run(["refine", str(folder / "run"), "--answers", str(tmp_path / "odd.json")]) == 2
    assert "odd.json does not hold answers" in last_error(capsys)
    assert run(["refine", str(folder / "run")]) == 2
    assert "Say what you know" in last_error(capsys)


@pytest.mark.parametrize("label", ["1.5", "True"])
def test_a_label_that_is_no_whole_number_is_no_cluster(folder, tmp_path, capsys, label):
    (tmp_path / "said.csv").write_text(f"row,label\n0,{label}\n")
    assert run(["refine", str(folder / "run"), "--labels", str(tmp_path / "said.csv")]) == 2
    assert f"said.csv has the label '{label}', not a whole number" in last_error(capsys)


def test_fewer_than_no_rows_cannot_be_asked_about(folder, tmp_path, capsys):
    (tmp_path / "said.csv").write_text("row,label\n0,1\n")
    refine = [
        "refine",
        str(folder / "run"),
        "--labels",
        str(tmp_path / "said.csv"),
        "-o",
        str(tmp_path / "o.csv"),
    ]
    assert run([*refine, "--ask", "-3"]) == 2
    assert "'--ask'" in last_error(capsys)
    assert run([*refine, "--ask", "0"]) == 0
    assert "Worth labelling" not in capsys.readouterr().out


def test_answers_about_the_clusters_of_another_run_are_refused(folder, tmp_path, capsys):
    answers = [{"at": "now", "kind": "label", "rows": [0, 1, 2], "to": 7}]
    path = tmp_path / "answers.json"
    command = [
        "refine",
        str(folder / "run"),
        "--answers",
        str(path),
        "-o",
        str(tmp_path / "o.csv"),
        "--quiet",
    ]
    path.write_text(json.dumps({"of": "another", "answers": answers, "names": {}}))
    assert run(command) == 2
    assert f"{path} holds answers about the clusters of another run" in last_error(capsys)
    own = labels_digest(load(folder / "run" / "model.coterie").labels_)
    path.write_text(json.dumps({"of": own, "answers": answers, "names": {}}))
    assert run(command) == 0
