"""A million rows on disk: memory of a fit, and its rate against that of a slice in memory."""

# n rows, D columns

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.labels import draws
from benchmarks.making import make
from benchmarks.records import is_recorded, measured, measured_apart, save_record
from coterie import FUCSMF, MVSIB, PCX, LargeMvCNet, SSCNet
from coterie.data import Views, as_views
from coterie.data.memory import into_memory
from coterie.errors import InputError
from coterie.methods.base import Clusterer
from coterie.metrics import accuracy

FILE = "disk"
_PASSES = 2
_LABELS = 10
_IN_MEMORY = 50_000


@dataclass(frozen=True)
class Case:
    """A method at this size.

    Attributes
    ----------
    make : callable
        Takes the number of clusters.
    n_clusters : int
    n_views : int
        Into which the columns are divided evenly.
    taught : bool
        Whether some rows of each cluster are labelled.
    timed : callable
        Takes the seconds of all passes and gives those of one that counts: the fastest, or of LargeMvCNet, which
        reads the rows in its first sweep and keeps what it needs of them, the slowest.
    """

    make: Callable[[int], Clusterer]
    n_clusters: int = 20
    n_views: int = 1
    taught: bool = False
    timed: Callable[[list[float]], float] = min


_RUN = {"max_epochs": _PASSES, "random_state": 0}
_TRAINED = {**_RUN, "warmup": 0.5}
CASES = {
    "PCX": Case(lambda k: make(PCX, k, **_RUN)),
    "PCX, 1000 clusters": Case(lambda k: make(PCX, k, **_RUN), n_clusters=1000),
    "LargeMvCNet": Case(lambda k: LargeMvCNet(k, n_layers=_PASSES, random_state=0), n_views=4, timed=max),
    "FUCSMF": Case(lambda k: FUCSMF(n_anchors=2000, random_state=0), taught=True),
    "SSCNet": Case(lambda k: make(SSCNet, k, **_RUN)),
    "MVSIB": Case(lambda k: make(MVSIB, k, **_TRAINED), n_views=4),
}
"""The methods, each with two passes; FUCSMF reads the rows as often as it needs to."""


def run_disk(names: Sequence[str], n_rows: int, columns: int) -> None:
    """Fit all rows from a memory-mapped file and a slice of them in memory, each in a new process."""
    check_cases(names)
    for n_clusters in sorted({CASES[name].n_clusters for name in names}):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            for name in names:
                case = {"method": name, "rows": n_rows, "columns": columns}
                if CASES[name].n_clusters != n_clusters or is_recorded(FILE, case):
                    continue
                if not path.exists():
                    write_planted(path, n_rows, columns, n_clusters)
                save_record(FILE, {**case, **_compared(path, name, n_rows)})


def check_cases(names: Sequence[str]) -> None:
    """Raise one sentence where there is no such case."""
    for name in names:
        if name not in CASES:
            raise InputError(f"There is no case {name!r}; use some of {'; '.join(CASES)}.")


def passes_of(name: str) -> int | None:
    """Return how often a case reads the rows to train; None where it is as often as needed."""
    return None if CASES[name].taught else _PASSES


def write_planted(path: Path, n_rows: int, columns: int, n_clusters: int = 20) -> None:
    """Write rows around centres, one after the other in turn, as an .npy file, a piece at a time."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(n_clusters, columns)).astype(np.float32)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, columns)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, 20_000):
            size = min(20_000, n_rows - start)
            noise = 0.5 * rng.standard_normal((size, columns), dtype=np.float32)
            file.write((centers[(start + np.arange(size)) % n_clusters] + noise).tobytes())


def _compared(path: Path, name: str, n_rows: int) -> dict[str, Any]:
    on_disk = measured_from(path, name, n_rows, "disk")
    in_memory = measured_from(path, name, min(n_rows, _IN_MEMORY), "memory")
    return {
        **on_disk,
        "passes": passes_of(name),
        "rows_in_memory": min(n_rows, _IN_MEMORY),
        "rows_per_second_in_memory": in_memory["rows_per_second"],
        "ratio": round(on_disk["rows_per_second"] / in_memory["rows_per_second"], 3),
    }


def measured_from(path: Path, name: str, n_rows: int, where: str) -> dict[str, Any]:
    """Return the costs and the score of a case on the first rows, from "disk" or "memory", measured apart."""
    return measured_apart("-m", "benchmarks.disk", path, name, n_rows, where)


def _measure(path: Path, name: str, n_rows: int, where: str) -> dict[str, Any]:
    """Fit the first rows in this process alone, so that its peak of memory is the fit's."""
    case = CASES[name]
    views, truth = _views(path, case.n_views, n_rows), np.arange(n_rows) % case.n_clusters
    if where == "memory":
        views = into_memory(views)
    y = next(draws(truth, _LABELS, 1)) if case.taught else None
    model = case.make(case.n_clusters)
    with measured() as costs:
        model.fit(views, y)
    steps = [record["seconds"] for record in getattr(model, "history_", []) if "seconds" in record]
    seconds = case.timed(steps) if steps and not case.taught else costs["seconds"]
    return {
        **costs,
        "rows_per_second": round(n_rows / seconds, 1),
        "accuracy": round(accuracy(truth, model.labels_), 4),
    }


def _views(path: Path, n_views: int, n_rows: int) -> Views:
    rows = np.load(path, mmap_mode="r")[:n_rows]
    return as_views(np.split(rows, n_views, axis=1))


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])))
