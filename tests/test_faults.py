"""Crashes and full disks at every point of every write, and data that are cut short during a run."""

import json
import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tests.dying import Disk, Still, full, killed_at

from coterie import PCX, load
from coterie.cli import run
from coterie.data import memory
from coterie.engine.checkpoint import write_checkpoint
from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.explore.live.answers import Name
from coterie.explore.live.log import AnswerLog
from coterie.explore.report import write_page
from coterie.runs import Run, write_labels
from coterie.store import read_archive, write_archive

ROWS = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
FIT = ["fit", "{folder}/rows.npy", "--method", "pcx", "-k", "3", "--out", "{folder}/run", "--quiet"]
FIT += ["--set", "max_epochs=3", "--set", "hidden=[4]"]


def write_model(path, number):
    write_archive(path, {"kind": "model", "number": number}, {"x": np.full(5000, number)})


def read_model(path):
    manifest, arrays = read_archive(path)
    assert (arrays["x"] == manifest["number"]).all()
    return manifest["number"]


def write_state(path, number):
    write_checkpoint(
        path, Loop(Still(number), lambda epoch: [], per_epoch=1, max_epochs=9), {"number": number}
    )


def read_state(path):
    manifest, arrays = read_archive(path)
    assert (arrays["task.tensor"] == manifest["identity"]["number"]).all()
    return manifest["identity"]["number"]


def read_labels(path):
    lines = path.read_text().splitlines()
    assert len(lines) == 3001
    return int(lines[-1].split(",")[1])


def read_page(path):
    text = path.read_text()
    assert text == text[0] * 20_000
    return int(text[0])


def read_note(path):
    return json.loads(path.read_text())["number"]


WRITERS = {
    "model": (write_model, read_model),
    "checkpoint": (write_state, read_state),
    "labels": (lambda p, n: write_labels(p, np.full(3000, n), np.ones(3000)), read_labels),
    "report": (lambda p, n: write_page(p, str(n) * 20_000), read_page),
    "note": (lambda p, n: Run(p.parent).write_note({"number": n}), read_note),
}


def spoken_by(write):
    try:
        write()
    except InputError as error:
        return str(error)
    return ""


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    """A file that was written once, and how to write it again and to read it."""
    write, read = WRITERS[request.param]
    path = tmp_path / ("run.json" if request.param == "note" else "file")
    write(path, 1)
    return path, lambda: write(path, 2), lambda: read(path)


def test_a_process_killed_at_any_point_of_a_write_leaves_the_old_file_or_the_new_one_whole(file):
    path, write, read = file
    found, at = [], 1
    while killed_at(at, write):
        found.append(read())
        at += 1
    assert len(found) >= 4  # bytes, fsync, the mode, the name
    assert found == sorted(found)
    assert found[0] == 1
    assert read() == 2
    with Run(path.parent).created(replace=True):
        pass
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_disk_that_fills_up_at_any_point_is_one_sentence_and_the_old_file_stays(file):
    path, write, read = file
    at = 1
    while True:
        with Disk(at, full).watched() as disk:
            said = spoken_by(write)
        assert said in ("", f"Cannot write {path}: No space left on device.")
        assert [one.name for one in path.parent.iterdir()] == [path.name]
        if disk.points < at:
            break
        assert said
        assert read() in (1, 2)
        at += 1
    assert at > 4
    assert read() == 2


def test_an_answer_is_whole_or_dropped_wherever_the_process_is_killed(tmp_path):
    path = tmp_path / "answers.jsonl"
    log = AnswerLog(path)
    log.add(Name(cluster=0, name="first"))
    log.close()
    whole = path.read_bytes()

    def answer():
        AnswerLog(path).add(Name(cluster=1, name="second"))

    at = 1
    while killed_at(at, answer):
        again = AnswerLog(path)
        names = [one.name for one in again.answers]
        assert names in (["first"], ["first", "second"])
        assert (again.notice is None) == (at > 1)  # half a line is dropped with a word
        again.close()
        path.write_bytes(whole)
        at += 1
    assert at == 3  # the line, and its way to the disk


def command(folder):
    return [part.format(folder=folder) for part in FIT]


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    return tmp_path


@pytest.mark.parametrize(("limit", "file"), [(300, "checkpoint.coterie"), (3000, "checkpoint.coterie")])
def test_a_run_without_room_on_the_disk_stops_in_one_sentence_and_goes_on_with_room(folder, limit, file):
    code = "import sys; from coterie.cli import main; sys.argv[0] = 'coterie'; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *command(folder)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2
    assert done.stderr == f"coterie: Cannot write {folder}/run/{file}: File too large.\n"
    assert not (folder / "run").exists()
    assert run(command(folder)) == 0
    load(folder / "run" / "model.coterie")


@pytest.mark.parametrize("last", ["model", "labels", "note"])
def test_a_run_killed_between_its_last_files_goes_on_without_being_asked_to_replace(
    folder, last, monkeypatch
):
    def stop(*given):
        raise KeyboardInterrupt

    place = {"model": PCX, "note": Run}.get(last, sys.modules["coterie.runs"])
    name = {"model": "save", "labels": "write_labels", "note": "write_note"}[last]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, stop)
        assert run(command(folder)) == 130
    assert not Run(folder / "run").finished
    assert run(command(folder)) == 0
    assert Run(folder / "run").finished
    assert run(command(folder)) == 2


def test_a_run_whose_replacement_is_stopped_before_it_is_whole_stays_as_it_is(folder, monkeypatch):
    def stop(*given):
        raise KeyboardInterrupt

    assert run(command(folder)) == 0
    before = {path.name: path.read_bytes() for path in (folder / "run").iterdir()}
    for name in ("write_labels", "file_digest"):
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules["coterie.runs"], name, stop)
            assert run([*command(folder), "--replace", "--seed", "7"]) == 130
        left = {path.name: path.read_bytes() for path in (folder / "run").iterdir() if path.is_file()}
        left.pop("checkpoint.coterie")
        assert left == before
    Run(folder / "run").check()


def test_too_little_memory_is_one_sentence(folder, monkeypatch, capsys):
    def take(*given):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(PCX, "fit", take)
    assert run(command(folder)) == 2
    assert "There is not enough memory (Unable to allocate 9 TiB)" in capsys.readouterr().err


def test_data_that_are_cut_short_stop_a_run_in_one_sentence_and_once_put_back_it_goes_on(
    folder, monkeypatch, checkpoint_every_epoch, capsys
):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    assert run(command(folder)) == 0
    wanted = (folder / "run" / "labels.csv").read_text()
    shutil.rmtree(folder / "run")
    real, rows = Loop.run_epoch, (folder / "rows.npy").read_bytes()

    def cut(loop):
        if loop.epoch == 2:
            os.truncate(folder / "rows.npy", 300)
        real(loop)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "run_epoch", cut)
        capsys.readouterr()
        assert run(command(folder)) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"coterie: {folder}/rows.npy changed while it was being read (it had 768 bytes and has 300)"
    )
    assert said.count("\n") == 1
    (folder / "rows.npy").write_bytes(rows)
    assert read_archive(folder / "run" / "checkpoint.coterie")[0]["epoch"] == 2
    assert run(command(folder)) == 0
    assert (folder / "run" / "labels.csv").read_text() == wanted
