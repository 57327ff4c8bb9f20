"""The merge tree: nested partitions from many communities down to one cluster."""

# n rows, m leaves, k clusters

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coterie.errors import InputError
from coterie.graph.candidates import (
    MOST_COMMUNITIES,
    Merge,
    agglomerate,
    fine_communities,
    merged_labels,
    renumbered,
)
from coterie.graph.quality import block_weights, row_ties

_RESOLUTION = 16.0


@dataclass(frozen=True)
class Levels:
    """A tree of merges over leaves; each number of clusters from 1 to m is one level of it.

    Attributes
    ----------
    leaves : ndarray of shape (n,)
        The leaf of each row.
    merges : ndarray of shape (m - 1, 2)
        Each line merges the second cluster into the first, in order.

    Examples
    --------
    >>> levels = Levels(np.array([0, 1, 2, 2]), np.array([[0, 1], [0, 2]]))
    >>> levels.labels_at(2), levels.labels_at(3)
    (array([0, 0, 1, 1]), array([0, 1, 2, 2]))
    """

    leaves: np.ndarray
    merges: np.ndarray

    @property
    def most(self) -> int:
        """The largest number of clusters that the tree has."""
        return len(self.merges) + 1

    def clusters_at(self, n_clusters: int) -> np.ndarray:
        """Return the cluster of each leaf, (m,), at a level."""
        if not 1 <= n_clusters <= self.most:
            raise InputError(
                f"n_clusters={n_clusters} is no level of this tree: it has 1 to {self.most} clusters; fit again with "
                "the number you want."
            )
        return merged_labels([Merge(a, b, 0.0) for a, b in self.merges.tolist()], self.most, n_clusters)

    def labels_at(self, n_clusters: int) -> np.ndarray:
        """Return the labels (n,) with so many clusters."""
        return self.clusters_at(n_clusters)[self.leaves]


def build_levels(
    graph: sparse.csr_matrix,
    labels: np.ndarray,
    n_clusters: int,
    *,
    linkage: str = "modularity",
    seed: int = 0,
) -> Levels:
    """Return a tree that passes through a partition: its level with k clusters is `labels`.

    The leaves are communities of high resolution. Each belongs to the cluster that most of its rows are in; rows that
    are in another one go to the community of their own cluster that they have most ties with. Leaves of one cluster
    are merged first, then the clusters.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
    labels : ndarray of shape (n,)
        Clusters from 0 to k - 1, none empty.
    n_clusters : int
    linkage : {"modularity", "average"}
    seed : int

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(4), np.ones((5, 5))) + 0.01)
    >>> labels = np.repeat([0, 0, 1, 1], 5)
    >>> levels = build_levels(graph, labels, 2)
    >>> bool((levels.labels_at(2) == labels).all()), np.unique(levels.labels_at(4)).tolist()
    (True, [0, 1, 2, 3])
    """
    fine = fine_communities(graph, n_clusters, _RESOLUTION, seed)
    count = int(fine.max()) + 1
    if count > max(MOST_COMMUNITIES, n_clusters):
        fine = fine_communities(graph, n_clusters, 1.0, seed)
        count = int(fine.max()) + 1
    leaves = _nested(graph, labels, n_clusters, fine, count)
    n_leaves = int(leaves.max()) + 1
    owner = np.zeros(n_leaves, dtype=np.int64)
    owner[leaves] = labels
    merges = agglomerate(block_weights(graph, leaves, n_leaves), linkage, owner)
    return Levels(leaves, np.array([merge[:2] for merge in merges], dtype=np.int64).reshape(-1, 2))


def _nested(
    graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int, fine: np.ndarray, count: int
) -> np.ndarray:
    """Return leaves (n,) each of which lies inside one cluster."""
    overlap = np.zeros((count, n_clusters), dtype=np.int64)
    np.add.at(overlap, (fine, labels), 1)
    owner = overlap.argmax(axis=1)
    leaves = fine.copy()
    for cluster in range(n_clusters):
        strays = np.flatnonzero((labels == cluster) & (owner[fine] != cluster))
        own = np.flatnonzero(owner == cluster)
        if not len(strays):
            continue
        if not len(own):
            leaves[strays] = count + cluster
            continue
        ties = row_ties(graph[strays], fine, count)[:, own]
        leaves[strays] = own[ties.argmax(axis=1)]
    return renumbered(leaves)
