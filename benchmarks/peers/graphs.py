"""The two graph baselines of the project's brief: twenty lines each, and hard to beat."""

# n rows, v views, m anchors of a view, k clusters

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph

from coterie.data.scaling import unit_rows
from coterie.ops.anchors import nearest_anchors, spectral_embedding, tied

_CHUNK = 8192


def anchor_graph(tables: Sequence[np.ndarray], k: int, seed: int, *, n_nearest: int) -> np.ndarray:
    """Return spectral clustering of the views' concatenated anchor graphs; linear in n.

    Each view has max(10 k, 200) k-means centres as anchors, half the rows at most; a row is tied to its nearest ones.
    """
    parts = []
    for table in tables:
        m = max(k, min(max(10 * k, 200), len(table) // 2))
        centers = KMeans(m, n_init=1, random_state=seed).fit(table).cluster_centers_
        rows, anchors = torch.from_numpy(table), torch.from_numpy(centers)
        columns, weights = nearest_anchors(rows, anchors, min(n_nearest, m - 1), together=_CHUNK)
        parts.append(tied(columns.numpy(), weights.numpy(), m))
    return clustered(spectral_embedding(sparse.hstack(parts).tocsr(), k), k, seed)


def knn_graph(tables: Sequence[np.ndarray], k: int, seed: int, *, n_neighbors: int) -> np.ndarray:
    """Return spectral clustering of the sum of the views' nearest-neighbour graphs, each with its transpose."""
    graphs = [kneighbors_graph(table, n_neighbors, mode="connectivity") for table in tables]
    total = sum(graph + graph.T for graph in graphs)
    scale = sparse.diags(1 / np.sqrt(np.asarray(total.sum(axis=1)).ravel()))
    start = np.random.default_rng(seed).standard_normal(total.shape[0])
    vectors = eigsh(scale @ total @ scale, k, which="LA", v0=start)[1]
    return clustered(unit_rows(vectors), k, seed)


def clustered(embedding: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the best of ten k-means on an embedding."""
    return KMeans(k, n_init=10, random_state=seed).fit_predict(embedding)
