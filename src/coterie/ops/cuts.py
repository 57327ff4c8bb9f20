"""Cuts of a graph into clusters: by its eigenvectors, then by moving rows."""

# n rows, c clusters

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

from coterie.data.scaling import unit_rows
from coterie.ops.communities import cluster_cuts, has_tiny_cluster, kept_beyond_chance, share_cut
from coterie.ops.distances import nearest
from coterie.ops.graphs import spectral_rows
from coterie.ops.kmeans import kmeans

_RESTARTS = 10
_MOVES = 20
_HALVES = 20


class Found(NamedTuple):
    """Partitions of the rows of a graph, (n,) each.

    Attributes
    ----------
    modular : ndarray
        That of highest modularity.
    low : ndarray or None
        That of lowest normalised cut; None where every one has a cluster that is too small.
    """

    modular: np.ndarray
    low: np.ndarray | None


def find_partitions(graph: sparse.csr_matrix, n_clusters: int, *, generator: torch.Generator) -> Found:
    """Return the best of twenty partitions by modularity, and by the normalised cut.

    Each is begun by k-means on the eigenvectors: half of them see as many as clusters, which tell islands apart, half
    one more, for the first hardly varies where the graph is connected. From there rows move while the normalised cut
    falls, then while modularity rises. The cut of a few odd rows may be the lowest, so a cluster with less than a
    twentieth of an even share of the rows is too small.

    Examples
    --------
    >>> two_pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> found = find_partitions(two_pairs, 2, generator=torch.Generator().manual_seed(0))
    >>> found.modular.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    vectors = spectral_rows(graph, min(n_clusters + 1, graph.shape[0]))
    cut, kept = [], []
    for seen in (unit_rows(vectors[:, :n_clusters]), vectors):
        rows = torch.from_numpy(np.ascontiguousarray(seen, dtype=np.float32))
        for _ in range(_RESTARTS):
            centers = kmeans(rows, n_clusters, generator=generator, n_init=1, quiet=True).centers
            cut.append(lower_cut(graph, nearest(rows, centers)[0].numpy(), n_clusters))
            kept.append(raise_modularity(graph, cut[-1], n_clusters, generator=generator))
    large = [labels for labels in cut if not has_tiny_cluster(labels, n_clusters)]
    return Found(
        max(kept, key=lambda labels: modularity_of(graph, labels, n_clusters)),
        min(large, key=lambda labels: normalised_cut(graph, labels, n_clusters), default=None),
    )


def lower_cut(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Move rows between clusters while the normalised cut falls: weighted kernel k-means on the graph.

    The normalised cut is the sum over clusters of the share of a cluster's edges that leave it.
    Dhillon, Guan and Kulis (2007) show that the normalised cut is the inertia of kernel k-means whose kernel
    is D^-1 W D^-1 and whose weights are the degrees.
    """
    ties, inside, volume = cluster_cuts(graph, labels, n_clusters)
    degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), np.finfo(float).eps)
    for _ in range(_MOVES):
        moved = (inside / volume**2 - 2 * ties / (degrees[:, None] * volume)).argmin(1)
        cuts = cluster_cuts(graph, moved, n_clusters)
        if len(np.unique(moved)) < n_clusters or share_cut(*cuts[1:]) >= share_cut(inside, volume):
            break
        labels, (ties, inside, volume) = moved, cuts
    return labels


def raise_modularity(
    graph: sparse.csr_matrix,
    labels: np.ndarray,
    n_clusters: int,
    *,
    generator: torch.Generator,
    resolution: float = 1.0,
) -> np.ndarray:
    """Move rows to the clusters that pull most, a random half of them at a time, while modularity rises.

    All rows at once would move past each other.
    """

    def kept(inside: np.ndarray, volume: np.ndarray) -> float:
        return kept_beyond_chance(inside, volume, resolution)

    ties, inside, volume = cluster_cuts(graph, labels, n_clusters)
    for _ in range(_HALVES):
        best = _pulls(ties, volume, labels, resolution).argmax(1)
        if (best == labels).all():
            break
        half = torch.rand(len(labels), generator=generator).numpy() < 0.5
        moved = np.where(half, best, labels)
        cuts = cluster_cuts(graph, moved, n_clusters)
        if len(np.unique(moved)) < n_clusters or kept(*cuts[1:]) < kept(inside, volume):
            break
        labels, (ties, inside, volume) = moved, cuts
    return labels


def _pulls(ties: np.ndarray, volume: np.ndarray, labels: np.ndarray, resolution: float = 1.0) -> np.ndarray:
    r"""Return how much each cluster pulls at each row, (n, c): :math:`w_{ic} - \gamma d_i v_c / w`.

    w_ic is the weight between row i and cluster c, d_i the row's degree, v_c the cluster's volume without the row,
    w all the weight and gamma the resolution. A move raises modularity by 2 / w of what the new cluster pulls more
    than the old one.
    """
    degrees, whole = ties.sum(1), volume.sum()
    pulls = ties - resolution * np.outer(degrees, volume / whole)
    pulls[np.arange(len(labels)), labels] += resolution * degrees**2 / whole
    return pulls


def modularity_of(
    graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int, resolution: float = 1.0
) -> float:
    """Return the modularity of a partition of a graph.

    Examples
    --------
    >>> two_pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> modularity_of(two_pairs, np.array([0, 0, 1, 1]), 2)
    0.5
    """
    return kept_beyond_chance(*cluster_cuts(graph, labels, n_clusters)[1:], resolution)


def normalised_cut(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> float:
    """Return the sum over clusters of the share of a cluster's edges that leave it.

    Examples
    --------
    >>> two_pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> normalised_cut(two_pairs, np.array([0, 0, 1, 1]), 2)
    0.0
    """
    return share_cut(*cluster_cuts(graph, labels, n_clusters)[1:])
