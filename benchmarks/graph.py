"""The graph core: recall of the neighbour search, new rows, uneven classes, growth with rows, reliability."""

# n rows, k clusters

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from benchmarks.disk import write_planted
from benchmarks.records import measured, measured_apart, record_cases, seeded_cases
from benchmarks.sets import SETS, held_out, unit_tables
from coterie import GraphClustering, as_views
from coterie.data import Views
from coterie.graph import neighbours as search
from coterie.graph.model import build_graph
from coterie.metrics import accuracy

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_QUERIES = 2000
_COLUMNS = 64
_SMALLEST = 1 / 8
_LEAST_ROWS = 6


def run_neighbours(names: Sequence[str], folder: Path) -> None:
    """Recall and CPU seconds of the inverted-file index against exact search, in the metric space of the graph."""

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        views, _ = SETS[case["data"]].load(folder)
        views.check()
        rows = build_graph(views, seed=0).joined.layers[0].index.rows
        queries = np.random.default_rng(0).choice(len(rows), _QUERIES, replace=False)
        results: dict[str, Any] = {"rows": len(rows), "columns": rows.shape[1]}
        tables = {}
        for kind, exact_rows in (("exact", len(rows)), ("inverted file", 0)):
            search.EXACT_ROWS, usual = exact_rows, search.EXACT_ROWS
            try:
                started = time.process_time()
                table = search.NeighbourIndex(rows).search(rows, search.neighbour_count(len(rows))).indices
                results[f"{kind}, CPU s"] = round(time.process_time() - started, 2)
            finally:
                search.EXACT_ROWS = usual
            tables[kind] = table[queries]
        same = (tables["exact"][:, :, None] == tables["inverted file"][:, None, :]).any(axis=2)
        return {**results, "recall": round(float(same.mean()), 4)}

    record_cases("neighbours", [{"data": name} for name in names], measure)


def run_graph_rows(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC of the rows of a fit and of a held-out fifth, under the matching of the fitted rows with the classes."""

    def measure(case: dict[str, Any]) -> dict[str, float]:
        views, classes, k = _load(case, folder)
        new, fitted = held_out(views.n_rows, case["seed"])
        model = GraphClustering(k, random_state=case["seed"]).fit(views.select(fitted))
        class_of = named_clusters(model.labels_, classes[fitted], k)
        labels = {"fitted": model.labels_, "new": model.predict(views.select(new))}
        rows = {"fitted": fitted, "new": new}
        return {
            part: round(float((class_of[labels[part]] == classes[rows[part]]).mean()), 4) for part in rows
        }

    record_cases("graph-rows", seeded_cases(names, seeds), measure)


def run_graph_uneven(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC where the largest class has eight times the rows of the smallest, and ACC of k-means with ten starts."""

    def measure(case: dict[str, Any]) -> dict[str, float]:
        views, classes, k = _load(case, folder)
        rows = uneven_rows(classes, case["seed"])
        sample = views.select(rows)
        with measured() as costs:
            labels = GraphClustering(k, random_state=case["seed"]).fit(sample).labels_
        table = np.hstack(unit_tables(sample, sample.present_rows(np.arange(len(rows)))))
        kmeans = KMeans(k, n_init=10, random_state=case["seed"]).fit_predict(table)
        scores = {"accuracy": accuracy(classes[rows], labels), "k-means": accuracy(classes[rows], kmeans)}
        return {"rows": len(rows), **{name: round(score, 4) for name, score in scores.items()}, **costs}

    record_cases("graph-uneven", seeded_cases(names, seeds), measure)


def run_reliability(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """Rows, summed confidence and correct rows in each bin of confidence (a reliability diagram)."""

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        views, classes, k = _load(case, folder)
        model = GraphClustering(k, random_state=case["seed"]).fit(views)
        correct = named_clusters(model.labels_, classes, k)[model.labels_] == classes
        bin_of = np.digitize(model.confidence_, BINS[1:-1])
        bins = [
            [int(own.sum()), float(model.confidence_[own].sum()), int(correct[own].sum())]
            for own in (bin_of == b for b in range(len(BINS) - 1))
        ]
        return {"bins": bins}

    record_cases("graph-confidence", seeded_cases(names, seeds), measure)


def run_graph_growth(sizes: Sequence[int]) -> None:
    """CPU seconds, memory and ACC of a fit from disk as rows grow, each in a new process."""

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            write_planted(path, case["rows"], _COLUMNS)
            return measured_apart("-m", "benchmarks.graph", path)

    record_cases("graph-growth", [{"rows": n_rows, "columns": _COLUMNS} for n_rows in sizes], measure)


def _load(case: dict[str, Any], folder: Path) -> tuple[Views, np.ndarray, int]:
    """Return the views, the class codes and the number of classes of a case."""
    views, truth = SETS[case["data"]].load(folder)
    names, classes = np.unique(truth, return_inverse=True)
    return views, classes, len(names)


def uneven_rows(truth: np.ndarray, seed: int) -> np.ndarray:
    """Return row numbers that leave class sizes in a geometric sequence down to an eighth, in random order.

    Examples
    --------
    >>> truth = np.repeat([0, 1, 2, 3], 80)
    >>> sorted(np.bincount(truth[uneven_rows(truth, 0)]).tolist())
    [10, 20, 40, 80]
    """
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(truth))
    kept = []
    for rank, label in enumerate(classes):
        own = rng.permutation(np.flatnonzero(truth == label))
        share = _SMALLEST ** (rank / max(1, len(classes) - 1))
        kept.append(own[: max(_LEAST_ROWS, round(share * len(own)))])
    return np.sort(np.concatenate(kept))


def named_clusters(labels: np.ndarray, classes: np.ndarray, k: int) -> np.ndarray:
    """Return the class of each cluster, (k,), by the one-to-one matching under which most rows are correct."""
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (labels, classes), 1)
    return linear_sum_assignment(-counts)[1]


def _fit_file(path: str) -> None:
    rows = np.load(path, mmap_mode="r")
    with measured() as costs:
        model = GraphClustering(20, random_state=0).fit(as_views(rows))
    truth = np.arange(len(rows)) % 20
    print(json.dumps({"accuracy": round(accuracy(truth, model.labels_), 4), **costs}))


if __name__ == "__main__":
    _fit_file(sys.argv[1])
