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
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from umap.umap_ import fuzzy_simplicial_set

from benchmarks.peers.kept import kept

_AXES = 50
"""Principal axes of wider tables, as in scanpy."""
_EXACT_ROWS = 20_000
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


def neighbours(rows: np.ndarray, q: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the q nearest rows of each, itself first, and their distances; approximate where rows are many."""
    q = min(q, len(rows))
    if len(rows) > _EXACT_ROWS:
        from pynndescent import NNDescent

        return NNDescent(rows, n_neighbors=q, random_state=seed, n_jobs=1).neighbor_graph
    distances, places = NearestNeighbors(n_neighbors=q).fit(rows).kneighbors(rows)
    return places, distances


def axes(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return principal axes of a wide table, a narrow one as it is."""
    if rows.shape[1] <= most:
        return rows
    return PCA(min(most, len(rows) - 1), random_state=seed).fit_transform(rows).astype(np.float32)


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


def jaccard(places: np.ndarray) -> sparse.csr_matrix:
    """Return the Jaccard index of the neighbours of rows of which one is a neighbour of the other."""
    n, q = places.shape
    linked = sparse.csr_matrix((np.ones(n * q), places.ravel(), np.arange(0, n * q + 1, q)), shape=(n, n))
    either = ((linked + linked.T) > 0).astype(float)
    shared = (linked @ linked.T).multiply(either).tocsr()
    shared.data = shared.data / (2 * q - shared.data)
    return shared
