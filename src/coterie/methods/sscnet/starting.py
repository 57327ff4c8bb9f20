"""Where clusters come from: several draws of landmarks, several graphs and cuts, the best kept without any label."""

# n rows, b rows of a batch, l landmarks, m atoms, p features of the embedding, k clusters

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.data.batches import Batches
from coterie.data.subsets import some_rows
from coterie.engine.pairs import NeighbourPairs
from coterie.engine.schedule import mixed_seed
from coterie.methods.sscnet.landmarks import Landmarks, Refreshed
from coterie.methods.sscnet.network import SSCNetwork
from coterie.nn.forward import FORWARD_ROWS, passes
from coterie.ops.distances import nearest
from coterie.ops.kmeans import kmeans

_CUTS = 5
_CLEARLY = 0.005


@dataclass(frozen=True)
class Candidate:
    """Landmarks with their graph, and several ways to cut it.

    Attributes
    ----------
    landmarks : Landmarks
    found : Refreshed
    cuts : list of Tensor of shape (k, k)
        Centres of the clusters among the landmarks' places.
    """

    landmarks: Landmarks
    found: Refreshed
    cuts: list[Tensor]

    @property
    def by_code(self) -> bool:
        """Whether the graph compares sparse codes."""
        return bool(self.landmarks.by_code)

    def table(self) -> Tensor:
        """Return the clusters of the landmarks in all cuts as zeros and ones, (l, cuts k)."""
        places, k = self.landmarks.places(), len(self.landmarks.centers)
        return torch.cat([F.one_hot(nearest(places, cut)[0], k) for cut in self.cuts], 1).float()


@torch.no_grad()
def best_start(
    network: SSCNetwork,
    blank: Landmarks,
    batches: Batches,
    pairs: NeighbourPairs | None,
    *,
    graph_on: str,
    n_starts: int,
    seed: int,
) -> Candidate:
    """Draw landmarks several times, cut each graph several times, keep what holds neighbours together best.

    Different landmarks, graphs and seeds of k-means give very different partitions (measured: the graph of
    embeddings ACC .94 and that of codes .72 on MNIST, but .79 and .88 on digits); without labels the modularity of
    the neighbours among all rows tells which to trust. The graph of embeddings must be clearly better: on small data
    it falls into islands that say little, and may score as high by a hair (COIL-20).

    Parameters
    ----------
    network : SSCNetwork
    blank : Landmarks
        Of the sizes that are wanted; not changed.
    batches : Batches
    pairs : NeighbourPairs, optional
        Without neighbours there is no choice: one draw, the graph of the codes if none is named, one cut.
    graph_on : {"auto", "embedding", "code"}
    n_starts : int
        Draws for each graph.
    seed : int

    Returns
    -------
    Candidate
        Its landmarks are cut in the best way.
    """
    generator = torch.Generator().manual_seed(mixed_seed(seed, -1))
    given = {"code": [True], "embedding": [False]}
    graphs = given.get(graph_on, [True] if pairs is None else [False, True])
    candidates = [
        _draw(network, blank, batches, mixed_seed(seed, number), by_code, generator)
        for number in range(1 if pairs is None else n_starts)
        for by_code in graphs
    ]
    best, cut = (0, 0) if pairs is None else _best(network, batches, pairs, candidates)
    candidates[best].landmarks.cut(candidates[best].cuts[cut])
    return candidates[best]


@torch.no_grad()
def looked_at(network: SSCNetwork, rows: Tensor, by_code: bool) -> Tensor:
    """Return what a graph compares of rows, (b, m) sparse codes or (b, p) embeddings, each row on its own."""
    codes = torch.cat([network.code(part).codes[:size] for part, size in passes(rows)])
    return codes if by_code else _embedded(network, codes)


def _embedded(network: SSCNetwork, codes: Tensor) -> Tensor:
    return torch.cat([network.embed(part) for part in codes.split(FORWARD_ROWS)])


def _draw(
    network: SSCNetwork,
    blank: Landmarks,
    batches: Batches,
    seed: int,
    by_code: bool,
    generator: torch.Generator,
) -> Candidate:
    landmarks = copy.deepcopy(blank)
    landmarks.by_code.fill_(by_code)
    rows = batches.read(some_rows(batches.views.n_rows, len(landmarks.rows), seed))
    landmarks.rows.copy_(torch.from_numpy(np.hstack(rows)))
    found = landmarks.start(looked_at(network, landmarks.rows, by_code), generator)
    more = [
        kmeans(landmarks.places(), len(landmarks.centers), generator=generator, n_init=2, quiet=True).centers
        for _ in range(_CUTS - 1)
    ]
    return Candidate(landmarks, found, [landmarks.centers.clone(), *more])


def _best(
    network: SSCNetwork, batches: Batches, pairs: NeighbourPairs, candidates: list[Candidate]
) -> tuple[int, int]:
    """Return the numbers of the candidate and of the cut whose votes on all rows have the highest modularity."""
    k = len(candidates[0].landmarks.centers)
    device = candidates[0].landmarks.rows.device
    labels = np.zeros((len(candidates), _CUTS, batches.views.n_rows), dtype=np.int32)
    tables = [one.table() for one in candidates]
    start = 0
    for views in batches.in_order():
        rows = torch.from_numpy(np.hstack(views)).to(device)
        compared = {True: looked_at(network, rows, by_code=True)}
        if any(not one.by_code for one in candidates):
            compared[False] = _embedded(network, compared[True])
        part = slice(start, start + len(rows))
        for found, one, table in zip(labels, candidates, tables, strict=True):
            shares = one.landmarks.votes(compared[one.by_code]).mean(table)
            found[:, part] = shares.view(len(rows), _CUTS, k).argmax(2).T.cpu().numpy()
        start = part.stop
    scores = np.array([[_score(pairs, found, k) for found in some] for some in labels])
    scores[[not one.by_code for one in candidates]] -= _CLEARLY
    return divmod(int(scores.argmax()), _CUTS)


def _score(pairs: NeighbourPairs, labels: np.ndarray, n_clusters: int) -> float:
    """Return the modularity of a partition; one that leaves a cluster empty comes last."""
    return pairs.modularity(labels) - (len(np.unique(labels)) < n_clusters)
