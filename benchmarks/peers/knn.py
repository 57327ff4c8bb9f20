"""Nearest neighbours, and graphs of them, that several peers share."""

# n rows, q neighbours

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

_EXACT_ROWS = 20_000


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


def jaccard(places: np.ndarray) -> sparse.csr_matrix:
    """Return the Jaccard index of the neighbours of rows of which one is a neighbour of the other."""
    n, q = places.shape
    linked = sparse.csr_matrix((np.ones(n * q), places.ravel(), np.arange(0, n * q + 1, q)), shape=(n, n))
    either = ((linked + linked.T) > 0).astype(float)
    shared = (linked @ linked.T).multiply(either).tocsr()
    shared.data = shared.data / (2 * q - shared.data)
    return shared
