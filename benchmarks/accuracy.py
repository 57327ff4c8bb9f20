"""Accuracy of a method with its defaults: labels of the last epoch, classes used only to score; resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.making import make
from benchmarks.records import add_record, machine, measured, print_means, read_records
from benchmarks.sets import SETS
from coterie.methods.base import as_json
from coterie.methods.registry import find_method
from coterie.metrics import score_all

_NO_SETTINGS = {"n_clusters", "random_state", "checkpoint", "device", "verbose"}


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
    """Return the records of a method with these settings."""
    usual = settings_of(estimator, {})
    return [
        record
        for record in read_records(tag)
        if record["method"] == estimator.__name__ and has_settings(record, settings, usual)
    ]


def has_settings(record: dict[str, Any], settings: dict[str, Any], usual: dict[str, Any]) -> bool:
    """Whether a record has these settings: new ones were at the defaults, and those that are gone do not count.

    Examples
    --------
    >>> old = {"settings": {"tau": 1, "gone": 2}}
    >>> [has_settings(old, {"tau": 1, "new": value}, {"tau": 1, "new": 3}) for value in (3, 4)]
    [True, False]
    """
    return all(record["settings"].get(name, usual.get(name)) == value for name, value in settings.items())


def print_table(tag: str, estimator: Any, settings: dict[str, Any]) -> None:
    """Print the means over seeds, the baselines of the brief, and the share of clusters that have rows."""
    records = [r for r in records_of(tag, estimator, settings) if r["data"] in SETS]
    for record in records:
        data_set = SETS[record["data"]]
        record |= {"k-means": data_set.kmeans, "anchor graph": data_set.anchor, "kNN graph": data_set.knn}
    scores = {
        "ACC": lambda r: r["scores"]["accuracy"],
        "NMI": lambda r: r["scores"]["nmi"],
        "ARI": lambda r: r["scores"]["ari"],
        "clusters used": lambda r: r["used_clusters"] / r["clusters"],
        "seconds": lambda r: r["seconds"],
    }
    keys = ("data", "k-means", "anchor graph", "kNN graph")
    print_means(f"{estimator.__name__}, {tag}", records, keys, scores)
