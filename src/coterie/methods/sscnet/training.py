"""How SSCNet is trained: codes, then landmarks and their clusters, then the three phases of Algorithm 1."""

# n rows, b rows of a batch, l landmarks, D features, m atoms, p features of the embedding, k clusters

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import share_of
from coterie.data.batches import Batch, Batches
from coterie.data.subsets import some_rows
from coterie.engine.adam import Adam
from coterie.engine.loop import Callback, Record
from coterie.engine.schedule import mixed_seed
from coterie.graph.initial import graph_of_rows
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.run_setup import make_loop
from coterie.methods.sscnet import objective
from coterie.methods.sscnet.affinity import knn_affinity
from coterie.methods.sscnet.landmarks import Landmarks, Refresh
from coterie.methods.sscnet.network import Modules, SSCNetwork, graph_features
from coterie.methods.sscnet.options import SSCNetSettings
from coterie.nn.contrast import neighbour_contrast
from coterie.ops.distributed_rows import agree, joined, joined_tables, of_share
from coterie.store import below

PHASES = 3
_MOST_ROWS = 20_000
_REPLAY = 64
_ANOTHER_CUT = 0.05
_HEAD_STEPS = 300
_HEAD_RATE = 1e-2
_LEAST_SPREAD = 1e-12


@dataclasses.dataclass(frozen=True)
class InitialPartition:
    """The landmarks and their labels in the partition of the rows' kNN graph."""

    rows: Tensor  # (l, D)
    # (l,): none where neighbours are off: then the landmarks' own graph gives the clusters
    labels: Tensor | None


@torch.no_grad()
def partition_landmarks(
    network: SSCNetwork, batches: Batches, settings: SSCNetSettings, seed: int
) -> InitialPartition:
    """Choose the landmarks, and label them by the partition of the kNN graph of up to 20,000 rows.

    The graph of 1,500 landmarks alone separates clusters worse.
    """
    n_rows, device = batches.views.n_rows, network.spread.device
    numbers = some_rows(n_rows, _MOST_ROWS, seed)
    marks = some_rows(len(numbers), min(settings.n_landmarks, n_rows), seed)
    if settings.n_neighbors == 0:
        return InitialPartition(_read(batches, numbers[marks], device), None)
    rows = _read(batches, numbers, device)
    graph = graph_of_rows(network.projection(rows).cpu().numpy())
    labels = graph.partition(settings.n_clusters, seed=seed)[marks]
    return InitialPartition(rows[marks], torch.from_numpy(labels).to(device))


def _read(batches: Batches, numbers: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.hstack(batches.read(numbers))).to(device)


def train(task: SSCNetTask, initial: InitialPartition, callbacks: Sequence[Callback] = ()) -> list[Record]:
    """Train the codes, start the landmarks' clusters, then train all modules in turn; return the history."""
    loop = make_loop(task, callbacks)
    with loop:
        loop.train(until=task.epochs.warmup)
        if not task.started:
            start_clusters(task, initial)
        loop.train()
    if not task.started:  # interrupted in the warm-up
        start_clusters(task, initial)
    return loop.history


def start_clusters(task: SSCNetTask, initial: InitialPartition) -> None:
    """Embed the landmarks' graph, and fit the last two maps of the network to it."""
    landmarks, refresh = embed_landmarks(task, initial)
    task.train_heads(landmarks)
    task.take_landmarks(landmarks, refresh)


@torch.no_grad()
def embed_landmarks(task: SSCNetTask, initial: InitialPartition) -> tuple[Landmarks, Refresh]:
    """Return landmarks with the spectral embedding of their graph and the initial labels.

    Of the graphs of codes and of embeddings, "auto" takes the one whose embedding agrees best with the labels.
    """
    generator = torch.Generator().manual_seed(mixed_seed(task.seed, -1))
    either = [True] if initial.labels is None else [True, False]
    candidates = []
    for by_code in {"code": [True], "embedding": [False]}.get(task.options.graph_on, either):
        landmarks = copy.deepcopy(task.landmarks)
        landmarks.by_code.fill_(by_code)
        landmarks.rows.copy_(initial.rows)
        features = graph_features(task.network, initial.rows, by_code=by_code)
        candidates.append((landmarks, landmarks.start(features, generator, initial.labels)))
    return min(candidates, key=lambda candidate: candidate[1].changed)


class SSCNetTask:
    """SSCNet as a task of the training loop.

    Parameters
    ----------
    pairs : Pairs, optional
        Neighbours, from which positives are drawn.
    """

    def __init__(
        self,
        modules: Modules,
        settings: SSCNetSettings,
        batches: Batches,
        *,
        pairs: Pairs | None = None,
        seed: int,
    ) -> None:
        self.modules, self.settings, self.batches, self.pairs, self.seed = (
            modules,
            settings,
            batches,
            pairs,
            seed,
        )
        self.network, self.landmarks, self.layers = modules.network, modules.landmarks, modules.layers
        self.options, self.epochs = settings.options, settings.epochs(batches.per_epoch)
        self.collectives, self.device = batches.collectives, self.landmarks.rows.device
        parameters = [*self.network.parameters(), *self.layers.parameters()]
        self.optimizer = Adam(parameters, settings.learning_rate)
        self._epoch = 0
        self._step = 0
        self._draws = torch.Generator()
        self._refresh = Refresh(0.0, 0)

    @property
    def started(self) -> bool:
        """Whether the landmarks have clusters."""
        return self.landmarks.started

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; embed the landmarks' graph again every few epochs."""
        self._epoch, self._step = epoch, 0
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self.network.train()
        since = epoch - self.epochs.warmup
        if since > 0 and since % self.options.refresh_every == 0:
            self.refresh()

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the modules whose turn it is (Algorithm 1)."""
        options, network = self.options, self.network
        both = batch.with_partners()  # rows and positives
        x = network.projection(self._tensor(both.views))
        codes = network.coder.codes(x)
        embedded = network.embed(codes)
        n_mine = len(batch.own)  # they come first; positives are not decoded
        decoded = network.coder.dictionary.decode(codes[:n_mine])
        mine = objective.coding_figures(x[:n_mine], decoded, codes[:n_mine])
        terms = {}
        if batch.partners is not None:
            own, theirs = joined(embedded, both, self.collectives).chunk(2)
            contrast = neighbour_contrast(own, theirs, self.collectives)
            terms["contrast"] = options.neighbor_weight * contrast
        figures = joined(mine.detach(), batch, self.collectives)
        weights = of_share(objective.coding_weights(figures, options.sparsity), batch)
        terms["coding"] = options.coding_weight * batch.part * objective.coding_loss(mine, weights)
        if not self.epochs.in_warmup(self._epoch):
            terms |= self._later_terms(codes, embedded, both)
        self._step += 1
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Project the coder's parameters onto their constraints."""
        self.network.coder.project()

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the phase and the figures of the last refresh."""
        if self.epochs.in_warmup(epoch):
            return {"phase": "codes"}
        return {"phase": "joint", **dataclasses.asdict(self._refresh)}

    def state(self) -> dict[str, Tensor]:
        """Return the network, the landmarks, the layers, and the figures of the last refresh."""
        state = {
            f"{name}.{key}": tensor
            for name, module in self.modules.named().items()
            for key, tensor in module.state_dict().items()
        }
        return state | {"refresh": torch.tensor(dataclasses.astuple(self._refresh), dtype=torch.float64)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        for name, module in self.modules.named().items():
            module.load_state_dict(below(f"{name}.", state))
        trace, components, changed = state["refresh"].tolist()
        self._refresh = Refresh(trace, int(components), changed)

    # Losses of the second and third module

    def _later_terms(self, codes: Tensor, embedded: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Return L_e in two of three steps and L_K in one (gamma mod 3 = 1, 2 and = 2) of this process's rows."""
        options, phase = self.options, self._step % PHASES
        if not options.joint:
            codes, embedded = codes.detach(), embedded.detach()
        compared = codes if self.landmarks.by_code else embedded
        terms = {}
        places = self.network.place(embedded)
        if phase >= 1 and len(batch.rows) > max(self.settings.n_clusters, self.landmarks.n_neighbors):
            spectral = self._spectral(*joined_tables([compared, places], batch, self.collectives))
            terms["spectral"] = options.spectral_weight * spectral / self.collectives.size
        if phase == PHASES - 1:
            terms["assignment"] = options.assignment_weight * self._assignment(compared, places, batch)
        return terms

    def _spectral(self, compared: Tensor, places: Tensor) -> Tensor:
        """Return L_e of the batch's own graph.

        The eigen-layers start from where the network places the rows: so the columns mean the same in every batch,
        which those of a random start do not (spec E14).
        """
        graph = knn_affinity(compared, self.landmarks.n_neighbors, unit=bool(self.landmarks.by_code))
        start = torch.linalg.qr(places.detach()).Q
        return objective.spectral_loss(graph.laplacian, self.layers(graph.laplacian, start))

    def _assignment(self, compared: Tensor, places: Tensor, batch: Batch) -> Tensor:
        """Return this process's part of the loss that fits rows to their nearest landmarks, and some landmarks."""
        network, landmarks = self.network, self.landmarks
        votes = landmarks.votes(compared)
        some = torch.randint(len(landmarks.rows), (_REPLAY,), generator=self._draws).to(self.device)
        some = some[share_of(_REPLAY, self.collectives)]
        own = network.embed(network.code(landmarks.rows[some]).codes)
        places = torch.cat([places, network.place(own if self.options.joint else own.detach())])
        targets = torch.cat([votes.mean(landmarks.places()), landmarks.places()[some]])
        memberships = torch.cat([votes.mean(landmarks.memberships()), landmarks.memberships()[some]])
        part = len(places) / (len(batch.rows) + _REPLAY)
        return part * self._head_loss(places, targets, memberships)

    def _head_loss(self, places: Tensor, targets: Tensor, memberships: Tensor) -> Tensor:
        """Return the squared error of the places plus L_K, the cross-entropy of their clusters."""
        errors = (places - targets).square().sum(1).mean()
        return errors + objective.assignment_loss(self.network.classify(places), memberships)

    # Landmarks

    def train_heads(self, landmarks: Landmarks) -> None:
        """Fit the maps `spectral` and `classify` to the landmarks' places and clusters."""
        network = self.network
        embedded = graph_features(network, landmarks.rows, by_code=False)
        network.spread.copy_(embedded.std(0, correction=0).mean().clamp(min=_LEAST_SPREAD))
        optimizer = Adam([*network.spectral.parameters(), *network.classify.parameters()], _HEAD_RATE)
        places, memberships = landmarks.places(), landmarks.memberships()
        for step in range(_HEAD_STEPS):
            optimizer.rate = _HEAD_RATE * (1 - step / _HEAD_STEPS)
            loss = self._head_loss(network.place(embedded), places, memberships)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def take_landmarks(self, landmarks: Landmarks, refresh: Refresh) -> None:
        """Take landmarks with their clusters; from now on all modules are trained."""
        self.landmarks.load_state_dict(landmarks.state_dict())
        self._refresh = refresh
        agree([*self.network.state_dict().values(), *self.landmarks.state_dict().values()], self.collectives)

    def refresh(self) -> None:
        """Embed the landmarks' graph again, with their present codes, and update their clusters.

        Where more than a twentieth of the landmarks change their cluster it is another cut, not the old one refined.
        It is taken only if its modularity in the landmarks' kNN graph is no lower: codes, compared by direction, can
        lose one of two concentric rings.
        """
        landmarks, before = self.landmarks, self.landmarks.labels.clone()
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
        features = graph_features(self.network, landmarks.rows, by_code=bool(landmarks.by_code))
        self._refresh = landmarks.refresh(features, self.options.n_layers, generator)
        if self._refresh.changed > _ANOTHER_CUT and self._modularity(landmarks.labels) < self._modularity(
            before
        ):
            landmarks.take(before)
            self._refresh = dataclasses.replace(self._refresh, changed=0.0)

    def _modularity(self, labels: Tensor) -> float:
        """Return the modularity of labels of the landmarks in the kNN graph of their rows."""
        projected = self.network.projection(self.landmarks.rows).cpu().numpy()
        graph = graph_of_rows(projected, self.landmarks.n_neighbors)
        return graph.quality(labels.cpu().numpy(), self.settings.n_clusters).modularity

    def _tensor(self, views: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(views[0] if len(views) == 1 else np.hstack(views)).to(self.device)
