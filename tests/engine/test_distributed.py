"""Real processes: what torchrun starts gives the clusters of one process."""

import json
import subprocess
import sys

import numpy as np
import pytest

from coterie.cli import run

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


def together(n, *given):
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n), "-m", "coterie"]
    return subprocess.run([*launch, *given], capture_output=True, text=True, timeout=300)


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
