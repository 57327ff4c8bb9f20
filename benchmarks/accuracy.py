"""Accuracy of PCX with its defaults: last epoch, no label used but to score; resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.records import machine, measured, read_records, write_records
from benchmarks.sets import SETS
from coterie import PCX
from coterie.methods.base import as_json
from coterie.metrics import score_all

_NO_SETTINGS = {
    "n_clusters",
    "random_state",
    "checkpoint",
    "checkpoint_every",
    "device",
    "n_threads",
    "verbose",
}


def run_accuracy(
    names: Sequence[str], seeds: Sequence[int], folder: Path, *, tag: str, params: dict[str, Any]
) -> None:
    """Fit each data set with each seed that has no record with these settings yet, and print the table."""
    settings = settings_of(params)
    for name in names:
        views, truth = SETS[name].load(folder)
        for seed in seeds:
            records = read_records(tag)
            if any((one["data"], one["seed"], one["settings"]) == (name, seed, settings) for one in records):
                continue
            with measured() as costs:
                model = PCX(len(np.unique(truth)), random_state=seed, **params).fit(views)
            record = {
                "data": name,
                "rows": views.n_rows,
                "method": "PCX",
                "params": params,
                "settings": settings,
                "seed": seed,
                "scores": {key: round(value, 4) for key, value in score_all(truth, model.labels_).items()},
                "used_clusters": int((model.cluster_sizes_ > 0).sum()),
                "clusters": model.n_clusters,
                "metric": [model.metric_.kind, model.metric_.n_axes],
                "epochs": model.n_iter_,
                **costs,
                "machine": machine(),
            }
            write_records(tag, [*records, record])
            print(
                f"{name} seed {seed}: ACC {record['scores']['accuracy']:.3f} in {record['seconds']:.0f} s",
                flush=True,
            )
    print_table(tag, settings)


def settings_of(params: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a run, defaults included: records of other defaults are of another run."""
    whole = PCX(**params).get_params()
    return {name: as_json(name, value) for name, value in whole.items() if name not in _NO_SETTINGS}


def print_table(tag: str, settings: dict[str, Any]) -> None:
    """Print the means over seeds beside the baselines."""
    table = Table(title=f"PCX, {tag}")
    for column in (
        "data",
        "seeds",
        "ACC",
        "sd",
        "NMI",
        "ARI",
        "k-means",
        "graph",
        "clusters used",
        "seconds",
    ):
        table.add_column(column, justify="left" if column == "data" else "right")
    for name, one in SETS.items():
        runs = [r for r in read_records(tag) if r["data"] == name and r["settings"] == settings]
        if not runs:
            continue
        scores = {key: [r["scores"][key] for r in runs] for key in ("accuracy", "nmi", "ari")}
        table.add_row(
            name,
            str(len(runs)),
            f"{np.mean(scores['accuracy']):.3f}",
            f"{np.std(scores['accuracy']):.3f}",
            f"{np.mean(scores['nmi']):.3f}",
            f"{np.mean(scores['ari']):.3f}",
            f"{one.kmeans:.3f}",
            "" if one.graph is None else f"{one.graph:.3f}",
            "all" if all(r["used_clusters"] == r["clusters"] for r in runs) else "NOT ALL",
            f"{np.mean([r['seconds'] for r in runs]):.0f}",
        )
    Console().print(table)
