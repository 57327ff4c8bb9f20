"""`coterie recommend`: what it prints."""

import json
import shlex

import numpy as np

from coterie.cli import run


def test_recommend_prints_the_method_why_and_what_to_run(folder, capsys):
    assert run(["recommend", str(folder / "rows.csv"), "-k", "3"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("GraphClustering: 150 rows in one view of 5 columns.")
    assert f"coterie fit {folder / 'rows.csv'} --method graphclustering --clusters 3 --out run" in said


def test_recommend_goes_by_labels_and_speaks_json(folder, tmp_path, capsys):
    (tmp_path / "known.csv").write_text("row,label\n0,1\n5,0\n")
    arguments = ["recommend", str(folder / "rows.csv"), "--labels", str(tmp_path / "known.csv"), "--json"]
    assert run(arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["method"], content["settings"], content["facts"]["labelled"]) == ("FUCSMF", {}, 2)
    assert f"--labels {tmp_path / 'known.csv'}" in content["command"]


def test_gaps_of_rows_on_disk_are_told_by_recommend(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[5, 2] = np.nan
    np.save(tmp_path / "g.npy", rows)
    assert run(["recommend", str(tmp_path / "g.npy")]) == 0
    said = capsys.readouterr().out
    assert "1 cell is empty and gets what the ten most similar rows have (2)." in said
    assert "--clusters auto --out run" in said


def test_the_command_for_a_handful_of_rows_is_one_that_takes_them(tmp_path, capsys):
    np.save(tmp_path / "few.npy", np.random.default_rng(0).normal(size=(4, 3)))
    assert run(["recommend", str(tmp_path / "few.npy")]) == 0
    said = capsys.readouterr().out
    assert "2 is a guess" in " ".join(said.split())
    command = shlex.split(said.splitlines()[-1])
    assert run([*command[1:-1], str(tmp_path / "run"), "--quiet"]) == 0
