"""The command line as a person uses it."""

import csv
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from coterie import load
from coterie.cli import run

FAST = [
    "--set",
    "max_epochs=6",
    "--set",
    "hidden=[16]",
    "--set",
    "n_threads=1",
    "--set",
    "n_code=3",
    "--quiet",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A CSV, its truth, and a finished run."""
    place = tmp_path_factory.mktemp("cli")
    X, y = make_blobs(150, n_features=5, centers=3, random_state=0)
    with (place / "rows.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow([f"f{i}" for i in range(5)])
        writer.writerows(X)
    np.savetxt(place / "truth.txt", y, fmt="%d")
    assert (
        run(
            ["fit", str(place / "rows.csv"), "--method", "pcx", "-k", "3", "--out", str(place / "run"), *FAST]
        )
        == 0
    )
    return place


def last_error(capsys) -> str:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.err.count("\n") == 1
    return captured.err


def test_fit_leaves_a_model_labels_and_a_note_and_no_checkpoint(folder):
    names = sorted(path.name for path in (folder / "run").iterdir())
    assert names == ["labels.csv", "model.coterie", "run.json"]
    with (folder / "run" / "labels.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [int(row["row"]) for row in rows] == list(range(150))
    assert {row["cluster"] for row in rows} == {"0", "1", "2"}
    assert all(1 / 3 - 1e-6 <= float(row["confidence"]) <= 1 for row in rows)


def test_predict_gives_the_labels_of_the_fit(folder, tmp_path, capsys):
    assert (
        run(["predict", str(folder / "run"), str(folder / "rows.csv"), "-o", str(tmp_path / "again.csv")])
        == 0
    )
    assert "150 rows labelled" in capsys.readouterr().out
    assert (tmp_path / "again.csv").read_text() == (folder / "run" / "labels.csv").read_text()


def test_evaluate_prints_the_scores(folder, capsys):
    assert run(["evaluate", str(folder / "run"), "--truth", str(folder / "truth.txt")]) == 0
    lines = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(lines["accuracy"]) > 0.9
    assert {"nmi", "ari"} <= set(lines)


def test_report_writes_one_page(folder):
    assert run(["report", str(folder / "run"), "--truth", str(folder / "truth.txt"), "--quiet"]) == 0
    page = (folder / "run" / "report.html").read_text()
    assert page.startswith("<!")
    assert "rows" in page


def test_fit_with_auto_says_how_many_clusters_it_chose(folder, tmp_path, capsys):
    spoken = [word for word in FAST if word != "--quiet"]
    arguments = ["fit", str(folder / "rows.csv"), "-k", "auto", "--out", str(tmp_path / "run"), *spoken]
    assert run(arguments) == 0
    said = capsys.readouterr().out
    assert "3 clusters, on which two halves of the rows agree" in said
    assert "150 rows in 3 clusters by PCX" in said
    assert run(["report", str(tmp_path / "run"), "--quiet"]) == 0
    assert "How many clusters" in (tmp_path / "run" / "report.html").read_text()


def test_recommend_prints_the_method_why_and_what_to_run(folder, capsys):
    assert run(["recommend", str(folder / "rows.csv"), "-k", "3"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("PCX: 150 rows in one view of 5 columns.")
    assert f"coterie fit {folder / 'rows.csv'} --method pcx --clusters 3 --out run" in said


def test_recommend_goes_by_labels_and_speaks_json(folder, tmp_path, capsys):
    (tmp_path / "known.csv").write_text("row,label\n0,1\n5,0\n")
    arguments = ["recommend", str(folder / "rows.csv"), "--labels", str(tmp_path / "known.csv"), "--json"]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["method"], found["settings"], found["facts"]["labelled"]) == ("FUCSMF", {}, 2)
    assert f"--labels {tmp_path / 'known.csv'}" in found["command"]


def test_methods_and_version_are_listed(capsys):
    assert run(["methods"]) == 0
    assert "pcx" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("coterie 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "{place}/none.csv", "-k", "3", "--out", "{place}/x"], "none.csv"),
        (["fit", "{place}/rows.csv", "-k", "3"], "Missing option '--out'"),
        (["fit", "{place}/rows.csv", "-k", "0", "--out", "{place}/x"], "n_clusters=0"),
        (["fit", "{place}/rows.csv", "-k", "some", "--out", "{place}/x"], "--clusters some is neither"),
        (["recommend", "{place}/none.csv"], "none.csv"),
        (["recommend", "{place}/rows.csv", "-k", "0"], "n_clusters=0"),
        (["fit", "{place}/rows.csv", "-k", "151", "--out", "{place}/x"], "n_clusters=151"),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--method", "kmeens", "--out", "{place}/x"],
            "no method 'kmeens'",
        ),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/x", "--set", "lerning_rate=1"],
            "did you mean learning_rate?",
        ),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/x", "--set", "tau"],
            "--set tau is not NAME=VALUE",
        ),
        (["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/run"], "already holds a finished run"),
        (["fit", "{place}/text.csv", "-k", "3", "--out", "{place}/x"], "text.csv"),
        (["predict", "{place}", "{place}/rows.csv"], "holds no finished run"),
        (["predict", "{place}/run", "{place}/truth.txt"], "X has 1 features"),
        (["evaluate", "{place}/run", "--truth", "{place}/short.txt"], "150"),
        (["report", "{place}/run", "--image-shape", "axb"], "--image-shape axb"),
        (["report", "{place}/broken"], "model.coterie"),
        (["fly"], "fly"),
    ],
)
def test_a_mistake_is_one_sentence_on_stderr_and_exit_code_2(folder, capsys, arguments, words):
    (folder / "text.csv").write_text("a,b\n1,2\n3,four\n")
    (folder / "short.txt").write_text("1\n2\n")
    (folder / "broken").mkdir(exist_ok=True)
    (folder / "broken" / "model.coterie").write_bytes((folder / "run" / "model.coterie").read_bytes()[:500])
    filled = [argument.format(place=folder) for argument in arguments]
    assert run(filled + (FAST if arguments[0] == "fit" else [])) == 2
    assert words in last_error(capsys)


def test_data_of_other_columns_are_refused_by_predict(folder, tmp_path, capsys):
    np.save(tmp_path / "wide.npy", np.zeros((4, 7)))
    assert (
        run(["predict", str(folder / "run"), str(tmp_path / "wide.npy"), "-o", str(tmp_path / "o.csv")]) == 2
    )
    assert "7" in last_error(capsys)
    assert not (tmp_path / "o.csv").exists()


def test_a_bug_is_told_apart_from_a_mistake(monkeypatch, capsys):
    import coterie.methods.registry as registry

    monkeypatch.setattr(registry, "METHODS", None)
    assert run(["methods"]) == 1
    assert "This is a bug in coterie" in last_error(capsys)


def test_the_installed_command_answers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coterie", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("fit", "predict", "evaluate", "report", "explore", "methods", "demo"):
        assert command in done.stdout


def test_several_views_are_fitted_predicted_and_reported(tmp_path, capsys):
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    views = [(np.eye(3)[kind] @ rng.normal(size=(3, d)) * 4 + rng.normal(size=(90, d))) for d in (6, 5)]
    views[1][:9] = np.nan
    np.savez(tmp_path / "both.npz", view0=views[0], view1=views[1], y=kind)
    place, options = str(tmp_path / "run"), ["--set", "n_landmarks=20", "--set", "n_threads=1", "--quiet"]
    data = str(tmp_path / "both.npz")
    assert run(["fit", data, "--method", "LargeMvCNet", "-k", "3", "--out", place, *options]) == 0
    assert run(["predict", place, data, "-o", str(tmp_path / "again.csv"), "--quiet"]) == 0
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "run" / "labels.csv").read_text()
    assert run(["evaluate", place, "--truth", data]) == 0
    assert float(capsys.readouterr().out.split()[1]) > 0.9
    assert run(["report", place, "--quiet"]) == 0
    assert 'id="views"' in (tmp_path / "run" / "report.html").read_text()


def test_refine_takes_numbers_of_clusters_and_no_words(folder, tmp_path, capsys):
    (tmp_path / "said.csv").write_text("row,label\n0,pro\n5,\n")
    before = (folder / "run" / "labels.csv").read_text()
    assert run(["refine", str(folder / "run"), "--labels", str(tmp_path / "said.csv")]) == 2
    assert "said.csv has the label 'pro', not a number: a label is the number of a cluster" in last_error(
        capsys
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


def read_lines(path):
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


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


@pytest.fixture
def messy(folder, tmp_path):
    """The rows with a number, a name and semicolons, and a run that leaves number and name out."""
    X = np.loadtxt(folder / "rows.csv", delimiter=",", skiprows=1)
    lines = ["customer_id;name;" + ";".join(f"f{i}" for i in range(5))]
    lines += [f"{1000 + i};ann {i};" + ";".join(map(repr, map(float, row))) for i, row in enumerate(X)]
    (tmp_path / "messy.csv").write_text("\n".join(lines) + "\n")
    data, place, drop = (
        str(tmp_path / "messy.csv"),
        str(tmp_path / "run"),
        ["--drop", "customer_id", "--drop"],
    )
    assert run(["fit", data, "-k", "3", "--out", place, *drop, "name", *FAST]) == 0
    return tmp_path


def test_columns_that_are_no_features_are_left_out_for_good(folder, messy):
    assert (messy / "run" / "labels.csv").read_text() == (folder / "run" / "labels.csv").read_text()
    for name in ("messy.csv", "bare.csv"):
        (messy / "bare.csv").write_text((folder / "rows.csv").read_text())
        assert (
            run(["predict", str(messy / "run"), str(messy / name), "-o", str(messy / "o.csv"), "--quiet"])
            == 0
        )
        assert (messy / "o.csv").read_text() == (messy / "run" / "labels.csv").read_text()
    assert run(["report", str(messy / "run"), "--quiet"]) == 0
    page = (messy / "run" / "report.html").read_text()
    assert "f4" in page
    assert "customer_id" not in page


def test_the_command_that_recommend_prints_leaves_the_columns_out_too(messy, capsys):
    data = str(messy / "messy.csv")
    assert run(["recommend", data, "--drop", "customer_id", "--drop", "1"]) == 0
    assert "--drop customer_id --drop 1 --out run" in capsys.readouterr().out
    assert run(["recommend", data, "--drop", "name"]) == 0
    assert capsys.readouterr().err == (
        f"coterie: {data}: column 'customer_id' counts the rows and is used as a feature; "
        "drop=['customer_id'], or --drop customer_id at the command line, leaves it out.\n"
    )
    assert run(["recommend", data]) == 2
    assert "'ann 0', not a number: leave that column out" in last_error(capsys)


def rewrite(source, target, change):
    """Write a CSV again, its lines changed."""
    with source.open(newline="") as handle:
        lines = list(csv.reader(handle))
    with target.open("w", newline="") as handle:
        csv.writer(handle).writerows(change(i, line) for i, line in enumerate(lines))
    return target


def test_predict_finds_columns_by_name_in_any_order_among_others(folder, tmp_path):
    new = rewrite(
        folder / "rows.csv", tmp_path / "n.csv", lambda i, line: [*line[::-1], "town" if i == 0 else "Oslo"]
    )
    assert run(["predict", str(folder / "run"), str(new), "-o", str(tmp_path / "o.csv"), "--quiet"]) == 0
    assert (tmp_path / "o.csv").read_text() == (folder / "run" / "labels.csv").read_text()


def test_predict_names_the_column_that_new_rows_lack(folder, tmp_path, capsys):
    new = rewrite(folder / "rows.csv", tmp_path / "n.csv", lambda i, line: line[1:])
    assert run(["predict", str(folder / "run"), str(new)]) == 2
    assert "n.csv lacks 'f0': new rows need every column that" in last_error(capsys)


def test_new_rows_without_names_have_the_columns_that_were_used(folder, messy):
    bare = messy / "bare.csv"
    bare.write_text("\n".join((folder / "rows.csv").read_text().splitlines()[1:]))
    np.save(messy / "bare.npy", np.loadtxt(bare, delimiter=","))
    for path in (bare, messy / "bare.npy"):
        assert run(["predict", str(messy / "run"), str(path), "-o", str(messy / "o.csv"), "--quiet"]) == 0
        assert (messy / "o.csv").read_text() == (messy / "run" / "labels.csv").read_text()


def test_predict_says_where_no_column_has_the_name_of_one_of_the_fit(folder, tmp_path, capsys):
    new = rewrite(
        folder / "rows.csv",
        tmp_path / "n.csv",
        lambda i, line: [one.upper() if i == 0 else one for one in line],
    )
    assert run(["predict", str(folder / "run"), str(new), "-o", str(tmp_path / "o.csv"), "--quiet"]) == 0
    assert "n.csv has no column called f0, f1, f2, f3, f4, as" in last_error(capsys)


def test_gaps_of_rows_on_disk_are_told_by_recommend(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[5, 2] = np.nan
    np.save(tmp_path / "g.npy", rows)
    assert run(["recommend", str(tmp_path / "g.npy")]) == 0
    said = capsys.readouterr().out
    assert "Columns used: all 3; they have no names.\n1 cell is empty (2): --fill puts" in said
    assert "--clusters auto --fill --out run" in said


def test_no_command_at_all_is_answered_with_help(capsys):
    assert run([]) == 0
    assert "\nCommands:\n  methods " in capsys.readouterr().out


def test_what_was_mistyped_leads_to_the_help_of_its_command(capsys):
    assert run(["recommend", "rows.csv", "--fill"]) == 2
    assert last_error(capsys) == "coterie: No such option: --fill; see coterie recommend --help.\n"


def test_gaps_are_told_by_recommend_and_filled_by_fit_and_predict(folder, tmp_path, capsys):
    gappy = rewrite(
        folder / "rows.csv", tmp_path / "g.csv", lambda i, line: ["" if i in (3, 7) else line[0], *line[1:]]
    )
    assert run(["recommend", str(gappy)]) == 0
    said = capsys.readouterr().out
    assert "--clusters auto --fill --out run" in said
    assert "Columns used: f0, f1, f2, f3, f4." in said
    assert "2 cells are empty ('f0'): --fill puts the median of the column there." in said
    fit = ["fit", str(gappy), "--method", "largemvcnet", "-k", "3", "--quiet", "--out", str(tmp_path / "run")]
    assert run(fit) == 2
    assert "row 2, column 'f0' is NaN: fill it in (--fill at the command line)" in last_error(capsys)
    assert run([*fit, "--fill"]) == 0
    values = np.genfromtxt(gappy, delimiter=",", skip_header=1)
    note = json.loads((tmp_path / "run" / "run.json").read_text())
    np.testing.assert_allclose(note["fill"], [np.nanmedian(values, axis=0)], rtol=1e-6)
    one = rewrite(gappy, tmp_path / "one.csv", lambda i, line: line)
    one.write_text("\n".join(one.read_text().splitlines()[i] for i in (0, 3)))
    assert run(["predict", str(tmp_path / "run"), str(one), "-o", str(tmp_path / "o.csv"), "--quiet"]) == 0
    with (tmp_path / "o.csv").open() as new, (tmp_path / "run" / "labels.csv").open() as old:
        assert next(csv.DictReader(new))["cluster"] == list(csv.DictReader(old))[2]["cluster"]
    assert run(["report", str(tmp_path / "run"), "--quiet"]) == 0


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_classes_may_stand_in_a_column_of_any_name(folder, suffix, tmp_path, capsys):
    truth = np.loadtxt(folder / "truth.txt", dtype=int)
    frame = pd.DataFrame({"size": np.arange(150), "variety": np.array(["a", "b", "c"])[truth]})
    path = tmp_path / f"t{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    assert run(["evaluate", str(folder / "run"), "--truth", str(folder / "truth.txt")]) == 0
    want = capsys.readouterr().out
    assert run(["evaluate", str(folder / "run"), "--truth", str(path), "--column", "variety"]) == 0
    assert capsys.readouterr().out == want
    assert run(["evaluate", str(folder / "run"), "--truth", str(path), "--column", "kind"]) == 2
    assert "--column kind" in last_error(capsys)


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


def test_labels_for_a_method_that_uses_none_are_refused(folder, capsys):
    arguments = ["fit", str(folder / "rows.csv"), "--labels", str(folder / "truth.txt")]
    assert run([*arguments, "--method", "pcx", "--out", str(folder / "no")]) == 2
    assert "PCX does not" in last_error(capsys)


def test_without_a_method_the_recommended_one_is_taken_and_named(folder, capsys):
    rows = str(folder / "rows.csv")
    said = {}
    for name, more in {
        "plain": ["-k", "3", *FAST[:-1]],
        "known": ["--labels", str(folder / "truth.txt")],
    }.items():
        assert run(["fit", rows, "--out", str(folder / name), *more]) == 0
        said[name] = capsys.readouterr().out.splitlines()[0]
        assert json.loads((folder / name / "run.json").read_text())["method"] in said[name]
    assert "Method: PCX;" in said["plain"]
    assert "Method: FUCSMF;" in said["known"]


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


def test_sigterm_ends_a_fit_in_one_sentence_and_the_same_command_goes_on(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32))
    fit = ["fit", str(tmp_path / "rows.npy"), "-k", "3", *FAST, "--set", "max_epochs=60", "--out"]
    stopped = [sys.executable, "-m", "coterie", *fit, str(tmp_path / "run")]
    process = subprocess.Popen(stopped, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run" / "checkpoint.coterie").exists() and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    assert process.communicate()[1].startswith("coterie: Stopped by SIGTERM;")
    assert process.returncode == 143
    assert run([*fit, str(tmp_path / "run")]) == 0
    assert run([*fit, str(tmp_path / "whole")]) == 0
    assert (tmp_path / "run" / "labels.csv").read_text() == (tmp_path / "whole" / "labels.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{place}"], "holds no finished run"),
        (["{place}/run", "--data", "{place}/gone.csv"], "gone.csv; give --data the place where they are now"),
        (["{place}/run", "--data", "{place}/fewer.csv"], "The data have 2 rows, the run had 150"),
        (
            ["{place}/run", "--data", "{place}/narrow.csv"],
            "The data have [2] columns, the model was fitted on [5]",
        ),
        (["{place}/run", "--metadata", "{place}/fewer.csv"], "has 2 lines but the data have 150 rows"),
        (["{place}/run", "--truth", "{place}/fewer.csv"], "fewer.csv"),
        (["{place}/run", "--image-shape", "3x3"], "image_shape needs a view with 9 features"),
        (["{place}/run", "--rows", "2"], "max_rows is 2, fewer than the 3 clusters"),
        (["{place}/run", "--port", "70000"], "--port"),
    ],
)
def test_explore_ends_in_one_sentence_where_it_cannot_begin(folder, capsys, arguments, words):
    (folder / "fewer.csv").write_text("a,b\n1,2\n3,4\n")
    (folder / "narrow.csv").write_text("a,b\n" + "1,2\n" * 150)
    assert run(["explore", *(argument.format(place=folder) for argument in arguments)]) == 2
    assert words in last_error(capsys)


def test_explore_says_that_its_port_is_taken(folder, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["explore", str(folder / "run"), "--port", str(port)]) == 2
    assert f"--port {port} cannot be used" in last_error(capsys)


def test_explore_names_the_package_it_lacks(folder, capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(["explore", str(folder / "run")]) == 2
    assert "coterie explore needs fastapi: pip install 'coterie[explore]'" in last_error(capsys)
