"""How MVSIB is trained: from the clusters of the graph, until the nearest centres of all rows settle (spec 2.6)."""

# n rows, b rows of a batch with their positives, V views, d features, k clusters

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

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
from coterie.engine.stopping import Settling
from coterie.methods.mvsib import certainty, routing
from coterie.methods.mvsib.clusters import (
    Clusters,
    Embeddings,
    describe,
    evidence_of_all,
    first_labels,
    moved_labels,
    own_similarity,
)
from coterie.methods.mvsib.compare import EncoderInputs
from coterie.methods.mvsib.consensus_graph import (
    WHOLE_ROWS,
    consensus_pairs,
    consensus_places,
    cross_view_evidence,
)
from coterie.methods.mvsib.graph import JoinedPairs
from coterie.methods.mvsib.losses import (
    ClusterLosses,
    EmbeddedBatch,
    Measurements,
    mean_contrasts,
    plain_pairs,
    warmup_contrast,
)
from coterie.methods.mvsib.network import Embedded, MVSIBNetwork, embed_batches
from coterie.methods.mvsib.options import Curriculum, MVSIBSettings
from coterie.methods.mvsib.routing import Evidence, Router
from coterie.methods.mvsib.trained_router import decisions
from coterie.methods.run_setup import make_loop
from coterie.ops.cluster_statistics import cluster_means, count_and_sum
from coterie.ops.distances import nearest
from coterie.ops.distributed_rows import agreed, even_parts, gathered, joined_tables, of_share
from coterie.store import below

_FEWEST = 10
_SETTLED_LOSS = 0.3  # labels settle long before the loss, and what it gains afterwards moves no row
_WINDOW_STEPS = 10
_STREAM_MEMORY = 4
_DESCRIBED = 100_000  # rows whose views give the centres and widths of clusters in each view


def train(task: MVSIBTask, initial: Tensor | None, callbacks: Sequence[Callback] = ()) -> list[Record]:
    """Train on initial labels (n,), or those of k-means after the warm-up, and return the history."""
    settling = None
    if task.options.settle:
        settling = Settling(
            task.epochs.total, task.batches.per_epoch, losses=_SETTLED_LOSS, window_steps=_WINDOW_STEPS
        )
    loop = make_loop(task, callbacks, settling=settling, constant=not task.options.settle)
    with loop:
        if task.labels is None:  # not resumed
            task.labels = initial
        loop.train()
    return loop.history


class MVSIBTask:
    """MVSIB as a task of the training loop.

    Parameters
    ----------
    joined : JoinedPairs, optional
        Neighbours in the joined graph of the views; without them, as in a stream, a row is its own positive.

    Attributes
    ----------
    labels : Tensor of shape (n,) or None
        What the encoders are trained on; None takes those of the network's nearest centres in a stream, else k-means.
    """

    def __init__(
        self,
        network: MVSIBNetwork,
        settings: MVSIBSettings,
        rows: EncoderInputs,
        *,
        joined: JoinedPairs | None = None,
    ) -> None:
        self.network, self.settings, self.joined = network, settings, joined
        self.batches, self.projected, self.seed = rows.batches, rows.projected, rows.batches.seed
        self.options, self.epochs = settings.options, settings.epochs(self.batches.per_epoch)
        self.curriculum = Curriculum(self.epochs, self.options)
        self.collectives, self.device = self.batches.collectives, network.centers.device
        self.optimizer = Adam(network.parameters(), settings.learning_rate)
        self.labels: Tensor | None = None
        self.clusters: Clusters | None = None
        self.routes = torch.zeros(self.batches.views.n_rows, dtype=torch.int8)
        self._routes_before = self.routes
        self._assigned: Tensor | None = None  # the nearest centres of all rows after the last epoch
        self._embeddings: Embeddings | None = None  # of all rows, until a batch is trained on
        self._renews = joined is not None and self.options.neighbors == "consensus"
        self._whole = self.batches.views.n_rows <= WHOLE_ROWS
        self._renewed: JoinedPairs | None = None  # the graph of the consensus of all rows
        self._evidence: Evidence | None = None
        self._near = torch.zeros(0, dtype=torch.long)  # the nearest centres of rows in this epoch's batches
        self._sums = torch.zeros_like(network.centers)  # of the consensus in this epoch's batches
        self._counts = torch.zeros(len(network.centers), device=self.device)
        self._epoch = 0
        self._draws = torch.Generator()
        self._router = _make_router(self.options.router, self.seed)
        self._idle = network.idle.tolist()
        self._measured = Measurements()

    @property
    def pairs(self) -> JoinedPairs | None:
        """Neighbours from which every row of a batch gets a partner; the paper has no such pairs."""
        return None if self._renews else self.joined

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; find the clusters' places and the evidence for the routing of rows."""
        self._epoch = epoch
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self._measured = Measurements()
        if self.epochs.in_warmup(epoch):
            return
        if self._assigned is None or self.curriculum.needs_clusters:
            embeddings = self.embeddings()
            n_neighbors = self.settings.n_neighbors
            if self._renews and self._whole:
                self._renewed = consensus_pairs(embeddings.consensus, self.batches, n_neighbors)
            if self.joined is not None and self.curriculum.routes_rows(epoch):
                self._evidence = self._evidence_of(embeddings)
                self._measured.add("mean_votes", self._evidence.votes)
        self._routes_before, self.routes = self.routes, torch.zeros_like(self.routes)
        self._embeddings, self._near = None, torch.zeros_like(self.labels_now)
        self._sums, self._counts = (torch.zeros_like(table) for table in (self._sums, self._counts))

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the stage on rows and their positives."""
        options, stage = self.options, self.curriculum.stage(self._epoch)
        reconstructs = stage == 0 and options.warmup_loss == "reconstruction"
        whole = batch.with_partners().distinct()
        rows = whole.rows
        present = torch.from_numpy(self.batches.views.present_rows(rows)).to(self.device)
        mine = self.network(self._inputs(whole.views), of_share(present, whole))
        doubted = stage > 0 and self.curriculum.needs_clusters
        uncertainty = [self.network.predicted_doubt(mine.consensus)[:, None]] if doubted else []
        terms: dict[str, Tensor] = {}
        weight = 1.0 if reconstructs else options.reconstruction_weight
        if weight > 0:
            part = weight * mine.present.sum() / present.sum()
            terms["reconstruction"] = part * self.network.reconstruction(mine)
        if reconstructs:
            return {"loss": terms["reconstruction"], **terms}, None
        tables = joined_tables([*mine.views, mine.consensus, *uncertainty], whole, self.collectives)
        n_views = len(mine.views)
        whole_batch = Embedded([], [], list(tables[:n_views]), tables[n_views], present)
        near = self._near_in(rows, whole_batch.consensus.detach())
        embedded = EmbeddedBatch(whole_batch, near.to(self.device), self._idle, self.collectives)
        if stage == 0:
            terms["rows"] = options.row_weight * warmup_contrast(embedded, options.tau)
        else:
            self._follow(rows, tables[n_views].detach())
            terms |= self._cluster_terms(rows, embedded, tables[-1][:, 0] if doubted else None, stage)
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def _near_in(self, rows: np.ndarray, consensus: Tensor) -> Tensor:
        """Return the pairs of neighbours among the rows of a batch by their places in it, (2, m)."""
        if self._renews and not self._whole:
            return consensus_places(consensus, self.settings.n_neighbors)
        pairs = self._renewed if self._renews else self.joined
        if pairs is None:
            return torch.zeros(2, 0, dtype=torch.long)
        return pairs.among(rows, share_of(len(rows), self.collectives))

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the stage and what was measured: labels, routes, safety, gains, view weights."""
        stage = self.curriculum.stage(epoch)
        if stage == 0:
            return {"phase": "warm-up"}
        record: dict[str, float | str | int] = {"phase": f"stage {stage}", **self._place_centers()}
        if not self.curriculum.keeps_initial(epoch):
            self._move_clusters()
        record |= self._measured.means()
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
        state |= {"routes": self.routes, "routes_before": self._routes_before}
        labels = {"labels": self.labels, "assigned": self._assigned}
        return state | {name: values for name, values in labels.items() if values is not None}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.network.load_state_dict(below("network.", state))
        self.routes, self._routes_before = state["routes"].cpu(), state["routes_before"].cpu()
        self.labels = state["labels"].cpu() if "labels" in state else None
        self._assigned = state["assigned"].cpu() if "assigned" in state else None

    # Clusters

    @torch.no_grad()
    def embeddings(self) -> Embeddings:
        """Return the present embeddings of all rows, and place the clusters in them."""
        if self._embeddings is None:
            self._embeddings = self.embed_all()
            if self.labels is None:
                self.labels = self._first_labels(self._embeddings)
            self._place_clusters(self._embeddings, self.labels)
        return self._embeddings

    def _first_labels(self, embeddings: Embeddings) -> Tensor:
        if self.joined is None:
            return nearest(embeddings.consensus, self.network.centers.cpu())[0]
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -4))
        return agreed(first_labels(embeddings, self.settings.n_clusters, generator), self.collectives)

    def _place_clusters(self, embeddings: Embeddings, labels: Tensor) -> None:
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -5)) if self.options.printed else None
        self.clusters = describe(embeddings, labels, self.settings.n_clusters, generator).to(self.device)
        self._move_centers(self.clusters.centers, self.clusters.sizes)

    def _move_centers(self, means: Tensor, sizes: Tensor) -> None:
        """Move the centres to means (k, d) of so many rows each (k,); a cluster without rows keeps its centre.

        In a stream the present centres count as four times the mean size: a few rows on the wrong side, of a chunk
        that lacks a cluster, must not carry its centre away.
        """
        centers, sizes = self.network.centers, sizes[:, None].to(means)
        kept = _STREAM_MEMORY * sizes.mean() if self.joined is None else sizes.new_zeros(())
        moved = (kept * centers + sizes * means) / (kept + sizes).clamp(min=1)
        centers.copy_(torch.where(sizes > 0, moved, centers))

    @property
    def labels_now(self) -> Tensor:
        """The labels that the encoders are trained on, (n,)."""
        if self.labels is None:
            self.embeddings()
        assert self.labels is not None
        return self.labels

    @torch.no_grad()
    def _follow(self, rows: np.ndarray, consensus: Tensor) -> None:
        """Note the nearest centres of a batch, and add it to the sums of its clusters."""
        numbers, centers = torch.from_numpy(rows), self.network.centers
        self._near[numbers] = nearest(consensus, centers)[0].cpu()
        labels = self.labels_now[numbers].to(consensus.device)
        counts, sums = count_and_sum(consensus, labels, len(centers))
        self._counts += counts
        self._sums += sums

    def _place_centers(self) -> dict[str, float]:
        """Move the centres to the means of the epoch's embeddings, so that no pass over all rows is needed.

        Returns the share of rows whose nearest centre changed, and the share whose nearest centre is their label's.
        """
        before, self._assigned = self._assigned, self._near
        self._move_centers(self._sums / self._counts.clamp(min=1)[:, None], self._counts)
        changed = 1.0 if before is None else float((before != self._near).double().mean())
        return {"changed": changed, "kept": float((self._near == self.labels_now).double().mean())}

    def _move_clusters(self) -> None:
        """Move the labels by k-means of the present consensus; clusters keep their numbers."""
        embeddings, labels, k = self.embed_all(), self.labels_now, self.settings.n_clusters
        means = cluster_means(embeddings.consensus, labels, k).to(self.device)
        self._move_centers(means, torch.bincount(labels, minlength=k).to(self.device))
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -2 - self._epoch))
        self.labels = moved_labels(embeddings, self.network.centers.cpu(), generator)
        self._place_clusters(embeddings, self.labels)
        self._embeddings = embeddings

    @torch.no_grad()
    def judge(self, labels: Tensor, memberships: Tensor) -> tuple[Tensor, Tensor]:
        """Return how uncertain all rows are, and the routes of the most uncertain ones, both (n,).

        A row is as uncertain as the network, by its membership (n,) in the cluster of its label (n,), or its
        neighbours, by the share of them in other clusters, whichever is more.
        """
        if self.joined is None:
            return 1 - memberships, torch.zeros_like(labels)
        embeddings = self.embeddings()
        clusters = describe(embeddings, labels, self.settings.n_clusters)
        evidence = evidence_of_all(embeddings, clusters, self._neighbours_of_all())
        uncertainty = torch.maximum(1 - memberships, (1 - evidence.votes) / 2)
        return uncertainty, self._routes_of(uncertainty, evidence, self.options.uncertain, keep_all=True)[0]

    def _routes_of(
        self, uncertainty: Tensor, evidence: Evidence, share: float, *, keep_all: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the routes of the most uncertain share of some rows, and how probably they are false, both (b,).

        The evidence is that of all of these rows.
        """
        chosen = certainty.most_uncertain(uncertainty, share)
        rule = self.network.router or self._router or routing.false_negative_share
        found = rule(Evidence(*(values[chosen] for values in evidence))).cpu()
        false = torch.zeros(len(chosen)).masked_scatter(chosen, found)
        return routing.routes(false.detach(), chosen, keep_all), false

    def _evidence_of(self, embeddings: Embeddings) -> Evidence:
        """Return the evidence for the labels of all rows, from the neighbours that count."""
        assert self.clusters is not None
        clusters = self.clusters.to(torch.device("cpu"))
        if not self._renews:
            return evidence_of_all(embeddings, clusters, self._neighbours_of_all())
        similarity = own_similarity(embeddings.consensus, clusters)
        if not self._whole:  # that of its neighbours follows in each batch
            return Evidence(torch.zeros_like(similarity), similarity, torch.zeros_like(similarity))
        return cross_view_evidence(
            embeddings.views, embeddings.present, clusters.labels, similarity, self.settings.n_neighbors
        )

    def _neighbours_of_all(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        assert self.joined is not None
        for numbers in self.batches.shards:
            yield (numbers, *self.joined.neighbours(numbers))

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
        self, rows: np.ndarray, embedded: EmbeddedBatch, uncertainty: Tensor | None, stage: int
    ) -> dict[str, Tensor]:
        """Return the losses of rows (b,) with clusters, or this process's parts.

        The predicted uncertainties (b,) are None where no loss needs more of the clusters than their labels.
        """
        curriculum, options = self.curriculum, self.options
        labels = self.labels_now[torch.from_numpy(rows)].to(self.device)
        routes, false = torch.zeros(len(rows), dtype=torch.long), torch.zeros(len(rows))
        if uncertainty is None and not options.printed:
            pairs = plain_pairs(embedded, labels)
            return {"rows": options.row_weight * mean_contrasts(embedded, pairs, options.tau).rows}
        assert self.clusters is not None
        assert uncertainty is not None
        losses = ClusterLosses(embedded, labels, self.clusters, options, self._measured)
        alike = {"doubt": options.doubt_weight * F.mse_loss(uncertainty, losses.doubt())}
        opening = certainty.gate(uncertainty.detach().mean(), *options.gate, options.gate_window)
        self._measured.add("gate", opening)
        routed = curriculum.routes_rows(self._epoch)
        if routed and self._evidence is not None:
            evidence = self._evidence_in(self._evidence, rows, embedded.rows)
            routes, false = self._route(rows, evidence, uncertainty.detach(), stage)
        is_false, is_hard = (values.to(self.device) for values in decisions(false, routes))
        routes = routes.to(self.device)
        pairs = losses.pairs(routes == routing.FALSE_NEGATIVE, opening, routed)
        cross_weight = options.cross_weight * curriculum.cross_gate(self._epoch) if stage == 3 else 0.0
        terms: dict[str, Tensor] = {}
        if cross_weight > 0 or not options.printed:
            members = losses.members() if cross_weight > 0 else None
            contrasts = mean_contrasts(embedded, pairs, options.tau, members)
            terms["rows"] = options.row_weight * contrasts.rows
            terms |= {"cross": cross_weight * contrasts.across} if cross_weight > 0 else {}
        if options.printed:
            terms.pop("rows", None)
            alike["rows"] = options.row_weight * losses.of_rows(is_false)
        losses.measure_separation(routes == routing.HARD_NEGATIVE)
        if stage >= 2 and options.hard_weight > 0:
            decided = routes != routing.NO_ROUTE
            alike["hard"] = options.hard_weight * opening * losses.hard(decided, is_hard)
        pseudo = losses.pseudo_rows(self._draws) if stage == 3 else None
        if options.cluster_weight > 0:
            alike["clusters"] = options.cluster_weight * losses.of_clusters(pseudo)
        if pseudo is not None:
            alike["minority"] = options.minority_weight * losses.of_small(pseudo)
        terms |= even_parts(alike, self.collectives)
        return summed_over_views(terms, len(embedded.views)) if options.printed else terms

    def _evidence_in(self, evidence: Evidence, rows: np.ndarray, batch: Embedded) -> Evidence:
        """Return the evidence of the rows of a batch, of which `evidence` has that of all rows."""
        numbers = torch.from_numpy(rows)
        if not self._renews or self._whole:
            return Evidence(*(values[numbers] for values in evidence))
        return cross_view_evidence(
            [view.detach().cpu() for view in batch.views],
            batch.present.cpu(),
            self.labels_now[numbers],
            evidence.similarity[numbers],
            self.settings.n_neighbors,
        )

    def _route(
        self, rows: np.ndarray, evidence: Evidence, uncertainty: Tensor, stage: int
    ) -> tuple[Tensor, Tensor]:
        """Return the routes of a batch and how probably its rows are false, both (b,); remember the routes."""
        share = self.options.uncertain
        if self.options.curriculum is not None:
            since = self._epoch - self.epochs.warmup
            share = certainty.uncertain_share(since, self.epochs.clusters, share)
        routes, false = self._routes_of(uncertainty.cpu(), evidence, share, keep_all=stage == 3)
        self.routes[torch.from_numpy(rows)] = routes.to(torch.int8)
        return routes, false

    def _inputs(self, views: Sequence[np.ndarray]) -> list[Tensor]:
        rows = [torch.from_numpy(view).to(self.device) for view in views]
        return rows if self.projected else self.network.project(rows)


def summed_over_views(terms: Mapping[str, Tensor], n_views: int) -> dict[str, Tensor]:
    """Return losses that are means over the views as the sums that the paper has (Eqs. 46, 47 and 50).

    Its contrast across rows is also that of the consensus, and its compensation of small clusters has no views.
    """
    counts = {"minority": 1, "cross": n_views + 1}
    return {name: counts.get(name, n_views) * value for name, value in terms.items()}


def _make_router(kind: str, seed: int) -> Router | None:
    if kind != "mlp":
        return None
    return Router(torch.Generator().manual_seed(mixed_seed(seed, -3)))
