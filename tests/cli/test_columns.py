"""Columns of tables: those left out, those found by name, and gaps in them, from one command to the next."""

import csv
import json

import numpy as np
import pytest
from tests.cli.helpers import FAST, last_error, read_lines, rewrite

from coterie.cli import run


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


def clusters_of(path):
    return [(line["cluster"], line["confidence"]) for line in read_lines(path)]


def test_columns_that_are_no_features_are_left_out_for_good(folder, messy):
    assert clusters_of(messy / "run" / "labels.csv") == clusters_of(folder / "run" / "labels.csv")
    for name in ("messy.csv", "bare.csv"):
        (messy / "bare.csv").write_text((folder / "rows.csv").read_text())
        assert (
            run(["predict", str(messy / "run"), str(messy / name), "-o", str(messy / "o.csv"), "--quiet"])
            == 0
        )
        assert clusters_of(messy / "o.csv") == clusters_of(messy / "run" / "labels.csv")
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
        assert clusters_of(messy / "o.csv") == clusters_of(messy / "run" / "labels.csv")


def test_predict_says_where_no_column_has_the_name_of_one_of_the_fit(folder, tmp_path, capsys):
    new = rewrite(
        folder / "rows.csv",
        tmp_path / "n.csv",
        lambda i, line: [one.upper() if i == 0 else one for one in line],
    )
    assert run(["predict", str(folder / "run"), str(new), "-o", str(tmp_path / "o.csv"), "--quiet"]) == 0
    assert "n.csv has no column called f0, f1, f2, f3, f4, as" in last_error(capsys)


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
    assert "row 2, column 'f0' is NaN: fill it in (coterie fit --fill does, and" in last_error(capsys)
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


def test_gaps_in_new_rows_are_told_by_their_own_file(folder, tmp_path, capsys):
    gappy = rewrite(
        folder / "rows.csv", tmp_path / "new.csv", lambda i, line: ["" if i == 3 else line[0], *line[1:]]
    )
    assert run(["predict", str(folder / "run"), str(gappy), "-o", str(tmp_path / "o.csv")]) == 2
    said = last_error(capsys)
    assert (
        "View 'new', row 2, column 'f0' is NaN: fill it in (coterie fit --fill does, and predict after"
        in said
    )


def test_data_that_lost_the_columns_left_out_are_still_the_data_of_the_run(folder, messy, tmp_path):
    moved = rewrite(folder / "rows.csv", tmp_path / "moved.csv", lambda i, line: line[::-1])
    (tmp_path / "said.csv").write_text("row,label\n0,1\n")
    refine = ["refine", str(messy / "run"), "--labels", str(tmp_path / "said.csv"), "--quiet"]
    assert run([*refine, "-o", str(tmp_path / "o.csv")]) == 0
    assert run([*refine, "--data", str(moved), "--out", str(tmp_path / "better")]) == 0
    assert (tmp_path / "better" / "labels.csv").read_text() == (tmp_path / "o.csv").read_text()
    assert run(["report", str(tmp_path / "better"), "--quiet"]) == 0


def test_a_column_that_cannot_be_left_out_is_told_with_those_that_can(folder, tmp_path, capsys):
    fit = ["fit", str(folder / "rows.csv"), "-k", "3", "--out", str(tmp_path / "run"), "--drop", "F1"]
    assert run(fit) == 2
    assert "'F1', which" in (said := last_error(capsys))
    assert said.endswith("does not have: its columns are f0, f1, f2, f3, f4.\n")
