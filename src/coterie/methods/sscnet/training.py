"""How SSCNet is trained: from the clusters of the graph, all modules together until nothing moves (Algorithm 1)."""

# n rows, b rows of a batch, l landmarks, D features, r axes that are coded, m atoms, p features of the embedding,
# k clusters

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import share_of
from coterie.data.batches import Batch, Batches
from coterie.data.subsets import some_rows
from coterie.engine.adam import Adam
from coterie.engine.loop import Callback, Record
from coterie.engine.schedule import mixed_seed
from coterie.engine.stopping import Settling
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.run_setup import make_loop, see_all
from coterie.methods.self_training import correct_partition
from coterie.methods.sscnet import objective
from coterie.methods.sscnet.affinity import knn_affinity
from coterie.methods.sscnet.landmarks import Refresh
from coterie.methods.sscnet.network import HIDDEN, Modules, graph_features, predict_seen, start_embedding
from coterie.methods.sscnet.options import SSCNetSettings
from coterie.nn.contrast import neighbour_contrast
from coterie.ops.distributed_rows import agree, agreed, joined, joined_tables, of_share
from coterie.ops.stiefel import nearest_orthonormal
from coterie.store import below

PHASES = 3
_REPLAY = 64
_PROBE_ROWS = 512
_SETTLED_LOSS = 0.1  # labels settle long before the codes, and what these gain afterwards moves no row
_WINDOW_STEPS = 25
_REFRESH_STEPS = 100
_LEAST_SPREAD = 1e-12


def train(task: SSCNetTask, initial: np.ndarray | None, callbacks: Sequence[Callback] = ()) -> list[Record]:
    """Start the landmarks and their clusters, then train all modules until nothing moves; return the history."""
    settling = None
    if task.options.settle:
        settling = Settling(
            task.epochs.total,
            task.batches.per_epoch,
            watched=("coding",),
            losses=_SETTLED_LOSS,
            window_steps=_WINDOW_STEPS,
        )
    loop = make_loop(task, callbacks, settling=settling)
    with loop:
        if not task.started:
            start_clusters(task, initial)
        loop.train()
    if not task.started:  # interrupted in self-training
        start_clusters(task, initial, self_training=False)
    task.refresh()
    return loop.history


def start_clusters(task: SSCNetTask, initial: np.ndarray | None, *, self_training: bool = True) -> None:
    """Give rows the initial labels (n,), which self-training corrects, and embed the landmarks' graph.

    Without initial labels, or where these are fewer than the clusters, the graph of the landmarks' codes gives them.
    """
    k, labels = task.settings.n_clusters, None
    if initial is not None and len(np.unique(initial)) == k:
        labels = agreed(initial, task.collectives)
        labels = task.corrected(labels) if self_training else labels
    task.place_landmarks(labels)


class SSCNetTask:
    """SSCNet as a task of the training loop.

    Parameters
    ----------
    graph : Pairs, optional
        Neighbours, for self-training and for the contrast.

    Attributes
    ----------
    labels : Tensor of shape (n,) or None
        What the classifier is trained on; without, rows take the labels of the landmarks that are near.
    seen : Tensor of shape (n, r) or None
        What is coded of all rows, where that takes up to 256 MB: no batch is projected again.
    """

    def __init__(
        self,
        modules: Modules,
        settings: SSCNetSettings,
        batches: Batches,
        *,
        graph: Pairs | None = None,
        seed: int,
    ) -> None:
        self.modules, self.settings, self.batches, self.graph, self.seed = (
            modules,
            settings,
            batches,
            graph,
            seed,
        )
        self.network, self.landmarks, self.layers = modules.network, modules.landmarks, modules.layers
        self.options, self.epochs = settings.options, settings.epochs(batches.per_epoch)
        self.collectives, self.device = batches.collectives, self.landmarks.rows.device
        parameters = [*self.network.parameters(), *self.layers.parameters()]
        self.optimizer = Adam(parameters, settings.learning_rate)
        self.labels: Tensor | None = None
        self.seen = see_all(self.network.projection, batches, self.device)
        self._refresh_every = max(1, round(_REFRESH_STEPS / batches.per_epoch))
        self._epoch = 0
        self._step = 0
        self._draws = torch.Generator()
        self._refresh = Refresh(0.0, 0)
        self._marks: Tensor | None = None  # what is coded of the landmarks
        self._probe = self._project(batches.read(some_rows(batches.views.n_rows, _PROBE_ROWS, seed)))
        self._probe_labels: Tensor | None = None

    @property
    def started(self) -> bool:
        """Whether the landmarks have clusters."""
        return self.landmarks.started

    @property
    def pairs(self) -> Pairs | None:
        """The neighbours from which positives of a batch are drawn; none where their contrast has no weight."""
        return self.graph if self.options.neighbor_weight > 0 else None

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; embed the landmarks' graph again every hundred steps."""
        self._epoch, self._step = epoch, 0
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self.network.train()
        if epoch > 0 and epoch % self._refresh_every == 0:
            self.refresh(move=self.options.init == "landmarks")

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the modules; the later ones take turns where `turns` is set (Algorithm 1)."""
        options, network = self.options, self.network
        both = batch.with_partners()  # rows and positives
        x = self._seen(both)
        codes = network.coder.codes(x)
        embedded = network.embedding(codes)
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
        terms |= self._later_terms(codes, embedded, both)
        self._step += 1
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Project the coder's parameters onto their constraints."""
        self.network.coder.project()

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the figures of the last refresh, and the share of probe rows whose label changed."""
        record: dict[str, float | str | int] = {}
        if self._refresh.components:
            record = {
                "trace": self._refresh.trace,
                "components": self._refresh.components,
                "astray": self._refresh.changed,
            }
        labels = predict_seen(self.network, self._probe).logits.argmax(1)
        if self._probe_labels is not None:
            record["changed"] = float((labels != self._probe_labels).double().mean())
        self._probe_labels = labels
        return record

    def state(self) -> dict[str, Tensor]:
        """Return the network, the landmarks, the layers, the labels and the figures of the last refresh."""
        state = {
            f"{name}.{key}": tensor
            for name, module in self.modules.named().items()
            for key, tensor in module.state_dict().items()
        }
        state |= {"refresh": torch.tensor(dataclasses.astuple(self._refresh), dtype=torch.float64)}
        optional = {"probe_labels": self._probe_labels, "labels": self.labels}
        return state | {name: tensor for name, tensor in optional.items() if tensor is not None}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        for name, module in self.modules.named().items():
            module.load_state_dict(below(f"{name}.", state))
        trace, components, changed = state["refresh"].tolist()
        self._refresh, self._marks = Refresh(trace, int(components), changed), None
        self.labels = state["labels"].to(self.device) if "labels" in state else None
        self._probe_labels = state["probe_labels"].to(self.device) if "probe_labels" in state else None

    # Losses of the second and third module

    def _later_terms(self, codes: Tensor, embedded: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Return L_e and L_K of this process's rows; in turns, L_e in two of three steps and L_K in one."""
        options, phase = self.options, self._step % PHASES if self.options.turns else PHASES - 1
        if not options.joint:
            codes, embedded = codes.detach(), embedded.detach()
        compared = codes if self.landmarks.by_code else embedded
        places, terms = self.network.place(embedded), {}
        enough = len(batch.rows) > max(self.settings.n_clusters, self.landmarks.n_neighbors)
        if phase >= 1 and options.spectral_weight > 0 and enough:
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
        """Return this process's part of the loss of the clusters of rows and of the places of some landmarks.

        Before the landmarks' graph of trained codes is embedded, nothing is known of their places.
        """
        network, landmarks = self.network, self.landmarks
        if not self._refresh.components:
            return batch.part * objective.assignment_loss(
                network.classify(places), self._memberships(compared, batch)
            )
        some = torch.randint(len(landmarks.rows), (_REPLAY,), generator=self._draws).to(self.device)
        some = some[share_of(_REPLAY, self.collectives)]
        replayed = network.embedding(network.coder.codes(self.marks[some]))
        placed = network.place(replayed if self.options.joint else replayed.detach())
        logits = network.classify(torch.cat([places, placed]))
        memberships = torch.cat([self._memberships(compared, batch), landmarks.memberships()[some]])
        part = len(logits) / (len(batch.rows) + _REPLAY)
        errors = (F.normalize(placed, dim=1) - landmarks.places()[some]).square().sum() / _REPLAY
        return part * objective.assignment_loss(logits, memberships) + errors

    def _memberships(self, compared: Tensor, batch: Batch) -> Tensor:
        """Return the labels of a batch's rows, one-hot, or the vote of the landmarks near to them, (b, k)."""
        if self.labels is None:
            return self.landmarks.votes(compared).mean(self.landmarks.memberships())
        labels = self.labels[torch.from_numpy(batch.rows[batch.own]).to(self.device)]
        return F.one_hot(labels, self.settings.n_clusters).to(compared.dtype)

    # Labels and landmarks

    def corrected(self, labels: np.ndarray) -> np.ndarray:
        """Return initial labels (n,) corrected by self-training, from whose hidden layers the embedding starts."""
        trained = correct_partition(
            labels,
            self.seen,
            self.graph,
            self.batches,
            n_clusters=self.settings.n_clusters,
            hidden=HIDDEN,
            seed=self.seed,
            length=self.options.self_training,
        )
        if trained is None:
            return labels
        start_embedding(self.network, trained.network)
        return trained.labels

    @torch.no_grad()
    def place_landmarks(self, labels: np.ndarray | None) -> None:
        """Take rows as landmarks and embed their graph; all rows keep their labels (n,), if there are any."""
        landmarks, network = self.landmarks, self.network
        numbers = some_rows(self.batches.views.n_rows, len(landmarks.rows), self.seed)
        landmarks.rows.copy_(self._tensor(self.batches.read(numbers)))
        landmarks.by_code.fill_(self.options.graph_on == "code" or labels is None)  # embeddings are untrained
        self._marks = None
        if labels is not None:
            self.labels = torch.from_numpy(labels).to(self.device, torch.long)
        embedded = graph_features(network, self.marks, by_code=False)
        network.spread.copy_(embedded.std(0, correction=0).mean().clamp(min=_LEAST_SPREAD))
        if self.labels is None:
            generator = torch.Generator().manual_seed(mixed_seed(self.seed, -1))
            self._refresh = landmarks.start(self._landmark_features(), generator)
        else:
            landmarks.columns.copy_(nearest_orthonormal(self._places()))
            landmarks.take(self.labels[torch.from_numpy(numbers).to(self.device)])
        agree([*network.state_dict().values(), *landmarks.state_dict().values()], self.collectives)

    def refresh(self, *, move: bool = False) -> None:
        """Embed the landmarks' graph again, with their present codes; their clusters stay, or move with it."""
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
        self._refresh = self.landmarks.refresh(
            self._landmark_features(), self.options.n_layers, generator, move=move
        )
        if not move:
            self.landmarks.turn(self._places())

    @torch.no_grad()
    def _places(self) -> Tensor:
        """Return where the network places the landmarks, as unit rows (l, k)."""
        embedded = graph_features(self.network, self.marks, by_code=False)
        return F.normalize(self.network.place(embedded), dim=1)

    def _landmark_features(self) -> Tensor:
        return graph_features(self.network, self.marks, by_code=bool(self.landmarks.by_code))

    # Rows as tensors

    @property
    def marks(self) -> Tensor:
        """What is coded of the landmarks, (l, r)."""
        if self._marks is None:
            self._marks = self.network.projection(self.landmarks.rows)
        return self._marks

    def _seen(self, batch: Batch) -> Tensor:
        """Return what is coded of this process's rows of a batch."""
        if self.seen is None:
            return self._project(batch.views)
        return self.seen[torch.from_numpy(batch.rows[batch.own]).to(self.device)]

    def _project(self, views: list[np.ndarray]) -> Tensor:
        return self.network.projection(self._tensor(views))

    def _tensor(self, views: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(views[0] if len(views) == 1 else np.hstack(views)).to(self.device)
