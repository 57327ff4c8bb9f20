"""Run folders: parts that belong together, one writer at a time, results replaced whole or not at all."""

import csv
import errno
import fcntl
import json
import os
import shutil

import numpy as np
import pytest
from tests.dying import Disk, full, killed_at

from coterie import PCX
from coterie.cli import run
from coterie.errors import InputError, Terminated
from coterie.runs import Run, write_labels
from coterie.store import read_archive, write_archive

FAST = ["--method", "pcx", "-k", "3", "--quiet", "--set", "max_epochs=2", "--set", "hidden=[4]"]


def fit(folder, out="run", *more):
    return run(["fit", str(folder / "rows.npy"), "--out", str(folder / out), *FAST, *more])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with rows, and two runs on them."""
    folder = tmp_path_factory.mktemp("runs")
    np.save(folder / "rows.npy", np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32))
    assert fit(folder) == 0
    assert fit(folder, "other", "--seed", "7") == 0
    return folder


@pytest.fixture
def folder(fitted, tmp_path):
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    return tmp_path


def said(capsys):
    text = capsys.readouterr().err
    assert text.startswith("coterie: ")
    assert text.count("\n") == 1
    return text.removeprefix("coterie: ").strip()


def files(path):
    return {item.name: item.read_bytes() for item in path.iterdir() if item.is_file()}


def commands(folder):
    return [
        ["predict", str(folder / "run"), str(folder / "rows.npy"), "-o", str(folder / "o.csv"), "--quiet"],
        ["report", str(folder / "run"), "--quiet"],
        ["explore", str(folder / "run")],
        ["evaluate", str(folder / "run"), "--truth", str(folder / "other" / "labels.csv")],
        ["refine", str(folder / "run"), "--labels", str(folder / "no.csv")],
    ]


@pytest.mark.parametrize("part", ["model.coterie", "labels.csv", "run.json"])
def test_a_run_put_together_from_two_runs_is_refused_by_every_command(folder, part, capsys):
    shutil.copy(folder / "other" / part, folder / "run" / part)
    for command in commands(folder):
        assert run(command) == 2
        named = "labels.csv" if part == "labels.csv" else "model.coterie"
        assert said(capsys).startswith(
            f"{folder}/run/{named} is not the file of this run: it was changed, or"
        )


def test_labels_that_were_moved_away_and_notes_of_before_digests_are_no_fault(folder):
    (folder / "run" / "labels.csv").unlink()
    assert run(commands(folder)[0]) == 0
    note = json.loads((folder / "run" / "run.json").read_text())
    assert sorted(note.pop("digests")) == ["labels.csv", "model.coterie", "reference.coterie"]
    (folder / "run" / "run.json").write_text(json.dumps(note))
    assert run(commands(folder)[0]) == 0


def test_a_second_fit_into_a_folder_is_refused_before_it_computes(folder, monkeypatch, capsys):
    def computes(*given):
        raise AssertionError("it computed")

    monkeypatch.setattr(PCX, "fit", computes)
    (folder / "new").mkdir()
    for out, more in (("new", []), ("run", ["--replace"])):
        before = files(folder / out)
        first = os.open(folder / out, os.O_RDONLY)
        fcntl.flock(first, fcntl.LOCK_EX)
        assert fit(folder, out, *more) == 2
        assert said(capsys).startswith(f"Another coterie is writing to {folder}/{out}; wait until it has")
        os.close(first)
        assert files(folder / out) == before


class Numbered:
    """A model that is one number."""

    def __init__(self, number):
        self.number = number

    def save(self, path):
        write_archive(path, {"kind": "model"}, {"x": np.full(300, self.number)})


def write(the_run, number):
    labels = np.full(50, number)
    the_run.write(Numbered(number), labels, np.ones(50), None, {"data": "d", "rows": 50, "number": number})


def read(the_run):
    """Return the number that model, labels and note agree on."""
    the_run.check()
    numbers = {
        int(read_archive(the_run.model)[1]["x"][7]),
        int(the_run.labels.read_text().splitlines()[9].split(",")[1]),
        the_run.read_note()["number"],
    }
    assert len(numbers) == 1
    return numbers.pop()


@pytest.fixture
def finished(tmp_path):
    the_run = Run(tmp_path / "run")
    with the_run.created(replace=False):
        write(the_run, 1)
    return the_run


def test_a_process_killed_at_any_point_of_a_replacement_leaves_the_old_run_or_the_new_one_whole(finished):
    found, at = [], 1
    while killed_at(at, lambda: write(finished, 2)):
        found.append(read(finished))
        with finished.created(replace=True):
            write(finished, 1)
        at += 1
    assert found == sorted(found)
    assert {1, 2} == set(found)
    assert found.count(2) >= 2  # killed while the files were moved
    assert read(finished) == 2
    assert sorted(path.name for path in finished.folder.iterdir()) == [
        "labels.csv",
        "model.coterie",
        "run.json",
    ]


def test_a_disk_that_fills_up_at_any_point_of_a_replacement_is_one_sentence_and_the_run_is_whole(finished):
    at, found = 1, []
    while True:
        refusal = ""
        with Disk(at, full).watched() as disk:
            try:
                write(finished, 2)
            except InputError as error:
                refusal = str(error)
        if disk.points < at:
            break
        assert refusal.startswith("Cannot write")
        assert refusal.endswith("No space left on device.")
        found.append(read(finished))
        write(finished, 1)
        at += 1
    assert found[0] == 1
    assert found == sorted(found)


def test_answers_about_earlier_clusters_are_kept_aside_once(finished):
    finished.explored.mkdir()
    (finished.explored / "answers.jsonl").write_text("answers")
    write(finished, 2)
    assert [path.name for path in finished.explored.iterdir()] == ["answers-1.jsonl"]


def test_a_folder_that_cannot_be_written_is_one_sentence_before_anything_is_computed(
    folder, monkeypatch, capsys
):
    real = os.mkdir

    def refuse(path, *given, **options):
        if os.fspath(path).startswith(str(folder)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        real(path, *given, **options)

    def computes(*given):
        raise AssertionError("it computed")

    monkeypatch.setattr(os, "mkdir", refuse)
    monkeypatch.setattr(PCX, "fit", computes)
    assert fit(folder, "run", "--replace") == 2
    assert said(capsys) == f"Cannot write in the folder {folder}/run: Read-only file system."
    assert fit(folder, "new") == 2
    assert said(capsys) == f"Cannot make the folder {folder}/new: Read-only file system."


@pytest.mark.parametrize(
    ("stop", "code", "ended"),
    [
        (KeyboardInterrupt(), 130, "Interrupted"),
        (Terminated(), 143, "Stopped by SIGTERM"),
    ],
)
def test_an_interrupted_fit_says_what_it_leaves(folder, monkeypatch, capsys, stop, code, ended):
    def interrupted(model, *given):
        if model.random_state == 3:
            write_archive(model.checkpoint, {"kind": "checkpoint"}, {})
        raise stop

    monkeypatch.setattr(PCX, "fit", interrupted)
    assert fit(folder, "run", "--replace") == code
    assert said(capsys) == f"{ended}; {folder}/run keeps its finished run."
    assert fit(folder, "new") == code
    assert said(capsys) == f"{ended}; nothing was written to {folder}/new."
    assert fit(folder, "new", "--seed", "3") == code
    assert said(capsys) == f"{ended}; the same command goes on from the last checkpoint."


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_name_that_a_spreadsheet_would_take_for_a_formula_is_text_in_labels_csv(tmp_path, start):
    write_labels(tmp_path / "l.csv", np.array([0, 1]), np.array([-0.5, 1]), {0: f"{start}1", 1: "a-b"})
    shown = " " if start == "\r" else start  # a carriage return would end the row
    with (tmp_path / "l.csv").open(newline="") as handle:
        assert list(csv.reader(handle))[1:] == [["0", "0", "-0.5", f"'{shown}1"], ["1", "1", "1", "a-b"]]
