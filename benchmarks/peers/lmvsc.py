"""LMVSC, large-scale multi-view subspace clustering (Kang and others, AAAI 2020), in our own words."""

# n rows, v views, d columns of a view, m anchors, k clusters

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from benchmarks.peers.graphs import clustered
from coterie.ops.anchors import project_simplex, spectral_embedding

_STEPS = 100


def lmvsc(tables: Sequence[np.ndarray], k: int, seed: int, *, least_anchors: int, ridge: float) -> np.ndarray:
    """Return spectral clustering of what each view's rows are mixed of: its anchors, k-means centres."""
    m = min(max(least_anchors, k), len(tables[0]))
    parts = [
        mixtures(table, KMeans(m, n_init=1, random_state=seed).fit(table).cluster_centers_, ridge)
        for table in tables
    ]
    return clustered(spectral_embedding(sparse.csr_matrix(np.hstack(parts)), k), k, seed)


def mixtures(rows: np.ndarray, anchors: np.ndarray, ridge: float) -> np.ndarray:
    r"""Return the (n, m) weights with which anchors make up the rows.

    .. math:: \min_Z \lVert X - Z A \rVert^2 + \alpha \lVert Z \rVert^2 \quad
              \text{subject to } Z \ge 0,\; Z 1 = 1

    where :math:`\alpha` is `ridge`. Every row is a quadratic programme of its own; all of them take the same
    accelerated projected steps.
    """
    gram, right = anchors @ anchors.T + ridge * np.eye(len(anchors)), rows @ anchors.T
    rate = 1 / np.linalg.eigvalsh(gram)[-1]
    solution = extrapolated = np.full(right.shape, 1 / len(anchors))
    momentum = 1.0
    for _ in range(_STEPS):
        new = project_simplex(extrapolated - rate * (extrapolated @ gram - right))
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        extrapolated = new + (momentum - 1) / grown * (new - solution)
        solution, momentum = new, grown
    return solution
