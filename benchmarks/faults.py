"""Runs that are killed at random moments (SIGKILL) and resumed, compared with an undisturbed run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.records import machine, read_records, write_records
from coterie import load
from coterie.errors import InputError
from coterie.methods.registry import find_method
from coterie.runs import Run

FILE = "faults"
_SETTINGS = {"max_epochs": "40"}
_ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
_OWN = {"pcx": {"hidden": "[64]"}, "sscnet": {"n_atoms": "32"}, "mvsib": {"hidden": "[64]"}}
"""Settings of the methods that train, small enough for a run of seconds."""


def run_faults(method: str, kills: int, seed: int) -> None:
    """Kill `kills` runs, resume each, and compare its labels with those of an undisturbed run."""
    if method not in _OWN:
        raise InputError(f"{method!r} has no checkpoints to go on from; use one of {', '.join(_OWN)}.")
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.npy"
        kinds = rng.integers(5, size=3000)
        np.save(data, (4 * rng.normal(size=(5, 16))[kinds] + rng.normal(size=(3000, 16))).astype("f4"))
        started = time.perf_counter()
        subprocess.run(_command(method, data, Path(folder) / "whole"), check=True, env=_ONE_THREAD)
        usual = time.perf_counter() - started
        wanted = Run(Path(folder) / "whole").labels.read_bytes()
        outcomes = [
            _kill_once(method, data, Run(Path(folder) / f"run-{number}"), rng.uniform(0, usual), wanted)
            for number in range(kills)
        ]
    record = {
        "method": find_method(method).name,
        "kills": kills,
        "seed": seed,
        "ended_alike": sum(outcome["alike"] for outcome in outcomes),
        "killed_before_the_end": sum(outcome["killed"] for outcome in outcomes),
        "resumed_from_a_checkpoint": sum(outcome["checkpoint"] for outcome in outcomes),
        "files_wrongly_loaded": sum(outcome["wrong"] for outcome in outcomes),
        "machine": machine(),
    }
    print(record, flush=True)
    write_records(FILE, [*(old for old in read_records(FILE) if old["method"] != record["method"]), record])
    if record["ended_alike"] < kills or record["files_wrongly_loaded"]:
        sys.exit(1)


def _command(method: str, data: Path, out: Path) -> list[str]:
    chosen = _SETTINGS | _OWN[method]
    settings = [part for name, value in chosen.items() for part in ("--set", f"{name}={value}")]
    fit = [
        sys.executable,
        "-m",
        "coterie",
        "fit",
        str(data),
        "--method",
        method,
        "--out",
        str(out),
        "-k",
        "5",
        "--quiet",
    ]
    return [*fit, *settings, "--replace"]


def _kill_once(method: str, data: Path, run: Run, moment: float, wanted: bytes) -> dict[str, bool]:
    process = subprocess.Popen(_command(method, data, run.folder), env=_ONE_THREAD)
    try:
        process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    killed, checkpoint = process.returncode != 0, run.checkpoint.exists()
    wrong = any(_loads_wrongly(path) for path in run.folder.glob("*")) if run.folder.exists() else False
    subprocess.run(_command(method, data, run.folder), check=True, env=_ONE_THREAD)
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
