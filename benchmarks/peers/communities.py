"""Leiden communities of nearest-neighbour graphs, as scanpy and PhenoGraph find them.

leidenalg and igraph are under the GPL: they are measured here and never imported by the library.
"""

# n rows, q neighbours, k clusters

from __future__ import annotations

import warnings
from collections.abc import Sequence

import igraph
import leidenalg
import numpy as np
from scipy import sparse
from umap.umap_ import fuzzy_simplicial_set

from benchmarks.peers.kept import kept
from benchmarks.peers.knn import axes, jaccard, neighbours
from benchmarks.peers.wnn import weighted_neighbours

_AXES = 50
"""Principal axes of wider tables, as in scanpy."""
_STEPS, _MOST = 12, 1000.0
"""Halvings of the interval of resolutions, and the largest resolution."""


def leiden(
    tables: Sequence[np.ndarray],
    k: int,
    seed: int,
    *,
    weights: str,
    n_neighbors: int,
    resolution: float | None,
) -> np.ndarray:
    """Return Leiden communities at a resolution, or at one searched for k of them where it is None.

    Weights are UMAP's fuzzy ones, as scanpy's, or the Jaccard index of two rows' neighbours, as PhenoGraph's.
    """
    rows = np.hstack(tables)
    found = kept(f"graph-{weights}", rows, seed, lambda: _edges(rows, seed, weights, n_neighbors))
    return partition(found["first"], found["second"], found["weight"], len(rows), k, seed, resolution)


def weighted(
    tables: Sequence[np.ndarray], k: int, seed: int, *, n_neighbors: int, n_candidates: int, n_axes: int
) -> np.ndarray:
    """Return k Leiden communities of weighted nearest neighbours, edges weighted as PhenoGraph's."""
    places = weighted_neighbours(
        tables, seed, n_neighbors=n_neighbors, n_candidates=n_candidates, n_axes=n_axes
    )
    upper = sparse.triu(jaccard(places), 1).tocoo()
    return partition(upper.row, upper.col, upper.data, len(places), k, seed, None)


def partition(
    first: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    n_rows: int,
    k: int,
    seed: int,
    resolution: float | None,
) -> np.ndarray:
    """Return Leiden communities of weighted edges; for k of them the resolution is doubled, then bisected."""
    graph = igraph.Graph(
        n_rows, np.column_stack([first, second]).tolist(), edge_attrs={"weight": weight.tolist()}
    )

    def labels(value: float) -> np.ndarray:
        found = leidenalg.find_partition(
            graph,
            leidenalg.RBConfigurationVertexPartition,
            weights="weight",
            resolution_parameter=value,
            seed=seed,
        )
        return np.array(found.membership)

    if resolution is not None:
        return labels(resolution)
    low, high, best = 0.0, 1.0, labels(1.0)
    while _count(best) < k and high < _MOST:
        low, high = high, 2 * high
        best = min((best, labels(high)), key=lambda some: abs(_count(some) - k))
    for _ in range(_STEPS):
        if _count(best) == k:
            break
        middle = (low + high) / 2
        trial = labels(middle)
        low, high = (middle, high) if _count(trial) < k else (low, middle)
        best = min((best, trial), key=lambda some: abs(_count(some) - k))
    return best


def _count(labels: np.ndarray) -> int:
    return int(labels.max()) + 1


def _edges(rows: np.ndarray, seed: int, weights: str, q: int) -> dict[str, np.ndarray]:
    rows = axes(rows, _AXES, seed)
    places, distances = neighbours(rows, q, seed)
    if weights == "umap":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = fuzzy_simplicial_set(
                rows, places.shape[1], np.random.RandomState(seed), "euclidean",
                knn_indices=places, knn_dists=distances.astype(np.float32),
            )[0]  # fmt: skip
    else:
        graph = jaccard(places[:, 1:])
    upper = sparse.triu(graph, 1).tocoo()
    return {"first": upper.row, "second": upper.col, "weight": upper.data}
