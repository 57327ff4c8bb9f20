"""How well a partition keeps neighbours together: modularity, and the parts of the normalised cut."""

# n rows, p neighbours of a row, k clusters

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.ops.copies import table_beyond_copies
from coterie.ops.neighbours import shared_neighbours

_LEAST_SHARE = 0.05


def weight_between(table: np.ndarray, weights: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the (k, k) weight of the pairs of neighbours from cluster to cluster.

    Parameters
    ----------
    table : ndarray of shape (n, p)
        The neighbours of each row.
    weights : ndarray of shape (n, p)
        Of the pairs.
    labels : ndarray of shape (n,)
    n_clusters : int

    Examples
    --------
    >>> weight_between(np.array([[1], [0], [1]]), np.ones((3, 1)), np.array([0, 0, 1]), 2)
    array([[2., 0.],
           [1., 0.]])
    """
    cells = labels[:, None].astype(np.int64) * n_clusters + labels[table]
    flat = np.bincount(cells.ravel(), weights.ravel(), minlength=n_clusters**2)
    return flat.reshape(n_clusters, n_clusters)


def modularity(between: np.ndarray) -> float:
    r"""Return how much more weight a partition keeps within its clusters than chance would.

    .. math:: Q = \sum_c \frac{w_{cc}}{w} - \Big(\frac{v_c}{w}\Big)^2

    where w_cc is the weight of the pairs inside cluster c, v_c that of all pairs that touch it (pairs between
    clusters count half for each) and w the weight of all pairs (Newman 2006).

    Parameters
    ----------
    between : ndarray of shape (k, k)
        From `weight_between`.

    Examples
    --------
    >>> modularity(np.array([[4.0, 0.0], [0.0, 4.0]]))
    0.5
    """
    return kept_beyond_chance(np.diagonal(between), (between.sum(0) + between.sum(1)) / 2)


def kept_beyond_chance(inside: np.ndarray, volume: np.ndarray, resolution: float = 1.0) -> float:
    """Return modularity from the weight inside each cluster and its volume, both (k,).

    Chance counts `resolution` times: the higher, the more small clusters pay.

    Examples
    --------
    >>> kept_beyond_chance(np.array([4.0, 4.0]), np.array([4.0, 4.0]))
    0.5
    """
    whole = volume.sum()
    return float((inside / whole - resolution * (volume / whole) ** 2).sum())


def information(between: np.ndarray) -> float:
    r"""Return how much the cluster of a row says about that of its neighbour, over the root of all there is to say.

    .. math:: I = \sum_{ab} \frac{w_{ab}}{w} \log \frac{w_{ab} \, w}{v_a v_b}, \qquad
              H = -\sum_a \frac{v_a}{w} \log \frac{v_a}{w}, \qquad \frac{I}{\sqrt H}

    where w_ab is the weight between clusters a and b, v_a that of all pairs that touch cluster a and w the weight of
    all pairs. I is the log likelihood of a block model with free ties between clusters and the rows' own degrees
    (Karrer and Newman 2011): clusters that a graph does not tell apart cost nothing there. It likes clusters of even
    size; I / H, the share of what could be said, likes uneven ones; this is the geometric mean of the two.

    Parameters
    ----------
    between : ndarray of shape (k, k)
        Symmetric, as `weight_in_graph` gives it.

    Examples
    --------
    >>> round(information(np.array([[4.0, 0.0], [0.0, 4.0]])), 4), information(np.ones((2, 2)))
    (0.8326, 0.0)
    """
    shares = between / max(between.sum(), np.finfo(float).tiny)
    volumes = shares.sum(0)
    known, chance = shares[shares > 0], np.outer(volumes, volumes)[shares > 0]
    entropy = -float((volumes[volumes > 0] * np.log(volumes[volumes > 0])).sum())
    return float((known * np.log(known / chance)).sum() / np.sqrt(entropy)) if entropy > 0 else 0.0


def share_cut(inside: np.ndarray, volume: np.ndarray) -> float:
    """Return the normalised cut from the weight inside each cluster and its volume, both (k,).

    It is the sum over clusters of the share of a cluster's weight that leaves it.

    Examples
    --------
    >>> share_cut(np.array([4.0, 2.0]), np.array([4.0, 4.0]))
    0.5
    """
    return float(len(volume) - (inside / np.maximum(volume, np.finfo(float).eps)).sum())


def has_tiny_cluster(labels: np.ndarray, n_clusters: int) -> bool:
    """Tell whether a cluster has less than a twentieth of an even share of the rows.

    Examples
    --------
    >>> has_tiny_cluster(np.repeat([0, 1], [99, 1]), 2), has_tiny_cluster(np.repeat([0, 1], [90, 10]), 2)
    (True, False)
    """
    return bool(np.bincount(labels, minlength=n_clusters).min() < _LEAST_SHARE * len(labels) / n_clusters)


@dataclass(frozen=True)
class Rating:
    """How a partition treats neighbours; ratings among several graphs add up.

    Attributes
    ----------
    modularity : float
        The higher, the better, and the more even the clusters.
    cut : float
        Normalised: the lower, the less weight leaves clusters, whatever their size.
    """

    modularity: float
    cut: float

    @classmethod
    def of(cls, between: np.ndarray) -> Rating:
        """Return the rating that follows from the (k, k) weight between clusters."""
        volume = (between.sum(0) + between.sum(1)) / 2
        return cls(modularity(between), share_cut(np.diagonal(between), volume))

    def __add__(self, other: Rating) -> Rating:
        return Rating(self.modularity + other.modularity, self.cut + other.cut)


def rating_among(
    rows: Tensor, n_neighbors: int, *, generator: torch.Generator, collectives: Collectives = ALONE
) -> Callable[[np.ndarray], Rating]:
    """Return a function that rates labels (n,) by what they keep together of the nearest neighbours of rows (n, d).

    A pair weighs the share of neighbours that its two rows have in common.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> rate = rating_among(rows, 2, generator=torch.Generator())
    >>> rate(np.array([0, 0, 0, 1, 1, 1]))
    Rating(modularity=0.5, cut=0.0)
    >>> rate(np.array([0, 0, 0, 1, 1, 1])).modularity > rate(np.array([0, 0, 1, 1, 1, 1])).modularity
    True
    """
    table = table_beyond_copies(rows, n_neighbors, generator=generator, collectives=collectives)
    weights, neighbours = shared_neighbours(table).cpu().numpy(), table.cpu().numpy()
    return lambda labels: Rating.of(weight_between(neighbours, weights, labels, int(labels.max()) + 1))


def weight_in_graph(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the (k, k) weight of a symmetric graph from cluster to cluster.

    Examples
    --------
    >>> path = sparse.csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> weight_in_graph(path, np.array([0, 0, 1]), 2)
    array([[2., 1.],
           [1., 0.]])
    """
    between = np.zeros((n_clusters, n_clusters))
    np.add.at(between, labels, cluster_cuts(graph, labels, n_clusters)[0])
    return between


def cluster_cuts(
    graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each row's weight to each cluster (n, k), each cluster's weight inside itself and its volume (k,).

    Examples
    --------
    >>> path = sparse.csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> ties, inside, volume = cluster_cuts(path, np.array([0, 0, 1]), 2)
    >>> inside, volume
    (array([2., 0.]), array([3., 1.]))
    """
    n_rows = len(labels)
    cells = np.repeat(np.arange(0, n_rows * n_clusters, n_clusters), np.diff(graph.indptr))
    cells += labels[graph.indices]
    ties = np.bincount(cells, graph.data, n_rows * n_clusters).reshape(n_rows, n_clusters)
    inside = np.bincount(labels, weights=ties[np.arange(n_rows), labels], minlength=n_clusters)
    volume = np.bincount(labels, weights=ties.sum(1), minlength=n_clusters)
    return ties, inside, np.maximum(volume, np.finfo(float).eps)
