"""Where clusters come from: a partition of some rows by their embeddings, handed to the landmarks and their graph."""

# s rows of the sample, b rows of a batch, l landmarks, m atoms, p features of the embedding, k clusters

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor

from coterie.data.batches import Batches
from coterie.data.subsets import some_rows
from coterie.engine.schedule import mixed_seed
from coterie.graph.initial import graph_of_rows
from coterie.methods.sscnet.landmarks import Landmarks, Refreshed
from coterie.methods.sscnet.network import SSCNetwork
from coterie.nn.forward import FORWARD_ROWS, passes

_MOST_ROWS = 20_000


@torch.no_grad()
def best_start(
    network: SSCNetwork,
    blank: Landmarks,
    batches: Batches,
    *,
    graph_on: str,
    n_neighbors: int,
    seed: int,
) -> tuple[Landmarks, Refreshed]:
    """Choose landmarks, cut their graph, and say what was found.

    The graph of 1,500 landmarks alone is a poor judge, so the landmarks get their clusters from the partition of the
    kNN graph of up to 20,000 rows; and the graph, of codes or of embeddings, is the one whose places keep to them.

    Parameters
    ----------
    network : SSCNetwork
    blank : Landmarks
        Of the sizes that are wanted; not changed.
    batches : Batches
    graph_on : {"auto", "embedding", "code"}
    n_neighbors : int
        0 leaves the partition of the rows' graph out: the landmarks' graph alone gives the clusters.
    seed : int
    """
    generator = torch.Generator().manual_seed(mixed_seed(seed, -1))
    n_landmarks, k = blank.columns.shape
    numbers = some_rows(batches.views.n_rows, _MOST_ROWS, seed)
    marks = some_rows(len(numbers), n_landmarks, seed)
    if n_neighbors == 0:
        numbers, marks = numbers[marks], np.arange(n_landmarks)
    rows = torch.from_numpy(np.hstack(batches.read(numbers))).to(blank.rows.device)
    codes = looked_at(network, rows, by_code=True)
    embedded = _embedded(network, codes)
    labels = None
    if n_neighbors > 0:
        graph = graph_of_rows(network.look(rows).cpu().numpy())
        labels = torch.from_numpy(graph.partition(k, seed=seed)[marks]).to(rows.device)
    by_code = {"code": [True], "embedding": [False]}.get(
        graph_on, [True] if labels is None else [True, False]
    )
    drawn = []
    for coded in by_code:
        landmarks = copy.deepcopy(blank)
        landmarks.by_code.fill_(coded)
        landmarks.rows.copy_(rows[marks])
        drawn.append((landmarks, landmarks.start((codes if coded else embedded)[marks], generator, labels)))
    return min(drawn, key=lambda pair: pair[1].changed)


@torch.no_grad()
def looked_at(network: SSCNetwork, rows: Tensor, by_code: bool) -> Tensor:
    """Return what a graph compares of rows, (b, m) sparse codes or (b, p) embeddings, each row on its own."""
    codes = torch.cat([network.code(part).codes[:size] for part, size in passes(rows)])
    return codes if by_code else _embedded(network, codes)


def _embedded(network: SSCNetwork, codes: Tensor) -> Tensor:
    return torch.cat([network.embed(part) for part in codes.split(FORWARD_ROWS)])
