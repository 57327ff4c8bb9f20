"""Seconds, memory and ACC of a fit from disk as rows grow: the cases of `disk` at up to 300,000 rows."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.disk import CASES, check_cases, measured_from, passes_of, write_planted
from benchmarks.records import record_cases

FILE = "scaling"
SIZES = (10_000, 30_000, 100_000, 300_000)
METHODS = tuple(name for name, case in CASES.items() if case.n_clusters <= 20)
"""The cases that ten thousand rows can hold."""


def run_scaling(names: Sequence[str], sizes: Sequence[int], columns: int) -> None:
    """Fit each case on each number of rows that has no record yet, smallest first."""
    check_cases(names)

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        name, n_rows = case["method"], case["rows"]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            write_planted(path, n_rows, columns, CASES[name].n_clusters)
            return {"passes": passes_of(name), **measured_from(path, name, n_rows, "disk")}

    cases = [{"method": name, "rows": n_rows, "columns": columns} for n_rows in sizes for name in names]
    record_cases(FILE, cases, measure)
