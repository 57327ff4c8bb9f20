"""Seconds, memory and ACC of a fit from disk as rows grow: the cases of `disk` at fewer rows than a million."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.disk import CASES, check_cases, measured_from, passes_of, write_planted
from benchmarks.records import add_record, is_recorded, machine

FILE = "scaling"
SIZES = (10_000, 30_000, 100_000, 300_000)
METHODS = tuple(name for name, case in CASES.items() if case.n_clusters <= 20)
"""The cases that ten thousand rows can hold."""


def run_scaling(names: Sequence[str], sizes: Sequence[int], columns: int) -> None:
    """Fit each case on each number of rows that has no record yet, smallest first."""
    check_cases(names)
    for n_rows in sizes:
        cases = [{"method": name, "rows": n_rows, "columns": columns} for name in names]
        for case in [one for one in cases if not is_recorded(FILE, one)]:
            with tempfile.TemporaryDirectory() as folder:
                path, name = Path(folder) / "rows.npy", case["method"]
                write_planted(path, n_rows, columns, CASES[name].n_clusters)
                found = {"passes": passes_of(name), **measured_from(path, name, n_rows, "disk")}
            add_record(FILE, {**case, **found, "machine": machine()})
            print({**case, **found}, flush=True)
