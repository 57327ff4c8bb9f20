"""EVoC and fast_hdbscan: clusters of embedding vectors and by density, as many as they find."""

# n rows, k clusters

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from benchmarks.peers.knn import axes

_AXES = 50


def evoc(tables: Sequence[np.ndarray], k: int, seed: int, *, told: bool) -> np.ndarray:
    """Return EVoC's clusters, -1 for noise; with about k of them where it is told."""
    from evoc import EVoC

    rows = np.ascontiguousarray(np.hstack(tables), dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EVoC(approx_n_clusters=k if told else None, random_state=seed).fit_predict(rows)


def fast_hdbscan(tables: Sequence[np.ndarray], k: int, seed: int, *, min_cluster_size: int) -> np.ndarray:
    """Return fast_hdbscan's clusters, -1 for noise, of principal axes where columns are many."""
    import fast_hdbscan

    rows = np.ascontiguousarray(axes(np.hstack(tables), _AXES, seed), dtype=np.float64)
    return fast_hdbscan.HDBSCAN(min_cluster_size=min_cluster_size).fit_predict(rows)
