"""Accuracy of a method with its defaults: labels of the last epoch, classes used only to score; resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.making import make
from benchmarks.records import add_record, machine, measured, read_records
from benchmarks.sets import SETS
from coterie.methods.base import as_json
from coterie.methods.registry import find_method
from coterie.metrics import score_all

_NO_SETTINGS = {"n_clusters", "random_state", "checkpoint", "device", "n_threads", "verbose"}


def run_accuracy(
    method: str, names: Sequence[str], seeds: Sequence[int], folder: Path, *, tag: str, params: dict[str, Any]
) -> None:
    """Fit each data set with each seed that has no record with these settings yet, and print the table."""
    estimator = find_method(method).load()
    settings = settings_of(estimator, params)
    for seed in seeds:
        for name in names:
            if any(
                (record["data"], record["seed"]) == (name, seed)
                for record in records_of(tag, estimator, settings)
            ):
                continue
            views, truth = SETS[name].load(folder)
            with measured() as costs:
                model = make(estimator, len(np.unique(truth)), random_state=seed, **params).fit(views)
            record = {
                "data": name,
                "rows": views.n_rows,
                "method": estimator.__name__,
                "params": params,
                "settings": settings,
                "seed": seed,
                "scores": {key: round(value, 4) for key, value in score_all(truth, model.labels_).items()},
                "used_clusters": int((model.cluster_sizes_ > 0).sum()),
                "clusters": model.n_clusters,
                "scale": list(model.scaler_.modes_) if hasattr(model, "scaler_") else None,
                "epochs": model.n_iter_,
                **costs,
                "machine": machine(),
            }
            add_record(tag, record)
            print(
                f"{name} seed {seed}: ACC {record['scores']['accuracy']:.3f} in {record['seconds']:.0f} s",
                flush=True,
            )
    print_table(tag, estimator, settings)


def settings_of(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a run, options and defaults included: records of other defaults are of another run."""
    whole = make(estimator, **params)._resolved()
    options = whole.pop("options", None)
    whole |= {} if options is None else options.get_params()
    return {name: as_json(name, value) for name, value in whole.items() if name not in _NO_SETTINGS}


def records_of(tag: str, estimator: Any, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a method with these settings; parameters that are gone since do not count."""

    def present(record: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in record["settings"].items() if name in settings}

    return [
        record
        for record in read_records(tag)
        if record["method"] == estimator.__name__ and present(record) == settings
    ]


def print_table(tag: str, estimator: Any, settings: dict[str, Any]) -> None:
    """Print the means over seeds and the baselines."""
    table = Table(title=f"{estimator.__name__}, {tag}")
    for column in (
        "data",
        "seeds",
        "ACC",
        "sd",
        "NMI",
        "ARI",
        "k-means",
        "anchor graph",
        "kNN graph",
        "clusters used",
        "seconds",
    ):
        table.add_column(column, justify="left" if column == "data" else "right")
    for name, data_set in SETS.items():
        runs = [r for r in records_of(tag, estimator, settings) if r["data"] == name]
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
            *(
                "" if bar is None else f"{bar:.3f}"
                for bar in (data_set.kmeans, data_set.anchor, data_set.knn)
            ),
            "all" if all(r["used_clusters"] == r["clusters"] for r in runs) else "NOT ALL",
            f"{np.mean([r['seconds'] for r in runs]):.0f}",
        )
    Console(width=120).print(table)
