"""New rows of the networks; SSCNet against spectral clustering: the trace of its layers, and cost as rows grow."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

from benchmarks.peers.classic import spectral
from benchmarks.records import measured, measured_apart, record_cases, save_record, seeded_cases
from benchmarks.sets import SETS, held_out
from coterie import SSCNet, as_views
from coterie.data import Views
from coterie.graph.initial import voted_labels
from coterie.graph.neighbours import NeighbourIndex
from coterie.methods.registry import find_method
from coterie.metrics import accuracy

_ALONE = 50
_GROUPS, WIDTH, _DIMENSION = 10, 200, 5
_EXACT_ROWS = 10_000
_NEIGHBOURS = 10


def run_new_rows(methods: Sequence[str], names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC of a held-out fifth: by the network, alone as in a batch, and by the vote of the nearest fitted rows.

    Beside it the share of held-out rows whose five nearest fitted rows have their class, by code and by raw row.
    """

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        views, truth = SETS[case["data"]].load(folder)
        new, fitted = held_out(views.n_rows, case["seed"])
        model = find_method(case["method"]).load()(len(np.unique(truth)), random_state=case["seed"])
        model.fit(views.select(fitted))
        labels = model.predict(views.select(new))
        known, asked = (_compared(model, views.select(rows)) for rows in (fitted, new))
        voted = voted_labels(NeighbourIndex(known), model.labels_, asked)
        raw = [np.hstack(views.select(rows).read(slice(None))) for rows in (fitted, new)]
        codes = [model.transform(views.select(rows)) for rows in (fitted, new)]
        classes = np.unique(truth, return_inverse=True)[1]
        some = slice(None, None, max(1, len(new) // _ALONE))
        alone = [int(model.predict(views.select([row]))[0]) for row in new[some]]
        return {
            "rows": len(fitted),
            "new_rows": len(new),
            "accuracy": round(accuracy(truth[fitted], model.labels_), 4),
            "new_accuracy": round(_carried_over(truth, fitted, new, model.labels_, labels), 4),
            "voted_accuracy": round(_carried_over(truth, fitted, new, model.labels_, voted), 4),
            "code_neighbours": round(_nearest_of_class(*codes, classes[fitted], classes[new]), 4),
            "raw_neighbours": round(_nearest_of_class(*raw, classes[fitted], classes[new]), 4),
            "alone_equals_batch": bool((labels[some] == alone).all()),
        }

    cases = [{"method": method, **case} for method in methods for case in seeded_cases(names, seeds)]
    record_cases("new-rows", cases, measure)


def _compared(model: Any, views: Views) -> np.ndarray:
    """Return rows along the axes of a fitted model's metric, (n, r)."""
    network = model.network_ if hasattr(model, "network_") else model.modules_.network
    rows = torch.from_numpy(np.hstack(model.scaler_.transform(views.read(slice(None)))))
    seen = network.projection(rows)
    return seen[:, : model.metric_.n_axes].numpy() if not network.projection.whole else seen.numpy()


def _nearest_of_class(
    known: np.ndarray, asked: np.ndarray, known_classes: np.ndarray, classes: np.ndarray
) -> float:
    """Return the share of rows (b, d) whose class is that of most of the five nearest known rows (n, d)."""
    near = known_classes[NeighbourIndex(known).search(asked, 5).indices]
    votes = (near[:, :, None] == np.arange(known_classes.max() + 1)).sum(axis=1)
    return float((votes.argmax(axis=1) == classes).mean())


def _carried_over(
    truth: np.ndarray, known: np.ndarray, new: np.ndarray, old_labels: np.ndarray, new_labels: np.ndarray
) -> float:
    """Return the accuracy of new rows under the matching of clusters and classes of the known rows."""
    whole = accuracy(np.concatenate([truth[known], truth[new]]), np.concatenate([old_labels, new_labels]))
    hits = whole * len(truth) - accuracy(truth[known], old_labels) * len(known)
    return hits / len(new)


def run_spectral(names: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """Compare the trace of the eigen-layers with its optimum, and ACC with exact spectral clustering."""

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        views, truth = SETS[case["data"]].load(folder)
        k = len(np.unique(truth))
        with measured() as costs:
            model = SSCNet(k, random_state=case["seed"]).fit(views)
        with measured() as exact_costs:
            exact = spectral(views.read(slice(None)), k, case["seed"], n_neighbors=_NEIGHBOURS)
        last = model.history_[-1].items()
        return {
            "accuracy": round(accuracy(truth, model.labels_), 4),
            "seconds": costs["seconds"],
            "exact_accuracy": round(accuracy(truth, exact), 4),
            "exact_seconds": exact_costs["seconds"],
            **_trace_of(model),
            "last_epoch": {
                key: round(value, 5) if isinstance(value, float) else value for key, value in last
            },
            "zeros": round(float(model.sparsity_.mean()), 4),
            "reconstruction_error": round(float(model.reconstruction_.mean()), 4),
        }

    record_cases("spectral", seeded_cases(names, seeds), measure)


def _trace_of(model: SSCNet) -> dict[str, Any]:
    """Return tr(Y' L Y) of the landmarks, its optimum, and how far Y is from orthonormal."""
    graph = model.landmark_graph_
    columns = model.modules_.landmarks.columns.double().cpu().numpy()
    scale = sparse.diags(1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel()))
    laplacian = np.eye(graph.shape[0]) - (scale @ graph @ scale).toarray()
    k = columns.shape[1]
    return {
        "trace": round(float((columns * (laplacian @ columns)).sum()), 6),
        "optimum": round(float(np.linalg.eigvalsh(laplacian)[:k].sum()), 6),
        "orthogonality_error": float(np.abs(columns.T @ columns - np.eye(k)).max()),
    }


def run_growth(sizes: Sequence[int], epochs: int) -> None:
    """Cost of a fit from disk as rows grow at fixed landmarks, and of exact spectral clustering where it fits.

    CPU seconds of one thread (OMP_NUM_THREADS=1) do not depend on what else the machine does.
    """
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in sizes:
            path = Path(folder) / "rows.npy"
            write_subspaces(path, n_rows)
            for method in ("SSCNet", "exact")[: 2 if n_rows <= _EXACT_ROWS else 1]:
                record = {"rows": n_rows, "method": method, "epochs": epochs}
                record |= measured_apart("-m", "benchmarks.subspaces", path, method, epochs)
                record["cpu_microseconds_a_row"] = round(1e6 * record["cpu_seconds"] / n_rows, 1)
                save_record("growth", record)


def write_subspaces(path: Path, n_rows: int) -> None:
    """Write rows near ten random subspaces of five dimensions in 200 columns, a piece at a time."""
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.normal(size=(_GROUPS, WIDTH, _DIMENSION)))[0].astype(np.float32)
    file = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, WIDTH))
    for first in range(0, n_rows, 10_000):
        kind = np.arange(first, min(first + 10_000, n_rows)) % _GROUPS
        weights = np.abs(rng.standard_normal((len(kind), _DIMENSION), dtype=np.float32))
        noise = 0.05 * rng.standard_normal((len(kind), WIDTH), dtype=np.float32)
        file[first : first + len(kind)] = np.einsum("nf,ndf->nd", weights, bases[kind]) + noise
    file.flush()


def _measure(path: Path, method: str, epochs: int) -> None:
    """Fit in this process alone, so that its peak of memory is the fit's; print what `run_growth` reads."""
    rows = np.load(path, mmap_mode="r")
    with measured() as costs:
        if method == "exact":
            labels = spectral([rows], _GROUPS, 0, n_neighbors=_NEIGHBOURS)
        else:
            model = SSCNet(_GROUPS, max_epochs=epochs, random_state=0)
            labels = model.fit(as_views(path)).labels_
    print(json.dumps({**costs, "accuracy": round(accuracy(np.arange(len(rows)) % _GROUPS, labels), 4)}))


if __name__ == "__main__":
    _measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
