"""How well a partition fits a graph: modularity, normalised cut, block information."""

# n rows, k clusters

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

_TINY = np.finfo(float).tiny
_SMOOTHING = 1e-9
SIZE_EXPONENT = 0.6
"""How much J allows for clusters of different sizes: 0 prefers even ones, 1 uneven ones."""


def row_ties(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the weight of each row's edges to each cluster, (n, k); the graph may have some of the rows only.

    Examples
    --------
    >>> path = sparse.csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> row_ties(path, np.array([0, 0, 1]), 2)
    array([[1., 0.],
           [1., 1.],
           [1., 0.]])
    """
    n_rows = graph.shape[0]
    cells = np.repeat(np.arange(0, n_rows * n_clusters, n_clusters), np.diff(graph.indptr))
    cells += labels[graph.indices]
    return np.bincount(cells, graph.data, n_rows * n_clusters).reshape(n_rows, n_clusters)


def block_weights(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the weight of the edges from cluster to cluster, (k, k); an edge inside a cluster counts twice.

    Examples
    --------
    >>> path = sparse.csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> block_weights(path, np.array([0, 0, 1]), 2)
    array([[2., 1.],
           [1., 0.]])
    """
    cells = np.repeat(labels.astype(np.int64) * n_clusters, np.diff(graph.indptr)) + labels[graph.indices]
    return np.bincount(cells, graph.data, n_clusters**2).reshape(n_clusters, n_clusters)


def block_likelihood(blocks: np.ndarray) -> np.ndarray:
    r"""Return :math:`\log \frac{w_{ab}}{v_a v_b}` of the weight between clusters and their volumes, (k, k).

    The cluster of a row with the ties t (k,) is the c of highest :math:`\sum_b t_b \log \frac{w_{cb}}{v_c v_b}`: the
    rows' step of a degree-corrected block model. Clusters without any weight between them have very little.
    """
    smoothed = blocks + _SMOOTHING * max(blocks.sum(), _SMOOTHING) / blocks.size
    volumes = smoothed.sum(axis=1)
    return np.log(smoothed / np.outer(volumes, volumes))


@dataclass(frozen=True)
class Quality:
    r"""How well a partition fits a graph, from the weight :math:`w_{ab}` between clusters (k, k).

    With :math:`p_{ab} = w_{ab} / w` the share of all weight between clusters a and b and
    :math:`p_a = \sum_b p_{ab}` the volume of cluster a:

    - `modularity` :math:`Q = \sum_a p_{aa} - p_a^2` (Newman 2006);
    - `normalised_cut` :math:`\sum_a 1 - p_{aa} / p_a` (Shi and Malik 2000);
    - `information` :math:`I = \sum_{ab} p_{ab} \log \frac{p_{ab}}{p_a p_b}`: what the cluster of a row says about
      the clusters of its neighbours, in nats. It is the log-likelihood per edge of a degree-corrected block model
      (Karrer and Newman 2011);
    - `entropy` :math:`H = -\sum_a p_a \log p_a` of the volumes, the most that I can be;
    - `score` :math:`J = I / H^{0.6}`, which decides between candidates. I alone prefers clusters of even size and
      cuts large ones; the share I / H prefers uneven sizes and merges clusters that are close.

    Examples
    --------
    >>> two_islands = Quality.of_blocks(np.array([[4.0, 0.0], [0.0, 4.0]]))
    >>> two_islands.modularity, two_islands.normalised_cut, round(two_islands.score, 4)
    (0.5, 0.0, 0.8636)
    """

    modularity: float
    normalised_cut: float
    information: float
    entropy: float

    @classmethod
    def of_blocks(cls, blocks: np.ndarray) -> Quality:
        """Return the quality that follows from the symmetric weight between clusters, (k, k)."""
        shares = blocks / max(blocks.sum(), _TINY)
        volumes = shares.sum(axis=1)
        inside = np.diagonal(shares)
        known = shares > 0
        chance = np.outer(volumes, volumes)
        used = volumes[volumes > 0]
        return cls(
            float(inside.sum() - volumes @ volumes),
            float((1 - inside[volumes > 0] / used).sum()),
            float((shares[known] * np.log(shares[known] / chance[known])).sum()),
            float(-(used * np.log(used)).sum()),
        )

    @classmethod
    def of(cls, graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> Quality:
        """Return the quality of a partition of a symmetric graph."""
        return cls.of_blocks(block_weights(graph, labels, n_clusters))

    @property
    def score(self) -> float:
        """Block information over a power of the entropy, J; 0 for a single cluster."""
        return self.information / self.entropy**SIZE_EXPONENT if self.entropy > 0 else 0.0
