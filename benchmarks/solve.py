"""FUCSMF: seconds of the graph, of the solve and of a refinement, as ratios within one run."""

# n rows, m anchors, c classes

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.optimize import minimize
from sklearn.semi_supervised import LabelSpreading

from benchmarks.labels import draws
from benchmarks.records import add_record, machine, peak_mb
from benchmarks.sets import SETS
from coterie import FUCSMF
from coterie.methods.fucsmf import FUCSMFOptions
from coterie.methods.fucsmf.anchors import CHUNK
from coterie.methods.fucsmf.problem import AnchorGraph, label_lengths
from coterie.methods.fucsmf.solver import solve
from coterie.methods.fucsmf.supervision import Supervision, combine
from coterie.methods.refine import TOLERANCE

_TOL = 1e-6


class RowSpace:
    """The same problem as the paper writes it, over the free rows: for scipy's solvers to be compared with ours."""

    def __init__(self, weights: sparse.csr_matrix, codes: np.ndarray, smoothness: float) -> None:
        self.weights, self.lam, self.free = weights, smoothness, codes < 0
        self.degrees = np.asarray(weights.sum(axis=0)).ravel()[:, None]
        c = int(codes.max()) + 1
        sizes = label_lengths(codes, c, "balanced")
        self.known = np.where(codes[:, None] == np.arange(c), sizes, 0.0)
        self.evaluations = 0

    def rows(self, u: np.ndarray) -> np.ndarray:
        """Return V."""
        rows = self.known.copy()
        rows[self.free] = u.reshape(-1, rows.shape[1])
        return rows

    def value_and_gradient(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return f without its constant, and the gradient of the free rows."""
        self.evaluations += 1
        rows = self.rows(u)
        ties, inner = self.weights.T @ rows, rows.T @ rows
        means = ties / self.degrees
        value = np.vdot(inner, inner) + self.lam * np.trace(inner) - (self.lam + 2) * np.vdot(ties, means)
        gradient = rows @ (4 * inner) + 2 * self.lam * rows - 2 * (self.lam + 2) * (self.weights @ means)
        return float(value), gradient[self.free].ravel()

    def hessian_product(self, u: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the Hessian times a change of the free rows."""
        self.evaluations += 1
        rows, change = self.rows(u), np.zeros_like(self.known)
        change[self.free] = h.reshape(-1, rows.shape[1])
        cross, inner = change.T @ rows, rows.T @ rows
        product = 4 * (rows @ (cross + cross.T) + change @ inner) + 2 * self.lam * change
        product -= 2 * (self.lam + 2) * (self.weights @ ((self.weights.T @ change) / self.degrees))
        return product[self.free].ravel()


def run_solve(folder: Path, n_anchors: int, name: str = "mnist") -> None:
    """Print and keep the seconds of every part, and their ratios."""
    views, truth = SETS[name].load(folder)
    classes = np.unique(truth, return_inverse=True)[1]
    model = FUCSMF(n_anchors=n_anchors, random_state=0)
    y = next(draws(classes, 10, 1))
    model.fit(views, y)
    figures: dict[str, Any] = {"data": name, "rows": views.n_rows, "anchors": n_anchors}
    figures |= _graph(model, views)
    known = combine(y, *np.zeros((2, 0, 2), dtype=int), hard=True)
    figures |= _solvers(model._graph, known, model._options_in_effect())
    figures |= _refinements(model, classes, y)
    figures["ten more labels / solve"] = round(figures["ten more labels"] / figures["solve"], 2)
    X = views.read(slice(None))[0]
    seconds, _ = _timed(lambda: LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.9).fit(X, y))
    figures["LabelSpreading, end to end"] = seconds
    figures["LabelSpreading / solve"] = round(seconds / figures["solve"], 1)
    figures |= {"peak_mb": peak_mb(), "machine": machine()}
    add_record("solve", figures)
    for key, value in figures.items():
        print(f"{key:40} {value}")


def _graph(model: FUCSMF, views: Any) -> dict[str, Any]:
    """Time the graph and the matrix products it needs at least: rows times axes times anchors.

    The paper compares rows with anchors in all their columns; those products are timed too.
    """
    scaled = model.scaler_.transform(views.read(slice(None)))[0]
    view, rows = model.anchors_.parts[0], torch.from_numpy(scaled)

    def bare() -> None:
        for part in rows.split(CHUNK):
            torch.mm(torch.mm(part, view.axes), view.anchors.T)

    def in_all_columns() -> None:
        anchors = rows[: len(view.anchors)]
        for part in rows.split(CHUNK):
            torch.mm(part, anchors.T)

    built, _ = _timed(lambda: model.anchors_.weights(views))
    products, _ = _timed(bare)
    whole, _ = _timed(in_all_columns)
    return {
        "graph": built,
        "bare products through the axes": products,
        "bare products of all columns": whole,
        "graph / products through the axes": round(built / products, 2),
        "graph / products of all columns": round(built / whole, 2),
    }


def _solvers(graph: AnchorGraph, known: Supervision, settings: FUCSMFOptions) -> dict[str, Any]:
    """Time our solve from zero beside scipy's over the rows, to the same gradient."""
    n_classes = int(known.codes.max()) + 1
    seconds, answer = _timed(
        lambda: solve(AnchorGraph.of(graph.weights), known, n_classes, settings), times=3
    )
    figures = {"solve": seconds, "steps": len(answer.minimum.history)}
    problem = RowSpace(graph.weights, known.codes, settings.smoothness)
    zero = np.zeros(int(problem.free.sum()) * n_classes)
    target = float(np.abs(problem.value_and_gradient(answer.rows[problem.free].ravel())[1]).max())
    for method, options, extra in (
        ("L-BFGS-B", {"gtol": target, "ftol": 0, "maxiter": 5000, "maxfun": 10**6}, {}),
        ("Newton-CG", {"xtol": 1e-12, "maxiter": 200}, {"hessp": problem.hessian_product}),
    ):
        problem.evaluations = 0
        seconds, other = _timed(
            lambda method=method, options=options, extra=extra: minimize(
                problem.value_and_gradient, zero, jac=True, method=method, options=options, **extra
            )
        )
        gap = other.fun + graph.squared_norm - answer.minimum.value
        figures |= {
            f"{method} over the rows": seconds,
            f"{method} evaluations": problem.evaluations,
            f"{method} objective less ours": gap,
            f"{method} / solve": round(seconds / figures["solve"], 1),
        }
    return figures


def _refinements(model: FUCSMF, classes: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Time a step of the human loop: ten more labels, from the last answer, as exactly as `refine` asks for.

    The median of five draws; each is timed as the solve is, the fastest of three.
    """
    rng = np.random.default_rng(0)
    seconds = []
    for _ in range(5):
        more = y.copy()
        rows = rng.choice(np.flatnonzero(y < 0), 10, replace=False)
        more[rows] = classes[rows]
        best = np.inf
        for _ in range(3):
            model.set_params(options__tol=_TOL).relabel(y)
            model.set_params(options__tol=TOLERANCE)
            best = min(best, _timed(lambda more=more: model.relabel(more))[0])
        seconds.append(best)
    return {"ten more labels": round(float(np.median(seconds)), 4), "their steps": len(model.history_)}


def _timed(work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """Return the seconds of the fastest of some runs, and what it returned."""
    best, result = np.inf, None
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return round(float(best), 4), result
