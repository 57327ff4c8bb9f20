"""Fuzzing of every reader with damaged files: outcomes and faults; resumable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzzing.targets import TARGETS
from benchmarks.records import machine, read_records, write_records
from coterie.errors import InputError

FILE = "fuzz"
Outcome = dict[str, Any]


def run_fuzz(readers: Sequence[str], inputs: int, seed: int) -> None:
    """Give each reader its share of the inputs in a new process, and record the outcomes."""
    for name in readers:
        if name not in TARGETS:
            raise InputError(f"There is no reader {name!r} to fuzz; use some of {', '.join(TARGETS)}.")
    for name in readers:
        stop = inputs * TARGETS[name].share // 100
        for outcome in outcomes(name, seed, _done(name, seed), stop):
            _record(name, seed, outcome)
        print({key: value for key, value in _found(name, seed).items() if key != "machine"}, flush=True)
    if any(record["faults"] for record in read_records(FILE)):
        sys.exit(1)


def outcomes(name: str, seed: int, start: int, stop: int) -> Iterator[Outcome]:
    """Yield the outcomes of every hundred inputs; an input that kills or stops its process is a fault."""
    deaths: dict[int, str] = {}
    with tempfile.NamedTemporaryFile() as progress:
        while start < stop:
            skipped = json.dumps([*deaths])
            given = [name, seed, start, stop, skipped, progress.name]
            command = [sys.executable, "-m", "benchmarks.fuzzing.worker", *map(str, given)]
            quiet = {"MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
            worker = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **quiet},
            )
            assert worker.stdout is not None
            assert worker.stderr is not None
            for line in worker.stdout:
                outcome = json.loads(line)
                here = [number for number in deaths if start <= number < outcome["until"]]
                outcome["faults"] += [{"number": number, "what": deaths[number]} for number in here]
                start = outcome["until"]
                yield outcome
            errors = worker.stderr.read()
            if worker.wait() and start < stop:
                at = Path(progress.name).read_bytes().strip()
                if not at or int(at) in deaths:
                    raise RuntimeError(f"the worker of {name} cannot start: {errors[-2000:]}")
                deaths[int(at)] = f"the process ended with code {worker.returncode}"


def _found(name: str, seed: int) -> Outcome:
    records = [record for record in read_records(FILE) if (record["reader"], record["seed"]) == (name, seed)]
    return records[0] if records else {}


def _done(name: str, seed: int) -> int:
    return _found(name, seed).get("inputs", 0)


def _record(name: str, seed: int, outcome: Outcome) -> None:
    """Add outcomes to the record of a reader."""
    old = _found(name, seed)
    larger = outcome if outcome["most_bytes"] > old.get("most_bytes", -1) else old
    new = {
        "reader": name,
        "seed": seed,
        "inputs": outcome["until"],
        "read": old.get("read", 0) + outcome["read"],
        "refused": old.get("refused", 0) + outcome["refused"],
        "faults": old.get("faults", []) + outcome["faults"],
        "most_bytes": larger["most_bytes"],
        "bytes_there": larger["bytes_there"],
        "most_seconds": max(old.get("most_seconds", 0.0), outcome["most_seconds"]),
        "machine": machine(),
    }
    write_records(
        FILE, [*(record for record in read_records(FILE) if record is not old and record != old), new]
    )
