"""Resampled graphs, their candidate partitions, and how well a partition comes back in them."""

# n rows, k clusters, b resamples

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from coterie.graph.candidates import (
    absorbed_communities,
    different,
    merged_candidates,
    refine_labels,
    with_layers,
)
from coterie.graph.matching import adjusted_rand, shared_rows
from coterie.graph.quality import Quality

N_RESAMPLES = 5
_RESOLUTION = 4.0


class Candidate(NamedTuple):
    """A partition (n,) of a resampled graph, and how well it fits that graph."""

    labels: np.ndarray
    quality: Quality


class Resamples:
    """Candidate partitions of resampled graphs, computed when they are first asked for.

    Each edge's weight is multiplied by an exponential variable of mean one (the Bayesian bootstrap of Rubin 1981) and
    the graph is partitioned anew, from one resolution and one seed.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric.
    n_clusters : int
    n_resamples : int
    seed : int
    layers : sequence of sparse matrix of shape (n, n)
        Whose sum the graph is. A partition may also recur in one of them, since one view may tell clusters alone.

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(2), np.ones((5, 5))))
    >>> resamples = Resamples(graph, 2, n_resamples=3, seed=0)
    >>> resamples.recurrence(np.repeat([0, 1], 5))
    array([1., 1., 1.])
    """

    def __init__(
        self,
        graph: sparse.csr_matrix,
        n_clusters: int,
        *,
        n_resamples: int,
        seed: int,
        layers: Sequence[sparse.csr_matrix] = (),
    ) -> None:
        self._graph, self._n_clusters = graph, n_clusters
        self._layers = layers if len(layers) > 1 else ()
        self._seeds = range(seed, seed + n_resamples)

    def __len__(self) -> int:
        return len(self._seeds)

    @cached_property
    def candidates(self) -> list[list[Candidate]]:
        """The candidates of each resampled graph."""
        return [
            resampled_candidates(resampled(self._graph, seed), self._n_clusters, seed) for seed in self._seeds
        ]

    @cached_property
    def _of_layers_too(self) -> list[list[Candidate]]:
        """The candidates of each resampled graph and of its resampled layers."""
        if not self._layers:
            return self.candidates
        return [
            resampled_candidates(
                resampled(self._graph, seed),
                self._n_clusters,
                seed,
                [resampled(layer, seed) for layer in self._layers],
            )
            for seed in self._seeds
        ]

    def best(self, exponent: float) -> list[np.ndarray]:
        """Return the partition (n,) of highest J of each resample."""
        return [
            max(candidates, key=lambda one: one.quality.score(exponent)).labels
            for candidates in self.candidates
        ]

    def recurrence(self, labels: np.ndarray) -> np.ndarray:
        """Return how well a partition comes back in each resample, (b,).

        That is the adjusted Rand index with the candidate that is most like it: 1 is the same clusters, 0 is chance.
        """
        return np.array(
            [
                max(adjusted_rand(shared_rows(labels, one.labels, self._n_clusters)) for one in candidates)
                for candidates in self._of_layers_too
            ]
        )


def resampled(graph: sparse.csr_matrix, seed: int) -> sparse.csr_matrix:
    """Return the graph with every edge's weight multiplied by an exponential variable of mean one."""
    rng = np.random.default_rng([seed, 7])
    upper = sparse.triu(graph, format="csr")
    upper.data = upper.data * rng.exponential(size=upper.nnz)
    return sparse.csr_matrix(upper + upper.T)


def resampled_candidates(
    graph: sparse.csr_matrix,
    n_clusters: int,
    seed: int,
    layers: Sequence[sparse.csr_matrix] = (),
) -> list[Candidate]:
    """Return partitions of a graph and of its layers, from one resolution and one seed; at least one."""
    rng = np.random.default_rng(seed)
    proposals = with_layers(
        graph,
        [("layer", layer) for layer in layers],
        n_clusters,
        None,
        lambda one, _: merged_candidates(one, n_clusters, seed, (_RESOLUTION,)),
    )
    refined = [
        refine_labels(graph, labels, n_clusters, rng)
        for _, labels in different(proposals)
        if len(np.unique(labels)) == n_clusters
    ]
    if not refined:
        refined = [absorbed_communities(graph, n_clusters, seed)]
    return [Candidate(labels, Quality.of(graph, labels, n_clusters)) for labels in refined]
