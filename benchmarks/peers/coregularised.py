"""Co-regularised multi-view spectral clustering (Kumar, Rai and Daumé, NIPS 2011), in our own words."""

# n rows, v views, k clusters

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, eigsh

from benchmarks.peers.graphs import clustered
from coterie.data.scaling import unit_rows
from coterie.ops.distances import squared_distances


def coregularised(
    tables: Sequence[np.ndarray], k: int, seed: int, *, weight: float, rounds: int
) -> np.ndarray:
    r"""Return clusters of the views' eigenvectors, drawn towards each other pair by pair.

    .. math:: \max \sum_v \mathrm{tr}(U_v^\top L_v U_v)
              + \lambda \sum_{v \ne w} \mathrm{tr}(U_v U_v^\top U_w U_w^\top)

    over orthonormal U_v (n, k), with L_v the normalised Gaussian kernel of a view and :math:`\lambda` `weight`.
    Given the others, U_v holds the top eigenvectors of :math:`L_v + \lambda \sum_w U_w U_w^\top`. The paper clusters
    the rows of the most informative view's U; without labels to say which, we concatenate them.
    """
    kernels = [gaussian_kernel(table) for table in tables]
    start = np.random.default_rng(seed).standard_normal(len(tables[0]))
    embeddings = [_top(kernel, [], k, weight, start) for kernel in kernels]
    for _ in range(rounds):
        for v, kernel in enumerate(kernels):
            embeddings[v] = _top(kernel, [u for w, u in enumerate(embeddings) if w != v], k, weight, start)
    return clustered(np.hstack([unit_rows(u) for u in embeddings]), k, seed)


def gaussian_kernel(rows: np.ndarray) -> np.ndarray:
    """Return D^-1/2 K D^-1/2 of the Gaussian kernel whose width is the median distance."""
    points = torch.from_numpy(rows)
    squares = squared_distances(points, points).numpy()
    kernel = np.exp(squares / (-2 * np.median(squares[:: max(1, len(rows) // 1000)])))
    scale = 1 / np.sqrt(kernel.sum(axis=1))
    kernel *= scale[:, None]
    kernel *= scale
    return kernel


def _top(
    kernel: np.ndarray, others: Sequence[np.ndarray], k: int, weight: float, start: np.ndarray
) -> np.ndarray:
    def product(x: np.ndarray) -> np.ndarray:
        return kernel @ x.astype(kernel.dtype) + weight * sum(
            (u @ (u.T @ x) for u in others), np.zeros_like(x)
        )

    return eigsh(LinearOperator(kernel.shape, product, dtype=np.float64), k, which="LA", v0=start, tol=1e-4)[
        1
    ]
