"""Real processes: what torchrun starts gives the clusters of one process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.cli import run
from coterie.engine import distributed
from coterie.errors import InputError

SMALL = {
    "pcx": ["hidden=[16]", "max_epochs=3"],
    "sscnet": ["n_atoms=16", "max_epochs=3"],
    "mvsib": ["hidden=[16]", "max_epochs=3"],
    "largemvcnet": [],
    "fucsmf": ["n_anchors=20"],
}


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = 6 * rng.normal(size=(3, 8))[np.arange(240) % 3] + rng.normal(size=(240, 8))
    path = tmp_path_factory.mktemp("data") / "blobs.npy"
    np.save(path, rows.astype(np.float32))
    return path


def arguments(method, data, out):
    settings = [part for one in SMALL[method] for part in ("--set", one)]
    return ["fit", str(data), "--out", str(out), "--method", method, "-k", "3", "--quiet", *settings]


def launched(n, *given):
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n)]
    return subprocess.run([*launch, *given], capture_output=True, text=True, timeout=1200)


def together(n, *given):
    return launched(n, "-m", "coterie", *given)


@pytest.mark.parametrize("method", SMALL)
def test_two_processes_give_the_run_of_one(method, blobs, tmp_path):
    assert run(arguments(method, blobs, tmp_path / "one")) == 0
    done = together(2, *arguments(method, blobs, tmp_path / "two"))
    assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / name / "labels.csv").read_text().splitlines() for name in ("one", "two"))
    assert [line.split(",")[:2] for line in one] == [line.split(",")[:2] for line in two]
    notes = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("one", "two")]
    assert notes[0]["clusters"] == notes[1]["clusters"]
    assert not (tmp_path / "two" / "checkpoint.coterie").exists()


def test_a_mistake_is_told_by_every_process_in_one_sentence(blobs, tmp_path):
    done = together(2, "fit", str(blobs), "--out", str(tmp_path / "none"), "-k", "999", "--quiet")
    assert done.returncode != 0
    assert "coterie: n_samples=240 should be >= n_clusters=999" in done.stderr
    assert "coterie (process 1): n_samples=240" in done.stderr


SUMS = """
import json, sys
import numpy as np
import torch
from coterie.engine.distributed import process_group

with process_group() as group:
    mine = 1 + group.rank
    given = [mine, 0.5 * mine, group.rank == 1, np.full(3, mine), torch.full((2000,), float(mine))]
    found = [np.asarray(group.sum(one)).tolist() for one in given] + [group.min(mine), group.max(mine)]
    kept = [np.asarray(one).tolist() for one in given]
    with open(f"{sys.argv[1]}/{group.rank}.json", "w") as file:
        json.dump([found, kept], file)
"""


def test_reductions_keep_the_kind_of_number_and_leave_what_was_given(tmp_path):
    (tmp_path / "sums.py").write_text(SUMS)
    done = launched(3, str(tmp_path / "sums.py"), str(tmp_path))
    assert done.returncode == 0, done.stderr
    for rank in range(3):
        found, kept = json.loads((tmp_path / f"{rank}.json").read_text())
        assert found == [6, 3.0, True, [6, 6, 6], [6.0] * 2000, 1, 3]
        assert kept == [rank + 1, 0.5 * (rank + 1), rank == 1, [rank + 1] * 3, [rank + 1.0] * 2000]


def test_the_loss_of_another_process_is_one_sentence(monkeypatch):
    def lose(*given, **options):
        raise RuntimeError("Connection closed by peer\nand where")

    monkeypatch.setattr(distributed.dist, "all_reduce", lose)
    group = object.__new__(distributed.ProcessGroup)
    group._device = torch.device("cpu")
    for reduce in (group.sum, group.min):
        with pytest.raises(
            InputError, match=r"was lost \(Connection closed by peer\): start the same command again"
        ):
            reduce(np.ones(2))


def test_processes_that_are_started_again_do_not_find_where_the_others_were_before(monkeypatch):
    kept = distributed.dist.HashStore()
    monkeypatch.setattr(distributed.dist, "rendezvous", lambda url, **_: iter([(kept, 1, 2)]))
    monkeypatch.delenv("TORCHELASTIC_RESTART_COUNT", raising=False)
    store, rank, size = distributed.meeting_place()
    store.set("where the first is", "here")
    assert (rank, size) == (1, 2)
    assert distributed.meeting_place()[0].check(["where the first is"])
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert not distributed.meeting_place()[0].check(["where the first is"])


LONG = ["--set", "max_epochs=60"]
LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]


def after_a_checkpoint(folder, *given):
    """Start two processes and wait until they have written a checkpoint."""
    launched = subprocess.Popen([*LAUNCH, *given], stderr=subprocess.PIPE, text=True)
    while not (folder / "checkpoint.coterie").exists() and launched.poll() is None:
        time.sleep(0.01)
    return launched


def process_of_rank(rank):
    """Find the process that torchrun started with this rank for a run of ours."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            environment = (place / "environ").read_bytes().split(b"\0")
            mine = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if b"coterie" in words and f"RANK={rank}".encode() in environment:
            yield mine, int(place.name)


@pytest.fixture(scope="module")
def undisturbed(blobs, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    done = together(2, *arguments("pcx", blobs, out), *LONG)
    assert done.returncode == 0, done.stderr
    return (out / "labels.csv").read_text()


def test_a_worker_that_dies_is_started_again_and_the_run_ends_as_if_nothing_had_been(
    blobs, tmp_path, undisturbed
):
    fit = ["-m", "coterie", *arguments("pcx", blobs, tmp_path / "run"), *LONG]
    launched = after_a_checkpoint(tmp_path / "run", "--max-restarts", "3", *fit)
    victims = [worker for parent, worker in process_of_rank(1) if parent == launched.pid]
    assert len(victims) == 1
    os.kill(victims[0], signal.SIGKILL)
    said = launched.communicate(timeout=1200)[1]
    assert "failed (exitcode:" in said  # torchrun's word for it
    assert "This is a bug" not in said
    assert launched.returncode == 0
    assert (tmp_path / "run" / "labels.csv").read_text() == undisturbed


def test_sigterm_stops_all_processes_in_a_sentence_each_and_the_same_command_goes_on(
    blobs, tmp_path, undisturbed
):
    fit = ["-m", "coterie", *arguments("pcx", blobs, tmp_path / "run"), *LONG]
    launched = after_a_checkpoint(tmp_path / "run", *fit)
    launched.terminate()
    said = launched.communicate(timeout=1200)[1]
    assert launched.returncode != 0
    assert "coterie: Stopped by SIGTERM;" in said
    assert "coterie (process 1): Stopped by SIGTERM;" in said
    assert not (tmp_path / "run" / "model.coterie").exists()
    assert together(2, *arguments("pcx", blobs, tmp_path / "run"), *LONG).returncode == 0
    assert (tmp_path / "run" / "labels.csv").read_text() == undisturbed


def ended(n, *given, **environment):
    """Return what processes said that could not go on together, and the number of the one that started them."""
    launch = subprocess.Popen(
        [*LAUNCH[:-1], str(n), *given], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    said = launch.communicate(timeout=600)[1]
    assert launch.returncode != 0
    assert "This is a bug" not in said
    return said, launch.pid


def test_processes_with_different_data_are_refused_in_a_sentence_each(blobs, tmp_path):
    (tmp_path / "fit.py").write_text(
        "import os, sys\n"
        "from coterie.cli import main\n"
        "sys.argv[2] = sys.argv[2].replace('RANK', os.environ['RANK'])\n"
        "main()\n"
    )
    rows = np.load(blobs)
    np.save(tmp_path / "0.npy", rows)
    rows[0, 0] += 1
    np.save(tmp_path / "1.npy", rows)
    fit = arguments("pcx", tmp_path / "RANK.npy", tmp_path / "run")
    said, _ = ended(2, str(tmp_path / "fit.py"), *fit)
    for who in ("coterie", "coterie (process 1)"):
        assert f"{who}: The processes of this run have different data (this one 240 rows, 8 columns)" in said
    assert not (tmp_path / "run").exists()


def test_processes_with_different_versions_are_refused(tmp_path):
    store = distributed.dist.HashStore()
    store.set("versions of 1", json.dumps(distributed.versions() | {"torch": "1.0"}))
    with pytest.raises(
        InputError, match=r"^Process 0 has torch \S+ and process 1 has 1\.0: install the same"
    ):
        distributed.check_same_versions(store, 0, 2)


def test_a_process_that_stands_still_is_lost_in_a_bounded_time_and_nothing_is_left(blobs, tmp_path):
    (tmp_path / "fit.py").write_text(
        "import os, signal, sys\n"
        "from coterie.cli import main\n"
        "from coterie.engine.loop import Loop\n"
        "step = Loop.run_epoch\n"
        "def stop(loop):\n"
        "    if os.environ['RANK'] == '1' and loop.epoch == 1:\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "    step(loop)\n"
        "Loop.run_epoch = stop\n"
        "main()\n"
    )
    before = set(os.listdir("/dev/shm"))
    fit = arguments("pcx", blobs, tmp_path / "run")
    said, parent = ended(2, str(tmp_path / "fit.py"), *fit, COTERIE_TIMEOUT="5")
    assert "coterie: Another process of this run was lost (" in said
    assert set(os.listdir("/dev/shm")) <= before
    assert [worker for started_by, worker in process_of_rank(1) if started_by == parent] == []
