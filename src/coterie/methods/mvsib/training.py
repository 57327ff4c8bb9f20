"""How MVSIB is trained: embeddings first, then three stages with clusters (spec 2.6)."""

# n rows, b rows of a batch with their positives, V views, d features, k clusters

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import share_of
from coterie.data.batches import Batch
from coterie.data.subsets import some_rows
from coterie.engine.adam import Adam
from coterie.engine.loop import Callback, Record
from coterie.engine.schedule import mixed_seed
from coterie.methods.mvsib import certainty, routing
from coterie.methods.mvsib.clusters import Clusters, Embeddings, describe, evidence_of_all, moved_labels
from coterie.methods.mvsib.compare import ComparedViews
from coterie.methods.mvsib.graph import InitialPartition, JoinedPairs
from coterie.methods.mvsib.losses import (
    ClusterLosses,
    EmbeddedBatch,
    Measurements,
    mean_contrasts,
    warmup_contrast,
)
from coterie.methods.mvsib.network import Embedded, MVSIBNetwork, embed_batches
from coterie.methods.mvsib.options import Curriculum, MVSIBSettings
from coterie.methods.mvsib.routing import Evidence, Router
from coterie.methods.run_setup import make_loop
from coterie.ops.cluster_statistics import cluster_means
from coterie.ops.distances import nearest
from coterie.ops.distributed_rows import even_parts, gathered, joined_tables, of_share
from coterie.store import below

_FEWEST = 10
_DESCRIBED = 100_000  # rows whose views give the centres and widths of clusters in each view


def train(task: MVSIBTask, initial: InitialPartition, callbacks: Sequence[Callback] = ()) -> list[Record]:
    """Train the embeddings, start the clusters, then train with clusters; return the history."""
    loop = make_loop(task, callbacks)
    with loop:
        loop.train(until=task.epochs.warmup)
        if not task.started:
            task.start_clusters(initial)
        loop.train()
    if not task.started:  # interrupted in the warm-up
        task.start_clusters(initial)
    return loop.history


class MVSIBTask:
    """MVSIB as a task of the training loop.

    Parameters
    ----------
    pairs : JoinedPairs, optional
        Neighbours, from which positives are drawn; without them a row is its own positive.
    """

    def __init__(
        self,
        network: MVSIBNetwork,
        settings: MVSIBSettings,
        rows: ComparedViews,
        *,
        pairs: JoinedPairs | None = None,
    ) -> None:
        self.network, self.settings, self.pairs = network, settings, pairs
        self.batches, self.projected, self.seed = rows.inputs, rows.projected, rows.sample.seed
        self.options, self.epochs = settings.options, settings.epochs(self.batches.per_epoch)
        self.curriculum = Curriculum(self.epochs, self.options)
        self.collectives, self.device = self.batches.collectives, network.centers.device
        self.optimizer = Adam(network.parameters(), settings.learning_rate)
        self.clusters: Clusters | None = None
        self.started = False
        self.routes = torch.zeros(self.batches.views.n_rows, dtype=torch.int8)
        self._routes_before = self.last_routes = self.routes
        self._labels: Tensor | None = None
        self._changed = 1.0
        self._embeddings: Embeddings | None = (
            None  # of the initial clusters, until the first epoch with clusters
        )
        self._evidence: Evidence | None = None
        self._epoch = 0
        self._draws = torch.Generator()
        self._router = _make_router(self.options.router, self.seed)
        self._idle = network.idle.tolist()
        self._measured = Measurements()

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; update the clusters and the evidence for the routing of rows."""
        self._epoch = epoch
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self._measured = Measurements()
        if self.epochs.in_warmup(epoch):
            return
        embeddings, self._embeddings = self._embeddings or self.update_clusters(), None
        if self.pairs is not None and self.clusters is not None and self.curriculum.routes_rows(epoch):
            self._evidence = evidence_of_all(
                embeddings, self.clusters.to(torch.device("cpu")), self._neighbours_of_all()
            )
        self._routes_before, self.routes = self.routes, torch.zeros_like(self.routes)
        if self._evidence is not None:
            self._measured.add("mean_votes", self._evidence.votes)

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the stage on rows and their positives."""
        options, stage = self.options, self.curriculum.stage(self._epoch)
        whole = batch.with_partners().distinct()
        rows = whole.rows
        present = torch.from_numpy(self.batches.views.present_rows(rows)).to(self.device)
        mine = self.network(self._inputs(whole.views), of_share(present, whole))
        uncertainty = [] if stage == 0 else [self.network.predicted_doubt(mine.consensus)[:, None]]
        terms: dict[str, Tensor] = {}
        if options.reconstruction_weight > 0:
            part = options.reconstruction_weight * mine.present.sum() / present.sum()
            terms["reconstruction"] = part * self.network.reconstruction(mine)
        near = torch.zeros(2, 0, dtype=torch.long)
        if self.pairs is not None:
            near = self.pairs.among(rows, share_of(len(rows), self.collectives))
        tables = joined_tables([*mine.views, mine.consensus, *uncertainty], whole, self.collectives)
        n_views = len(mine.views)
        whole_batch = Embedded([], [], list(tables[:n_views]), tables[n_views], present)
        embedded = EmbeddedBatch(whole_batch, near.to(self.device), self._idle, self.collectives)
        if stage == 0:
            terms["rows"] = options.row_weight * warmup_contrast(embedded, options.tau)
        else:
            terms |= self._cluster_terms(rows, embedded, tables[-1][:, 0], stage)
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the stage and what was measured: changed labels, routes, safety, gains, view weights."""
        stage = self.curriculum.stage(epoch)
        if stage == 0:
            return {"phase": "warm-up"}
        record: dict[str, float | str | int] = {"phase": f"stage {stage}", "changed": self._changed}
        record |= self._measured.means()
        self.last_routes = torch.where(self.routes != routing.NO_ROUTE, self.routes, self.last_routes)
        routed = int((self.routes != routing.NO_ROUTE).sum())
        if routed >= _FEWEST:  # the last epochs route hardly any row, and shares of so few mean nothing (M14)
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

    @torch.no_grad()
    def start_clusters(self, initial: InitialPartition) -> None:
        """Start from the partition of a sample; other rows join the nearest mean of the consensus."""
        embeddings = self.embed_all()
        rows = torch.from_numpy(initial.rows)
        centers = cluster_means(embeddings.consensus[rows], initial.labels, self.settings.n_clusters)
        if self.options.hold == 0:
            generator = torch.Generator().manual_seed(mixed_seed(self.seed, -1))
            labels = moved_labels(embeddings, centers, generator)
        else:
            labels = nearest(embeddings.consensus, centers)[0]
            labels[rows] = initial.labels
        self._take(embeddings, labels)
        self._embeddings = embeddings

    @torch.no_grad()
    def update_clusters(self) -> Embeddings:
        """Move the clusters by k-means of the present consensus; they keep their numbers. Return the embeddings."""
        embeddings, labels = self.embed_all(), self._labels
        if labels is None or not self.curriculum.keeps_initial(self._epoch):
            generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
            labels = moved_labels(embeddings, self.network.centers.cpu(), generator)
        self._take(embeddings, labels)
        return embeddings

    def _take(self, embeddings: Embeddings, labels: Tensor) -> None:
        self._changed = 1.0 if self._labels is None else float((self._labels != labels).double().mean())
        self._labels, self.started = labels, True
        clusters = describe(embeddings, labels, self.settings.n_clusters)
        self.network.centers.copy_(clusters.centers)
        self.clusters = clusters.to(self.device)

    def _neighbours_of_all(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        assert self.pairs is not None
        for numbers in self.batches.shards:
            yield (numbers, *self.pairs.neighbours(numbers))

    @torch.no_grad()
    def embed_all(self) -> Embeddings:
        """Embed all rows, on the CPU; the views of at most 100,000 of them are kept."""
        n_rows, width = self.batches.views.n_rows, self.network.centers.shape[1]
        mine = share_of(n_rows, self.collectives)
        chosen = torch.from_numpy(some_rows(n_rows, _DESCRIBED, self.seed))
        place = torch.full((n_rows,), -1).index_copy_(0, chosen, torch.arange(len(chosen)))
        consensus = torch.empty(mine.stop - mine.start, width)
        views = [torch.zeros(len(chosen), width) for _ in range(self.batches.views.n_views)]
        first = mine.start
        for part in embed_batches(self.network, self.batches, projected=self.projected):
            rows = slice(first, first + len(part.consensus))
            consensus[rows.start - mine.start : rows.stop - mine.start] = part.consensus
            kept = place[rows] >= 0
            for view, embedded in zip(views, part.views, strict=True):
                view[place[rows][kept]] = embedded[kept]
            first = rows.stop
        return Embeddings(
            gathered(consensus, n_rows, self.collectives),
            chosen,
            [self.collectives.sum(view) for view in views],
            torch.from_numpy(self.batches.views.present_rows(chosen.numpy())),
        )

    # Losses of the stages

    def _cluster_terms(
        self, rows: np.ndarray, embedded: EmbeddedBatch, uncertainty: Tensor, stage: int
    ) -> dict[str, Tensor]:
        """Return the losses of rows (b,) with clusters and predicted uncertainties (b,), or this process's parts."""
        curriculum, options = self.curriculum, self.options
        assert self.clusters is not None
        labels = self.clusters.labels[torch.from_numpy(rows)].to(self.device)
        losses = ClusterLosses(embedded, labels, self.clusters, options, self._measured)
        alike = {"doubt": options.doubt_weight * F.mse_loss(uncertainty, losses.doubt())}
        opening = certainty.gate(uncertainty.detach().mean(), *options.gate, options.gate_window)
        self._measured.add("gate", opening)
        routes = torch.zeros(len(rows), dtype=torch.long, device=self.device)
        routed = curriculum.routes_rows(self._epoch)
        if routed:
            routes = self._route(rows, uncertainty.detach(), stage)
        pairs = losses.pairs(routes == routing.FALSE_NEGATIVE, opening, routed)
        cross_weight = options.cross_weight * curriculum.cross_gate(self._epoch) if stage == 3 else 0.0
        contrasts = mean_contrasts(
            embedded, pairs, options.tau, losses.members() if cross_weight > 0 else None
        )
        terms = {"rows": options.row_weight * contrasts.rows}
        if cross_weight > 0:
            terms["cross"] = cross_weight * contrasts.across
        hard = routes == routing.HARD_NEGATIVE
        losses.measure_separation(hard)
        if stage >= 2 and options.hard_weight > 0:
            alike["hard"] = options.hard_weight * opening * losses.hard(hard)
        pseudo = losses.pseudo_rows(self._draws) if stage == 3 else None
        if options.cluster_weight > 0:
            alike["clusters"] = options.cluster_weight * losses.of_clusters(pseudo)
        if pseudo is not None:
            alike["minority"] = options.minority_weight * losses.of_small(pseudo)
        return terms | even_parts(alike, self.collectives)

    @torch.no_grad()
    def _route(self, rows: np.ndarray, uncertainty: Tensor, stage: int) -> Tensor:
        """Return the routes of the rows of a batch, and remember them."""
        options = self.options
        share = options.uncertain
        if options.curriculum is not None:
            since = self._epoch - self.epochs.warmup
            share = certainty.uncertain_share(since, self.epochs.clusters, options.uncertain)
        chosen = certainty.most_uncertain(uncertainty, share).cpu()
        if self._evidence is None:
            return torch.zeros(len(rows), dtype=torch.long, device=self.device)
        numbers = torch.from_numpy(rows)
        evidence = Evidence(*(values[numbers[chosen]] for values in self._evidence))
        false = torch.zeros(len(rows))
        rule = routing.false_negative_share if self._router is None else self._router
        false[chosen] = rule(evidence)
        routes = routing.routes(false, chosen, keep_all=stage == 3)
        self.routes[numbers] = routes.to(torch.int8)
        return routes.to(self.device)

    def _inputs(self, views: Sequence[np.ndarray]) -> list[Tensor]:
        rows = [torch.from_numpy(view).to(self.device) for view in views]
        return rows if self.projected else self.network.project(rows)


def _make_router(kind: str, seed: int) -> Router | None:
    if kind == "rule":
        return None
    return Router(torch.Generator().manual_seed(mixed_seed(seed, -3)))
