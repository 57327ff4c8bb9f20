"""Results as JSON lines: one file a question, one record a run, written after every run so that work can go on.

A record names its commit and its machine; what is known of a machine, with versions, is in `machines.jsonl`, once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from coterie.store import atomic_path, versions

RESULTS = Path(__file__).parent / "results"
_MACHINES = "machines"


def read_records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file, with what is known of their machines; none where there is no file yet."""
    machines = {one.pop("id"): one for one in _lines(_MACHINES)}
    found = []
    for one in _lines(name):
        block = {**machines[one.pop("machine")], "commit": one.pop("commit")}
        found.append({**one, "machine": block})
    return found


def write_records(name: str, records: list[dict[str, Any]]) -> None:
    """Write all the records of a file."""
    lines = []
    for record in records:
        block = dict(record["machine"])
        one = {key: value for key, value in record.items() if key != "machine"}
        lines.append({**one, "commit": block.pop("commit"), "machine": _machine_id(block)})
    _write_lines(name, lines)


def add_record(name: str, record: dict[str, Any]) -> None:
    """Add one record to a file; several processes may do so at once."""
    with _locked(name):
        write_records(name, [*read_records(name), record])


def _machine_id(block: dict[str, Any]) -> str:
    """Return what records call a machine, which is noted if it is new."""
    name = hashlib.sha256(json.dumps(block, sort_keys=True).encode()).hexdigest()[:8]
    with _locked(_MACHINES):
        known = _lines(_MACHINES)
        if all(one["id"] != name for one in known):
            _write_lines(_MACHINES, [*known, {"id": name, **block}])
    return name


def _lines(name: str) -> list[dict[str, Any]]:
    path = RESULTS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _write_lines(name: str, lines: list[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with atomic_path(RESULTS / f"{name}.jsonl") as draft:
        draft.write_text("".join(json.dumps(one) + "\n" for one in lines))


@contextmanager
def _locked(name: str) -> Iterator[None]:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_recorded(name: str, case: dict[str, Any]) -> bool:
    """Say whether a file has a record of this case."""
    return any(case.items() <= one.items() for one in read_records(name))


def measured_apart(*arguments: object, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run Python with these arguments in a process of its own, whose peak of memory is its own; return its JSON."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> dict[str, Any]:
    """Return what a figure depends on beside the code."""
    import torch  # here, for the workers of the fuzzing, which do without

    return {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "versions": {**versions(), **_peer_versions()},
        "commit": commit(),
    }


def _peer_versions() -> dict[str, str]:
    found = {}
    for package in ("clustpy", "imml"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def commit() -> str:
    """Return the commit of this checkout, "unknown" where there is none; "+" marks changes since."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--abbrev=7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Fill a mapping with the seconds, the CPU seconds and the peak memory of the block."""
    costs: dict[str, float] = {}
    with suppress(OSError):  # the peak so far is forgotten; some containers forbid it
        Path("/proc/self/clear_refs").write_text("5")
    wall, cpu = time.perf_counter(), time.process_time()
    yield costs
    costs["seconds"] = round(time.perf_counter() - wall, 2)
    costs["cpu_seconds"] = round(time.process_time() - cpu, 2)
    costs["peak_mb"] = peak_mb()


def peak_mb(process: int | str = "self") -> float:
    """Return the most memory a process has had resident, in MB.

    From /proc: getrusage's figure survives exec, so a child would report what its parent had.
    """
    status = Path("/proc") / str(process) / "status"
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise OSError(f"{status} has no VmHWM")
