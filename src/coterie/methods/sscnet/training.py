"""How SSCNet is trained: codes first, then the three phases of Algorithm 1 around the landmarks' clusters."""

# n rows, b rows of a batch, D features, m atoms, k clusters

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.batches import Batch, Batches
from coterie.engine.adam import Adam
from coterie.engine.schedule import mixed_seed
from coterie.graph.initial import graph_of_rows
from coterie.methods.sscnet import objective
from coterie.methods.sscnet.affinity import knn_affinity
from coterie.methods.sscnet.landmarks import Landmarks, Refreshed
from coterie.methods.sscnet.network import SSCNetwork
from coterie.methods.sscnet.settings import Settings
from coterie.methods.sscnet.starting import best_start, looked_at
from coterie.nn.contrast import neighbour_contrast
from coterie.ops.distributed_rows import agree, joined, joined_tables, of_share
from coterie.ops.stiefel import EigenLayers
from coterie.store import below

PHASES = 3
_REPLAY = 64
_ANOTHER_CUT = 0.05
_TEACH_STEPS = 300
_TEACH_RATE = 1e-2
_LEAST_SPREAD = 1e-12


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
        seed: int,
        collectives: Collectives = ALONE,
    ) -> None:
        self.network, self.landmarks, self.layers = network, landmarks, layers
        self.settings, self.options, self.batches, self.seed = settings, settings.options, batches, seed
        self.collectives = collectives
        self.device = landmarks.rows.device
        parameters = [*network.parameters(), *layers.parameters()]
        self.optimizer = Adam(parameters, settings.learning_rate)
        self._epoch = 0
        self._step = 0
        self._draws = torch.Generator()
        self._found = Refreshed(0.0, 0)

    @property
    def started(self) -> bool:
        """Whether the landmarks' graph has been cut."""
        return self.landmarks.started

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; cut the landmarks' graph when the warm-up is over, and again when it is time."""
        self._epoch, self._step = epoch, 0
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self.network.train()
        if self.settings.in_warmup(epoch):
            return
        if not self.started:
            self.start()
        elif self.settings.is_time_to_refresh(epoch):
            self.refresh()

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the modules whose turn it is (Algorithm 1)."""
        options, network = self.options, self.network
        everyone = batch.with_partners()
        x = network.look(self._tensor(everyone.views))
        codes = network.coder.codes(x)
        embedded = network.embed(codes)
        n_mine = len(batch.own)  # they come first, and partners are not decoded
        decoded = network.coder.dictionary.decode(codes[:n_mine])
        mine = objective.coding_figures(x[:n_mine], decoded, codes[:n_mine])
        terms = {}
        if batch.partners is not None:
            own, theirs = joined(embedded, everyone, self.collectives).chunk(2)
            contrast = neighbour_contrast(own, theirs, self.collectives)
            terms["contrast"] = options.neighbor_weight * contrast
        figures = joined(mine.detach(), batch, self.collectives)
        weights = of_share(objective.coding_weights(figures, options.sparsity), batch)
        terms["coding"] = options.coding_weight * batch.part * objective.coding_loss(mine, weights)
        if not self.settings.in_warmup(self._epoch):
            terms |= self._later_terms(codes, embedded, everyone)
        self._step += 1
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Bring the coder's parameters back to where they have a meaning."""
        self.network.coder.project()

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the phase, and what the last refresh found."""
        if self.settings.in_warmup(epoch):
            return {"phase": "codes"}
        found = self._found
        return {
            "phase": "joint",
            "trace": found.trace,
            "components": found.components,
            "changed": found.changed,
        }

    def state(self) -> dict[str, Tensor]:
        """Return the network, the landmarks, the layers, and what the last refresh found."""
        state = {
            f"{name}.{key}": tensor
            for name, module in self._modules().items()
            for key, tensor in module.state_dict().items()
        }
        return state | {"found": torch.tensor(dataclasses.astuple(self._found), dtype=torch.float64)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        for name, module in self._modules().items():
            module.load_state_dict(below(f"{name}.", state))
        trace, components, changed = state["found"].tolist()
        self._found = Refreshed(trace, int(components), changed)

    def _modules(self) -> dict[str, torch.nn.Module]:
        return {"network": self.network, "landmarks": self.landmarks, "layers": self.layers}

    # Losses of the second and third module

    def _later_terms(self, codes: Tensor, embedded: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Return L_e in two of three steps and L_K in one (gamma mod 3 = 1, 2 and = 2).

        Parameters
        ----------
        codes, embedded : Tensor of shape (b, m) and (b, p)
            Of the rows of this process.
        batch : Batch
            Rows and partners.
        """
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
        """Return how far places and clusters are from those of the nearest landmarks, and of landmarks themselves.

        This process's part of it.
        """
        network, landmarks = self.network, self.landmarks
        votes = landmarks.votes(compared)
        some = torch.randint(len(landmarks.rows), (_REPLAY,), generator=self._draws).to(self.device)
        some = some[share_of(_REPLAY, self.collectives)]
        own = network.embed(network.code(landmarks.rows[some]).codes)
        places = torch.cat([places, network.place(own if self.options.joint else own.detach())])
        wanted = torch.cat([votes.mean(landmarks.places()), landmarks.places()[some]])
        clusters = torch.cat([votes.mean(landmarks.memberships()), landmarks.memberships()[some]])
        part = len(places) / (len(batch.rows) + _REPLAY)
        return part * self._distance(places, wanted, clusters)

    def _distance(self, places: Tensor, wanted: Tensor, clusters: Tensor) -> Tensor:
        """Return how far places and their clusters are from the ones that are wanted, L_K beside the embedding."""
        apart = (places - wanted).square().sum(1).mean()
        return apart + objective.assignment_loss(self.network.classify(places), clusters)

    # Landmarks

    def start(self, in_haste: bool = False) -> None:
        """Choose landmarks, cut their graph, and teach the last two maps what was found; haste leaves nothing out."""
        chosen, self._found = best_start(
            self.network,
            self.landmarks,
            self.batches,
            graph_on=self.options.graph_on,
            n_neighbors=self.settings.n_neighbors,
            seed=self.seed,
        )
        self.landmarks.load_state_dict(chosen.state_dict())
        self._teach()
        agree([*self.network.state_dict().values(), *self.landmarks.state_dict().values()], self.collectives)

    def _teach(self) -> None:
        """Teach the last two maps the landmarks' places and clusters before they take part in training."""
        network, landmarks = self.network, self.landmarks
        embedded = looked_at(network, landmarks.rows, by_code=False)
        network.spread.copy_(embedded.std(0, correction=0).mean().clamp(min=_LEAST_SPREAD))
        pupils = [*network.spectral.parameters(), *network.classify.parameters()]
        optimizer = Adam(pupils, _TEACH_RATE)
        places, clusters = landmarks.places(), landmarks.memberships()
        for step in range(_TEACH_STEPS):
            optimizer.rate = _TEACH_RATE * (1 - step / _TEACH_STEPS)
            found = network.place(embedded)
            loss = self._distance(found, places, clusters)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def refresh(self) -> None:
        """Cut the landmarks' graph again, with their present codes.

        A cut that moves more than a twentieth of the landmarks is another one, not the old one refined, and is taken
        only if it keeps no fewer neighbours together. Measured: 4 % at most on digits and USPS; of two rings the
        codes, which are compared by their direction, lost one within three refreshes, ACC 1.0 to .5.
        """
        landmarks, before = self.landmarks, self.landmarks.labels.clone()
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
        compared = looked_at(self.network, landmarks.rows, bool(landmarks.by_code))
        self._found = landmarks.refresh(compared, self.options.n_layers, generator)
        if self._found.changed > _ANOTHER_CUT and self._keeps_less(landmarks.labels, before):
            landmarks.take(before)
            self._found = dataclasses.replace(self._found, changed=0.0)

    def _keeps_less(self, labels: Tensor, before: Tensor) -> bool:
        """Tell whether clusters of the landmarks keep fewer neighbours of the rows together than those before."""
        compared = self.network.look(self.landmarks.rows).cpu().numpy()
        graph = graph_of_rows(compared, self.landmarks.n_neighbors)
        k = self.settings.n_clusters
        now, then = (graph.quality(one.cpu().numpy(), k).modularity for one in (labels, before))
        return now < then

    def _tensor(self, views: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(views[0] if len(views) == 1 else np.hstack(views)).to(self.device)
