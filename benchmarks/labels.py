"""FUCSMF with few labels, against scikit-learn's LabelSpreading and the harmonic solution."""

# n rows, m anchors, c classes

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelSpreading

from benchmarks.making import make
from benchmarks.records import add_record, is_recorded, machine, measured, read_records
from benchmarks.sets import SETS
from coterie import FUCSMF
from coterie.graph.scaling import fit_table_scaler
from coterie.methods.fucsmf.problem import AnchorGraph

COUNTS = (1, 5, 10, 0.3)
_DENSE_ROWS = 3000


def run_labels(names: Sequence[str], n_draws: int, folder: Path, *, tag: str, params: dict[str, Any]) -> None:
    """Accuracy on unlabelled rows, plain: the classes have names, nothing is matched."""
    for name in names:
        views, truth = SETS[name].load(folder)
        classes = np.unique(truth, return_inverse=True)[1]
        peers: dict[str, Callable[[np.ndarray], np.ndarray]] | None = None
        model = make(FUCSMF, random_state=0, **params)
        for count in COUNTS:
            case = {"data": name, "labels": count, "draws": n_draws, "params": params}
            if is_recorded(tag, case):
                continue
            if peers is None:
                peers = _spreading(fit_table_scaler(views, "auto").transform(views.read(slice(None)))[0])
            scores: dict[str, list[float]] = {}
            with measured() as costs:
                for y in draws(classes, count, n_draws):
                    free = y < 0
                    model = model.relabel(y) if hasattr(model, "labels_") else model.fit(views, y)
                    answers = {"FUCSMF": model.labels_, "harmonic": harmonic(model._graph, y)}
                    answers |= {peer: answer(y) for peer, answer in peers.items()}
                    for method, labels in answers.items():
                        scores.setdefault(method, []).append(float(np.mean(labels[free] == classes[free])))
            record = {
                **case,
                "rows": views.n_rows,
                "anchors": model.anchors_.counts,
                "metric": [part.space.kind for part in model.anchors_.parts],
                "accuracy": {key: round(float(np.mean(values)), 4) for key, values in scores.items()},
                "deviation": {key: round(float(np.std(values)), 4) for key, values in scores.items()},
                "gradient": model.gradient_,
                **costs,
                "machine": machine(),
            }
            add_record(tag, record)
            print(name, count, record["accuracy"], flush=True)
    print_labels(tag)


def draws(classes: np.ndarray, count: float, n_draws: int) -> Iterator[np.ndarray]:
    """Yield labels of so many rows a class, or of this share of each class; at least one row of each stays free."""
    for draw in range(n_draws):
        rng = np.random.default_rng([draw, int(100 * count)])
        y = np.full(len(classes), -1)
        for k in np.unique(classes):
            rows = np.flatnonzero(classes == k)
            size = int(count) if count >= 1 else max(1, round(count * len(rows)))
            y[rng.choice(rows, min(size, len(rows) - 1), replace=False)] = k
        yield y


def harmonic(graph: AnchorGraph, y: np.ndarray) -> np.ndarray:
    """Return the labels of the harmonic solution on the same graph: every free row is the mean of its neighbours.

    A free row is z T again, and (Lambda - Z_U' Z_U) T = Z_L' Y; conjugate gradients solve it.
    """
    free, classes = graph.weights[y < 0], np.unique(y[y >= 0])
    known = sparse.csr_matrix(
        (np.ones((y >= 0).sum()), (np.flatnonzero(y >= 0), np.searchsorted(classes, y[y >= 0]))),
        shape=(len(y), len(classes)),
    )
    ties = (graph.weights.T @ known).toarray()
    root = 1 / np.sqrt(graph.degrees)[:, None]
    gram = sparse.diags(root.ravel()) @ (free.T @ free) @ sparse.diags(root.ravel())
    x, right = np.zeros_like(ties), root * ties
    rest = right.copy()
    search, size = rest.copy(), np.sum(rest**2, axis=0)
    for _ in range(2000):
        if (size <= 1e-12 * np.sum(right**2, axis=0)).all():
            break
        product = search - gram @ search
        step = size / np.maximum(np.sum(search * product, axis=0), 1e-300)
        x += step * search
        rest -= step * product
        new = np.sum(rest**2, axis=0)
        search = rest + new / np.maximum(size, 1e-300) * search
        size = new
    labels = classes[np.asarray(graph.weights @ (root * x)).argmax(axis=1)]
    return np.where(y >= 0, y, labels)


def _spreading(X: np.ndarray) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return scikit-learn's LabelSpreading in several settings, each with its graph made once."""
    near = kneighbors_graph(X, 7, mode="connectivity", include_self=True)
    peers = {f"LabelSpreading knn 7, {alpha}": _peer(X, near, alpha) for alpha in (0.2, 0.9, 0.99)}
    if len(X) <= _DENSE_ROWS:
        squares = pairwise_distances(X, metric="sqeuclidean")
        peers["LabelSpreading rbf"] = _peer(X, np.exp(-10 * squares / np.median(squares)), 0.2)
    return peers


def _peer(X: np.ndarray, affinity: Any, alpha: float) -> Callable[[np.ndarray], np.ndarray]:
    def answer(y: np.ndarray) -> np.ndarray:
        model = LabelSpreading(kernel=lambda *_: affinity, alpha=alpha, max_iter=200)
        return model.fit(X, y).transduction_

    return answer


def print_labels(tag: str) -> None:
    """Print the records: FUCSMF, the harmonic solution, and the best LabelSpreading in hindsight."""
    table = Table("data", "labels", "FUCSMF", "sd", "harmonic", "best LabelSpreading", "which")
    for record in read_records(tag):
        scores = record["accuracy"]
        best = max((name for name in scores if name.startswith("Label")), key=lambda name: scores[name])
        shown = [scores["FUCSMF"], record["deviation"]["FUCSMF"], scores["harmonic"], scores[best]]
        which = best.removeprefix("LabelSpreading ")
        table.add_row(record["data"], str(record["labels"]), *(f"{value:.3f}" for value in shown), which)
    Console(width=110).print(table)
