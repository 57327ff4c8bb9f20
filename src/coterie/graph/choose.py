"""The choice between candidate partitions of one graph."""

# n rows, k clusters

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.errors import InterruptedWarning
from coterie.graph.candidates import (
    absorbed_communities,
    communities,
    different,
    merged_candidates,
    refine_labels,
    renumbered,
    search_communities,
    spectral_embedding,
    spectral_labels,
    with_layers,
)
from coterie.graph.matching import adjusted_rand, matched, shared_rows
from coterie.graph.quality import Quality
from coterie.progress import phase

_LEAST_TRIALS, _MOST_TRIALS = 2, 8
_ALIKE = 0.9
_TRIAL_ROWS = 20_000
_SPECTRAL_ROWS = 5_000
_SPECTRAL_STARTS = 3
_LEAST_SHARE = 0.05
_SEARCHED = 3
_SEARCH_RESOLUTION = 16.0
_TIED = 1e-6


class Tried(NamedTuple):
    """A candidate: where it comes from, its J, its quality on the whole graph, its labels."""

    origin: str
    score: float
    quality: Quality
    labels: np.ndarray


@dataclass(frozen=True)
class Partition:
    """The partition that was chosen, and all that were proposed.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Clusters from 0 to k - 1, none empty.
    quality : Quality
    origin : str
        How the partition was found.
    tried : tuple of Tried
        Every candidate.
    """

    labels: np.ndarray
    quality: Quality
    origin: str
    tried: tuple[Tried, ...]


@phase("clusters")
def partition(
    graph: sparse.csr_matrix,
    n_clusters: int,
    *,
    seed: int,
    layers: Sequence[sparse.csr_matrix] = (),
    interruptible: bool = False,
) -> Partition:
    r"""Return the partition of a symmetric graph into k clusters with the highest :math:`J = I / H^{0.6}`.

    Candidates are communities at three resolutions, merged to k clusters by two linkages, and, up to 5,000 rows,
    spectral clustering; each is refined row by row. Of the best three, whole communities are moved to other clusters
    while J rises; and candidates that are like the best one vote. Graphs are searched from two seeds, small ones from
    up to eight, for there a single row decides more.

    A graph of several layers, one a view and one of all views concatenated, is also partitioned by its last layer
    alone, and J is the weighted mean over layers, :math:`\sum_l w_l J_l / \sum_l w_l`. So a view that cannot tell two
    clusters apart takes nothing away from one that can, and clusters that no view tells alone are found.

    Where the graph falls into no more large islands than clusters, none of these are merged.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric, no negative weight.
    n_clusters : int
        From 1 to n.
    seed : int
    layers : sequence of sparse matrix of shape (n, n)
        Whose sum the graph is; none where there is a single view.
    interruptible : bool
        After Ctrl-C, the best candidate so far is taken, with a warning.

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(2), np.ones((5, 5))))
    >>> partition(graph, 2, seed=0).labels
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    n_rows = graph.shape[0]
    judged = layers if len(layers) > 1 else [graph]
    rng = np.random.default_rng(seed)

    def scored(origin: str, labels: np.ndarray) -> Tried:
        quality = Quality.of(graph, labels, n_clusters)
        return Tried(origin, mean_score(judged, labels, n_clusters), quality, labels)

    if n_clusters in (1, n_rows):
        labels = np.zeros(n_rows, dtype=np.int64) if n_clusters == 1 else np.arange(n_rows)
        only = scored("trivial", labels)
        return Partition(labels, only.quality, only.origin, (only,))
    islands = large_islands(graph, n_clusters)

    def refined(proposals: Iterable[tuple[str, np.ndarray]]) -> Iterator[Tried]:
        return (
            scored(origin, refine_labels(graph, labels, n_clusters, rng))
            for origin, labels in different(proposals)
            if len(np.unique(labels)) == n_clusters
            and (islands is None or not joins_islands(labels, islands))
        )

    proposals = with_layers(
        graph,
        [("concatenated views", judged[-1])] if len(judged) > 1 else [],
        n_clusters,
        islands,
        lambda one, own: propose(one, n_clusters, seed, own),
    )
    tried: list[Tried] = []
    try:
        tried.extend(refined(proposals))
        if not tried:
            absorbed = absorbed_communities(graph, n_clusters, seed)
            tried.append(scored("absorbed communities", refine_labels(graph, absorbed, n_clusters, rng)))
        fine = communities(graph, _SEARCH_RESOLUTION, seed)
        best = best_first(tried)
        later = [
            (
                f"{one.origin}, communities moved",
                search_communities(judged, fine, one.labels, n_clusters),
            )
            for one in best[:_SEARCHED]
        ]
        later.append(("vote", vote_of_similar([one.labels for one in best], n_clusters)))
        tried.extend(refined(later))
    except KeyboardInterrupt as error:
        if not (tried and interruptible):
            raise
        where = f"after {len(tried)} candidate partitions, of which the best was taken"
        warnings.warn(InterruptedWarning(where, error), stacklevel=2)

    winner = best_first(tried)[0]
    return Partition(renumbered(winner.labels), winner.quality, winner.origin, tuple(tried))


def best_first(tried: Sequence[Tried]) -> list[Tried]:
    """Sort candidates by J, the highest first; of those within a relative 1e-6 of the highest left, the earliest.

    Another processor or number of threads rounds J in another way, and must not choose another partition for it.

    Examples
    --------
    >>> nothing = Quality.of(sparse.csr_matrix(np.eye(2)), np.zeros(2, dtype=int), 1)
    >>> scores = {"first": 0.5, "same but for rounding": 0.5 + 1e-9, "best": 0.7}
    >>> [one.origin for one in best_first([Tried(*pair, nothing, np.zeros(2)) for pair in scores.items()])]
    ['best', 'first', 'same but for rounding']
    """
    left, ordered = list(tried), []
    while left:
        highest = max(one.score for one in left)
        tied = next(i for i, one in enumerate(left) if one.score >= highest - _TIED * abs(highest))
        ordered.append(left.pop(tied))
    return ordered


def vote_of_similar(partitions: Sequence[np.ndarray], n_clusters: int) -> np.ndarray:
    """Return the plurality label (n,) of each row among the partitions that are like the first.

    Partitions are alike when their adjusted Rand index is above 0.9: they differ at the borders of the same clusters,
    where a vote is more often right than a single one.

    Examples
    --------
    >>> wrong, others = np.repeat([1, 0], 50), np.repeat([0, 1], 50)
    >>> wrong[0] = 0
    >>> vote_of_similar([wrong, others, others], 2)[:3]
    array([1, 1, 1])
    """
    first = partitions[0]
    votes = np.zeros((len(first), n_clusters))
    for labels in partitions:
        if adjusted_rand(shared_rows(first, labels, n_clusters)) > _ALIKE:
            votes[np.arange(len(first)), matched(first, labels, n_clusters)] += 1
    return votes.argmax(axis=1)


def mean_score(layers: Sequence[sparse.csr_matrix], labels: np.ndarray, n_clusters: int) -> float:
    """Return the mean of J over the layers of a graph, by their weight.

    Examples
    --------
    >>> islands, noise = sparse.csr_matrix(np.kron(np.eye(2), np.ones((2, 2)))), sparse.csr_matrix(np.ones((4, 4)))
    >>> round(mean_score([islands, noise], np.array([0, 0, 1, 1]), 2), 4)  # a third of what the islands say
    0.2879
    """
    weights = [float(layer.sum()) for layer in layers]
    scores = [Quality.of(layer, labels, n_clusters).score for layer in layers]
    return float(np.dot(weights, scores)) / max(sum(weights), np.finfo(float).tiny)


def propose(
    graph: sparse.csr_matrix, n_clusters: int, seed: int, islands: np.ndarray | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield partitions of a graph into k clusters, with their origin."""
    n_rows = graph.shape[0]
    for trial in range(int(np.clip(_TRIAL_ROWS // n_rows, _LEAST_TRIALS, _MOST_TRIALS))):
        yield from merged_candidates(graph, n_clusters, seed + trial, islands=islands)
    if n_rows <= _SPECTRAL_ROWS:
        embedding = spectral_embedding(graph, n_clusters)
        for start in range(_SPECTRAL_STARTS):
            yield "spectral", spectral_labels(embedding, n_clusters, seed + start)


def large_islands(graph: sparse.csr_matrix, n_clusters: int) -> np.ndarray | None:
    """Return the island of each row, (n,), or None where the graph is connected or has more of them than clusters.

    An island is a connected component with at least a twentieth of an even share of the rows; smaller ones count to
    the largest.

    Examples
    --------
    >>> large_islands(sparse.csr_matrix(np.kron(np.eye(2), np.ones((3, 3)))), 3)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    count, component = connected_components(graph, directed=False)
    sizes = np.bincount(component)
    large = sizes >= max(2.0, _LEAST_SHARE * len(component) / n_clusters)
    if count == 1 or not 1 < large.sum() <= n_clusters:
        return None
    return np.where(large[component], component, sizes.argmax()).astype(np.int32)


def joins_islands(labels: np.ndarray, islands: np.ndarray) -> bool:
    """Tell whether a cluster has rows of two islands.

    Examples
    --------
    >>> islands = np.array([0, 1, 1])
    >>> joins_islands(np.array([0, 0, 1]), islands), joins_islands(np.array([0, 1, 2]), islands)
    (True, False)
    """
    pairs = np.unique(np.stack([labels, islands]), axis=1)
    return len(np.unique(pairs[0])) < pairs.shape[1]
