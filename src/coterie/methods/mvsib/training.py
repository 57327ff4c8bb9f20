"""How MVSIB is trained: auto-encoders with neighbours first, then three stages around the clusters (spec 2.6)."""

# n rows, b rows of a batch with their partners, V views, d features, k clusters

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.batches import Batch, Batches
from coterie.data.subsets import some_rows
from coterie.engine.adam import Adam
from coterie.engine.schedule import mixed_seed
from coterie.methods.mvsib import certainty, routing
from coterie.methods.mvsib.clusters import Clusters, Table, describe, evidence_of_all, moved_labels
from coterie.methods.mvsib.losses import ClusterLosses, Notes, Scene, mean_contrasts, no_clusters
from coterie.methods.mvsib.network import Embedded, MVSIBNetwork
from coterie.methods.mvsib.pairing import JoinedPairs
from coterie.methods.mvsib.routing import Evidence, Router
from coterie.methods.mvsib.settings import Settings
from coterie.nn.forward import passes
from coterie.ops.cluster_statistics import cluster_means
from coterie.ops.distances import nearest
from coterie.ops.distributed_rows import even_parts, gathered, joined_tables, of_share
from coterie.store import below

_FEWEST = 10
_DESCRIBED = 100_000  # rows whose views say where clusters are in each view, and how wide


@dataclass(frozen=True)
class Beginning:
    """A partition of some rows that the clusters start from.

    Attributes
    ----------
    rows : ndarray of shape (s,)
    labels : Tensor of shape (s,)
    """

    rows: np.ndarray
    labels: Tensor


class MVSIBTask:
    """MVSIB as a task of the training loop.

    Parameters
    ----------
    network : MVSIBNetwork
    settings : Settings
    batches : Batches
    pairs : JoinedPairs, optional
        Without neighbours a row is its own partner.
    beginning : Beginning, optional
        Not needed where there are clusters already.
    seen : bool
        Whether the batches hold what the encoders see, not scaled rows.
    seed : int
    collectives : Collectives
    """

    def __init__(
        self,
        network: MVSIBNetwork,
        settings: Settings,
        batches: Batches,
        *,
        pairs: JoinedPairs | None = None,
        beginning: Beginning | None = None,
        seen: bool = False,
        seed: int,
        collectives: Collectives = ALONE,
    ) -> None:
        self.network, self.settings, self.batches, self.seen = network, settings, batches, seen
        self.options = settings.options
        self.pairs, self.beginning, self.seed, self.collectives = pairs, beginning, seed, collectives
        self.device = network.centers.device
        self.optimizer = Adam(network.parameters(), settings.learning_rate)
        self.clusters: Clusters | None = None
        self.started = False
        self.routes = torch.zeros(batches.views.n_rows, dtype=torch.int8)
        self._routes_before = self.last_routes = self.routes
        self._labels: Tensor | None = None
        self._changed = 1.0
        self._evidence: Evidence | None = None
        self._epoch = 0
        self._draws = torch.Generator()
        self._router = _make_router(self.options.router, seed)
        self._idle = network.idle.tolist()
        self._notes = Notes()

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; embed all rows and bring the clusters up to date."""
        self._epoch = epoch
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self._notes = Notes()
        if self.settings.in_warmup(epoch):
            return
        table = self.update() if self.started else self._first()
        if self.pairs is not None and self.clusters is not None and self.settings.routes_rows(epoch):
            self._evidence = evidence_of_all(
                table, self.clusters.to(torch.device("cpu")), self._neighbours_of_all()
            )
        self._routes_before, self.routes = self.routes, torch.zeros_like(self.routes)
        if self._evidence is not None:
            self._notes.add("mean_votes", self._evidence.votes)

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the stage on rows and their partners."""
        options, stage = self.options, self.settings.stage(self._epoch)
        whole = batch.with_partners().distinct()
        rows = whole.rows
        present = self._present(rows)
        mine = self.network(self._seen(whole.views), of_share(present, whole))
        guess = [] if stage == 0 else [self.network.predicted_doubt(mine.consensus)[:, None]]
        terms: dict[str, Tensor] = {}
        if options.reconstruction_weight > 0:
            part = options.reconstruction_weight * mine.present.sum() / present.sum()
            terms["reconstruction"] = part * self.network.reconstruction(mine)
        near = torch.zeros(2, 0, dtype=torch.long)
        if self.pairs is not None:
            near = self.pairs.among(rows, share_of(len(rows), self.collectives))
        found = joined_tables([*mine.views, mine.consensus, *guess], whole, self.collectives)
        n_views = len(mine.views)
        everyone = Embedded([], [], list(found[:n_views]), found[n_views], present)
        scene = Scene(everyone, near.to(self.device), self._idle, self.collectives)
        if stage == 0:
            terms["rows"] = options.row_weight * no_clusters(scene, options.tau)
        else:
            terms |= self._cluster_terms(rows, scene, found[-1][:, 0], stage)
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the stage and what was measured: labels that changed, routes, safety, gains, view weights."""
        stage = self.settings.stage(epoch)
        if stage == 0:
            return {"phase": "warm-up"}
        record: dict[str, float | str | int] = {"phase": f"stage {stage}", "changed": self._changed}
        record |= self._notes.means()
        self.last_routes = torch.where(self.routes != routing.NO_ROUTE, self.routes, self.last_routes)
        routed = int((self.routes != routing.NO_ROUTE).sum())
        if routed >= _FEWEST:  # the last epochs route next to nobody, and shares of nobody mean nothing (M14)
            record["routed"] = routed
            record["hard_share"] = routing.hard_share(self.routes)
            kept = routing.consistency(self._routes_before, self.routes)
            if not math.isnan(kept):
                record["route_consistency"] = kept
        weights = self.network.view_weights.detach().tolist()
        return record | {f"view_weight_{v}": weight for v, weight in enumerate(weights)}

    def state(self) -> dict[str, Tensor]:
        """Return the network, the labels and the routes."""
        state = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        state |= {
            "routes": self.routes,
            "routes_before": self._routes_before,
            "last_routes": self.last_routes,
        }
        return state if self._labels is None else state | {"labels": self._labels}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.network.load_state_dict(below("network.", state))
        self.routes, self._routes_before = state["routes"].cpu(), state["routes_before"].cpu()
        self.last_routes = state["last_routes"].cpu()
        self._labels = state["labels"].cpu() if "labels" in state else None
        self.started = self._labels is not None

    # Clusters

    def start(self, in_haste: bool = False) -> None:
        """Find the first clusters: those of the joined graph."""
        self._first()

    @torch.no_grad()
    def _first(self) -> Table:
        table = self.embed_all()
        k = self.settings.n_clusters
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -1))
        assert self.beginning is not None  # a pass over more rows has clusters already
        rows = torch.from_numpy(self.beginning.rows)
        centers = cluster_means(table.consensus[rows], self.beginning.labels, k)
        if self.options.hold == 0:
            labels = moved_labels(table, centers, generator)
        else:
            labels = nearest(table.consensus, centers)[0]
            labels[rows] = self.beginning.labels
        return self._take(table, labels)

    @torch.no_grad()
    def update(self) -> Table:
        """Move the clusters to where k-means finds them now; they keep their numbers. Return all rows embedded."""
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
        table = self.embed_all()
        held = self._labels if self.settings.holds_start(self._epoch) else None
        return self._take(
            table, moved_labels(table, self.network.centers.cpu(), generator) if held is None else held
        )

    def _take(self, table: Table, labels: Tensor) -> Table:
        self._changed = 1.0 if self._labels is None else float((self._labels != labels).double().mean())
        self._labels, self.started = labels, True
        clusters = describe(table, labels, self.settings.n_clusters)
        self.network.centers.copy_(clusters.centers)
        self.clusters = clusters.to(self.device)
        return table

    def _neighbours_of_all(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        assert self.pairs is not None
        for numbers in self.batches.shards:
            yield (numbers, *self.pairs.neighbours(numbers))

    @torch.no_grad()
    def embed_all(self) -> Table:
        """Embed all rows, on the CPU; of so many that their views need not all be kept, some are."""
        n_rows, width = self.batches.views.n_rows, self.network.centers.shape[1]
        mine = share_of(n_rows, self.collectives)
        chosen = torch.from_numpy(some_rows(n_rows, _DESCRIBED, self.seed))
        place = torch.full((n_rows,), -1).index_copy_(0, chosen, torch.arange(len(chosen)))
        consensus = torch.empty(mine.stop - mine.start, width)
        views = [torch.zeros(len(chosen), width) for _ in range(self.batches.views.n_views)]
        first = mine.start
        for part in embedded_rows(self.network, self.batches, self.seen):
            rows = slice(first, first + len(part.consensus))
            consensus[rows.start - mine.start : rows.stop - mine.start] = part.consensus
            kept = place[rows] >= 0
            for view, found in zip(views, part.views, strict=True):
                view[place[rows][kept]] = found[kept]
            first = rows.stop
        return Table(
            gathered(consensus, n_rows, self.collectives),
            chosen,
            [self.collectives.sum(view) for view in views],
            torch.from_numpy(self.batches.views.present_rows(chosen.numpy())),
        )

    # Losses of the stages

    def _cluster_terms(self, rows: np.ndarray, scene: Scene, guess: Tensor, stage: int) -> dict[str, Tensor]:
        """Return the losses of rows with clusters, or this process's parts.

        Parameters
        ----------
        rows : ndarray of shape (b,)
        scene : Scene
        guess : Tensor of shape (b,)
            How uncertain the network thinks them.
        stage : int
        """
        settings, options = self.settings, self.options
        assert self.clusters is not None
        labels = self.clusters.labels[torch.from_numpy(rows)].to(self.device)
        losses = ClusterLosses(scene, labels, self.clusters, settings, self._notes)
        alike = {"doubt": options.doubt_weight * F.mse_loss(guess, losses.doubt())}
        opening = certainty.gate(guess.detach().mean(), *options.gate, options.gate_window)
        self._notes.add("gate", opening)
        routes = torch.zeros(len(rows), dtype=torch.long, device=self.device)
        routed = settings.routes_rows(self._epoch)
        if routed:
            routes = self._route(rows, guess.detach(), stage)
        pairs = losses.pairs(routes == routing.FALSE_NEGATIVE, opening, routed)
        opened = options.cross_weight * settings.cross_gate(self._epoch) if stage == 3 else 0.0
        found = mean_contrasts(scene, pairs, options.tau, losses.members() if opened > 0 else None)
        terms = {"rows": options.row_weight * found.rows}
        if opened > 0:
            terms["cross"] = opened * found.across
        hard = routes == routing.HARD_NEGATIVE
        losses.note_separation(hard)
        if stage >= 2 and options.hard_weight > 0:
            alike["hard"] = options.hard_weight * opening * losses.hard(hard)
        pseudo = losses.pseudo_rows(self._draws) if stage == 3 else None
        if options.cluster_weight > 0:
            alike["clusters"] = options.cluster_weight * losses.of_clusters(pseudo)
        if pseudo is not None:
            alike["minority"] = options.minority_weight * losses.of_small(pseudo)
        return terms | even_parts(alike, self.collectives)

    @torch.no_grad()
    def _route(self, rows: np.ndarray, guess: Tensor, stage: int) -> Tensor:
        """Return the routes of the rows of a batch, and remember them."""
        settings, options = self.settings, self.options
        since = settings.since_start(self._epoch)
        share = options.uncertain
        if options.curriculum is not None:
            share = certainty.uncertain_share(since, settings.cluster_epochs(), options.uncertain)
        chosen = certainty.most_uncertain(guess, share)
        if self._evidence is None:
            return torch.zeros(len(rows), dtype=torch.long, device=self.device)
        numbers = torch.from_numpy(rows)[chosen.cpu()]
        evidence = Evidence(*(one[numbers] for one in self._evidence))
        false = torch.zeros(len(rows))
        rule = routing.false_negative_share if self._router is None else self._router
        false[chosen.cpu()] = rule(evidence)
        found = routing.routes(false, chosen.cpu(), keep_all=stage == 3)
        self.routes[torch.from_numpy(rows)] = found.to(torch.int8)
        return found.to(self.device)

    # Small things

    def _seen(self, views: Sequence[np.ndarray]) -> list[Tensor]:
        rows = [torch.from_numpy(view).to(self.device) for view in views]
        return rows if self.seen else self.network.see(rows)

    def _present(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(self.batches.views.present_rows(rows)).to(self.device)


def _make_router(kind: str, seed: int) -> Router | None:
    if kind == "rule":
        return None
    return Router(torch.Generator().manual_seed(mixed_seed(seed, -3)))


@torch.no_grad()
def embedded_rows(network: MVSIBNetwork, batches: Batches, seen: bool = False) -> Iterator[Embedded]:
    """Yield this process's rows in their order as the network embeds them, each as alone; on the CPU.

    Parameters
    ----------
    network : MVSIBNetwork
    batches : Batches
    seen : bool
        Whether the batches hold what the encoders see, not scaled rows.
    """
    device = network.centers.device
    start = share_of(batches.views.n_rows, batches.collectives).start
    for views in batches.in_order():
        numbers = np.arange(start, start + len(views[0]))
        start += len(numbers)
        there = torch.from_numpy(batches.views.present_rows(numbers)).to(device)
        tables = [torch.from_numpy(view).to(device) for view in views]
        for (mask, size), *parts in zip(passes(there), *(passes(table) for table in tables), strict=True):
            rows = [part for part, _ in parts]
            found = network(rows if seen else network.see(rows), mask)
            yield Embedded(
                [],
                [],
                [one[:size].cpu() for one in found.views],
                found.consensus[:size].cpu(),
                found.present[:size].cpu(),
            )
