"""Graphs of nearest neighbours from several views, and their eigenvectors."""

# n rows, k neighbours of a row, v views, c clusters

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import lobpcg
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.ops.neighbours import neighbour_table

NOBODY = -1
_DENSE_ROWS = 1000
_TOLERANCE = 1e-4
_STEPS = 300


def table_of_present(
    rows: Tensor,
    present: np.ndarray,
    n_neighbors: int,
    *,
    generator: torch.Generator,
    collectives: Collectives = ALONE,
) -> np.ndarray:
    """Return the (n, k) neighbours of each present row among the present rows; `NOBODY` in the other lines.

    Examples
    --------
    >>> rows, there = torch.tensor([[0.0], [9.0], [1.0]]), np.array([True, False, True])
    >>> table_of_present(rows, there, 5, generator=torch.Generator()).tolist()
    [[2], [-1], [0]]
    """
    numbers = np.flatnonzero(present)
    k = max(0, min(n_neighbors, len(numbers) - 1))
    table = np.full((len(rows), k), NOBODY)
    if k:
        found = neighbour_table(
            rows[torch.from_numpy(numbers)], k, generator=generator, collectives=collectives
        )
        table[numbers] = numbers[found.cpu().numpy()]
    return table


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Return how much oftener two tables of neighbours name the same row than chance would, at most 1.

    Only lines that both tables have count, and neighbours that have a line in both. Rows that are everyone's
    neighbour (hubs) meet by chance, so what they would give by chance is taken off.

    Examples
    --------
    >>> ring = np.array([[1, 2], [2, 3], [3, 0], [0, 1]])
    >>> agreement(ring, ring), agreement(ring, np.array([[3], [0], [1], [2]]))
    (0.5, -0.5)
    """
    both = (one[:, :1] != NOBODY).any(1) & (other[:, :1] != NOBODY).any(1)
    if not both.any():
        return 0.0
    mine, theirs = one[both], other[both]
    same = (mine[:, :, None] == theirs[:, None, :]).any(2).sum()
    by_chance = (_popularity(mine, len(one)) * _popularity(theirs, len(one))).sum() / both.sum()
    possible = min(both[mine].sum(), both[theirs].sum())
    return float((same - by_chance) / max(possible, 1))


def _popularity(table: np.ndarray, n_rows: int) -> np.ndarray:
    return np.bincount(table.ravel(), minlength=n_rows).astype(np.float64)


def joined_graph(tables: Sequence[np.ndarray], weights: Sequence[float] | None = None) -> sparse.csr_matrix:
    """Return the (n, n) weighted sum of the symmetric neighbour graphs of several views; O(n k v) memory.

    Examples
    --------
    >>> joined_graph([np.array([[1], [0], [1]]), np.array([[1], [0], [-1]])]).toarray()
    array([[0., 4., 0.],
           [4., 0., 1.],
           [0., 1., 0.]])
    """
    n_rows = len(tables[0])
    graph = sparse.csr_matrix((n_rows, n_rows))
    for table, weight in zip(tables, weights or [1.0] * len(tables), strict=True):
        lines = np.flatnonzero((table[:, :1] != NOBODY).any(1))
        ends = np.repeat(lines, table.shape[1]), table[lines].ravel()
        graph = graph + sparse.csr_matrix((np.full(len(ends[0]), weight), ends), shape=graph.shape)
    return sparse.csr_matrix(graph + graph.T)


def spectral_rows(graph: sparse.csr_matrix, n_components: int) -> np.ndarray:
    """Return the top eigenvectors of the degree-normalised graph, (n, c), the first first, rows of unit length.

    Examples
    --------
    >>> two_pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> rows = spectral_rows(two_pairs, 2)
    >>> bool(np.allclose(rows[0], rows[1])), bool(abs(rows[0] @ rows[2]) < 1e-9)
    (True, True)
    """
    n_rows = graph.shape[0]
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = sparse.diags(1 / np.sqrt(np.maximum(degrees, np.finfo(float).eps)))
    normalised = scale @ graph @ scale
    if n_rows <= max(_DENSE_ROWS, 5 * n_components):
        vectors = np.linalg.eigh(normalised.toarray())[1][:, ::-1][:, :n_components]
    else:
        # A block method: islands give as many equal eigenvalues, of which Lanczos from one vector misses some.
        drawn = np.random.default_rng(0).standard_normal((n_rows, n_components))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)  # a few digits are enough
            vectors = lobpcg(normalised, drawn, largest=True, tol=_TOLERANCE, maxiter=_STEPS)[1]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
