"""Spoilt files, a few for each reader, by the means of `python -m benchmarks fuzz`."""

import json
import os
import subprocess
import sys

import pytest
from benchmarks.fuzz import outcomes
from benchmarks.fuzzing import seeds
from benchmarks.fuzzing.targets import TARGETS, input_of

FEW = 150

GUARDED = """
import json, pickle, tempfile
from pathlib import Path
import numpy as np
from benchmarks.fuzzing.containers import Bomb
from benchmarks.fuzzing.targets import Target
from benchmarks.fuzzing.worker import Guard, _once
from coterie.errors import InputError

def refuse(folder):
    raise InputError("x.npy is no good: write it again.")

def ramble(folder):
    raise InputError("one line" + chr(10) + "another")

def swallow(folder):
    try:
        np.ones(10**9)
    except MemoryError as error:
        raise InputError("too large") from error

READS = {
    "good": lambda folder: None,
    "refused": refuse,
    "rambling": ramble,
    "crash": lambda folder: {}["missing"],
    "greedy": lambda folder: np.empty(10**9),
    "greedy in secret": swallow,
    "run": lambda folder: pickle.loads(pickle.dumps(Bomb())),
    "writing elsewhere": lambda folder: open("/tmp/elsewhere", "a").close(),
}
place = Path(tempfile.mkdtemp())
guard = Guard(place)
found = {}
for name, read in READS.items():
    target = Target(list, lambda data, rng: data, read, 1)
    found[name] = _once(target, {"x.npy": b"abc"}, place, guard)[:2]
print(json.dumps(found))
"""


@pytest.mark.parametrize("reader", TARGETS)
def test_spoilt_files_are_read_or_refused_in_one_sentence(reader):
    found = list(outcomes(reader, 1, 0, FEW))
    assert [fault for one in found for fault in one["faults"]] == []
    assert sum(one["refused"] for one in found) > FEW / 3
    assert sum(one["read"] + one["refused"] for one in found) == FEW


@pytest.mark.parametrize(("reader", "valid"), [("npz", seeds.npz_seeds), ("answers", seeds.answer_seeds)])
def test_an_input_is_the_same_whenever_it_is_made(reader, valid):
    some = [input_of(reader, valid(), 0, number) for number in range(300)]
    assert some[::-1] == [input_of(reader, valid(), 0, number) for number in reversed(range(300))]
    assert some != [input_of(reader, valid(), 1, number) for number in range(300)]


def test_the_shares_of_the_readers_are_all_inputs():
    assert sum(target.share for target in TARGETS.values()) == 100


def test_the_guard_finds_what_no_reader_may_do(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", GUARDED],
        capture_output=True,
        text=True,
        cwd=tmp_path,  # the bomb that shall be noticed leaves a file where it goes off
        env={**os.environ, "PYTHONPATH": paths()},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["good"] == [None, False]
    assert found["refused"] == [None, True]
    assert "not one line" in found["rambling"][0]
    assert found["crash"][0] == "KeyError: 'missing'"
    assert found["greedy"][0].startswith("MemoryError")
    assert found["greedy in secret"][0] == "wanted too much memory: too large"
    assert "did more than reading" in found["run"][0]
    assert "did more than reading: open ('/tmp/elsewhere'" in found["writing elsewhere"][0]


def test_a_reader_that_ends_its_process_is_a_fault_and_the_others_go_on(tmp_path, monkeypatch):
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, os, sys\n"
        "_, reader, seed, start, stop, skipped, progress = sys.argv\n"
        "for number in range(int(start), int(stop)):\n"
        "    open(progress, 'w').write(str(number))\n"
        "    if number == 3 and number not in json.loads(skipped):\n"
        "        os.abort()\n"
        "print(json.dumps({'until': int(stop), 'faults': []}))\n"
    )
    real = subprocess.Popen
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda command, **options: real([command[0], str(script), *command[3:]], **options),
    )
    (found,) = outcomes("npy", 0, 0, 9)
    assert found["faults"] == [{"number": 3, "what": "the process ended with code -6"}]


def paths():
    return os.pathsep.join(path or os.getcwd() for path in sys.path)
