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

from coterie.collectives import ALONE, Collectives
from coterie.data.batches import Batch, Batches
from coterie.engine.schedule import mixed_seed
from coterie.methods.mvsib import certainty, contrast, guarantees, minority, pushpull, routing
from coterie.methods.mvsib.clusters import Clusters, Table, describe, evidence_of_all, moved_labels
from coterie.methods.mvsib.network import Embedded, MVSIBNetwork
from coterie.methods.mvsib.pairing import JoinedPairs
from coterie.methods.mvsib.routing import Evidence, Router
from coterie.methods.mvsib.settings import Settings
from coterie.nn.forward import passes
from coterie.ops.distances import nearest, squared_distances
from coterie.ops.groups import cluster_means
from coterie.ops.kmeans import kmeans
from coterie.store import below

_MMD, _REPULSION, _BOUNDS = 0.1, 1.0, 0.1
_REPULSION_WIDTH = 0.5
_FEWEST = 10
_NOTED = 64


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
        Without one the clusters start from k-means on the consensus.
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
        self.pairs, self.beginning, self.seed, self.collectives = pairs, beginning, seed, collectives
        self.device = network.centers.device
        self.optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
        self.clusters: Clusters | None = None
        self.started = False
        self.routes = torch.zeros(batches.views.n_rows, dtype=torch.int8)
        self._routes_before = self.last_routes = self.routes
        self._labels: Tensor | None = None
        self._changed = 1.0
        self._evidence: Evidence | None = None
        self._epoch = 0
        self._draws = torch.Generator()
        self._router = _make_router(settings, seed)
        self._idle = network.idle.tolist()
        self._notes: dict[str, list[float]] = {}

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's draws; embed all rows and bring the clusters up to date."""
        self._epoch = epoch
        self._draws.manual_seed(mixed_seed(self.seed, epoch))
        self._notes = {}
        if self.settings.in_warmup(epoch):
            return
        if self.pairs is not None and self.settings.neighbor_noise > 0:
            self.pairs.disturb(self.settings.neighbor_noise, np.random.default_rng([self.seed, epoch]))
        table = self.update() if self.started else self._first()
        if self.pairs is not None and self.clusters is not None and self.settings.routes_rows(epoch):
            self._evidence = evidence_of_all(
                table, self.clusters.to(torch.device("cpu")), self._neighbours_of_all()
            )
        self._routes_before, self.routes = self.routes, torch.zeros_like(self.routes)
        if self._evidence is not None:
            self._note("mean_votes", self._evidence.votes)

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the losses of the stage on rows and their partners."""
        settings, stage = self.settings, self.settings.stage(self._epoch)
        whole = batch.with_partners().distinct()
        rows = whole.rows
        found = self.network(self._seen(whole.views), self._present(rows))
        near = torch.zeros(2, 0, dtype=torch.long) if self.pairs is None else self.pairs.among(rows)
        near = near.to(self.device)
        terms: dict[str, Tensor] = {}
        if settings.reconstruction_weight > 0:
            terms["reconstruction"] = settings.reconstruction_weight * self.network.reconstruction(found)
        if stage == 0:
            nobody = torch.zeros(len(rows), dtype=torch.bool, device=self.device)
            pairs = contrast.row_pairs(nobody.long(), near, nobody, torch.ones(()), "denominator", 1.0, False)
            terms["rows"] = settings.row_weight * self._contrasts(found, pairs).rows
        else:
            terms |= self._cluster_terms(rows, found, near, stage)
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Return the stage and what was measured: labels that changed, routes, safety, gains, view weights."""
        stage = self.settings.stage(epoch)
        if stage == 0:
            return {"phase": "warm-up"}
        record: dict[str, float | str | int] = {"phase": f"stage {stage}", "changed": self._changed}
        record |= {name: float(np.mean(values)) for name, values in self._notes.items()}
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
        """Find the first clusters: those of the joined graph, or of k-means where there is no graph."""
        self._first()

    @torch.no_grad()
    def _first(self) -> Table:
        table = self.embed_all()
        k = self.settings.n_clusters
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -1))
        if self.beginning is None:
            centers = kmeans(table.consensus, k, generator=generator, quiet=True).centers
        else:
            rows = torch.from_numpy(self.beginning.rows)
            centers = cluster_means(table.consensus[rows], self.beginning.labels, k)
        if self.beginning is None or self.settings.hold == 0:
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
        for numbers in self.batches.chambers:
            yield (numbers, *self.pairs.neighbours(numbers))

    @torch.no_grad()
    def embed_all(self) -> Table:
        """Embed all rows; on the CPU."""
        parts = list(embedded_rows(self.network, self.batches, self.seen))
        views = [torch.cat(pieces) for pieces in zip(*(part.views for part in parts), strict=True)]
        present = torch.cat([part.present for part in parts])
        return Table(torch.cat([part.consensus for part in parts]), views, present)

    # Losses of the stages

    def _cluster_terms(
        self, rows: np.ndarray, found: Embedded, near: Tensor, stage: int
    ) -> dict[str, Tensor]:
        settings, clusters = self.settings, self.clusters
        assert clusters is not None
        labels = clusters.labels[torch.from_numpy(rows)].to(self.device)
        guess = self.network.predicted_doubt(found.consensus)
        terms = {"doubt": settings.doubt_weight * F.mse_loss(guess, self._doubt(found, clusters))}
        opening = certainty.gate(guess.detach().mean(), *settings.gate, settings.gate_window)
        self._note("gate", opening)
        routes = torch.zeros(len(rows), dtype=torch.long, device=self.device)
        if settings.routes_rows(self._epoch):
            routes = self._route(rows, guess.detach(), stage)
        pairs = self._row_pairs(labels, near, routes == routing.FALSE_NEGATIVE, opening, found, clusters)
        opened = settings.cross_weight * settings.cross_gate(self._epoch) if stage == 3 else 0.0
        losses = self._contrasts(found, pairs, self._kin(found, labels, clusters) if opened > 0 else None)
        terms["rows"] = settings.row_weight * losses.rows
        if stage >= 2 and settings.hard_weight > 0:
            hard = routes == routing.HARD_NEGATIVE
            terms["hard"] = settings.hard_weight * opening * self._hard_loss(found, labels, hard, clusters)
        pseudo = self._pseudo_rows(found, labels, clusters) if stage == 3 else None
        if settings.cluster_weight > 0:
            terms["clusters"] = settings.cluster_weight * self._cluster_loss(found, labels, pseudo)
        if opened > 0:
            terms["cross"] = opened * losses.across
        if pseudo is not None:
            terms["minority"] = settings.minority_weight * self._minority_loss(
                found, labels, pseudo, clusters
            )
        return terms

    def _over_views(self, found: Embedded) -> Iterator[tuple[int, Tensor | None]]:
        """Yield the views that say something and some rows of the batch have, and which do; None where all do."""
        n_rows = len(found.consensus)
        for v, count in enumerate(found.present.sum(0).tolist()):
            if count and not self._idle[v]:
                yield v, None if count == n_rows else found.present[:, v].nonzero()[:, 0]

    def _contrasts(
        self, found: Embedded, pairs: contrast.Pairs, kin: Tensor | None = None
    ) -> contrast.Contrasts:
        """Return the contrasts of rows and across rows, of the consensus and of each view, their means."""
        tau = self.settings.tau
        losses = [contrast.contrasts(found.consensus, found.consensus, pairs, tau, kin)]
        for v, own in self._over_views(found):
            some, some_kin = pairs, kin
            if own is not None:
                some = pairs.among(own)
                some_kin = None if kin is None else contrast.summing_to_one(kin[own][:, own])
            view, consensus = _of(found.views[v], own), _of(found.consensus, own)
            losses.append(contrast.contrasts(view, consensus, some, tau, some_kin))
        return contrast.Contrasts(*(torch.stack(one).mean() for one in zip(*losses, strict=True)))

    @torch.no_grad()
    def _doubt(self, found: Embedded, clusters: Clusters) -> Tensor:
        """Return how uncertain rows are: the most uncertain view decides (Eq. 12)."""
        used = [v for v, _ in self._over_views(found)]
        squares = [squared_distances(found.views[v], clusters.view_centers[v]) for v in used]
        widths = torch.stack([clusters.widths[v] for v in used])
        shares = certainty.memberships(torch.stack(squares), widths[:, None])
        return certainty.doubt(shares, found.present.T[used], self.settings.doubt_balance).amax(0)

    @torch.no_grad()
    def _route(self, rows: np.ndarray, guess: Tensor, stage: int) -> Tensor:
        """Return the routes of the rows of a batch, and remember them."""
        settings = self.settings
        since = settings.since_start(self._epoch)
        share = settings.uncertain
        if settings.curriculum is not None:
            share = certainty.uncertain_share(since, settings.cluster_epochs(), settings.uncertain)
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

    def _row_pairs(
        self,
        labels: Tensor,
        near: Tensor,
        false: Tensor,
        opening: Tensor,
        found: Embedded,
        clusters: Clusters,
    ) -> contrast.Pairs:
        """Return who attracts and repels whom; false negatives repel no more than Theorem A allows."""
        settings = self.settings
        weight = opening * settings.false_mask
        if settings.routes_rows(self._epoch):
            weight = self._safe_weight(labels, near, false, weight, found, clusters)
        return contrast.row_pairs(
            labels, near, false, weight, settings.false_mode, settings.false_mask, with_labels=True
        )

    @torch.no_grad()
    def _safe_weight(
        self, labels: Tensor, near: Tensor, false: Tensor, weight: Tensor, found: Embedded, clusters: Clusters
    ) -> Tensor:
        """Return g pi for each row, lowered where a view's step would lead from the own centre.

        Only rows with a possible false negative are asked; and some of an epoch's first batch, to take note.
        """
        spared = contrast.spared_pairs(labels, near, false)
        n_noted = 0 if "false_mass" in self._notes else min(_NOTED, len(labels))
        asked = torch.arange(n_noted, device=self.device)
        if self.settings.control:
            asked = torch.cat([asked, spared[0]]).unique()
        lowest = weight.repeat(len(labels))
        if not len(asked):
            return lowest
        attract, wrong, others = contrast.sides_of(asked, labels, near, spared)
        pulls = []
        for v, own in self._over_views(found):
            view, centers = found.views[v], F.normalize(clusters.view_centers[v], dim=1)
            everyone = torch.cat([_of(found.consensus, own), _of(view, own)])
            itself = (view[asked] * centers[labels[asked]]).sum(1, keepdim=True)
            columns = slice(None) if own is None else torch.cat([own, own + len(labels)])
            pull = guarantees.measure_pull(
                view[asked] @ everyone.T,
                torch.cat([(centers @ everyone.T)[labels[asked]], itself], 1),
                attract[:, columns],
                wrong[:, columns],
                others[:, columns],
                self.settings.tau,
            )
            there = found.present[asked, v]
            pulls.append((pull, there))
            if self.settings.control:
                safe = guarantees.controlled_weight(pull, weight)
                lowest[asked[there]] = torch.minimum(lowest[asked], safe)[there]
        for pull, there in pulls:
            self._note_safety(guarantees.safety(pull, lowest[asked]), there[:n_noted])
        return lowest

    def _note_safety(self, found: guarantees.Safety, noted: Tensor) -> None:
        """Take note of the first rows, where they are to be noted."""
        theta, limit, safe = (one[: len(noted)][noted] for one in (*found, found.safe))
        self._note("false_mass", theta)
        self._note("safe_share", safe.float())
        self._note("false_limit", limit[limit.isfinite()])

    def _hard_loss(self, found: Embedded, labels: Tensor, hard: Tensor, clusters: Clusters) -> Tensor:
        """Return the push and the pull on hard rows, the mean over views; the gain of an epoch's first is noted."""
        losses = [found.consensus.new_zeros(())]
        noted = "separation_gain" in self._notes
        for v, _ in self._over_views(found):
            chosen = (hard & found.present[:, v]).nonzero()[:, 0]
            if len(chosen):
                rows, known = found.views[v][chosen], labels[chosen]
                centers = F.normalize(clusters.view_centers[v], dim=1)
                losses += pushpull.push_pull(rows, known, centers, self.settings.margin)
                if not noted and len(centers) > 1:
                    gains = pushpull.separation_gain(rows.detach(), known, centers, self.settings.margin)
                    self._note("separation_gain", gains)
        return torch.stack(losses).sum() / self._idle.count(False)

    def _cluster_loss(self, found: Embedded, labels: Tensor, pseudo: contrast.Pseudo | None) -> Tensor:
        settings = self.settings
        losses = []
        for v, own in self._over_views(found):
            known = _of(labels, own)
            losses.append(
                contrast.cluster_contrast(
                    _of(found.consensus, own),
                    _of(found.views[v], own),
                    known,
                    settings.n_clusters,
                    settings.tau,
                    _known(pseudo, known),
                )
            )
        return torch.stack(losses).mean()

    @torch.no_grad()
    def _kin(self, found: Embedded, labels: Tensor, clusters: Clusters) -> Tensor:
        """Return who should be found across rows: those of the own cluster, by how sure they are of it."""
        squares = squared_distances(found.consensus, clusters.centers)
        shares = certainty.memberships(squares, clusters.consensus_widths)
        return contrast.pair_weights(labels, shares.gather(1, labels[:, None])[:, 0])

    # Small clusters

    def _pseudo_rows(self, found: Embedded, labels: Tensor, clusters: Clusters) -> contrast.Pseudo | None:
        settings = self.settings
        if settings.minority_weight == 0:
            return None
        small = minority.small_clusters(clusters.sizes, settings.minority_ratio)
        numbers = [int(c) for c in small.nonzero()[:, 0] if (labels == c).any()]
        if not numbers:
            return None
        drawn = []
        for c in numbers:
            own = found.consensus[labels == c]
            spread = max(1.0, settings.n_pseudo / len(own))
            drawn.append(
                F.normalize(minority.pseudo_rows(own, settings.n_pseudo, spread, self._draws), dim=1)
            )
            self._note("pseudo_variance", minority.merged_variance(own.detach(), settings.n_pseudo, spread))
        return contrast.Pseudo(torch.tensor(numbers, device=self.device), torch.stack(drawn))

    def _minority_loss(
        self, found: Embedded, labels: Tensor, pseudo: contrast.Pseudo, clusters: Clusters
    ) -> Tensor:
        gaps = [
            minority.mean_discrepancy(found.consensus[labels == c], rows)
            for c, rows in zip(pseudo.clusters, pseudo.rows, strict=True)
            if (labels == c).sum() > 1
        ]
        centers = F.normalize(clusters.centers, dim=1)
        alike = torch.stack(gaps).mean() if gaps else found.consensus.sum() * 0
        apart = minority.repulsion(pseudo.rows, _REPULSION_WIDTH)
        bounds = minority.out_of_bounds(pseudo.rows, pseudo.clusters, centers)
        return _MMD * alike + _REPULSION * apart + _BOUNDS * bounds

    # Small things

    def _note(self, name: str, values: Tensor) -> None:
        """Remember the mean of some values for the record of the epoch."""
        if values.numel():
            self._notes.setdefault(name, []).append(float(values.double().mean()))

    def _seen(self, views: Sequence[np.ndarray]) -> list[Tensor]:
        rows = [torch.from_numpy(view).to(self.device) for view in views]
        return rows if self.seen else self.network.see(rows)

    def _present(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(self.batches.views.present_rows(rows)).to(self.device)


def _of(rows: Tensor, own: Tensor | None) -> Tensor:
    """Return some rows, or all where None are named."""
    return rows if own is None else rows[own]


def _known(pseudo: contrast.Pseudo | None, labels: Tensor) -> contrast.Pseudo | None:
    """Return the pseudo-rows of the clusters that are among the labels."""
    if pseudo is None:
        return None
    there = torch.isin(pseudo.clusters, labels)
    return contrast.Pseudo(pseudo.clusters[there], pseudo.rows[there]) if there.any() else None


def _make_router(settings: Settings, seed: int) -> Router | None:
    if settings.router == "rule":
        return None
    return Router(torch.Generator().manual_seed(mixed_seed(seed, -3)))


@torch.no_grad()
def embedded_rows(network: MVSIBNetwork, batches: Batches, seen: bool = False) -> Iterator[Embedded]:
    """Yield all rows in their order as the network embeds them, each the same alone and in company; on the CPU.

    Parameters
    ----------
    network : MVSIBNetwork
    batches : Batches
    seen : bool
        Whether the batches hold what the encoders see, not scaled rows.
    """
    device = network.centers.device
    start = 0
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
