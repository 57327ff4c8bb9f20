"""The graph core: recall of the neighbour search, new rows, growth with rows, and whether its confidence holds."""

# n rows, k clusters

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from benchmarks.disk import write_planted
from benchmarks.records import add_record, is_recorded, machine, measured, measured_apart
from benchmarks.sets import SETS, unit_tables
from coterie import GraphClustering, as_views
from coterie.graph import neighbours as search
from coterie.graph.model import N_NEIGHBORS, build_graph
from coterie.metrics import accuracy

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_QUERIES = 2000
_HELD_OUT = 0.2
_COLUMNS = 64
_SMALLEST = 1 / 8
_LEAST_ROWS = 6


def run_neighbours(names: Sequence[str], folder: Path) -> None:
    """Recall and seconds of the inverted-file index beside exact search, on rows as they are compared."""
    for name in names:
        if is_recorded("neighbours", {"data": name}):
            continue
        views, _ = SETS[name].load(folder)
        views.check()
        rows = build_graph(views, seed=0).joined.layers[0].index.rows
        queries = np.random.default_rng(0).choice(len(rows), _QUERIES, replace=False)
        record: dict[str, object] = {"data": name, "rows": len(rows), "columns": rows.shape[1]}
        found = {}
        for kind, exact in (("exact", len(rows)), ("inverted file", 0)):
            search.EXACT_ROWS, usual = exact, search.EXACT_ROWS
            try:
                started = time.process_time()
                index = search.NeighbourIndex(rows)
                every = index.search(rows, N_NEIGHBORS).indices
                record[f"{kind}, CPU s"] = round(time.process_time() - started, 2)
            finally:
                search.EXACT_ROWS = usual
            found[kind] = every[queries]
        same = (found["exact"][:, :, None] == found["inverted file"][:, None, :]).any(axis=2)
        add_record("neighbours", {**record, "recall": round(float(same.mean()), 4), "machine": machine()})
        print(record, "recall", same.mean(), flush=True)


def run_graph_rows(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC of the rows of a fit and of a fifth that was held out, with the clusters named by the former."""
    for name in names:
        views, truth = SETS[name].load(folder)
        k = len(np.unique(truth))
        classes = np.unique(truth, return_inverse=True)[1]
        for seed in seeds:
            case = {"data": name, "seed": seed}
            if is_recorded("graph-rows", case):
                continue
            order = np.random.default_rng(seed).permutation(views.n_rows)
            n_new = int(_HELD_OUT * views.n_rows)
            new, old = np.sort(order[:n_new]), np.sort(order[n_new:])
            model = GraphClustering(k, random_state=seed).fit(views.select(old))
            named = named_clusters(model.labels_, classes[old], k)
            scores = {
                "fitted": float((named[model.labels_] == classes[old]).mean()),
                "new": float((named[model.predict(views.select(new))] == classes[new]).mean()),
            }
            record = {**case, **{key: round(value, 4) for key, value in scores.items()}}
            add_record("graph-rows", {**record, "machine": machine()})
            print(record, flush=True)


def run_graph_uneven(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC where the largest class has eight times the rows of the smallest, beside k-means with ten starts."""
    for name in names:
        views, truth = SETS[name].load(folder)
        for seed in seeds:
            case = {"data": name, "seed": seed}
            if is_recorded("graph-uneven", case):
                continue
            rows = uneven_rows(truth, seed)
            k, few, classes = len(np.unique(truth)), views.select(rows), np.asarray(truth)[rows]
            with measured() as costs:
                labels = GraphClustering(k, random_state=seed).fit(few).labels_
            table = np.hstack(unit_tables(few, few.present_rows(np.arange(len(rows)))))
            means = KMeans(k, n_init=10, random_state=seed).fit_predict(table)
            scores = {"accuracy": accuracy(classes, labels), "k-means": accuracy(classes, means)}
            record = {**case, "rows": len(rows), **{key: round(value, 4) for key, value in scores.items()}}
            add_record("graph-uneven", {**record, **costs, "machine": machine()})
            print(record, flush=True)


def uneven_rows(truth: np.ndarray, seed: int) -> np.ndarray:
    """Return row numbers that leave class sizes falling geometrically to an eighth, in a random order of classes.

    Examples
    --------
    >>> truth = np.repeat([0, 1, 2, 3], 80)
    >>> sorted(np.bincount(truth[uneven_rows(truth, 0)]).tolist())
    [10, 20, 40, 80]
    """
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(truth))
    kept = []
    for place, one in enumerate(classes):
        own = rng.permutation(np.flatnonzero(truth == one))
        share = _SMALLEST ** (place / max(1, len(classes) - 1))
        kept.append(own[: max(_LEAST_ROWS, round(share * len(own)))])
    return np.sort(np.concatenate(kept))


def named_clusters(labels: np.ndarray, classes: np.ndarray, k: int) -> np.ndarray:
    """Return the class of each cluster, (k,), so that most rows are right."""
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (labels, classes), 1)
    return linear_sum_assignment(-counts)[1]


def run_graph_growth(sizes: Sequence[int]) -> None:
    """CPU seconds, memory and ACC of a fit from disk as rows grow, each in a process of its own."""
    for n_rows in sizes:
        case = {"rows": n_rows, "columns": _COLUMNS}
        if is_recorded("graph-growth", case):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            write_planted(path, n_rows, _COLUMNS)
            found = measured_apart("-m", "benchmarks.graph", path)
        add_record("graph-growth", {**case, **found, "machine": machine()})
        print({**case, **found}, flush=True)


def run_reliability(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """How many rows are right at each level of confidence."""
    for name in names:
        views, truth = SETS[name].load(folder)
        k = len(np.unique(truth))
        classes = np.unique(truth, return_inverse=True)[1]
        for seed in seeds:
            case = {"data": name, "seed": seed}
            if is_recorded("graph-confidence", case):
                continue
            model = GraphClustering(k, random_state=seed).fit(views)
            right = named_clusters(model.labels_, classes, k)[model.labels_] == classes
            place = np.digitize(model.confidence_, BINS[1:-1])
            bins = [
                [int(own.sum()), float(model.confidence_[own].sum()), int(right[own].sum())]
                for own in (place == b for b in range(len(BINS) - 1))
            ]
            add_record("graph-confidence", {**case, "bins": bins, "machine": machine()})
            print(case, bins, flush=True)


def _one_size(path: str) -> None:
    rows = np.load(path, mmap_mode="r")
    with measured() as costs:
        model = GraphClustering(20, random_state=0).fit(as_views(rows))
    truth = np.arange(len(rows)) % 20
    print(json.dumps({"accuracy": round(accuracy(truth, model.labels_), 4), **costs}))


if __name__ == "__main__":
    _one_size(sys.argv[1])
