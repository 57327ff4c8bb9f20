"""Anchor graphs: bipartite graphs of rows and their nearest anchors, with weights on the simplex."""

# n rows, m anchors, p anchors of a row, k clusters, d features

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.ops.distances import closest


def tied(columns: np.ndarray, weights: np.ndarray, n_anchors: int) -> sparse.csr_matrix:
    """Return the (n, m) bipartite graph of rows and their p anchors, from (n, p) numbers and weights.

    Examples
    --------
    >>> tied(np.array([[2], [0]]), np.array([[1.0], [1.0]]), 3).toarray()
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    n_rows, p = columns.shape
    starts = np.arange(0, n_rows * p + 1, p)
    return sparse.csr_matrix((weights.ravel(), columns.ravel(), starts), shape=(n_rows, n_anchors))


def nearest_anchors(
    rows: Tensor, anchors: Tensor, p: int, together: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the numbers of the p < m nearest anchors of each row and their `simplex_weights`, both (n, p).

    `together` rows are compared at a time, all of them by default.

    Examples
    --------
    >>> nearest_anchors(torch.tensor([[1.0]]), torch.tensor([[9.0], [0.0], [2.0]]), 2)[0].sort().values
    tensor([[1, 2]])
    """
    squares, numbers = closest(rows, anchors, p + 1, together)
    return numbers[:, :p], simplex_weights(squares.double())


def simplex_weights(distances: Tensor) -> Tensor:
    r"""Return the (n, p) weights of a row's p nearest anchors from its p + 1 lowest distances, lowest first.

    .. math:: z_{ij} = \frac{d_{(p+1)} - d_{ij}}{p\, d_{(p+1)} - \sum_{h \le p} d_{(h)}}

    is the projection of :math:`-d_i / 2 \gamma_i` onto the simplex, with half the denominator as
    :math:`\gamma_i` (spec fucsmf 2.4); 1/p each where all of them tie.

    Examples
    --------
    >>> simplex_weights(torch.tensor([[0.0, 1.0, 2.0]]))
    tensor([[0.6667, 0.3333]])
    """
    margins = distances[:, -1:] - distances[:, :-1]
    total = margins.sum(1, keepdim=True)
    even = 1 / margins.shape[1]
    return torch.where(total > 0, margins / total.clamp(min=torch.finfo(total.dtype).tiny), even)


def project_simplex(rows: np.ndarray) -> np.ndarray:
    """Return the nearest points with entries of at least zero that sum to one, row by row, (n, p).

    Entries of minus infinity come out as zero (Held, Wolfe and Crowder 1974: a sort and a threshold).

    Examples
    --------
    >>> project_simplex(np.array([[0.2, 0.4], [9.0, -np.inf]]))
    array([[0.4, 0.6],
           [1. , 0. ]])
    """
    falling = -np.sort(-rows, axis=1)
    with np.errstate(invalid="ignore"):
        excess = np.cumsum(falling, axis=1) - 1
        count = np.arange(1, rows.shape[1] + 1)
        kept = np.maximum(1, (falling * count > excess).sum(axis=1))
    threshold = excess[np.arange(len(rows)), kept - 1] / kept
    return np.maximum(rows - threshold[:, None], 0)


def spectral_embedding(graph: sparse.csr_matrix, n_components: int) -> np.ndarray:
    """Return the top left singular vectors of the degree-normalised anchor graph, rows of unit length.

    They are the bottom eigenvectors of the normalised Laplacian of Z diag(Z' 1)^-1 Z', the graph that connects rows
    by the anchors they share; `graph` is Z (n, m). The cost is linear in rows and cubic in anchors.

    Examples
    --------
    >>> two_components = sparse.csr_matrix([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> embedding = spectral_embedding(two_components, 2)
    >>> bool(np.allclose(embedding[0], embedding[1])), bool(abs(embedding[0] @ embedding[2]) < 1e-9)
    (True, True)
    """
    degrees = np.asarray(graph.sum(axis=0)).ravel()
    scale = 1 / np.sqrt(np.maximum(degrees, np.finfo(float).tiny ** 0.5))
    scale[degrees == 0] = 0
    gram = scale[:, None] * (graph.T @ graph).toarray() * scale
    squares, vectors = np.linalg.eigh(gram)
    singular = np.sqrt(np.maximum(squares[::-1][:n_components], np.finfo(float).eps))
    embedding = graph @ (scale[:, None] * vectors[:, ::-1][:, :n_components] / singular)
    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    return embedding / np.where(lengths > 0, lengths, 1)
