"""Whether `recommend` picks a good method, and whether `choose_k` comes near the number of classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.accuracy import records_of, settings_of
from benchmarks.records import add_record, is_recorded, machine, measured, read_records, write_records
from benchmarks.sets import SETS
from coterie import choose_k, recommend
from coterie.methods.registry import METHODS

RECORDED = ("accuracy", "crossed")
"""Files with the accuracy of methods: on the data they are for, and on the others."""
_POINTS = 0.03


def mean_accuracies(data: str) -> dict[str, float]:
    """Return the recorded mean ACC on a set, over seeds, of each method with its defaults."""
    means = {}
    for method in METHODS:
        estimator = method.load()
        settings = settings_of(estimator, {})
        runs = [
            record
            for tag in RECORDED
            for record in records_of(tag, estimator, settings)
            if record["data"] == data
        ]
        if runs:
            means[method.name] = float(np.mean([record["scores"]["accuracy"] for record in runs]))
    return means


def run_choosing(names: Sequence[str], folder: Path) -> None:
    """Ask `recommend` about each set, and compare what it picks with the best method on record."""
    records = []
    for name in names:
        views, truth = SETS[name].load(folder)
        picked = recommend(views, n_clusters=len(np.unique(truth))).method
        known = mean_accuracies(name)
        best = max(known, key=lambda method: known[method])
        records.append(
            {
                "data": name,
                "picked": picked,
                "accuracy": None if picked not in known else round(known[picked], 4),
                "best": best,
                "best_accuracy": round(known[best], 4),
                "within_3_points": picked in known and known[best] - known[picked] <= _POINTS,
                "recorded": {method: round(value, 4) for method, value in known.items()},
                "machine": machine(),
            }
        )
    write_records("choosing", records)
    _print_choices(records)


def _print_choices(records: list[dict[str, Any]]) -> None:
    good = sum(record["within_3_points"] for record in records)
    table = Table(title=f"recommend: within three points of the best on {good} of {len(records)}")
    for column in ("data", "picked", "ACC", "best", "its ACC", "within"):
        table.add_column(column)
    for record in records:
        mine = "not on record" if record["accuracy"] is None else f"{record['accuracy']:.3f}"
        within = "yes" if record["within_3_points"] else "NO"
        table.add_row(
            record["data"], record["picked"], mine, record["best"], f"{record['best_accuracy']:.3f}", within
        )
    Console(width=100).print(table)


def run_counting(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """Ask `choose_k` about each set; resumable."""
    for name in names:
        for seed in seeds:
            if is_recorded("counting", {"data": name, "seed": seed}):
                continue
            views, truth = SETS[name].load(folder)
            with measured() as costs:
                choice = choose_k(views, random_state=seed)
            by = {
                figure: max(choice.figures, key=lambda candidate, figure=figure: getattr(candidate, figure)).k
                for figure in ("stability", "modularity", "drop")
            }
            record = {
                "data": name,
                "seed": seed,
                "classes": len(np.unique(truth)),
                "k": choice.k,
                "near": list(choice.near),
                "clear": choice.clear,
                "alone": by,
                **choice.as_values(),
                **costs,
                "machine": machine(),
            }
            add_record("counting", record)
            print(f"{name}: {choice.sentence}", flush=True)
    _print_counts(read_records("counting"))


def off_by(k: int, classes: int) -> float:
    """Return by how many doublings a number is off.

    Examples
    --------
    >>> off_by(20, 10), off_by(5, 10)
    (1.0, 1.0)
    """
    return float(abs(np.log2(k / classes)))


def _print_counts(records: list[dict[str, Any]]) -> None:
    table = Table(title="choose_k, and what each figure alone would have chosen")
    names = ("stability", "modularity", "drop")
    for column in ("data", "seed", "classes", "chosen", "clear", "about as good", *names):
        table.add_column(column)
    for record in records:
        alone = [str(record["alone"][name]) for name in names]
        near = " ".join(map(str, record["near"]))
        clear = "yes" if record["clear"] else "no"
        table.add_row(
            record["data"], str(record["seed"]), str(record["classes"]), str(record["k"]), clear, near, *alone
        )
    chosen = np.mean([off_by(record["k"], record["classes"]) for record in records])
    others = [
        np.mean([off_by(record["alone"][name], record["classes"]) for record in records]) for name in names
    ]
    table.add_row("doublings off", "", "", f"{chosen:.2f}", "", "", *(f"{value:.2f}" for value in others))
    Console(width=120).print(table)
