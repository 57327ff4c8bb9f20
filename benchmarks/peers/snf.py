"""Similarity network fusion of several views, of which some may be missing, in our own words."""

# n rows, v views, q neighbours, k clusters

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering


def snf(
    tables: Sequence[np.ndarray],
    mask: np.ndarray,
    k: int,
    seed: int,
    *,
    n_neighbors: int,
    mu: float,
    rounds: int,
) -> np.ndarray:
    r"""Return spectral clustering of the fused network of Wang and others (2014), in our own words.

    Each view's affinities P_v pass through the nearest neighbours S_v of that view:
    :math:`P_v \leftarrow S_v \, \mathrm{mean}_{w \ne v}(P_w) \, S_v^\top`. The mean of two rows is that of the views
    which both have, so that rows with a view missing take part; with all views present this is the paper's.
    """
    n = len(tables[0])
    seen = [np.outer(mask[:, v], mask[:, v]) for v in range(len(tables))]
    full = [_affinities(table, mask[:, v], n_neighbors, mu) for v, table in enumerate(tables)]
    near = [_nearest(affinity, n_neighbors) for affinity in full]
    state = [_stochastic(affinity) for affinity in full]
    for _ in range(rounds if len(tables) > 1 else 0):
        new = []
        for v in range(len(tables)):
            others = [w for w in range(len(tables)) if w != v]
            count = sum(seen[w].astype(np.float32) for w in others)
            total = sum(state[w] for w in others)
            mean = np.where(count > 0, total / np.maximum(count, 1), state[v])
            new.append(_stochastic((near[v] @ (near[v] @ mean).T).T))
        state = new
    count = sum(some.astype(np.float32) for some in seen)
    fused = sum(state) / np.maximum(count, 1)
    fused = (fused + fused.T) / 2 + np.eye(n, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(fused)


def _affinities(table: np.ndarray, present: np.ndarray, q: int, mu: float) -> np.ndarray:
    """Return exp(-d^2 / (mu e)) with e the mean of d and the mean distances of both rows to their neighbours."""
    own = table[present].astype(np.float32)
    norms = np.square(own).sum(axis=1)
    distances = np.sqrt(np.maximum(norms[:, None] + norms - 2 * own @ own.T, 0))
    q = min(q, len(own) - 1)
    mean = np.partition(distances, q, axis=1)[:, 1 : q + 1].mean(axis=1)
    width = np.maximum((mean[:, None] + mean + distances) / 3, 1e-8)
    whole = np.zeros((len(table), len(table)), dtype=np.float32)
    whole[np.ix_(present, present)] = np.exp(-np.square(distances) / (mu * np.square(width)))
    return whole


def _stochastic(affinity: np.ndarray) -> np.ndarray:
    """Return rows of which one half is the row itself and the others share the rest."""
    free = affinity.copy()
    np.fill_diagonal(free, 0)
    free /= np.maximum(2 * free.sum(axis=1, keepdims=True), 1e-12)
    np.fill_diagonal(free, 0.5 * (affinity.sum(axis=1) > 0))
    return (free + free.T) / 2


def _nearest(affinity: np.ndarray, q: int) -> sparse.csr_matrix:
    """Return the q largest affinities of each row, with sum one."""
    q = min(q, len(affinity) - 1)
    least = np.partition(affinity, -q - 1, axis=1)[:, -q - 1 : -q]
    near = np.where(affinity > least, affinity, 0)
    return sparse.csr_matrix(near / np.maximum(near.sum(axis=1, keepdims=True), 1e-12))
