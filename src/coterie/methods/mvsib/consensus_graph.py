"""The kNN graphs of the embeddings, which the paper renews in each epoch (its section 3.3; Eqs. 15 and 17)."""

# n rows of the data or of a batch, V views, d features of an embedding, p neighbours

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.data.batches import Batches
from coterie.graph.neighbours import neighbours_of_each
from coterie.methods.mvsib.graph import JoinedPairs, NodeGraph
from coterie.methods.mvsib.routing import Evidence, gather_evidence

WHOLE_ROWS = 10_000
"""Most rows whose graph is that of all rows; more have one for each batch (4.4)."""


def consensus_pairs(consensus: Tensor, batches: Batches, n_neighbors: int) -> JoinedPairs:
    """Return the pairs of rows of which one is among the nearest of the other in the consensus (n, d)."""

    def join(numbers: np.ndarray) -> NodeGraph:
        places = np.arange(len(numbers))
        table = neighbours_of_each(consensus[torch.from_numpy(numbers)].numpy(), n_neighbors)[1].indices
        line = places.repeat(table.shape[1])
        entries = np.ones(table.size, dtype=np.float32), (line, table.ravel())
        return NodeGraph(sparse.csr_matrix(entries, (len(numbers),) * 2), places, places)

    return JoinedPairs(batches, join, n_neighbors)


def consensus_places(consensus: Tensor, n_neighbors: int) -> Tensor:
    """Return the same pairs among the rows of a batch by their places in it, each in both directions, (2, m).

    Examples
    --------
    >>> consensus_places(torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), 1)
    tensor([[0, 1, 1, 2],
            [1, 0, 2, 1]])
    """
    n_rows = len(consensus)
    near = torch.zeros(n_rows, n_rows, dtype=torch.bool)
    if n_rows > 1:
        table = torch.from_numpy(neighbours_of_each(consensus.cpu().numpy(), n_neighbors)[1].indices)
        near.scatter_(1, table, True)
    return (near | near.T).nonzero().T


def cross_view_evidence(
    views: Sequence[Tensor], present: Tensor, labels: Tensor, similarity: Tensor, n_neighbors: int
) -> Evidence:
    r"""Return the evidence for the labels of rows, with votes and nearness as means over views (Eqs. 15 and 17).

    .. math:: \Delta d_i = \frac1{V_i} \sum_v \frac{p_i^{(v)} - n_i^{(v)}}{p_i^{(v)} + n_i^{(v)}}, \quad
        a_i = \frac1{V_i} \sum_v \frac{d_i^{-(v)} - d_i^{+(v)}}{d_i^{-(v)} + d_i^{+(v)}}

    over the views that a row has, with p and n the numbers of its neighbours in that view's embeddings in the same
    and in other clusters, and d their mean distances; M18 where there are none of one kind.

    Parameters
    ----------
    views : sequence of Tensor of shape (n, d)
        Embeddings of unit length.
    present : Tensor of bool, shape (n, V)
    labels : Tensor of shape (n,)
    similarity : Tensor of shape (n,)
        Cosine to the centre of the row's cluster.
    """
    votes, nearness, seen = torch.zeros(3, len(labels))
    for v, rows in enumerate(views):
        own = present[:, v].nonzero()[:, 0]
        if len(own) < 2:
            continue
        found = neighbours_of_each(rows[own].numpy(), n_neighbors)[1]
        known = labels[own]
        same = known[torch.from_numpy(found.indices)] == known[:, None]
        distances = torch.from_numpy(found.distances).float()
        of_view = gather_evidence(torch.ones_like(distances), same, distances, similarity[own])
        votes[own] += of_view.votes
        nearness[own] += of_view.nearness
        seen[own] += 1
    return Evidence(votes / seen.clamp(min=1), similarity, nearness / seen.clamp(min=1))
