"""Seconds, memory and ACC of a fit from disk as rows grow, for each method that claims it."""

# n rows, v views

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.labels import draws
from benchmarks.records import add_record, is_recorded, machine, measured, measured_apart
from benchmarks.views import CLUSTERS, WIDTHS, write_views
from coterie import FUCSMF, MVSIB, PCX, LargeMvCNet, SSCNet, as_views
from coterie.data import Views
from coterie.errors import InputError
from coterie.metrics import accuracy

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_LABELS = 10


def _trained(method: type) -> Callable[[Views, np.ndarray, int], np.ndarray]:
    def labels(views: Views, truth: np.ndarray, epochs: int) -> np.ndarray:
        return method(CLUSTERS, max_epochs=epochs, warmup=0.5, random_state=0).fit(views).labels_

    return labels


def _swept(views: Views, truth: np.ndarray, epochs: int) -> np.ndarray:
    return LargeMvCNet(CLUSTERS, n_layers=epochs, random_state=0).fit(views).labels_


def _taught(views: Views, truth: np.ndarray, epochs: int) -> np.ndarray:
    y = next(draws(truth, _LABELS, 1))
    return FUCSMF(random_state=0).fit(views, y).labels_


FITS: dict[str, tuple[int, Callable[[Views, np.ndarray, int], np.ndarray]]] = {
    "LargeMvCNet": (len(WIDTHS), _swept),
    "FUCSMF": (1, _taught),
    "PCX": (1, _trained(PCX)),
    "SSCNet": (1, _trained(SSCNet)),
    "MVSIB": (len(WIDTHS), _trained(MVSIB)),
}
"""How many of the views each method sees, and its fit of so many epochs (sweeps; FUCSMF has neither)."""


def run_scaling(methods: Sequence[str], sizes: Sequence[int], epochs: int, tag: str = "scaling") -> None:
    """Fit each method on each number of rows that has no record yet, smallest first."""
    for method in methods:
        if method not in FITS:
            raise InputError(f"There is no method {method!r} to scale; use one of {', '.join(FITS)}.")
    for n_rows in sizes:
        cases = [{"method": method, "rows": n_rows, "epochs": epochs} for method in methods]
        todo = [case for case in cases if not is_recorded(tag, case)]
        if not todo:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_views(Path(folder), n_rows)
            for case in todo:
                found = measured_apart("-m", "benchmarks.scaling", folder, case["method"], epochs)
                add_record(tag, {**case, **found, "machine": machine()})
                print({**case, **found}, flush=True)


def _measure(folder: Path, method: str, epochs: int) -> dict[str, Any]:
    """Fit in this process alone, so that its peak of memory is the fit's."""
    n_views, fit = FITS[method]
    views = as_views([np.load(folder / f"view{v}.npy", mmap_mode="r") for v in range(n_views)])
    truth = np.arange(views.n_rows) % CLUSTERS
    with measured() as costs:
        labels = fit(views, truth, epochs)
    return {**costs, "columns": sum(views.dims), "accuracy": round(accuracy(truth, labels), 4)}


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
