"""The neighbours that several views name, as one graph."""

# n rows, v views, k neighbours, c clusters

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.ops.communities import cluster_cuts
from coterie.ops.graphs import agreement, joined_graph, table_of_present


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
    tables : sequence of ndarray of shape (n, k)
        The neighbours that each view names.
    beside : ndarray of shape (n, k) or None
        Those in all views side by side, where there are several.
    """

    graph: sparse.csr_matrix
    agreement: np.ndarray
    tables: Sequence[np.ndarray] = ()
    beside: np.ndarray | None = None

    @property
    def layers(self) -> list[tuple[np.ndarray, float]]:
        """Every table of neighbours with its weight: those side by side have half that of the views together."""
        return weighed(self.tables, self.beside)

    def side_by_side(self) -> JoinedViews:
        """Return the graph of the neighbours in all views side by side, without those of single views."""
        return self if self.beside is None else replace(self, graph=joined_graph([self.beside]))

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
    collectives: Collectives = ALONE,
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
    collectives : Collectives
        Processes that have the same rows and share the search.
    """

    def table(view: Tensor, there: np.ndarray) -> np.ndarray:
        return table_of_present(view, there, n_neighbors, generator=generator, collectives=collectives)

    single = [table(view, present[:, v]) for v, view in enumerate(rows)]
    agree = np.array([[agreement(one, other) for other in single] for one in single])
    beside = None if together is None else table(together, complete)
    tables, weights = zip(*weighed(single, beside), strict=True)
    return JoinedViews(joined_graph(tables, weights), agree, single, beside)


def weighed(single: Sequence[np.ndarray], beside: np.ndarray | None) -> list[tuple[np.ndarray, float]]:
    """Return the tables of neighbours with their weights: one each, and half as much as all for those side by side.

    Examples
    --------
    >>> one, other = np.array([[1], [0]]), np.array([[1], [0]])
    >>> [weight for _, weight in weighed([one, one, one], other)]
    [1.0, 1.0, 1.0, 1.5]
    """
    layers = [(table, 1.0) for table in single]
    return layers if beside is None else [*layers, (beside, len(single) / 2)]
