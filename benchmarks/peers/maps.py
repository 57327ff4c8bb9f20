"""Maps that people cluster: UMAP and PaCMAP, then k-means, a mixture or HDBSCAN; UMAP of several views; N2D."""

# n rows, v views, k clusters

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from operator import add, mul

import numpy as np
import umap
from sklearn.cluster import HDBSCAN
from sklearn.mixture import GaussianMixture

from benchmarks.peers.graphs import clustered
from benchmarks.peers.kept import kept

_SMALLEST_SHARE, _SMALLEST = 0.01, 10
"""The least cluster of HDBSCAN on a map: a hundredth of the rows, as in UMAP's own tutorial, and ten."""


def umap_kmeans(
    tables: Sequence[np.ndarray], k: int, seed: int, *, n_components: int, n_neighbors: int
) -> np.ndarray:
    """Return k-means of UMAP's embedding without a least distance."""
    return clustered(_umap(np.hstack(tables), seed, n_components, n_neighbors), k, seed)


def umap_mixture(
    tables: Sequence[np.ndarray], k: int, seed: int, *, n_components: int, n_neighbors: int
) -> np.ndarray:
    """Return a mixture of Gaussians, full covariances, of UMAP's embedding."""
    return mixed(_umap(np.hstack(tables), seed, n_components, n_neighbors), k, seed)


def umap_hdbscan(
    tables: Sequence[np.ndarray], k: int, seed: int, *, n_components: int, n_neighbors: int
) -> np.ndarray:
    """Return HDBSCAN of UMAP's embedding: as many clusters as it finds, -1 for noise."""
    rows = _umap(np.hstack(tables), seed, n_components, n_neighbors)
    least = max(_SMALLEST, round(_SMALLEST_SHARE * len(rows)))
    return HDBSCAN(min_cluster_size=least, min_samples=min(10, len(rows)), copy=True).fit_predict(rows)


def pacmap_kmeans(tables: Sequence[np.ndarray], k: int, seed: int, *, n_components: int) -> np.ndarray:
    """Return k-means of PaCMAP's embedding with its own settings."""
    import pacmap

    rows = np.hstack(tables)

    def compute() -> dict[str, np.ndarray]:
        model = pacmap.PaCMAP(n_components=n_components, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"rows": model.fit_transform(rows)}

    return clustered(kept(f"pacmap{n_components}", rows, seed, compute)["rows"], k, seed)


def several_umap(
    tables: Sequence[np.ndarray], k: int, seed: int, *, join: str, n_components: int, n_neighbors: int
) -> np.ndarray:
    """Return k-means of UMAP of several views: the union or the intersection of their graphs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [_model(table, seed, n_components, n_neighbors).fit(table) for table in tables]
        whole = reduce({"union": add, "intersection": mul}[join], models)
    return clustered(np.nan_to_num(whole.embedding_), k, seed)


def n2d(tables: Sequence[np.ndarray], k: int, seed: int, *, n_neighbors: int) -> np.ndarray:
    """Return N2D (McConville and others 2020): a mixture of UMAP's k axes of an auto-encoder's codes."""
    from benchmarks.peers.deep import codes

    encoded = codes(np.hstack(tables), k, seed)
    return mixed(_umap(encoded, seed, k, n_neighbors), k, seed)


def mixed(rows: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the clusters of a mixture of Gaussians with full covariances, the best of three."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(k, n_init=3, reg_covar=1e-4, random_state=seed)
        return model.fit_predict(rows.astype(np.float64))


def _umap(rows: np.ndarray, seed: int, n_components: int, n_neighbors: int) -> np.ndarray:
    def compute() -> dict[str, np.ndarray]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one thread, since a seed is given
            return {"rows": _model(rows, seed, n_components, n_neighbors).fit_transform(rows)}

    found = kept(f"umap{n_components}-{n_neighbors}", rows, seed, compute)["rows"]
    return np.nan_to_num(found)  # rows without neighbours have no place


def _model(rows: np.ndarray, seed: int, n_components: int, n_neighbors: int) -> umap.UMAP:
    return umap.UMAP(
        n_components=min(n_components, len(rows) - 2),
        n_neighbors=min(n_neighbors, len(rows) - 1),
        min_dist=0.0,
        random_state=seed,
        n_jobs=1,
    )
