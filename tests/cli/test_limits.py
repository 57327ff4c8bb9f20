"""What a fit says it will need, and a limit of memory that is kept or refused."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from benchmarks import resources as measured
from benchmarks.records import read_records
from tests.cli.helpers import last_error

from coterie.cli import run
from coterie.methods.graph_clustering import resources
from coterie.methods.graph_clustering.resources import Size, estimate, keep_within
from coterie.runs import Run

LIMIT = 650 * 10**6


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "rows.npy", rng.normal(size=(200, 4)) + 9 * np.eye(4)[np.arange(200) % 3])
    return str(tmp_path / "rows.npy")


@pytest.mark.parametrize(
    "record", [*read_records("resources"), *measured.grown()], ids=lambda record: record["data"]
)
def test_what_is_said_before_a_fit_is_within_a_factor_of_two_of_what_was_measured(record):
    said = measured.ratios(record)
    assert 0.5 <= said["cpu_seconds"] <= 2
    assert 0.5 <= said["peak_bytes"] <= 2
    assert said.get("disk_bytes", 1) >= 0.5  # rows are kept along as many axes as the metric needs, or fewer


def test_the_constants_are_those_that_the_fitted_half_of_the_records_gives():
    ours = {
        "cpu_seconds": resources.SECONDS,
        "peak_bytes": resources.MEMORY,
        "disk_bytes": resources.DISK,
    }
    assert ours == measured.constants()


def test_a_fit_says_what_it_will_need_before_it_starts(rows, tmp_path, capsys):
    assert run(["fit", rows, "-k", "3", "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out.splitlines()
    line = next(i for i, text in enumerate(said) if text.startswith("Needs about"))
    assert re.fullmatch(
        r"Needs about \d+ s of one core, \d+\.\d GB of memory and up to \d+ MB of disk\.", said[line]
    )
    assert "200 rows in 3 clusters" in said[line + 1]


def test_more_memory_than_is_needed_changes_nothing():
    size = Size(70_000, [784])
    assert keep_within(size, 1e12, on_disk=True) == size


def test_rows_on_disk_stay_there_before_the_graph_gets_smaller():
    size = Size(1_000_000, [784])
    on_disk = size._replace(in_memory=False)
    assert keep_within(size, 1.3 * estimate(on_disk).memory, on_disk=True) == on_disk
    tight = keep_within(size, 1.1e9, on_disk=True)
    assert tight.max_rows < size.max_rows
    assert 1.2 * estimate(tight).memory < 1.1e9
    assert keep_within(size, 1.1e9, on_disk=False) is None


def peak_bytes(command: list[str]) -> int:
    """Return the peak memory of a command that must succeed, started by a small process, whose peak it inherits."""
    code = (
        "import os, subprocess, sys; child = subprocess.Popen(sys.argv[1:]); "
        "_, status, used = os.wait4(child.pid, 0); print(status, used.ru_maxrss)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    status, peak = ran.stdout.splitlines()[-1].split()
    assert status == "0"
    return 1024 * int(peak)


def test_a_fit_keeps_within_its_memory_by_leaving_rows_on_disk_and_a_smaller_graph(tmp_path):
    rng = np.random.default_rng(0)
    data = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.float32, (30_000, 500))
    for part in range(0, 30_000, 5000):
        kinds = np.arange(part, part + 5000) % 3
        data[part : part + 5000] = rng.normal(size=(5000, 500), scale=0.5) + 3 * np.eye(3, 500)[kinds]
    del data
    assert estimate(Size(30_000, [500])).memory > LIMIT
    out = tmp_path / "run"
    command = [
        "fit",
        str(tmp_path / "rows.npy"),
        "-k",
        "3",
        "--memory",
        "650MB",
        "--out",
        str(out),
        "--quiet",
    ]
    assert peak_bytes([sys.executable, "-m", "coterie", *command]) < LIMIT
    note = Run(out).read_note()
    assert note["clusters"] == 3
    assert note["rows"] == 30_000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--memory", "100MB"], "--memory 100MB is too little for"),
        (["--memory", "lots"], "--memory lots is no amount of memory"),
        (["--memory", "2GB", "--method", "pcx"], "--memory is kept by GraphClustering, and PCX"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused_in_one_sentence(rows, tmp_path, capsys, more, said):
    assert run(["fit", rows, "-k", "3", "--out", str(tmp_path / "run"), "--quiet", *more]) == 2
    assert said in last_error(capsys)
    assert not (tmp_path / "run").exists()


def test_the_note_of_a_limited_fit_says_how_many_rows_the_graph_has(tmp_path, rows, monkeypatch):
    monkeypatch.setattr("coterie.cli.limits.keep_within", lambda size, *_, **__: size._replace(max_rows=100))
    command = ["fit", rows, "-k", "3", "--memory", "1GB", "--out", str(tmp_path / "run"), "--quiet"]
    assert run(command) == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["max_rows"] == 100
