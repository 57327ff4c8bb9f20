"""The demo: scikit-learn's digits by k-means, by GraphClustering and by PCX; a table and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans

from coterie.data import load_digits
from coterie.data.builtin import DataSet
from coterie.explore import write_report
from coterie.methods.graph_clustering import GraphClustering
from coterie.methods.pcx import PCX
from coterie.metrics import score_all

_COLUMNS = ("method", "ACC", "NMI", "ARI", "seconds")


def run_demo(folder: Path, *, seed: int = 0, verbose: bool = True, pcx: bool = True) -> Path:
    """Cluster the digits, print the table and return the path of the report.

    The report is that of `GraphClustering` and is written first; then, with `pcx`, `PCX` shows what a network adds,
    with a report of its own. The known classes are only used to fill the table.
    """
    digits = load_digits()
    n_clusters = len(np.unique(digits.target))
    rows = digits.views.read(slice(None))[0]
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(quiet=not verbose)

    started = time.perf_counter()
    by_kmeans = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(rows)
    kmeans_seconds = time.perf_counter() - started
    graph, graph_seconds = _timed(GraphClustering(n_clusters, random_state=seed), digits)
    report = _report(graph, digits, folder / "report.html", by_kmeans)
    results = [("k-means", by_kmeans, kmeans_seconds), ("GraphClustering", graph.labels_, graph_seconds)]
    console.print(_table(results, digits.target))
    console.print(f"Report: {report}")
    if pcx:
        console.print(
            "Now PCX: a network that starts from these clusters, and adds decoded exemplars and a code for each row."
        )
        model, seconds = _timed(PCX(n_clusters, random_state=seed, verbose=int(verbose)), digits)
        console.print(_table([*results, ("PCX", model.labels_, seconds)], digits.target))
        console.print(
            f"Report with decoded exemplars: {_report(model, digits, folder / 'pcx.html', by_kmeans)}"
        )
    return report


def _timed(model: Any, digits: DataSet) -> tuple[Any, float]:
    started = time.perf_counter()
    model.fit(digits.views)
    return model, time.perf_counter() - started


def _report(model: Any, digits: DataSet, path: Path, by_kmeans: np.ndarray) -> Path:
    return write_report(
        model,
        digits.views,
        path,
        truth=digits.target,
        compare={"k-means": by_kmeans},
        image_shape=digits.image_shape,
        title="Handwritten digits",
    )


def _table(results: list[tuple[str, np.ndarray, float]], truth: np.ndarray) -> Table:
    table = Table(title=f"{len(truth)} rows, {len(np.unique(truth))} clusters")
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "method" else "right")
    for name, labels, seconds in results:
        scores = score_all(truth, labels)
        shown = (f"{scores[score]:.3f}" for score in ("accuracy", "nmi", "ari"))
        table.add_row(name, *shown, f"{seconds:.1f}")
    return table
