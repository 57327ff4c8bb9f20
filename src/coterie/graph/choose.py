"""The choice between candidate partitions of one graph."""

# n rows, k clusters

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coterie.graph.candidates import (
    Candidate,
    merged_candidates,
    refine_labels,
    renumbered,
    spectral_embedding,
    spectral_labels,
)
from coterie.graph.quality import Quality

_MOST_TRIALS = 8
_TRIAL_ROWS = 20_000
_SPECTRAL_ROWS = 5_000
_SPECTRAL_STARTS = 3


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
    tried : tuple of (str, Quality)
        Every candidate.
    """

    labels: np.ndarray
    quality: Quality
    origin: str
    tried: tuple[tuple[str, Quality], ...]


def partition(graph: sparse.csr_matrix, n_clusters: int, *, seed: int) -> Partition:
    r"""Return the partition of a symmetric graph into k clusters with the highest :math:`J = I / \sqrt H`.

    Candidates are communities at three resolutions, merged to k clusters by two linkages, and, up to 5,000 rows,
    spectral clustering; each is refined row by row. Small graphs are searched from up to eight seeds, for there a
    single row decides more.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric, no negative weight.
    n_clusters : int
        From 1 to n.
    seed : int

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(2), np.ones((5, 5))))
    >>> partition(graph, 2, seed=0).labels
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    n_rows = graph.shape[0]
    if n_clusters in (1, n_rows):
        labels = np.zeros(n_rows, dtype=np.int64) if n_clusters == 1 else np.arange(n_rows)
        quality = Quality.of(graph, labels, n_clusters)
        return Partition(labels, quality, "trivial", (("trivial", quality),))
    candidates = list(propose(graph, n_clusters, seed))
    best = max(candidates, key=lambda candidate: candidate.quality.score)
    tried = tuple((candidate.origin, candidate.quality) for candidate in candidates)
    return Partition(renumbered(best.labels), best.quality, best.origin, tried)


def propose(graph: sparse.csr_matrix, n_clusters: int, seed: int) -> list[Candidate]:
    """Return every candidate, refined, with its quality; none has an empty cluster."""
    n_rows = graph.shape[0]
    rng = np.random.default_rng(seed)
    proposals = []
    for trial in range(int(np.clip(_TRIAL_ROWS // n_rows, 1, _MOST_TRIALS))):
        proposals += list(merged_candidates(graph, n_clusters, seed + trial))
    if n_rows <= _SPECTRAL_ROWS:
        embedding = spectral_embedding(graph, n_clusters)
        for start in range(_SPECTRAL_STARTS):
            proposals.append(("spectral", spectral_labels(embedding, n_clusters, seed + start)))
    candidates = []
    for origin, labels in proposals:
        if len(np.unique(labels)) < n_clusters:
            continue
        refined = refine_labels(graph, labels, n_clusters, rng)
        candidates.append(Candidate(origin, refined, Quality.of(graph, refined, n_clusters)))
    return candidates
