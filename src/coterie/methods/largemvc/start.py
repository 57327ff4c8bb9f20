"""Where LargeMvC-Net starts: how the rows of each view are compared, and a partition of the views' joined graph."""

# n rows of the sample, v views, k neighbours, c clusters

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.ops.communities import cluster_cuts
from coterie.ops.distances import nearest
from coterie.ops.graphs import agreement, joined_graph, spectral_rows, table_of_present
from coterie.ops.kmeans import kmeans
from coterie.ops.neighbours import shared_neighbours

CANDIDATES = ("sample", "none", "feature", "feature-angle", "angle", "root")
_ROUNDS = 5
_RESTARTS = 20
_MOVES = 20
_HALVES = 20

Tables = dict[tuple[int, str], np.ndarray]


def choose_scalings(tables: Tables, n_views: int) -> list[str]:
    """Choose the scaling of each view so that the views agree most on who is near whom; no label is needed.

    One view is changed at a time to the scaling whose neighbours agree most with those of the others, until
    nothing changes. A single view takes the scaling whose neighbours have most neighbours in common.

    Parameters
    ----------
    tables : dict
        The table of neighbours of each view under each candidate.
    n_views : int
    """
    modes = sorted({mode for _, mode in tables}, key=CANDIDATES.index)
    if n_views == 1:
        return [
            max(modes, key=lambda mode: float(shared_neighbours(torch.from_numpy(tables[0, mode])).mean()))
        ]
    known: dict[frozenset[tuple[int, str]], float] = {}

    def agree(one: tuple[int, str], other: tuple[int, str]) -> float:
        pair = frozenset((one, other))
        if pair not in known:
            known[pair] = agreement(tables[one], tables[other])
        return known[pair]

    chosen = [modes[0]] * n_views
    for _ in range(_ROUNDS):
        before = list(chosen)
        for v in range(n_views):
            others = [(u, chosen[u]) for u in range(n_views) if u != v]

            def with_others(mode: str, v: int = v, others: Sequence[tuple[int, str]] = others) -> float:
                return sum(agree((v, mode), other) for other in others)

            chosen[v] = max(modes, key=with_others)
        if chosen == before:
            break
    return chosen


@dataclass(frozen=True)
class Start:
    """A partition of the sample.

    Attributes
    ----------
    labels : Tensor of shape (n,)
    agreement : ndarray of shape (v, v)
        How much the views agree on who is near whom.
    kept : float
        Share of the neighbours that are in one cluster.
    """

    labels: Tensor
    agreement: np.ndarray
    kept: float


@dataclass(frozen=True)
class JoinedViews:
    """The neighbours that the views name.

    Attributes
    ----------
    graph : sparse matrix of shape (n, n)
        The sum of the views' neighbour graphs.
    agreement : ndarray of shape (v, v)
        How much the views agree on who is near whom.
    """

    graph: sparse.csr_matrix
    agreement: np.ndarray

    def start(self, labels: Tensor, n_clusters: int) -> Start:
        """Return a partition, from wherever it comes, with the share of neighbours that it keeps together."""
        _, inside, volume = cluster_cuts(self.graph, labels.numpy(), n_clusters)
        return Start(labels, self.agreement, float(inside.sum() / volume.sum()))


def join_views(
    rows: Sequence[Tensor],
    present: np.ndarray,
    *,
    together: Tensor | None,
    complete: np.ndarray,
    n_neighbors: int,
    generator: torch.Generator,
) -> JoinedViews:
    """Sum the views' neighbour graphs.

    Neighbours in all views side by side are one graph more, among the rows that have every view, and weigh half
    as much as the others together: they tell groups apart that no view does alone.

    Parameters
    ----------
    rows : sequence of Tensor of shape (n, d)
        The scaled rows of each view.
    present : ndarray of bool, shape (n, v)
    together : Tensor of shape (n, D), optional
        All views side by side, where there are several.
    complete : ndarray of bool, shape (n,)
        Which rows can be compared side by side.
    n_neighbors : int
    generator : torch.Generator
    """
    tables = [
        table_of_present(view, present[:, v], n_neighbors, generator=generator) for v, view in enumerate(rows)
    ]
    weights = [1.0] * len(tables)
    if together is not None:
        tables.append(table_of_present(together, complete, n_neighbors, generator=generator))
        weights.append(len(rows) / 2)
    single = tables[: len(rows)]
    agree = np.array([[agreement(one, other) for other in single] for one in single])
    return JoinedViews(joined_graph(tables, weights), agree)


def best_partition(graph: sparse.csr_matrix, n_clusters: int, *, generator: torch.Generator) -> np.ndarray:
    """Return the partition of highest modularity among twenty, each begun by k-means on the eigenvectors.

    One eigenvector more than clusters: the first hardly varies where the graph is connected. From there rows move
    while the normalised cut falls, then while modularity rises.

    Examples
    --------
    >>> two_pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> best_partition(two_pairs, 2, generator=torch.Generator().manual_seed(0)).tolist() in (
    ...     [0, 0, 1, 1],
    ...     [1, 1, 0, 0],
    ... )
    True
    """
    n_vectors = min(n_clusters + 1, graph.shape[0])
    rows = torch.from_numpy(np.ascontiguousarray(spectral_rows(graph, n_vectors), dtype=np.float32))
    found = []
    for _ in range(_RESTARTS):
        centers = kmeans(rows, n_clusters, generator=generator, n_init=1, quiet=True).centers
        labels = lower_cut(graph, nearest(rows, centers)[0].numpy(), n_clusters)
        found.append(raise_modularity(graph, labels, n_clusters, generator=generator))
    return max(found, key=lambda labels: _modularity(graph, labels, n_clusters))


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
        if len(np.unique(moved)) < n_clusters or _share_cut(*cuts[1:]) >= _share_cut(inside, volume):
            break
        labels, (ties, inside, volume) = moved, cuts
    return labels


def raise_modularity(
    graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int, *, generator: torch.Generator
) -> np.ndarray:
    """Move rows to the clusters that pull most, a random half of them at a time, while modularity rises.

    All rows at once would move past each other.
    """
    ties, inside, volume = cluster_cuts(graph, labels, n_clusters)
    for _ in range(_HALVES):
        best = _pulls(ties, volume, labels).argmax(1)
        if (best == labels).all():
            break
        half = torch.rand(len(labels), generator=generator).numpy() < 0.5
        moved = np.where(half, best, labels)
        cuts = cluster_cuts(graph, moved, n_clusters)
        if len(np.unique(moved)) < n_clusters or _share_kept(*cuts[1:]) < _share_kept(inside, volume):
            break
        labels, (ties, inside, volume) = moved, cuts
    return labels


def _pulls(ties: np.ndarray, volume: np.ndarray, labels: np.ndarray) -> np.ndarray:
    r"""Return how much each cluster pulls at each row, (n, c): :math:`w_{ic} - d_i v_c / w`.

    w_ic is the weight between row i and cluster c, d_i the row's degree, v_c the cluster's volume without the row
    and w all the weight. A move raises modularity by 2 / w of what the new cluster pulls more than the old one.
    """
    degrees, whole = ties.sum(1), volume.sum()
    pulls = ties - np.outer(degrees, volume / whole)
    pulls[np.arange(len(labels)), labels] += degrees**2 / whole
    return pulls


def _modularity(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> float:
    return _share_kept(*cluster_cuts(graph, labels, n_clusters)[1:])


def _share_kept(inside: np.ndarray, volume: np.ndarray) -> float:
    """Return the share of the weight inside clusters beyond what chance would give: modularity."""
    whole = volume.sum()
    return float((inside / whole - (volume / whole) ** 2).sum())


def _normalised_cut(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> float:
    return _share_cut(*cluster_cuts(graph, labels, n_clusters)[1:])


def _share_cut(inside: np.ndarray, volume: np.ndarray) -> float:
    return float(len(volume) - (inside / volume).sum())


def kmeans_start(rows: Tensor, n_anchors: int, *, generator: torch.Generator) -> Tensor:
    """Return k-means labels on the leading left singular vectors of the views side by side (spec 2.5)."""
    vectors = torch.linalg.svd(rows, full_matrices=False)[0][:, :n_anchors].contiguous()
    return nearest(vectors, kmeans(vectors, n_anchors, generator=generator, quiet=True).centers)[0]
