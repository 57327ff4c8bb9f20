"""Weighted nearest neighbours of several views, as Seurat and muon join them, in our own words."""

# n rows, v views, q neighbours

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.peers.knn import axes, neighbours


def weighted_neighbours(
    tables: Sequence[np.ndarray], seed: int, *, n_neighbors: int, n_candidates: int, n_axes: int
) -> np.ndarray:
    """Return the weighted nearest neighbours of each row (Hao and others 2021), (n, q).

    A view weighs more for a row whose neighbours in this view predict it better than its neighbours in the others
    do; the neighbours are those with the largest weighted affinity.
    """
    rows = [axes(table, n_axes, seed) for table in tables]
    found = [neighbours(own, n_candidates, seed) for own in rows]
    q = min(n_neighbors, len(rows[0]) - 1)
    nearest = [distances[:, 1] for _, distances in found]
    width = [np.maximum(distances[:, -1] - distances[:, 1], 1e-8) for _, distances in found]
    fit = np.empty((len(tables), len(tables), len(rows[0])))
    for v, own in enumerate(rows):
        for w, (places, _) in enumerate(found):
            off = np.linalg.norm(own - own[places[:, 1 : q + 1]].mean(axis=1), axis=1)
            fit[v, w] = np.exp(-np.maximum(off - nearest[v], 0) / width[v])
    scores = np.stack([
        fit[v, v] / (np.mean([fit[v, w] for w in range(len(rows)) if w != v], axis=0) + 1e-4)
        for v in range(len(rows))
    ])  # fmt: skip
    weights = np.exp(np.minimum(scores, 200) - np.minimum(scores, 200).max(axis=0))
    weights /= weights.sum(axis=0)
    chosen = np.empty((len(rows[0]), q), dtype=np.int64)
    for i in range(len(rows[0])):
        candidates = np.unique(np.concatenate([places[i, 1:] for places, _ in found]))
        total = np.zeros(len(candidates))
        for v, own in enumerate(rows):
            away = np.linalg.norm(own[candidates] - own[i], axis=1)
            total += weights[v, i] * np.exp(-np.maximum(away - nearest[v][i], 0) / width[v][i])
        chosen[i] = candidates[np.argsort(-total, kind="stable")[:q]]
    return chosen
