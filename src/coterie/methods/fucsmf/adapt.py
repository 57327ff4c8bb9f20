r"""The adaptive graph: the weights of a row move towards those of its anchors that agree with its class scores.

With V fixed, :math:`\mathrm{tr}\, V'(I - B)V = \min_P \sum_{ij} z_{ij} \|v_i - p_j\|^2`, attained at
:math:`P = \Lambda^{-1} Z' V` (spec fucsmf 2.6). So the weights of a row move to

.. math:: z_i = \mathrm{Proj}\Big(z_i^0 - \frac{1 + 2/\lambda}{2 \gamma} \|v_i - p_j\|^2\Big)

on the simplex over its own anchors; :math:`\lambda \gamma \|Z - Z^0\|^2` keeps them near the initial weights.
Labelled rows keep theirs: their norm is larger than that of the others, so they would lose every anchor but one. The
step ignores :math:`\|B\|^2` and the degrees, so it is tried at full length, a half, a quarter and an eighth, and only
taken where the whole objective falls.

The paper's own loop (Algorithm 1) has no such guard, and the distances themselves in place of the initial weights:

.. math:: z_i = \mathrm{Proj}\Big(-\frac{d_i + (1 + 2/\lambda) \|v_i - p_j\|^2}{2 \gamma}\Big)
"""

# n rows, m anchors, p anchors of a row, c classes

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from coterie.methods.fucsmf.options import FUCSMFOptions
from coterie.methods.fucsmf.problem import AnchorGraph
from coterie.methods.fucsmf.solver import Solution, solve
from coterie.methods.fucsmf.supervision import Supervision
from coterie.ops.anchors import project_simplex

_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.125)
_CHUNK = 8192


def adapt_graph(
    graph: AnchorGraph, known: Supervision, solution: Solution, options: FUCSMFOptions
) -> Solution:
    """Return the solution after at most `options.adapt` steps of the graph, each followed by a solve."""
    current, lowest = graph, solution.minimum.value
    for _ in range(options.adapt):
        means = _anchor_means(current, solution.rows)
        target = _moved_weights(graph.weights, means, solution.rows, known.labelled, options)
        for length in _STEP_LENGTHS:
            candidate = AnchorGraph.of((current.weights + length * (target - current.weights)).tocsr())
            if not candidate.used.all():
                continue
            solved = solve(
                candidate, known, solution.rows.shape[1], options, solution.anchor_codes, newton_graph=graph
            )
            moved = candidate.weights - graph.weights
            penalty = options.smoothness * options.stiffness * float(moved.multiply(moved).sum())
            if solved.minimum.value + penalty < lowest:
                break
        else:
            return solution
        unchanged = np.array_equal(solved.rows.argmax(axis=1), solution.rows.argmax(axis=1))
        current, solution, lowest = candidate, solved, solved.minimum.value + penalty
        if unchanged:
            break
    return solution


def adapt_as_printed(
    graph: AnchorGraph,
    distances: sparse.csr_matrix,
    known: Supervision,
    solution: Solution,
    options: FUCSMFOptions,
) -> Solution:
    """Return the solution after at most `options.adapt` rounds of Algorithm 1; it ends when no label changes.

    `distances`, (n, m), are those of the rows to their nearest anchors.
    """
    first = distances[:, graph.used]
    first.data = first.data / (-2 * options.stiffness)
    codes, means = solution.anchor_codes, _anchor_means(graph, solution.rows)
    kept = np.zeros(len(known.codes), dtype=bool)
    for _ in range(options.adapt):
        current = AnchorGraph.of(_moved_weights(first, means, solution.rows, kept, options))
        solved = solve(current, known, codes.shape[1], options, codes[current.used])
        codes, means = np.zeros_like(codes), np.zeros_like(means)  # of anchors that lost all their rows
        codes[current.used], means[current.used] = solved.anchor_codes, _anchor_means(current, solved.rows)
        unchanged = np.array_equal(solved.rows.argmax(axis=1), solution.rows.argmax(axis=1))
        solution = replace(solved, anchor_codes=codes)
        if unchanged:
            break
    return solution


def _anchor_means(graph: AnchorGraph, rows: np.ndarray) -> np.ndarray:
    """Return P, the mean class scores of the rows of each anchor, (m, c)."""
    means: np.ndarray = (graph.weights.T @ rows) / graph.degrees[:, None]
    return means


def _moved_weights(
    first: sparse.csr_matrix, means: np.ndarray, rows: np.ndarray, kept: np.ndarray, options: FUCSMFOptions
) -> sparse.csr_matrix:
    """Return the projections of `first` less the pull of the classes, which `kept` rows (n,) do not feel."""
    weights = first.copy()
    counts = np.diff(first.indptr)
    for start in range(0, len(rows), _CHUNK):
        stop = min(start + _CHUNK, len(rows))
        entries = slice(first.indptr[start], first.indptr[stop])
        owner = np.repeat(np.arange(start, stop), counts[start:stop])
        gaps = ~kept[owner] * np.sum((rows[owner] - means[first.indices[entries]]) ** 2, axis=1)
        place = np.arange(entries.start, entries.stop) - first.indptr[owner]
        padded = np.full((stop - start, counts[start:stop].max()), -np.inf)
        padded[owner - start, place] = first.data[entries] - options.pull * gaps
        weights.data[entries] = project_simplex(padded)[owner - start, place]
    return weights
