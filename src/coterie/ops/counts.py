"""How well a graph can be cut into each of several numbers of clusters."""

# n rows, k clusters

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from coterie.data.scaling import unit_rows
from coterie.metrics import ari, silhouette
from coterie.ops.cuts import lower_cut, modularity_of, normalised_cut
from coterie.ops.distances import nearest
from coterie.ops.graphs import spectral_rows
from coterie.ops.kmeans import kmeans

_TRIES = 2
_SPLITS = 4

Join = Callable[[np.ndarray], sparse.csr_matrix]


@dataclass(frozen=True)
class CountFigures:
    """What speaks for one number of clusters.

    Attributes
    ----------
    k : int
        The number of clusters.
    stability : float
        Adjusted Rand index between the clusters that two halves of the rows give, each half cut alone; 1 is the
        same clusters, 0 is chance.
    modularity : float
        How much more of the neighbours the clusters keep together than chance would.
    silhouette : float
        How clearly rows lie in their cluster, in the eigenvectors of the graph; from -1 to 1.
    """

    k: int
    stability: float
    modularity: float
    silhouette: float

    @property
    def score(self) -> float:
        """Stability times modularity: clusters that come again, and that neighbours share."""
        return max(self.stability, 0.0) * max(self.modularity, 0.0)


@dataclass(frozen=True)
class _Piece:
    """Some rows with the graph among them and its eigenvectors."""

    rows: np.ndarray
    graph: sparse.csr_matrix
    axes: np.ndarray

    @classmethod
    def of(cls, join: Join, rows: np.ndarray, most: int) -> _Piece:
        graph = join(rows)
        return cls(rows, graph, spectral_rows(graph, min(most + 1, len(rows))))

    def cut(self, k: int, generator: torch.Generator, n_init: int = 1) -> np.ndarray:
        """Return the better of two cuts: by as many eigenvectors as clusters, as islands want, and by one more."""
        found = []
        for rows in (torch.from_numpy(self.seen(width)) for width in (k, k + 1)):
            centers = kmeans(rows, k, generator=generator, n_init=n_init, quiet=True).centers
            found.append(lower_cut(self.graph, nearest(rows, centers)[0].numpy(), k))
        return min(found, key=lambda labels: normalised_cut(self.graph, labels, k))

    def seen(self, width: int) -> np.ndarray:
        """Return rows of unit length along the first eigenvectors, (n, width)."""
        return unit_rows(self.axes[:, :width])


def count_figures(
    join: Join, n_rows: int, ks: Sequence[int], *, generator: torch.Generator, n_splits: int = _SPLITS
) -> Iterator[CountFigures]:
    """Yield what speaks for each number of clusters in turn.

    Parameters
    ----------
    join : callable
        Returns the symmetric graph among some rows, from their numbers.
    n_rows : int
    ks : sequence of int
        From 2 to at most a quarter of the rows.
    generator : torch.Generator
    n_splits : int
        How often the rows are cut into halves; the mean counts.

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(3), np.ones((8, 8))) + 0.01)
    >>> join, generator = lambda rows: graph[rows][:, rows], torch.Generator().manual_seed(0)
    >>> max(count_figures(join, 24, [2, 3, 4], generator=generator), key=lambda one: one.score).k
    3
    """
    most = max(ks)
    whole = _Piece.of(join, np.arange(n_rows), most)
    splits = [
        [_Piece.of(join, half.sort().values.numpy(), most) for half in order.tensor_split(2)]
        for order in (torch.randperm(n_rows, generator=generator) for _ in range(n_splits))
    ]
    for k in ks:
        labels = whole.cut(k, generator, _TRIES)
        yield CountFigures(
            k,
            float(np.mean([_agreement(whole.graph, halves, k, generator) for halves in splits])),
            modularity_of(whole.graph, labels, k),
            silhouette(whole.seen(k), labels, random_state=0),
        )


def _agreement(
    graph: sparse.csr_matrix, halves: Sequence[_Piece], k: int, generator: torch.Generator
) -> float:
    """Return how alike the clusters of two halves are, each extended to all rows."""
    return ari(*(extended(graph, half.rows, half.cut(k, generator), k) for half in halves))


def extended(graph: sparse.csr_matrix, rows: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Give every row the cluster that most of its neighbours have, where only some rows have one.

    Rows without such a neighbour go by the neighbours of their neighbours.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
    rows, labels : ndarray of shape (r,)
        The rows that have a cluster, and which; they keep it.
    n_clusters : int

    Examples
    --------
    >>> path = sparse.csr_matrix(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    >>> extended(path, np.array([0, 1]), np.array([0, 1]), 2)
    array([0, 1, 1, 1])
    """
    shape = graph.shape[0], n_clusters
    member = sparse.csr_matrix((np.ones(len(rows)), (rows, labels)), shape=shape)
    near = graph @ member
    votes = near.toarray()
    lone = np.flatnonzero(votes.sum(axis=1) == 0)
    votes[lone] = (graph[lone] @ near).toarray()
    everyone = votes.argmax(axis=1)
    everyone[rows] = labels
    return everyone
