"""The demo: scikit-learn's digits by PCX and by k-means, a table and a report."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans

from coterie.data import load_digits
from coterie.explore import write_report
from coterie.methods.pcx import PCX
from coterie.metrics import accuracy, ari, nmi


def run_demo(folder: Path, *, seed: int = 0, verbose: bool = True) -> Path:
    """Cluster the digits, print the table and return the path of the report.

    The known classes are only used to fill the table.
    """
    digits = load_digits()
    n_clusters = len(np.unique(digits.target))
    rows = digits.views.read(slice(None))[0]

    started = time.perf_counter()
    by_kmeans = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(rows)
    kmeans_seconds = time.perf_counter() - started

    started = time.perf_counter()
    model = PCX(n_clusters, random_state=seed, verbose=int(verbose)).fit(digits.views)
    pcx_seconds = time.perf_counter() - started

    folder.mkdir(parents=True, exist_ok=True)
    report = write_report(
        model,
        digits.views,
        folder / "report.html",
        truth=digits.target,
        compare={"k-means": by_kmeans},
        image_shape=digits.image_shape,
        title="Handwritten digits",
    )
    if verbose:
        table = Table(title=f"{len(rows)} rows, {n_clusters} clusters")
        for column in ("method", "ACC", "NMI", "ARI", "seconds"):
            table.add_column(column, justify="left" if column == "method" else "right")
        for name, labels, seconds in (
            ("k-means", by_kmeans, kmeans_seconds),
            ("PCX", model.labels_, pcx_seconds),
        ):
            scores = (score(digits.target, labels) for score in (accuracy, nmi, ari))
            table.add_row(name, *(f"{value:.3f}" for value in scores), f"{seconds:.1f}")
        console = Console()
        console.print(table)
        console.print(f"Report: {report}")
    return report
