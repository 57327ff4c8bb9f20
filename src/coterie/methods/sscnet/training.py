"""How SSCNet is trained: codes first, then the three phases of Algorithm 1 around the landmarks' clusters."""

# n rows, b rows of a batch, D features, m atoms, k clusters

from __future__ import annotations

import copy

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.data.batches import Batch, Batches
from coterie.data.subsets import some_rows
from coterie.engine.pairs import NeighbourPairs
from coterie.engine.schedule import mixed_seed
from coterie.methods.sscnet import objective
from coterie.methods.sscnet.landmarks import Landmarks
from coterie.methods.sscnet.network import SSCNetwork
from coterie.methods.sscnet.settings import Settings
from coterie.nn.contrast import neighbour_contrast
from coterie.nn.forward import passes
from coterie.ops.affinity import knn_affinity
from coterie.ops.distances import nearest
from coterie.ops.kmeans import kmeans
from coterie.ops.stiefel import EigenLayers
from coterie.store import below

PHASES = 3
_REPLAY = 64
_CUTS = 5
_TEACH_STEPS = 300
_TEACH_RATE = 1e-2
_LEAST_SPREAD = 1e-12
_CLEARLY = 0.005


class SSCTask:
    """SSCNet as a task of the training loop.

    Parameters
    ----------
    network : SSCNetwork
    landmarks : Landmarks
    layers : EigenLayers
        Of the batches' spectral loss.
    settings : Settings
    batches : Batches
        The data, for the start.
    pairs : NeighbourPairs, optional
        The neighbours, by which starts are rated.
    seed : int
    collectives : Collectives
    """

    def __init__(
        self,
        network: SSCNetwork,
        landmarks: Landmarks,
        layers: EigenLayers,
        settings: Settings,
        batches: Batches,
        *,
        pairs: NeighbourPairs | None = None,
        seed: int,
        collectives: Collectives = ALONE,
    ) -> None:
        self.network, self.landmarks, self.layers = network, landmarks, layers
        self.settings, self.batches, self.pairs, self.seed = settings, batches, pairs, seed
        self.collectives = collectives
        self.device = landmarks.rows.device
        parameters = [*network.parameters(), *layers.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=settings.learning_rate, fused=True)
        self._epoch = 0
        self._step = 0
        self._draws = torch.Generator()
        self._found: dict[str, float | int] = {}

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; cut the landmarks' graph when the warm-up is over, and again when it is time."""
        self._epoch, self._step = epoch, 0
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self.network.train()
        if self.settings.in_warmup(epoch):
            return
        if not self.landmarks.started:
            self.start()
        elif self.settings.is_time_to_refresh(epoch):
            self.refresh()

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the modules whose turn it is (Algorithm 1)."""
        settings, network = self.settings, self.network
        n_rows = len(batch.rows)
        views = batch.views if batch.partners is None else _stacked(batch.views, batch.partners.views)
        x = network.look(self._tensor(views))
        coded = network.coder(x)
        codes = coded.codes
        terms = {
            "coding": settings.coding_weight
            * objective.coding_loss(x[:n_rows], coded.decoded[:n_rows], codes[:n_rows], settings.sparsity)
        }
        embedded = network.embed(codes)
        if batch.partners is not None:
            terms["contrast"] = settings.neighbor_weight * neighbour_contrast(*embedded.chunk(2))
        if not settings.in_warmup(self._epoch):
            terms |= self._later_terms(codes, embedded)
        self._step += 1
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Bring the coder's parameters back to where they have a meaning."""
        self.network.coder.project()

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the phase, and what the last refresh found."""
        if self.settings.in_warmup(epoch):
            return {"phase": "codes"}
        return {"phase": "joint", **self._found}

    def state(self) -> dict[str, Tensor]:
        """Return the network, the landmarks and the layers."""
        return {
            f"{name}.{key}": tensor
            for name, module in self._modules().items()
            for key, tensor in module.state_dict().items()
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        for name, module in self._modules().items():
            module.load_state_dict(below(f"{name}.", state))

    def _modules(self) -> dict[str, torch.nn.Module]:
        return {"network": self.network, "landmarks": self.landmarks, "layers": self.layers}

    # Losses of the second and third module

    def _later_terms(self, codes: Tensor, embedded: Tensor) -> dict[str, Tensor]:
        """Return L_e in two of three steps and L_K in one (gamma mod 3 = 1, 2 and = 2)."""
        settings, phase = self.settings, self._step % PHASES
        if not settings.joint:
            codes, embedded = codes.detach(), embedded.detach()
        compared = codes if self.landmarks.by_code else embedded
        terms = {}
        places = self.network.place(embedded)
        if phase >= 1 and len(codes) > max(settings.n_clusters, self.landmarks.n_neighbors):
            terms["spectral"] = settings.spectral_weight * self._spectral(compared, places)
        if phase == PHASES - 1:
            terms["assignment"] = settings.assignment_weight * self._assignment(compared, places)
        return terms

    def _spectral(self, compared: Tensor, places: Tensor) -> Tensor:
        """Return L_e of the batch's own graph.

        The eigen-layers start from where the network places the rows: so the columns mean the same in every batch,
        which those of a random start do not (spec E14).
        """
        graph = knn_affinity(compared, self.landmarks.n_neighbors, unit=bool(self.landmarks.by_code))
        start = torch.linalg.qr(places.detach()).Q
        return objective.spectral_loss(graph.laplacian, self.layers(graph.laplacian, start))

    def _assignment(self, compared: Tensor, places: Tensor) -> Tensor:
        """Return how far places and clusters are from those of the nearest landmarks, and of landmarks themselves."""
        network, landmarks = self.network, self.landmarks
        votes = landmarks.votes(compared)
        some = torch.randint(len(landmarks.rows), (_REPLAY,), generator=self._draws).to(self.device)
        own = network.embed(network.code(landmarks.rows[some]).codes)
        places = torch.cat([places, network.place(own if self.settings.joint else own.detach())])
        wanted = torch.cat([votes.mean(landmarks.places()), landmarks.places()[some]])
        clusters = torch.cat([votes.mean(landmarks.memberships()), landmarks.memberships()[some]])
        return self._distance(places, wanted, clusters)

    def _distance(self, places: Tensor, wanted: Tensor, clusters: Tensor) -> Tensor:
        """Return how far places and their clusters are from the ones that are wanted, L_K beside the embedding."""
        apart = (places - wanted).square().sum(1).mean()
        return apart + objective.assignment_loss(self.network.classify(places), clusters)

    # Landmarks

    @torch.no_grad()
    def start(self) -> None:
        """Draw landmarks several times, cut each graph several times, keep what holds neighbours together best.

        Different landmarks, graphs and seeds of k-means give very different partitions (measured: the graph of
        embeddings ACC .94 and that of codes .72 on MNIST, but .79 and .88 on digits); without labels the modularity
        of the neighbours among all rows tells which to trust. The graph of embeddings must be clearly better.
        """
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -1))
        candidates = [
            self._draw_landmarks(number, by_code, generator)
            for number in range(self.settings.n_starts if self.pairs is not None else 1)
            for by_code in self._graphs()
        ]
        cuts = [self._cuts(one, generator) for one in candidates]
        best, cut = (0, 0) if self.pairs is None else self._best(candidates, cuts)
        chosen = candidates[best]
        chosen.cut(cuts[best][cut])
        self.landmarks.load_state_dict(chosen.state_dict())
        self._teach()

    def _graphs(self) -> tuple[bool, ...]:
        """Return for each graph that the start tries whether it compares codes; without pairs there is no choice."""
        given = {"code": (True,), "embedding": (False,)}
        return given.get(self.settings.graph_on, (False, True) if self.pairs is not None else (True,))

    @torch.enable_grad()
    def _teach(self) -> None:
        """Teach the last two maps the landmarks' places and clusters before they take part in training."""
        network, landmarks = self.network, self.landmarks
        embedded = looked_at(network, landmarks.rows, by_code=False)
        network.spread.copy_(embedded.std(0, correction=0).mean().clamp(min=_LEAST_SPREAD))
        pupils = [*network.spectral.parameters(), *network.classify.parameters()]
        optimizer = torch.optim.Adam(pupils, lr=_TEACH_RATE, fused=True)
        places, clusters = landmarks.places(), landmarks.memberships()
        for step in range(_TEACH_STEPS):
            optimizer.param_groups[0]["lr"] = _TEACH_RATE * (1 - step / _TEACH_STEPS)
            found = network.place(embedded)
            loss = self._distance(found, places, clusters)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    def refresh(self) -> None:
        """Cut the landmarks' graph again, with their present codes."""
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
        compared = looked_at(self.network, self.landmarks.rows, bool(self.landmarks.by_code))
        found = self.landmarks.refresh(compared, self.settings.n_layers, generator)
        self._found = {"trace": found.trace, "components": found.components, "changed": found.changed}

    def _draw_landmarks(self, number: int, by_code: bool, generator: torch.Generator) -> Landmarks:
        landmarks = copy.deepcopy(self.landmarks)
        landmarks.by_code.fill_(by_code)
        chosen = some_rows(self.batches.views.n_rows, len(landmarks.rows), mixed_seed(self.seed, number))
        landmarks.rows.copy_(self._tensor(self.batches.read(chosen)))
        found = landmarks.start(looked_at(self.network, landmarks.rows, by_code), generator)
        self._found = {"trace": found.trace, "components": found.components}
        return landmarks

    def _cuts(self, landmarks: Landmarks, generator: torch.Generator) -> list[Tensor]:
        """Return the centres of several seedings of k-means, the usual one first."""
        k = len(landmarks.centers)
        more = [
            kmeans(landmarks.places(), k, generator=generator, n_init=2, quiet=True).centers
            for _ in range(_CUTS - 1)
        ]
        return [landmarks.centers.clone(), *more]

    def _best(self, candidates: list[Landmarks], cuts: list[list[Tensor]]) -> tuple[int, int]:
        """Return the numbers of the landmarks and of the cut whose votes have the highest modularity."""
        assert self.pairs is not None
        n_rows, k = self.batches.views.n_rows, self.settings.n_clusters
        labels = np.zeros((len(candidates), _CUTS, n_rows), dtype=np.int32)
        tables = [
            torch.cat([F.one_hot(nearest(one.places(), centers)[0], k) for centers in theirs], 1).float()
            for one, theirs in zip(candidates, cuts, strict=True)
        ]
        start = 0
        for views in self.batches.in_order():
            rows = self._tensor(views)
            compared = {by_code: looked_at(self.network, rows, by_code) for by_code in self._graphs()}
            part = slice(start, start + len(rows))
            for found, one, table in zip(labels, candidates, tables, strict=True):
                shares = one.votes(compared[bool(one.by_code)]).mean(table).view(len(rows), _CUTS, k)
                found[:, part] = shares.argmax(2).T.cpu().numpy()
            start = part.stop
        scores = np.array([[self._score(found) for found in some] for some in labels])
        # Embeddings of small data fall into islands that say little, and may score as high by a hair (COIL-20).
        scores[[not bool(one.by_code) for one in candidates]] -= _CLEARLY
        return divmod(int(scores.argmax()), _CUTS)

    def _score(self, labels: np.ndarray) -> float:
        """Return the modularity of a partition; one that leaves a cluster empty comes last."""
        assert self.pairs is not None
        empty = len(np.unique(labels)) < self.settings.n_clusters
        return self.pairs.modularity(labels) - empty

    def _tensor(self, views: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(views[0] if len(views) == 1 else np.hstack(views)).to(self.device)


def _stacked(views: list[np.ndarray], others: list[np.ndarray]) -> list[np.ndarray]:
    return [np.concatenate(pair) for pair in zip(views, others, strict=True)]


@torch.no_grad()
def looked_at(network: SSCNetwork, rows: Tensor, by_code: bool) -> Tensor:
    """Return what a graph compares of rows, (b, m) sparse codes or (b, p) embeddings, each row on its own."""
    found = []
    for part, size in passes(rows):
        codes = network.code(part).codes[:size]
        found.append(codes if by_code else network.embed(codes))
    return torch.cat(found)
