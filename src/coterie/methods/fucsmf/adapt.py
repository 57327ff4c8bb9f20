r"""The adaptive graph: rows lean towards those of their anchors that agree with them.

With V fixed, :math:`\mathrm{tr}\, V'(I - B)V = \min_P \sum_{ij} z_{ij} \|v_i - p_j\|^2`, attained at
:math:`P = \Lambda^{-1} Z' V` (spec fucsmf 2.6). So the weights of a row move to

.. math:: z_i = \mathrm{Proj}\Big(z_i^0 - \frac{1 + 2/\lambda}{2 \gamma} \|v_i - p_j\|^2\Big)

on the simplex over its own anchors; :math:`\lambda \gamma \|Z - Z^0\|^2` keeps them near the first weights. Labelled
rows keep theirs: they are longer than the others, so they would let go of every anchor but one (measured on digits,
one label a class: ACC 0.20 instead of 0.94). The step leaves :math:`\|B\|^2` and the degrees out, so it is tried at
full length, a half, a quarter and an eighth, and only taken where the whole objective falls.
"""

# n rows, m anchors, p anchors of a row, c classes

from __future__ import annotations

import numpy as np
from scipy import sparse

from coterie.methods.fucsmf.knowledge import Knowledge
from coterie.methods.fucsmf.problem import Graph
from coterie.methods.fucsmf.solving import Answer, Terms, solve
from coterie.ops.simplex import project_simplex

STIFFNESS = 0.3
_LENGTHS = (1.0, 0.5, 0.25, 0.125)
_CHUNK = 8192


def adapted(graph: Graph, known: Knowledge, answer: Answer, terms: Terms, n_outer: int) -> Answer:
    """Return the answer after at most `n_outer` steps of the graph, each followed by a solve.

    Parameters
    ----------
    graph : Graph
        The first one.
    known : Knowledge
    answer : Answer
        On that graph.
    terms : Terms
    n_outer : int
    """
    now, total = graph, answer.solution.value
    for _ in range(n_outer):
        target = _leaning(graph.weights, now, answer.rows, known.codes < 0, terms.smoothness)
        taken = None
        for length in _LENGTHS:
            tried = Graph.of((now.weights + length * (target - now.weights)).tocsr())
            if tried.degrees.min() <= 0:
                continue
            found = solve(tried, known, answer.rows.shape[1], terms, answer.anchor_codes, like=graph)
            moved = tried.weights - graph.weights
            cost = found.solution.value + terms.smoothness * STIFFNESS * float(moved.multiply(moved).sum())
            if cost < total:
                taken = tried, found, cost
                break
        if taken is None:
            break
        settled = np.array_equal(taken[1].labels, answer.labels)
        now, answer, total = taken
        if settled:
            break
    return answer


def _leaning(
    first: sparse.csr_matrix, now: Graph, rows: np.ndarray, free: np.ndarray, smoothness: float
) -> sparse.csr_matrix:
    """Return the weights that the step goes towards, with the anchors of the first graph."""
    means = (now.weights.T @ rows) / now.degrees[:, None]
    pull = (1 + 2 / max(smoothness, 1e-12)) / (2 * STIFFNESS)
    weights = first.copy()
    counts = np.diff(first.indptr)
    for start in range(0, len(rows), _CHUNK):
        stop = min(start + _CHUNK, len(rows))
        entries = slice(first.indptr[start], first.indptr[stop])
        owner = np.repeat(np.arange(start, stop), counts[start:stop])
        gaps = free[owner] * np.sum((rows[owner] - means[first.indices[entries]]) ** 2, axis=1)
        place = np.arange(entries.start, entries.stop) - first.indptr[owner]
        padded = np.full((stop - start, counts[start:stop].max()), -np.inf)
        padded[owner - start, place] = first.data[entries] - pull * gaps
        weights.data[entries] = project_simplex(padded)[owner - start, place]
    return weights
