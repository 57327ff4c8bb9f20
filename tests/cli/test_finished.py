"""What is done with a finished run: `coterie predict`, `evaluate` and `report`."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import last_error

from coterie.cli import run


def test_predict_gives_the_labels_of_the_fit(folder, tmp_path, capsys):
    assert (
        run(["predict", str(folder / "run"), str(folder / "rows.csv"), "-o", str(tmp_path / "again.csv")])
        == 0
    )
    assert "150 rows labelled" in capsys.readouterr().out
    assert (tmp_path / "again.csv").read_text() == (folder / "run" / "labels.csv").read_text()


def test_data_of_other_columns_are_refused_by_predict(folder, tmp_path, capsys):
    np.save(tmp_path / "wide.npy", np.zeros((4, 7)))
    assert (
        run(["predict", str(folder / "run"), str(tmp_path / "wide.npy"), "-o", str(tmp_path / "o.csv")]) == 2
    )
    assert "7" in last_error(capsys)
    assert not (tmp_path / "o.csv").exists()


def test_evaluate_prints_the_scores(folder, capsys):
    assert run(["evaluate", str(folder / "run"), "--truth", str(folder / "truth.txt")]) == 0
    lines = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(lines["accuracy"]) > 0.9
    assert {"nmi", "ari"} <= set(lines)


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


def test_report_writes_one_page(folder):
    assert run(["report", str(folder / "run"), "--truth", str(folder / "truth.txt"), "--quiet"]) == 0
    page = (folder / "run" / "report.html").read_text()
    assert page.startswith("<!")
    assert "rows" in page


def test_classes_of_other_rows_are_named_with_their_file(folder, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("label\n1\n2\n")
    assert run(["evaluate", str(folder / "run"), "--truth", str(tmp_path / "t.csv")]) == 2
    assert re.search(
        r"t\.csv has 2 classes but .*run has 150 rows; give one class per row", last_error(capsys)
    )


def test_one_row_is_spoken_of_as_one(folder, tmp_path, capsys):
    (tmp_path / "one.csv").write_text("\n".join((folder / "rows.csv").read_text().splitlines()[:2]))
    assert (
        run(["predict", str(folder / "run"), str(tmp_path / "one.csv"), "-o", str(tmp_path / "o.csv")]) == 0
    )
    assert capsys.readouterr().out.startswith("1 row labelled: ")


@pytest.mark.parametrize("note", ["{}", "[]", '{"data": "rows.csv"}', "{", ""])
def test_a_note_that_is_not_of_a_run_is_refused_in_one_sentence(folder, tmp_path, note, capsys):
    shutil.copytree(folder / "run", tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(note)
    for command in (["report"], ["explore"], ["predict", str(folder / "rows.csv")]):
        assert run([command[0], str(tmp_path / "run"), *command[1:]]) == 2
        assert "run.json" in last_error(capsys)
