"""The convex solve: conjugate gradients with an exact search along each line."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.methods.fucsmf.newton import Newton
from coterie.methods.fucsmf.objective import Direction, Objective, Point


@dataclass(frozen=True)
class Solution:
    """Where the search ended.

    Attributes
    ----------
    point : Point
    value : float
    gradient : float
        The norm of the rows' gradient.
    history : list of dict
        One record per iteration.
    converged : bool
    """

    point: Point
    value: float
    gradient: float
    history: list[dict[str, Any]]
    converged: bool


def minimise(
    objective: Objective,
    start: np.ndarray | None,
    *,
    tol: float,
    max_iter: int,
    newton: Newton | None = None,
) -> Solution:
    """Minimise the objective from `start`, or from zero.

    Polak and Ribiere's conjugate gradients, in the geometry of the rows. Along a line the objective is a polynomial
    of degree four, so the best step is a root of a cubic: one sparse product a step, no trial steps. With `newton`
    the gradients are turned into its steps first: two products and one with its inverse.

    Parameters
    ----------
    objective : Objective
    start : ndarray of shape (m + e, c), optional
    tol : float
        Ends the search when the norm of the rows' gradient is at most this share of what it is at zero.
    max_iter : int
    newton : Newton, optional
    """
    point = objective.origin()
    slope = objective.slope(point)
    downhill = objective.direction(-slope)
    enough = tol * _length(downhill, slope)
    if start is not None:
        point = objective.point(start)
        slope = objective.slope(point)
        downhill = objective.direction(-slope)
    value, length = objective.value(point), _length(downhill, slope)
    search, last, before = downhill, slope, math.inf
    history: list[dict[str, Any]] = []
    while length > enough and len(history) < max_iter:
        started = time.perf_counter()
        towards = downhill if newton is None else objective.direction(newton.step(point, slope))
        fall = -towards.dot(slope)
        search = towards.plus(max(0.0, (fall + towards.dot(last)) / before), search)
        if search.dot(slope) >= 0:
            search, fall = downhill, length**2
        change = objective.along(point, search)
        step = best_step(change)
        point = objective.moved(point, step, search)
        value += float(np.polyval([*change, 0.0], step))
        before, last, slope = fall, slope, objective.slope(point)
        downhill = objective.direction(-slope)
        length = _length(downhill, slope)
        history.append(
            {
                "iteration": len(history),
                "objective": value,
                "gradient": length,
                "seconds": time.perf_counter() - started,
            }
        )
    # Changes of T that no row sees are left out, and so is the rounding that steps added up.
    point = objective.point(objective.at_rest(point))
    return Solution(point, objective.value(point), length, history, length <= enough)


def _length(downhill: Direction, slope: np.ndarray) -> float:
    """Return the norm of the rows' gradient, given the direction against the slope."""
    return math.sqrt(max(0.0, -downhill.dot(slope)))


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
