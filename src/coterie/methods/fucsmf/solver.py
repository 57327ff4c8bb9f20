"""The convex solve: conjugate gradients with an exact line search, from supervision to the classes of all rows."""

# n rows, m anchors, e groups, c classes

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.methods.fucsmf.newton import SCATTER, Newton
from coterie.methods.fucsmf.objective import Direction, Objective, Point
from coterie.methods.fucsmf.options import FUCSMFOptions
from coterie.methods.fucsmf.problem import AnchorGraph, build_objective, label_lengths, recover_rows
from coterie.methods.fucsmf.supervision import Supervision

_FEW_LABELS = 0.01


@dataclass(frozen=True)
class Minimum:
    """Where the search ended."""

    point: Point
    value: float
    gradient_norm: float  # of the gradient in the space of rows
    history: list[dict[str, Any]]
    converged: bool


@dataclass(frozen=True)
class Solution:
    """The class scores of rows and anchors."""

    rows: np.ndarray  # V (n, c)
    anchor_codes: np.ndarray  # T (m, c); the scores of a new row with weights z are z T
    objective: Objective
    minimum: Minimum


def solve(
    graph: AnchorGraph,
    known: Supervision,
    n_classes: int,
    options: FUCSMFOptions,
    start: np.ndarray | None = None,
    newton_graph: AnchorGraph | None = None,
) -> Solution:
    """Solve for the unlabelled rows; a `ConvergenceWarning` says when `max_iter` ended the search.

    `start` are anchor codes (m, c) of an earlier solution. `newton_graph` is a similar graph whose cached Newton step
    will do.
    """
    lengths = label_lengths(known.codes, n_classes, options.label_scale)
    objective = build_objective(graph, known, lengths, smoothness=options.smoothness, link_weight=options.mu)
    if start is not None:
        start = np.vstack([start, (objective.groups @ start) / objective.sizes[:, None]])
    newton = (newton_graph or graph).newton(options.smoothness) if _few_labels(known, objective) else None
    minimum = minimise(objective, start, tol=options.tol, max_iter=options.max_iter, newton=newton)
    if not minimum.converged:
        warnings.warn(
            f"FUCSMF stopped after max_iter={options.max_iter} steps, before its gradient fell to "
            f"tol={options.tol:g} of where it began; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    codes, groups = np.split(minimum.point.at.x, [len(graph.degrees)])
    return Solution(recover_rows(graph, known, lengths, codes, groups), codes, objective, minimum)


def _few_labels(known: Supervision, objective: Objective) -> bool:
    """Tell whether nearly all rows are unlabelled, as the Newton step assumes; otherwise plain CG is faster."""
    excluded = known.labelled | (known.group >= 0)
    return bool(excluded.mean() <= _FEW_LABELS and objective.labelled_scatter.diagonal().mean() <= SCATTER)


def minimise(
    objective: Objective, start: np.ndarray | None, *, tol: float, max_iter: int, newton: Newton | None = None
) -> Minimum:
    """Minimise the objective from `start`, (m + e, c), or from zero, by Polak-Ribiere conjugate gradients.

    Along a line the objective is a quartic, so the exact step is a root of a cubic: one sparse product per step, no
    trial steps. `newton` preconditions the gradients. The search ends when the norm of the gradient in the space of
    rows is at most `tol` times its norm at zero.
    """
    point = objective.origin()
    gradient = objective.gradient(point)
    downhill = objective.direction(-gradient)
    target = tol * _norm(downhill, gradient)
    if start is not None:
        point = objective.point(start)
        gradient = objective.gradient(point)
        downhill = objective.direction(-gradient)
    value, norm = objective.value(point), _norm(downhill, gradient)
    search, last, before = downhill, gradient, math.inf
    history: list[dict[str, Any]] = []
    while norm > target and len(history) < max_iter:
        started = time.perf_counter()
        towards = downhill if newton is None else objective.direction(newton.step(point, gradient))
        fall = -towards.dot(gradient)
        search = towards.plus(max(0.0, (fall + towards.dot(last)) / before), search)
        if search.dot(gradient) >= 0:
            search, fall = downhill, norm**2
        quartic = objective.line_polynomial(point, search)
        step = best_step(quartic)
        point = objective.moved(point, step, search)
        value += float(np.polyval([*quartic, 0.0], step))
        before, last, gradient = fall, gradient, objective.gradient(point)
        downhill = objective.direction(-gradient)
        norm = _norm(downhill, gradient)
        record = {"iteration": len(history), "objective": value, "gradient": norm}
        history.append({**record, "seconds": time.perf_counter() - started})
    # Drops what no row depends on, and the rounding errors that the steps accumulated.
    point = objective.point(objective.stationary(point))
    return Minimum(point, objective.value(point), norm, history, norm <= target)


def _norm(downhill: Direction, gradient: np.ndarray) -> float:
    """Return the norm of the gradient in the space of rows, given the direction against it."""
    return math.sqrt(max(0.0, -downhill.dot(gradient)))


def best_step(quartic: np.ndarray) -> float:
    """Return the t at which a t^4 + b t^3 + c t^2 + d t is lowest, given (a, b, c, d) with a >= 0.

    Examples
    --------
    >>> float(round(best_step(np.array([0.0, 0.0, 1.0, -4.0])), 6))
    2.0
    """
    roots = np.roots(quartic * np.array([4, 3, 2, 1]))
    real = roots.real[np.abs(roots.imag) <= 1e-8 * np.maximum(1e-300, np.abs(roots))]
    if not len(real):
        return 0.0
    return float(min(real, key=lambda t: np.polyval([*quartic, 0.0], t)))
