"""Results as JSON lines: one file per question, one record per run, written after every run so that work can resume.

A record names its commit and its machine, which `machines.jsonl` describes with its versions.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from coterie.store import atomic_path, versions

RESULTS = Path(__file__).parent / "results"
_MACHINES = "machines"


def read_records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file with their machines; none where there is no file yet."""
    machines = {block.pop("id"): block for block in _lines(_MACHINES)}
    records = []
    for line in _lines(name):
        block = {**machines[line.pop("machine")], "commit": line.pop("commit")}
        records.append({**line, "machine": block})
    return records


def write_records(name: str, records: list[dict[str, Any]]) -> None:
    """Write all the records of a file."""
    _write_lines(name, [_line(record) for record in records])


def add_record(name: str, record: dict[str, Any]) -> None:
    """Add one record to a file; several processes may do so at once."""
    line = json.dumps(_line(record)) + "\n"
    with _locked(name), (RESULTS / f"{name}.jsonl").open("a") as file:
        file.write(line)


def _line(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as it is stored: its commit, and the id of its machine."""
    block = dict(record["machine"])
    results = {key: value for key, value in record.items() if key != "machine"}
    return {**results, "commit": block.pop("commit"), "machine": _machine_id(block)}


def save_record(name: str, record: dict[str, Any]) -> None:
    """Add a record of this machine to a file, and print it."""
    add_record(name, {**record, "machine": machine()})
    print({key: value for key, value in record.items() if key != "settings"}, flush=True)


def record_cases(
    name: str, cases: Iterable[dict[str, Any]], measure: Callable[[dict[str, Any]], Mapping[str, Any]]
) -> None:
    """Measure each case that a file has no record of, and save the case with what was measured."""
    for case in cases:
        if not is_recorded(name, case):
            save_record(name, {**case, **measure(case)})


def seeded_cases(names: Iterable[str], seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Return a case for each data set and seed.

    Examples
    --------
    >>> seeded_cases(["usps"], range(2))
    [{'data': 'usps', 'seed': 0}, {'data': 'usps', 'seed': 1}]
    """
    return [{"data": name, "seed": seed} for name in names for seed in seeds]


def print_means(
    title: str,
    records: Iterable[dict[str, Any]],
    keys: Iterable[str],
    scores: Mapping[str, Callable[[dict[str, Any]], float]],
) -> None:
    """Print a table of the means (and standard deviations) of scores over the records that agree in some keys."""
    from rich.console import Console
    from rich.table import Table

    keys, groups = tuple(keys), {}
    for record in records:
        groups.setdefault(tuple(str(record[key]) for key in keys), []).append(record)
    table = Table(*keys, "runs", *scores, title=title)
    for case, runs in groups.items():
        columns = [[score(record) for record in runs] for score in scores.values()]
        cells = [f"{statistics.fmean(column):.3f} ({statistics.pstdev(column):.3f})" for column in columns]
        table.add_row(*case, str(len(runs)), *cells)
    Console(width=140).print(table)


def _machine_id(block: dict[str, Any]) -> str:
    """Return the id of a machine, which is written down if it is new."""
    name = hashlib.sha256(json.dumps(block, sort_keys=True).encode()).hexdigest()[:8]
    with _locked(_MACHINES):
        known = _lines(_MACHINES)
        if all(line["id"] != name for line in known):
            _write_lines(_MACHINES, [*known, {"id": name, **block}])
    return name


def _lines(name: str) -> list[dict[str, Any]]:
    path = RESULTS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _write_lines(name: str, lines: list[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with atomic_path(RESULTS / f"{name}.jsonl") as draft:
        draft.write_text("".join(json.dumps(line) + "\n" for line in lines))


@contextmanager
def _locked(name: str) -> Iterator[None]:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_recorded(name: str, case: dict[str, Any]) -> bool:
    """Return whether a file has a record of this case."""
    return any(case.items() <= record.items() for record in read_records(name))


def measured_apart(*arguments: object, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the JSON that Python prints with these arguments, run in a new process for its own peak memory."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> dict[str, Any]:
    """Return the hardware, versions and commit that a figure depends on."""
    import torch  # here, for the workers of the fuzzing do without it

    return {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "versions": {**versions(), **_peer_versions()},
        "commit": commit(),
    }


_PACKAGES = (
    "clustpy", "evoc", "fast-hdbscan", "imml", "igraph", "leidenalg", "mofapy2", "numba", "pacmap", "pynndescent",
    "umap-learn",
)  # fmt: skip


def _peer_versions() -> dict[str, str]:
    installed = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def commit() -> str:
    """Return the commit of this checkout, "unknown" where there is none; "+" marks changes since."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--abbrev=7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Fill a mapping with the seconds, the CPU seconds and the peak memory of the block."""
    costs: dict[str, float] = {}
    with suppress(OSError):  # resets the peak; some containers forbid it
        Path("/proc/self/clear_refs").write_text("5")
    wall, cpu = time.perf_counter(), time.process_time()
    yield costs
    costs["seconds"] = round(time.perf_counter() - wall, 2)
    costs["cpu_seconds"] = round(time.process_time() - cpu, 2)
    costs["peak_mb"] = peak_mb()


def peak_mb(process: int | str = "self") -> float:
    """Return the peak resident memory of a process in MB, from /proc: getrusage's figure is inherited over exec."""
    status = Path("/proc") / str(process) / "status"
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise OSError(f"{status} has no VmHWM")
