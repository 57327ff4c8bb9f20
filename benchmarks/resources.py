"""What `coterie fit` said it would need, against what it needed: seconds of one core, peak memory, disk.

The constants of the estimate are fitted to one half of the sets and checked on the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.records import read_records, record_cases
from benchmarks.sets import SETS
from coterie.methods.graph_clustering.resources import (
    DISK,
    MEMORY,
    SECONDS,
    Size,
    disk_terms,
    memory_terms,
    second_terms,
    total,
)

FITTED = ("digits", "leaves100", "prokaryotic", "har-561", "letter-20k")
CHECKED = ("msrc_v1", "coil20", "usps", "hdigit", "mnist-10k")
GROWN_FITTED = (30_000, 1_000_000)
_TERMS: dict[str, Callable[[Size], dict[str, float]]] = {
    "cpu_seconds": second_terms,
    "peak_bytes": memory_terms,
    "disk_bytes": disk_terms,
}


def run_resources(folder: Path) -> None:
    """Measure every set, and print the constants that the fitted half gives with the ratios on both halves."""

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        views, truth = SETS[case["data"]].load(folder)
        with tempfile.TemporaryDirectory() as place:
            data = Path(place) / "rows"
            if views.n_views == 1:
                np.save(data.with_suffix(".npy"), views.read(slice(None))[0])
                data = data.with_suffix(".npy")
            else:
                data.mkdir()
                for v, block in enumerate(views.read(slice(None))):
                    np.save(data / f"view{v}.npy", block)
            clusters = str(len(np.unique(truth)))
            return {"rows": views.n_rows, "columns": list(views.dims)} | _fit(data, clusters)

    record_cases("resources", [{"data": name} for name in (*FITTED, *CHECKED)], measure)
    print(json.dumps(constants(), indent=1))
    for record in [*read_records("resources"), *grown()]:
        half = "fitted" if record["data"] in FITTED or record["rows"] in GROWN_FITTED else "checked"
        print(record["data"], half, ratios(record))


def _fit(data: Path, clusters: str) -> dict[str, float]:
    """Run `coterie fit` in a process of its own, and return what it took."""
    out = data.parent / "run"
    command = [
        sys.executable,
        "-m",
        "coterie",
        "fit",
        str(data),
        "-k",
        clusters,
        "--out",
        str(out),
        "--quiet",
    ]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    disk = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return {
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_bytes": 1024 * used.ru_maxrss,
        "disk_bytes": disk,
    }


def size_of(record: dict[str, Any]) -> Size:
    """Return the size of a measured fit."""
    return Size(record["rows"], record["columns"], in_memory="disk_bytes" in record)


def grown() -> list[dict[str, Any]]:
    """Return the records of planted rows up to a million, read from disk by the library."""
    return [
        {
            "data": f"{record['rows']:,} planted rows",
            "rows": record["rows"],
            "columns": [record["columns"]],
            "cpu_seconds": record["cpu_seconds"],
            "peak_bytes": record["peak_mb"] * 2**20,
        }
        for record in read_records("graph-growth")
    ]


def terms_of(figure: str, record: dict[str, Any]) -> dict[str, float]:
    """Return what a figure of a record grows with; planted rows were timed without the start of the program."""
    planted = "disk_bytes" not in record
    terms = _TERMS[figure](size_of(record))
    return terms | ({"start": 0.0} if planted and figure == "cpu_seconds" else {})


def constants() -> dict[str, dict[str, float]]:
    """Return the constants with the least relative errors on the fitted half, none below zero."""
    records = [record for record in read_records("resources") if record["data"] in FITTED]
    planted = [record for record in grown() if record["rows"] in GROWN_FITTED]
    found = {}
    for figure in _TERMS:
        chosen = [record for record in [*records, *planted] if figure in record]
        table = np.array([list(terms_of(figure, record).values()) for record in chosen])
        wanted = np.array([record[figure] for record in chosen])
        scale = np.maximum(table.max(axis=0), 1)
        weights = nnls(table / scale / wanted[:, None], np.ones(len(chosen)))[0] / scale
        names = terms_of(figure, chosen[0])
        found[figure] = {name: float(f"{w:.3g}") for name, w in zip(names, weights, strict=True) if w}
    return found


def ratios(record: dict[str, Any]) -> dict[str, float]:
    """Return what was said over what was measured."""
    known = dict(zip(_TERMS, (SECONDS, MEMORY, DISK), strict=True))
    return {
        figure: round(total(known[figure], terms_of(figure, record)) / record[figure], 2)
        for figure in _TERMS
        if figure in record
    }
