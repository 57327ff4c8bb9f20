"""How many clusters a graph speaks for, read from merge trees."""

# n rows, k clusters, t trees

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coterie.graph.candidates import Merge, agglomerate, fine_communities, merged_labels
from coterie.graph.matching import adjusted_rand
from coterie.graph.quality import Quality, block_weights
from coterie.graph.resampling import resampled

_RESOLUTION = 16.0
_TREES = 6


@dataclass(frozen=True)
class CountFigures:
    r"""What speaks for one number of clusters.

    Attributes
    ----------
    k : int
        The number of clusters.
    drop : float
        How much the log of the average linkage falls when a merge leaves fewer than k clusters,
        :math:`\log h_{k+1} - \log h_k`, where h_k is the linkage of the two clusters that are merged among k; the
        median over trees, since single trees end at other numbers of communities.
    stability : float
        Adjusted Rand index between the level with k clusters and that of trees of resampled graphs; 1 is the same
        clusters, 0 is chance.
    modularity : float
        Of the level with k clusters.
    """

    k: int
    drop: float
    stability: float
    modularity: float

    @property
    def score(self) -> float:
        """Drop x log k x modularity x stability: a drop counts where clusters explain the graph and come again.

        Without clusters the linkage falls evenly, so drops are large where k is small; hence log k.
        """
        figures = self.drop, float(np.log(self.k)), self.modularity, self.stability
        return float(np.prod(np.maximum(figures, 0.0)))


class _Tree:
    """A merge tree by average linkage, with the log linkage of each of its merges."""

    def __init__(self, graph: sparse.csr_matrix, seed: int) -> None:
        self.fine = fine_communities(graph, 2, _RESOLUTION, seed)
        self.size = int(self.fine.max()) + 1
        blocks = block_weights(graph, self.fine, self.size)
        edge = 2 * float(np.median(graph.data)) if graph.nnz else 0.0
        self.merges: list[Merge] = agglomerate(blocks, "average", edge=edge)
        heights = np.log([max(merge.linkage, np.finfo(float).tiny) for merge in self.merges])
        # heights[k] belongs to the merge of k clusters to k - 1, and never rises towards few.
        self.heights = np.zeros(self.size + 2)
        self.heights[2 : self.size + 1] = np.minimum.accumulate(heights)[::-1]
        # Communities themselves are the last level: what ties their rows together stands for a merge inside them.
        volumes = np.maximum(blocks.sum(axis=1), np.finfo(float).tiny)
        inside = np.median(np.diagonal(blocks) * volumes.sum() / volumes**2)
        self.heights[-1] = max(np.log(max(inside, np.finfo(float).tiny)), self.heights[-2])

    def drop(self, k: int) -> float:
        """Return how much the log linkage falls below k clusters; 0 beyond the tree."""
        return float(self.heights[k + 1] - self.heights[k]) if k <= self.size else 0.0

    def clusters(self, k: int) -> np.ndarray:
        """Return the cluster of each community in the level with k clusters, or in the finest."""
        return merged_labels(self.merges, self.size, min(k, self.size))


def count_figures(graph: sparse.csr_matrix, ks: Sequence[int], *, seed: int) -> list[CountFigures]:
    """Return what speaks for each number of clusters.

    Merge trees are built from communities of high resolution, six of the graph and six of resampled ones.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric.
    ks : sequence of int
        From 2 on.
    seed : int

    Examples
    --------
    >>> groups = np.kron(np.eye(3), np.ones((8, 8))) + 0.01
    >>> figures = count_figures(sparse.csr_matrix(groups), [2, 3, 4, 5], seed=0)
    >>> max(figures, key=lambda one: one.score).k
    3
    """
    trees = [_Tree(graph, seed + t) for t in range(_TREES)]
    others = [_Tree(resampled(graph, seed + t), seed + t) for t in range(_TREES)]
    first = trees[0]
    blocks = block_weights(graph, first.fine, first.size)
    shared = [
        _summed(np.ones(len(first.fine)), first.fine, tree.fine, first.size, tree.size) for tree in others
    ]
    figures = []
    for k in ks:
        mine = first.clusters(k)
        again = [
            adjusted_rand(_merged(counts, mine, tree.clusters(k)))
            for counts, tree in zip(shared, others, strict=True)
        ]
        drop = float(np.median([tree.drop(k) for tree in [*trees, *others]]))
        modularity = Quality.of_blocks(_merged(blocks, mine, mine)).modularity
        figures.append(CountFigures(int(k), drop, float(np.mean(again)), modularity))
    return figures


def _merged(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return a table of communities (m, m') summed up by the clusters of its rows and columns."""
    places = np.nonzero(table)
    return _summed(
        table[places], rows[places[0]], columns[places[1]], int(rows.max()) + 1, int(columns.max()) + 1
    )


def _summed(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> np.ndarray:
    return np.bincount(rows * width + columns, values, height * width).reshape(height, width)
