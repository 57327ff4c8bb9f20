"""Runs that are killed with SIGKILL at random moments and started again, beside one that nobody disturbed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.records import machine, write_records
from coterie import load
from coterie.errors import InputError
from coterie.runs import Run

_SETTINGS = {"hidden": "[64]", "max_epochs": "12", "checkpoint_every": "1"}


def run_faults(kills: int, seed: int) -> None:
    """Kill `kills` runs, let each go on, and compare its labels with those of a run that nobody disturbed."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.npy"
        kinds = rng.integers(5, size=3000)
        np.save(data, (4 * rng.normal(size=(5, 16))[kinds] + rng.normal(size=(3000, 16))).astype("f4"))
        started = time.perf_counter()
        subprocess.run(_command(data, Path(folder) / "whole"), check=True)
        usual = time.perf_counter() - started
        wanted = Run(Path(folder) / "whole").labels.read_bytes()
        outcomes = [
            _kill_once(data, Run(Path(folder) / f"run-{number}"), rng.uniform(0, usual), wanted)
            for number in range(kills)
        ]
    record = {
        "kills": kills,
        "seed": seed,
        "ended_alike": sum(one["alike"] for one in outcomes),
        "killed_before_the_end": sum(one["killed"] for one in outcomes),
        "resumed_from_a_checkpoint": sum(one["checkpoint"] for one in outcomes),
        "files_wrongly_loaded": sum(one["wrong"] for one in outcomes),
        "machine": machine(),
    }
    print(record, flush=True)
    write_records("faults", [record])
    if record["ended_alike"] < kills or record["files_wrongly_loaded"]:
        sys.exit(1)


def _command(data: Path, out: Path) -> list[str]:
    settings = [part for name, value in _SETTINGS.items() for part in ("--set", f"{name}={value}")]
    fit = [sys.executable, "-m", "coterie", "fit", str(data), "--out", str(out), "-k", "5", "--quiet"]
    return [*fit, *settings, "--replace"]


def _kill_once(data: Path, run: Run, moment: float, wanted: bytes) -> dict[str, bool]:
    process = subprocess.Popen(_command(data, run.folder))
    try:
        process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    killed, checkpoint = process.returncode != 0, run.checkpoint.exists()
    wrong = any(_loads_wrongly(path) for path in run.folder.glob("*")) if run.folder.exists() else False
    subprocess.run(_command(data, run.folder), check=True)
    alike = run.labels.read_bytes() == wanted
    print(
        {"moment": round(moment, 2), "killed": killed, "checkpoint": checkpoint, "alike": alike}, flush=True
    )
    return {"killed": killed, "checkpoint": checkpoint, "wrong": wrong, "alike": alike}


def _loads_wrongly(path: Path) -> bool:
    """Whether `load` takes a file that is not the finished model."""
    try:
        load(path)
    except InputError:
        return False
    return path.name != "model.coterie"
