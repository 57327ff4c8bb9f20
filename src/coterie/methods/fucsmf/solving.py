"""A graph that is kept, and answers to new labels and links that start from the last one."""

# n rows, m anchors, e units, c classes

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.methods.fucsmf.knowledge import Knowledge
from coterie.methods.fucsmf.newton import SCATTER
from coterie.methods.fucsmf.objective import Objective
from coterie.methods.fucsmf.problem import Graph, label_sizes, make_objective, rows_of
from coterie.methods.fucsmf.solver import Solution, minimise

_FEW = 0.01


@dataclass(frozen=True)
class Terms:
    """What is solved, beside the graph and the labels.

    Attributes
    ----------
    smoothness : float
        lambda.
    label_scale : {"balanced", "one"}
    link_weight : float
        mu.
    tol : float
    max_iter : int
    """

    smoothness: float
    label_scale: str
    link_weight: float
    tol: float
    max_iter: int


@dataclass(frozen=True)
class Answer:
    """The classes of all rows.

    Attributes
    ----------
    rows : ndarray of shape (n, c)
        V.
    anchor_codes : ndarray of shape (m, c)
        T; a new row with anchor weights z is z T.
    objective : Objective
    solution : Solution
    """

    rows: np.ndarray
    anchor_codes: np.ndarray
    objective: Objective
    solution: Solution

    @property
    def labels(self) -> np.ndarray:
        """The class of each row."""
        return self.rows.argmax(axis=1)


def solve(
    graph: Graph,
    known: Knowledge,
    n_classes: int,
    terms: Terms,
    start: np.ndarray | None = None,
    like: Graph | None = None,
) -> Answer:
    """Solve for the free rows.

    Parameters
    ----------
    graph : Graph
    known : Knowledge
    n_classes : int
    terms : Terms
    start : ndarray of shape (m, c), optional
        Anchor codes of an earlier answer.
    like : Graph, optional
        A graph so near that its Newton step, which is kept, will do.

    Warns
    -----
    ConvergenceWarning
        When `max_iter` ended the search.
    """
    sizes = label_sizes(known.codes, n_classes, terms.label_scale)
    objective = make_objective(
        graph, known, sizes, smoothness=terms.smoothness, link_weight=terms.link_weight
    )
    if start is not None:
        start = np.vstack([start, (objective.units @ start) / objective.sizes[:, None]])
    newton = (like or graph).newton(terms.smoothness) if _few_labels(known, objective) else None
    solution = minimise(objective, start, tol=terms.tol, max_iter=terms.max_iter, newton=newton)
    if not solution.converged:
        warnings.warn(
            f"FUCSMF stopped after max_iter={terms.max_iter} steps, before its gradient fell to tol={terms.tol:g} of "
            "where it began; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    codes, units = np.split(solution.point.at.x, [len(graph.degrees)])
    return Answer(rows_of(graph, known, sizes, codes, units), codes, objective, solution)


def _few_labels(known: Knowledge, objective: Objective) -> bool:
    """Say whether the free rows are nearly all rows, and V'V nearly theirs alone, as Newton's step takes them to be.

    Many labels make the problem easy: with 5 % of MNIST plain conjugate gradients do as well, with 15 % better.
    """
    set_apart = (known.codes >= 0) | (known.unit >= 0)
    return bool(set_apart.mean() <= _FEW and objective.known_scatter.diagonal().mean() <= SCATTER)


def memberships(rows: np.ndarray) -> np.ndarray:
    """Return rows of V as shares of the classes; even where nothing speaks for any class.

    Examples
    --------
    >>> memberships(np.array([[0.3, 0.1], [0.0, 0.0], [-0.1, 0.2]]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ],
           [0.  , 1.  ]])
    """
    shares = np.maximum(rows, 0)
    total = shares @ np.ones(rows.shape[1])  # several times as fast as a sum over few columns
    mute = total <= 0
    shares /= np.where(mute, 1, total)[:, None]
    shares[mute] = 1 / rows.shape[1]
    return shares
