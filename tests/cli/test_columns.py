"""Columns of tables: those left out, those found by name, and gaps in them, from one command to the next."""

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
    assert run(["recommend", data, "--kind", "f0=category"]) == 0
    assert "--kind f0=category --out run" in capsys.readouterr().out


def test_predict_finds_columns_by_name_in_any_order_among_others(folder, tmp_path):
    new = rewrite(
        folder / "rows.csv", tmp_path / "n.csv", lambda i, line: [*line[::-1], "town" if i == 0 else "Oslo"]
    )
    assert run(["predict", str(folder / "run"), str(new), "-o", str(tmp_path / "o.csv"), "--quiet"]) == 0
    assert (tmp_path / "o.csv").read_text() == (folder / "run" / "labels.csv").read_text()


def test_predict_names_the_column_that_new_rows_lack(folder, tmp_path, capsys):
    new = rewrite(folder / "rows.csv", tmp_path / "n.csv", lambda i, line: line[1:])
    assert run(["predict", str(folder / "run"), str(new)]) == 2
    assert "n.csv lacks the column 'f0': new rows need every column of the fit" in last_error(capsys)


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


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """A table with words, money, gaps and identifiers, its groups, and a run."""
    place = tmp_path_factory.mktemp("customers")
    kinds, lines = np.arange(90) % 3, ["Kundennummer;Stadt;Umsatz;Rabatt;Notiz"]
    for i, kind in enumerate(kinds):
        money = f"{1000 * (kind + 1) + i:,}.50".replace(",", "_").replace(".", ",").replace("_", ".")
        town = ("Rom", "Bern", "Oslo")[kind]
        lines.append(
            f"{500 + i};{town};{'' if i in (3, 7) else money + ' €'};{10 * kind} %;eine Notiz zu {i}"
        )
    (place / "customers.csv").write_text("\n".join(lines) + "\n")
    np.savetxt(place / "truth.txt", kinds, fmt="%d")
    fit = ["fit", str(place / "customers.csv"), "-k", "3", "--out", str(place / "run"), "--quiet"]
    assert run(fit) == 0
    return place


def test_look_says_what_a_table_holds_and_fit_begins_with_it(customers, tmp_path, capsys):
    data = str(customers / "customers.csv")
    assert run(["look", data]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0] == f"{data}: 90 rows"
    assert [line.split()[:2] for line in said.splitlines()[3:8]] == [
        ["Kundennummer", "identifier"],
        ["Stadt", "category"],
        ["Umsatz", "money"],
        ["Rabatt", "percent"],
        ["Notiz", "text"],
    ]
    assert "2 cells are empty and get what the ten most similar rows have (Umsatz)." in said
    assert run(["fit", data, "-k", "3", "--out", str(tmp_path / "run"), "--kind", "Stadt=text"]) == 0
    said = capsys.readouterr().out
    assert "Stadt         text        left out: free text" in said
    assert json.loads((tmp_path / "run" / "run.json").read_text())["columns"] == ["Umsatz", "Rabatt"]


def test_a_kind_that_is_none_is_one_sentence(customers, capsys):
    data = str(customers / "customers.csv")
    for kind, message in (
        ("Stadt", "--kind Stadt is not NAME=KIND"),
        ("Stadt=place", "the kind 'place': give one of number, money"),
        ("Ort=category", "names the column 'Ort', which"),
        ("Stadt=number", "line 2, column 'Stadt' is 'Rom', not a number"),
    ):
        assert run(["look", data, "--kind", kind]) == 2
        assert message in last_error(capsys)


def test_words_and_gaps_of_new_rows_are_taken_as_in_the_fit(customers, tmp_path, capsys):
    out = tmp_path / "o.csv"
    labels = [line["cluster"] for line in read_lines(customers / "run" / "labels.csv")]
    truth = np.loadtxt(customers / "truth.txt").astype(int)
    assert len({*zip(labels, truth.tolist(), strict=True)}) == 3
    new = rewrite_semicolons(
        customers / "customers.csv", tmp_path / "n.csv", lambda line: line[::-1], [0, 4, 5]
    )
    assert run(["predict", str(customers / "run"), str(new), "-o", str(out), "--quiet"]) == 0
    assert [line["cluster"] for line in read_lines(out)] == [labels[3], labels[4]]
    odd = rewrite_semicolons(
        customers / "customers.csv", tmp_path / "odd.csv", lambda line: line[:1] + line[2:], [0, 1]
    )
    assert run(["predict", str(customers / "run"), str(odd), "-o", str(out), "--quiet"]) == 2
    assert "odd.csv lacks the column 'Stadt': new rows need every column of the fit" in last_error(capsys)
    new.write_text(new.read_text().replace("Rom", "Wien"))
    assert run(["predict", str(customers / "run"), str(new), "-o", str(out), "--quiet"]) == 0
    assert "words that the fit did not have ('Wien'); they are taken as empty cells" in last_error(capsys)


def test_the_report_of_a_run_has_words_and_units(customers):
    assert run(["report", str(customers / "run"), "--quiet"]) == 0
    page = (customers / "run" / "report.html").read_text()
    assert "Stadt = Bern" in page
    assert "Kundennummer" not in page
    assert run(["evaluate", str(customers / "run"), "--truth", str(customers / "truth.txt")]) == 0


def rewrite_semicolons(source, target, change, kept):
    """Write some lines of a file with semicolons again, their cells changed."""
    lines = source.read_text().splitlines()
    target.write_text("\n".join(";".join(change(lines[i].split(";"))) for i in kept) + "\n")
    return target


def test_gaps_of_an_array_are_filled_too(folder, tmp_path):
    X = np.loadtxt(folder / "rows.csv", delimiter=",", skiprows=1)
    X[[3, 7], 0] = np.nan
    np.save(tmp_path / "g.npy", X)
    fit = ["fit", str(tmp_path / "g.npy"), "-k", "3", "--quiet", "--out", str(tmp_path / "run")]
    assert run(fit) == 0
    np.save(tmp_path / "one.npy", X[3:4])
    predict = ["predict", str(tmp_path / "run"), str(tmp_path / "one.npy"), "-o", str(tmp_path / "o.csv")]
    assert run([*predict, "--quiet"]) == 0
    assert (
        read_lines(tmp_path / "o.csv")[0]["cluster"]
        == read_lines(tmp_path / "run" / "labels.csv")[3]["cluster"]
    )


def test_gaps_in_new_rows_are_told_where_the_fit_had_none(folder, tmp_path, capsys):
    gappy = rewrite(
        folder / "rows.csv", tmp_path / "new.csv", lambda i, line: ["" if i == 3 else line[0], *line[1:]]
    )
    assert run(["predict", str(folder / "run"), str(gappy), "-o", str(tmp_path / "o.csv")]) == 2
    assert "new.csv, row 2, column 'f0' is empty, and the fit had no empty cells" in last_error(capsys)


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
