"""Several views: missing and corrupt ones, and the cost of LargeMvCNet as rows grow."""

# n rows, v views, d columns of a view

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.cluster import KMeans

from benchmarks.accuracy import settings_of
from benchmarks.records import (
    is_recorded,
    measured,
    measured_apart,
    print_means,
    read_records,
    record_cases,
    save_record,
    seeded_cases,
)
from benchmarks.sets import SETS, unit_tables
from coterie import LargeMvCNet, amputate, as_views
from coterie.data import Views
from coterie.graph.scaling import CANDIDATES, SAMPLE_ROWS, SCALING_ROWS
from coterie.methods.largemvc.features import LLOYD_STEPS
from coterie.methods.registry import find_method
from coterie.metrics import accuracy
from coterie.ops.anchors import tied

RATES = (0.0, 0.3, 0.5, 0.7)
WIDTHS = (500, 300, 150, 50)
CLUSTERS = 10


def run_missing(
    names: Sequence[str], seeds: Sequence[int], folder: Path, method: str = "largemvcnet"
) -> None:
    """ACC of a method as views go missing, and of k-means on mean-imputed views."""
    estimator = find_method(method).load()
    tag = "missing" if estimator is LargeMvCNet else f"missing-{method}"
    for name in names:
        views, truth = SETS[name].load(folder)
        k = len(np.unique(truth))
        for reading, rate, seed in _cases(views.n_views, seeds):
            case = {"data": name, "reading": reading, "rate": rate, "seed": seed}
            if estimator is not LargeMvCNet:  # whose records are older than this
                case["settings"] = settings_of(estimator, {})
            if is_recorded(tag, case):
                continue
            mask = amputate(views.n_rows, views.n_views, rate, reading=reading, random_state=seed)
            given = as_views(views, mask=mask)
            model = estimator(k, random_state=seed).fit(given)
            scores = {
                estimator.__name__: round(accuracy(truth, model.labels_), 4),
                **_peers(views, mask, truth, seed),
            }
            save_record(tag, {**case, **scores})
    scores = {name: itemgetter(name) for name in (estimator.__name__, "k-means", "k-means, unit rows")}
    print_means("ACC with missing views", read_records(tag), ("data", "reading", "rate"), scores)


def _peers(views: Views, mask: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, float]:
    """Return ACC of k-means on mean-filled views of standardised columns, and of rows of unit length."""
    scores = {}
    tables = {
        "k-means": _standardised(views, mask),
        "k-means, unit rows": np.hstack(unit_tables(views, mask)),
    }
    for name, filled in tables.items():
        labels = KMeans(len(np.unique(truth)), n_init=10, random_state=seed).fit_predict(filled)
        scores[name] = round(accuracy(truth, labels), 4)
    return scores


def _cases(n_views: int, seeds: Sequence[int]) -> list[tuple[str, float, int]]:
    """Return the readings, rates and seeds; entry by entry only what leaves each row a view."""
    most = (n_views - 1) / n_views
    entries = [("entries", rate) for rate in RATES[1:] if rate <= most]
    return [(*case, seed) for case in [*(("rows", rate) for rate in RATES), *entries] for seed in seeds]


def _standardised(views: Views, mask: np.ndarray) -> np.ndarray:
    """Return the concatenated standardised views, mean-imputed where a view is missing."""
    blocks = []
    for v, block in enumerate(views.read(slice(None))):
        own = block[mask[:, v]]
        spread = own.std(axis=0)
        scaled = (block - own.mean(axis=0)) / np.where(spread > 0, spread, 1)
        blocks.append(np.where(mask[:, v : v + 1], scaled, 0) / np.sqrt(block.shape[1]))
    return np.hstack(blocks)


def run_corruption(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC with a tenth of the first view replaced by noise five times as large, with and without the noise term.

    Also with that view missing in those rows: the best that somebody who knows the corrupt rows could do.
    """

    def measure(case: dict[str, Any]) -> dict[str, float]:
        views, truth = SETS[case["data"]].load(folder)
        corrupt, bad = corrupted(views, case["seed"])
        scores: dict[str, float] = {}
        known = as_views(views.read(slice(None)), mask=_without_first(views, bad))
        for noise in (True, False):
            for kind, given in (("clean", views), ("spoilt", corrupt), ("removed", known)):
                if kind == "removed" and not noise:
                    continue
                model = LargeMvCNet(len(np.unique(truth)), noise=noise, random_state=case["seed"]).fit(given)
                word = "with" if noise else "without"
                scores[f"{kind}, {word} noise term"] = round(accuracy(truth, model.labels_), 4)
                if noise and kind == "spoilt":
                    detected = model.noise_[:, 0]
                    scores["precision"] = round(float(bad[detected].mean()) if detected.any() else 0.0, 4)
                    scores["recall"] = round(float(detected[bad].mean()), 4)
        return scores

    record_cases("corruption", seeded_cases(names, seeds), measure)
    records = read_records("corruption")
    scores = {name: itemgetter(name) for name in records[0] if name not in ("data", "seed", "machine")}
    print_means("A tenth of the first view replaced by noise", records, ["data"], scores)


def corrupted(views: Views, seed: int) -> tuple[Views, np.ndarray]:
    """Replace a tenth of the rows of the first view by noise; return the views and which rows they are."""
    rng = np.random.default_rng([seed, 7])
    blocks = views.read(slice(None))
    bad = np.zeros(views.n_rows, dtype=bool)
    bad[rng.choice(views.n_rows, views.n_rows // 10, replace=False)] = True
    blocks[0][bad] = 5 * blocks[0].std() * rng.standard_normal((bad.sum(), blocks[0].shape[1]))
    return as_views(blocks, mask=views.present_rows(slice(None))), bad


def _without_first(views: Views, bad: np.ndarray) -> np.ndarray:
    """Return the mask of the views with the first one missing in some rows, (n, v)."""
    mask = views.present_rows(slice(None))
    mask[bad, 0] = False
    return mask


def run_scale(rows: Sequence[int], sweeps: int) -> None:
    """Cost of a streaming fit as rows grow, as ratios to the bare products with all rows and to those with the start.

    CPU seconds of one thread (OMP_NUM_THREADS=1) do not depend on what else the machine does.
    """
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in rows:
            write_views(Path(folder), n_rows)
            costs = measured_apart("-m", "benchmarks.views", folder, sweeps)
            record = {
                "rows": n_rows,
                "sweeps": sweeps,
                **costs,
                "cpu_microseconds_a_row": round(1e6 * costs["cpu_seconds"] / n_rows, 2),
                "ratio_to_bare_products": round(costs["seconds"] / costs["bare_seconds"], 3),
                "cpu_ratio_to_bare_products": round(costs["cpu_seconds"] / costs["bare_cpu_seconds"], 3),
                "cpu_ratio_to_all_bare_products": round(
                    costs["cpu_seconds"] / (costs["bare_cpu_seconds"] + costs["bare_start_cpu_seconds"]), 3
                ),
            }
            save_record("scale", record)


def write_views(folder: Path, n_rows: int) -> None:
    """Write four views with 1,000 columns in total and ten planted groups, a piece at a time."""
    rng = np.random.default_rng(0)
    centers = [rng.standard_normal((CLUSTERS, d)).astype(np.float32) for d in WIDTHS]
    files = [
        np.lib.format.open_memmap(folder / f"view{v}.npy", "w+", np.float32, (n_rows, d))
        for v, d in enumerate(WIDTHS)
    ]
    for first in range(0, n_rows, 10_000):
        kind = np.arange(first, min(first + 10_000, n_rows)) % CLUSTERS
        for file, center in zip(files, centers, strict=True):
            noise = rng.standard_normal((len(kind), center.shape[1]), dtype=np.float32)
            file[first : first + len(kind)] = center[kind] + 2 * noise
    for file in files:
        file.flush()


def _measure(folder: Path, sweeps: int) -> None:
    """Fit in this process alone, so that its peak of memory is the fit's; print what `run_scale` reads."""
    views = as_views([np.load(folder / f"view{v}.npy", mmap_mode="r") for v in range(len(WIDTHS))])
    with measured() as costs:
        model = LargeMvCNet(CLUSTERS, n_layers=sweeps, random_state=0).fit(views)
    swept = sum(step["seconds"] for step in model.history_)
    bare, start = bare_products(model, views), bare_start(model, views)
    print(
        json.dumps(
            {
                **costs,
                "sweep_seconds": round(swept, 2),
                "bare_seconds": bare["seconds"],
                "bare_cpu_seconds": bare["cpu_seconds"],
                "bare_start_seconds": start["seconds"],
                "bare_start_cpu_seconds": start["cpu_seconds"],
                "accuracy": round(accuracy(np.arange(views.n_rows) % CLUSTERS, model.labels_), 4),
            }
        )
    )


def bare_products(model: LargeMvCNet, views: Views, n_rows: int = 20_000) -> dict[str, float]:
    """Return what the products of a fit with all rows cost alone, from doing them for some rows.

    A row meets the landmarks of each view and of all of them once, for what was found is kept. From then on it has a
    few features a view: layer l has l sparse products with anchors and one for their sums, labelling as many as
    there are layers and one for what is left.
    """
    piece, rng = 4096, np.random.default_rng(0)
    widths = [*views.dims, sum(views.dims)]
    rows = [torch.rand(piece, d) for d in widths]
    landmarks = [torch.rand(width, d) for width, d in zip(model.inputs_.widths, widths, strict=True)]
    features = [_sparse_features(piece, len(landmark), rng) for landmark in landmarks]
    anchors = [rng.random((len(landmark), CLUSTERS), dtype=np.float32) for landmark in landmarks]
    codes = rng.random((piece, CLUSTERS), dtype=np.float32)
    sweeps = model.n_layers
    with measured() as costs:
        for _ in range(n_rows // piece):
            for x, landmark, z, p in zip(rows, landmarks, features, anchors, strict=True):
                x @ landmark.T
                for layer in range(1, sweeps + 1):
                    for _ in range(layer):
                        z @ p
                    z.T @ codes
                for _ in range(sweeps + 1):
                    z @ p
    share = n_rows // piece * piece / views.n_rows
    return {name: round(costs[name] / share, 2) for name in ("seconds", "cpu_seconds")}


def _sparse_features(n_rows: int, width: int, rng: np.random.Generator, each: int = 5) -> sparse.csr_matrix:
    """Return rows with a few features at random places, as landmarks give them."""
    columns = rng.integers(width, size=(n_rows, each), dtype=np.int32)
    return tied(columns, rng.random((n_rows, each), dtype=np.float32), width)


def bare_start(model: LargeMvCNet, views: Views) -> dict[str, float]:
    """Return what the products of the start cost alone, whose number does not depend on the rows from 10,000 on.

    The sample is compared with itself in each view and in the concatenated views, part of it under each scaling, and
    with the landmarks in every step of their k-means, when their columns are weighed, and when it passes the layers.
    """
    n_rows = min(views.n_rows, SAMPLE_ROWS)
    tables = [torch.rand(n_rows, d) for d in (*views.dims, sum(views.dims))]
    landmarks = [torch.rand(width, x.shape[1]) for width, x in zip(model.inputs_.widths, tables, strict=True)]
    with measured() as costs:
        for rows, centers in zip(tables, landmarks, strict=True):
            for part in rows.split(1024):
                part @ rows.T
                for _ in range(LLOYD_STEPS + 2):
                    part @ centers.T
        for rows in tables[:-1]:
            for _ in CANDIDATES:
                rows[:SCALING_ROWS] @ rows[:SCALING_ROWS].T
    return costs


if __name__ == "__main__":
    _measure(Path(sys.argv[1]), int(sys.argv[2]))
