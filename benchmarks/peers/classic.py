"""scikit-learn's clusterers on the concatenated views."""

# n rows, v views, d columns of a view, k clusters

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, MiniBatchKMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture


def kmeans(tables: Sequence[np.ndarray], k: int, seed: int, *, n_init: int) -> np.ndarray:
    """Return the best of some k-means."""
    return KMeans(k, n_init=n_init, random_state=seed).fit_predict(np.hstack(tables))


def minibatch_kmeans(tables: Sequence[np.ndarray], k: int, seed: int, *, n_init: int) -> np.ndarray:
    """Return k-means by batches of 1,024 rows, from the best of some starts."""
    return MiniBatchKMeans(k, n_init=n_init, random_state=seed).fit_predict(np.hstack(tables))


def gaussian_mixture(
    tables: Sequence[np.ndarray], k: int, seed: int, *, most_axes: int, n_init: int
) -> np.ndarray:
    """Return the best of some mixtures with diagonal covariances, on principal axes where columns are many."""
    rows = np.hstack(tables).astype(np.float64)
    if rows.shape[1] > most_axes:
        rows = PCA(min(most_axes, len(rows)), random_state=seed).fit_transform(rows)
    rows /= max(float(rows.std()), 1e-12)  # its floor of the variances is absolute
    return GaussianMixture(k, covariance_type="diag", n_init=n_init, random_state=seed).fit_predict(rows)


def spectral(tables: Sequence[np.ndarray], k: int, seed: int, *, n_neighbors: int) -> np.ndarray:
    """Return spectral clustering on the graph of nearest neighbours."""
    model = SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=n_neighbors, random_state=seed, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return model.fit_predict(np.hstack(tables))


def hdbscan(tables: Sequence[np.ndarray], k: int, seed: int, *, min_cluster_size: int) -> np.ndarray:
    """Return HDBSCAN's clusters, as many as it finds; -1 is a row that it calls noise. It takes no k and no seed."""
    return HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit_predict(np.hstack(tables))
