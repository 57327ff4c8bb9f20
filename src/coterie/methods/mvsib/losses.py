"""The losses of a batch, over the views that its rows have, and what is measured on the way (spec 2.5)."""

# b rows of a batch with their partners, l of them this process's, V views, d features, k clusters

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import ALONE, Collectives, share_of
from coterie.methods.mvsib import (
    attraction,
    certainty,
    contrast,
    guarantees,
    label_contrast,
    minority,
    pushpull,
)
from coterie.methods.mvsib.clusters import Clusters
from coterie.methods.mvsib.network import Embedded
from coterie.methods.mvsib.options import MVSIBOptions
from coterie.ops.distances import squared_distances

_MMD, _REPULSION, _BOUNDS = 0.1, 1.0, 0.1
_REPULSION_WIDTH = 0.5
_MEASURED = 64


class Measurements:
    """What is measured in an epoch, by name."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def add(self, name: str, values: Tensor) -> None:
        """Keep the mean of some values."""
        if values.numel():
            self._values.setdefault(name, []).append(float(values.double().mean()))

    def means(self) -> dict[str, float]:
        """Return the mean of each measurement."""
        return {name: sum(values) / len(values) for name, values in self._values.items()}


class EmbeddedBatch:
    """A batch as the network embeds it, with the views that count.

    Parameters
    ----------
    near : Tensor of shape (2, m)
        Pairs of neighbours, as for `attraction.row_pairs`; those of this process's lines are enough.
    idle : sequence of bool
        Views without information.
    collectives : Collectives
        Processes that all have this batch and split its table of pairs: contrasts are their parts.

    Attributes
    ----------
    lines : slice
        The rows whose pairs are this process's.
    views : list of (int, Tensor or None)
        The views with information that some rows of the batch have, and which rows do; None where all do.
    """

    def __init__(
        self, rows: Embedded, near: Tensor, idle: Sequence[bool], collectives: Collectives = ALONE
    ) -> None:
        self.rows, self.near, self.collectives = rows, near, collectives
        self.lines = share_of(len(rows.consensus), collectives)
        counts = rows.present.sum(0).tolist()
        self.views = [
            (v, None if count == len(rows.present) else rows.present[:, v].nonzero()[:, 0])
            for v, count in enumerate(counts)
            if count and not idle[v]
        ]


def warmup_contrast(batch: EmbeddedBatch, tau: float) -> Tensor:
    """Return the contrast of rows before there are clusters: neighbours attract, all others repel."""
    none = torch.zeros(len(batch.rows.consensus), dtype=torch.long, device=batch.near.device)
    return mean_contrasts(batch, plain_pairs(batch, none, with_labels=False), tau).rows


def plain_pairs(batch: EmbeddedBatch, labels: Tensor, *, with_labels: bool = True) -> attraction.Pairs:
    """Return the pairs that attract and repel where no row is routed."""
    none, weight = torch.zeros_like(labels, dtype=torch.bool), torch.ones((), device=labels.device)
    return attraction.row_pairs(
        labels, batch.near, none, weight, "denominator", 1.0, with_labels, lines=batch.lines
    )


def mean_contrasts(
    batch: EmbeddedBatch, pairs: attraction.Pairs, tau: float, members: contrast.Members | None = None
) -> contrast.Contrasts:
    """Return the contrasts of rows and, with members, across rows: means over the consensus and the views."""
    rows = batch.rows
    kin = None if members is None else members.kin(pairs.lines)
    asked = [contrast.Asked(rows.consensus, rows.consensus, pairs, kin)]
    for v, own in batch.views:
        some, some_kin = pairs, kin
        if own is not None:
            some = pairs.among(own)
            some_kin = None if members is None else members.among(own).kin(some.lines)
        view, consensus = _of(rows.views[v], own), _of(rows.consensus, own)
        asked.append(contrast.Asked(view, consensus, some, some_kin))
    losses = contrast.contrasts(asked, tau)
    return contrast.Contrasts(*(torch.stack(values).mean() for values in zip(*losses, strict=True)))


class ClusterLosses:
    """The losses of a batch whose rows have clusters.

    Parameters
    ----------
    labels : Tensor of shape (b,)
    measured : Measurements
        Takes what is measured.
    """

    def __init__(
        self,
        batch: EmbeddedBatch,
        labels: Tensor,
        clusters: Clusters,
        options: MVSIBOptions,
        measured: Measurements,
    ) -> None:
        self.batch, self.labels, self.clusters = batch, labels, clusters
        self.options, self.measured = options, measured
        self.n_clusters = len(clusters.centers)

    @torch.no_grad()
    def doubt(self) -> Tensor:
        """Return how uncertain rows are, (b,): the most uncertain view decides (Eq. 12)."""
        rows, used = self.batch.rows, [v for v, _ in self.batch.views]
        squares = [squared_distances(rows.views[v], self.clusters.view_centers[v]) for v in used]
        widths = torch.stack([self.clusters.widths[v] for v in used])
        shares = certainty.memberships(torch.stack(squares), widths[:, None])
        return certainty.doubt(shares, rows.present.T[used], self.options.doubt_balance).amax(0)

    def pairs(self, false: Tensor, opening: Tensor, routed: bool) -> attraction.Pairs:
        """Return the pairs that attract and repel; false negatives repel no more than Theorem A allows.

        Parameters
        ----------
        false : Tensor of bool, shape (b,)
            Rows routed as false negatives.
        opening : Tensor of shape ()
            How far the gate is open.
        routed : bool
            Whether rows are routed at all.
        """
        options = self.options
        weight = opening * options.false_mask
        if routed:
            weight = self._safe_weight(false, weight)
        return attraction.row_pairs(
            self.labels,
            self.batch.near,
            false,
            weight,
            options.false_mode,
            options.false_mask,
            with_labels=True,
            lines=self.batch.lines,
        )

    @torch.no_grad()
    def _safe_weight(self, false: Tensor, weight: Tensor) -> Tensor:
        """Return g pi for each row, lowered where the gradient step of a view would lead from the own centre.

        Computed for the rows of the lines with a possible false negative, and for some of an epoch's first batch to
        be measured.
        """
        rows, labels, near = self.batch.rows, self.labels, self.batch.near
        spared = attraction.spared_pairs(labels, near, false)
        lines = self.batch.lines
        n_measured = 0 if "false_mass" in self.measured else min(_MEASURED, lines.stop - lines.start)
        asked = torch.arange(lines.start, lines.start + n_measured, device=labels.device)
        if self.options.control:
            asked = torch.cat([asked, spared[0]]).unique()
        lowest = weight.repeat(len(labels))
        if not len(asked):
            return lowest
        attract, wrong, rest = attraction.sides_of(asked, labels, near, spared)
        pulls = []
        for v, own in self.batch.views:
            view, centers = rows.views[v], F.normalize(self.clusters.view_centers[v], dim=1)
            others = torch.cat([_of(rows.consensus, own), _of(view, own)])
            itself = (view[asked] * centers[labels[asked]]).sum(1, keepdim=True)
            columns = slice(None) if own is None else torch.cat([own, own + len(labels)])
            pull = guarantees.measure_pull(
                view[asked] @ others.T,
                torch.cat([(centers @ others.T)[labels[asked]], itself], 1),
                attract[:, columns],
                wrong[:, columns],
                rest[:, columns],
                self.options.tau,
            )
            there = rows.present[asked, v]
            pulls.append((pull, there))
            if self.options.control:
                safe = guarantees.controlled_weight(pull, weight)
                lowest[asked[there]] = torch.minimum(lowest[asked], safe)[there]
        for pull, there in pulls:
            self._measure_safety(guarantees.safety(pull, lowest[asked]), there[:n_measured])
        return lowest

    def _measure_safety(self, safety: guarantees.Safety, asked: Tensor) -> None:
        """Measure the safety of the first rows."""
        theta, limit, safe = (values[: len(asked)][asked] for values in (*safety, safety.safe))
        self.measured.add("false_mass", theta)
        self.measured.add("safe_share", safe.float())
        self.measured.add("false_limit", limit[limit.isfinite()])

    @torch.no_grad()
    def members(self) -> contrast.Members:
        """Return the clusters of rows and their memberships in them, which weigh the pairs across rows."""
        squares = squared_distances(self.batch.rows.consensus, self.clusters.centers)
        shares = certainty.memberships(squares, self.clusters.consensus_widths)
        return contrast.Members(self.labels, shares.gather(1, self.labels[:, None])[:, 0])

    def of_rows(self, false: Tensor) -> Tensor:
        """Return the printed contrast of rows, the mean over views; `false` are the decisions (b,) of a router."""
        weights = label_contrast.label_weights(self.labels, false, self.options.false_mask)
        rows, losses = self.batch.rows, []
        for v, own in self.batch.views:
            among = weights if own is None else weights[own][:, own]
            view, consensus = _of(rows.views[v], own), _of(rows.consensus, own)
            losses.append(label_contrast.label_contrast(view, consensus, among, self.options.tau))
        return torch.stack(losses).mean()

    def hard(self, decided: Tensor, weights: Tensor) -> Tensor:
        """Return the push and the pull on decided rows, the mean over views; weights (b,) are 1 for hard rows."""
        losses, options = [self.batch.rows.consensus.new_zeros(())], self.options
        for chosen, known, v, centers in self._rows_of(decided):
            losses += pushpull.push_pull(
                self.batch.rows.views[v][chosen],
                known,
                centers,
                options.margin,
                weights=weights[chosen],
                printed=options.printed,
            )
        return torch.stack(losses).sum() / len(self.batch.views)

    @torch.no_grad()
    def measure_separation(self, hard: Tensor) -> None:
        """Measure how fast push and pull separate hard rows from other clusters, once an epoch (Theorem C)."""
        if "separation_gain" in self.measured or self.n_clusters < 2:
            return
        for chosen, known, v, centers in self._rows_of(hard):
            rows = self.batch.rows.views[v][chosen]
            self.measured.add(
                "separation_gain", pushpull.separation_gain(rows, known, centers, self.options.margin)
            )

    def _rows_of(self, asked: Tensor) -> Iterator[tuple[Tensor, Tensor, int, Tensor]]:
        """Yield for each view the asked rows that have it, their clusters, the view and its centres."""
        for v, _ in self.batch.views:
            chosen = (asked & self.batch.rows.present[:, v]).nonzero()[:, 0]
            if len(chosen):
                yield chosen, self.labels[chosen], v, F.normalize(self.clusters.view_centers[v], dim=1)

    def of_clusters(self, pseudo: contrast.Pseudo | None) -> Tensor:
        """Return the contrast of clusters, the mean over views."""
        rows, losses = self.batch.rows, []
        for v, own in self.batch.views:
            known = _of(self.labels, own)
            losses.append(
                contrast.cluster_contrast(
                    _of(rows.consensus, own),
                    _of(rows.views[v], own),
                    known,
                    self.n_clusters,
                    self.options.tau,
                    _known(pseudo, known),
                )
            )
        return torch.stack(losses).mean()

    def pseudo_rows(self, generator: torch.Generator) -> contrast.Pseudo | None:
        """Draw pseudo-rows of the small clusters in the batch; None where there are none, or they weigh nothing."""
        options, consensus = self.options, self.batch.rows.consensus
        if options.minority_weight == 0:
            return None
        small = minority.small_clusters(self.clusters.sizes, options.minority_ratio)
        numbers = [int(c) for c in small.nonzero()[:, 0] if (self.labels == c).any()]
        if not numbers:
            return None
        drawn = []
        for c in numbers:
            own = consensus[self.labels == c]
            spread = options.n_pseudo / len(own)
            spread = spread if options.printed else max(1.0, spread)
            rows = minority.pseudo_rows(own, options.n_pseudo, spread, generator)
            drawn.append(F.normalize(rows, dim=1))
            variance = minority.merged_variance(own.detach(), options.n_pseudo, spread)
            self.measured.add("pseudo_variance", variance)
        return contrast.Pseudo(torch.tensor(numbers, device=consensus.device), torch.stack(drawn))

    def of_small(self, pseudo: contrast.Pseudo) -> Tensor:
        """Return what keeps the pseudo-rows of small clusters in place (Eq. 38)."""
        consensus, labels = self.batch.rows.consensus, self.labels
        gaps = [
            minority.mean_discrepancy(consensus[labels == c], rows)
            for c, rows in zip(pseudo.clusters, pseudo.rows, strict=True)
            if (labels == c).sum() > 1
        ]
        centers = F.normalize(self.clusters.centers, dim=1)
        alike = torch.stack(gaps).mean() if gaps else consensus.sum() * 0
        apart = minority.repulsion(pseudo.rows, _REPULSION_WIDTH)
        bounds = minority.out_of_bounds(pseudo.rows, pseudo.clusters, centers)
        return _MMD * alike + _REPULSION * apart + _BOUNDS * bounds


def _of(rows: Tensor, own: Tensor | None) -> Tensor:
    """Return some rows, or all where None are named."""
    return rows if own is None else rows[own]


def _known(pseudo: contrast.Pseudo | None, labels: Tensor) -> contrast.Pseudo | None:
    """Return the pseudo-rows of the clusters that are among the labels."""
    if pseudo is None:
        return None
    there = torch.isin(pseudo.clusters, labels)
    return contrast.Pseudo(pseudo.clusters[there], pseudo.rows[there]) if there.any() else None
