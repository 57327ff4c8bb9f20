"""The losses of a batch, over the views that its rows have, and what is measured on the way (spec 2.5)."""

# b rows of a batch with their partners, l of them this process's, V views, d features, k clusters

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import ALONE, Collectives, share_of
from coterie.methods.mvsib import attraction, certainty, contrast, guarantees, minority, pushpull
from coterie.methods.mvsib.clusters import Clusters
from coterie.methods.mvsib.network import Embedded
from coterie.methods.mvsib.settings import Settings
from coterie.ops.distances import squared_distances

_MMD, _REPULSION, _BOUNDS = 0.1, 1.0, 0.1
_REPULSION_WIDTH = 0.5
_NOTED = 64


class Notes:
    """What is measured in an epoch, by name."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def add(self, name: str, values: Tensor) -> None:
        """Remember the mean of some values."""
        if values.numel():
            self._values.setdefault(name, []).append(float(values.double().mean()))

    def means(self) -> dict[str, float]:
        """Return the mean of what was remembered, by name."""
        return {name: sum(values) / len(values) for name, values in self._values.items()}


class Scene:
    """A batch as the network embeds it, with the views that count.

    Parameters
    ----------
    found : Embedded
    near : Tensor of shape (2, m)
        Pairs of neighbours, as for `attraction.row_pairs`; of this process's lines are enough.
    idle : sequence of bool
        Views that say nothing.
    collectives : Collectives
        Processes that all have this batch, and share what takes every pair of its rows: contrasts are their parts.

    Attributes
    ----------
    lines : slice
        The rows whose pairs are this process's.
    views : list of (int, Tensor or None)
        The views that say something and some rows of the batch have, and which do; None where all do.
    """

    def __init__(
        self, found: Embedded, near: Tensor, idle: Sequence[bool], collectives: Collectives = ALONE
    ) -> None:
        self.found, self.near, self.collectives = found, near, collectives
        self.lines = share_of(len(found.consensus), collectives)
        counts = found.present.sum(0).tolist()
        self.views = [
            (v, None if count == len(found.present) else found.present[:, v].nonzero()[:, 0])
            for v, count in enumerate(counts)
            if count and not idle[v]
        ]


def no_clusters(scene: Scene, tau: float) -> Tensor:
    """Return the contrast of rows before there are clusters: neighbours attract, all others repel."""
    nobody = torch.zeros(len(scene.found.consensus), dtype=torch.bool, device=scene.near.device)
    weight = torch.ones((), device=scene.near.device)
    pairs = attraction.row_pairs(
        nobody.long(), scene.near, nobody, weight, "denominator", 1.0, with_labels=False, lines=scene.lines
    )
    return mean_contrasts(scene, pairs, tau).rows


def mean_contrasts(
    scene: Scene, pairs: attraction.Pairs, tau: float, members: contrast.Members | None = None
) -> contrast.Contrasts:
    """Return the contrasts of rows and, with members, across rows; of the consensus and of each view, their means."""
    found = scene.found
    kin = None if members is None else members.kin(pairs.lines)
    asked = [contrast.Asked(found.consensus, found.consensus, pairs, kin)]
    for v, own in scene.views:
        some, some_kin = pairs, kin
        if own is not None:
            some = pairs.among(own)
            some_kin = None if members is None else members.among(own).kin(some.lines)
        view, consensus = _of(found.views[v], own), _of(found.consensus, own)
        asked.append(contrast.Asked(view, consensus, some, some_kin))
    losses = contrast.contrasts(asked, tau)
    return contrast.Contrasts(*(torch.stack(one).mean() for one in zip(*losses, strict=True)))


class ClusterLosses:
    """The losses of a batch whose rows have clusters.

    Parameters
    ----------
    scene : Scene
    labels : Tensor of shape (b,)
    clusters : Clusters
    settings : Settings
    notes : Notes
        Takes what is measured.
    """

    def __init__(
        self, scene: Scene, labels: Tensor, clusters: Clusters, settings: Settings, notes: Notes
    ) -> None:
        self.scene, self.labels, self.clusters = scene, labels, clusters
        self.settings, self.options, self.notes = settings, settings.options, notes

    @torch.no_grad()
    def doubt(self) -> Tensor:
        """Return how uncertain rows are, (b,): the most uncertain view decides (Eq. 12)."""
        found, used = self.scene.found, [v for v, _ in self.scene.views]
        squares = [squared_distances(found.views[v], self.clusters.view_centers[v]) for v in used]
        widths = torch.stack([self.clusters.widths[v] for v in used])
        shares = certainty.memberships(torch.stack(squares), widths[:, None])
        return certainty.doubt(shares, found.present.T[used], self.options.doubt_balance).amax(0)

    def pairs(self, false: Tensor, opening: Tensor, routed: bool) -> attraction.Pairs:
        """Return who attracts and repels whom; false negatives repel no more than Theorem A allows.

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
            self.scene.near,
            false,
            weight,
            options.false_mode,
            options.false_mask,
            with_labels=True,
            lines=self.scene.lines,
        )

    @torch.no_grad()
    def _safe_weight(self, false: Tensor, weight: Tensor) -> Tensor:
        """Return g pi for each row, lowered where a view's step would lead from the own centre.

        Only rows of the lines with a possible false negative are asked; and some of an epoch's first batch, to take
        note.
        """
        found, labels, near = self.scene.found, self.labels, self.scene.near
        spared = attraction.spared_pairs(labels, near, false)
        lines = self.scene.lines
        n_noted = 0 if "false_mass" in self.notes else min(_NOTED, lines.stop - lines.start)
        asked = torch.arange(lines.start, lines.start + n_noted, device=labels.device)
        if self.options.control:
            asked = torch.cat([asked, spared[0]]).unique()
        lowest = weight.repeat(len(labels))
        if not len(asked):
            return lowest
        attract, wrong, others = attraction.sides_of(asked, labels, near, spared)
        pulls = []
        for v, own in self.scene.views:
            view, centers = found.views[v], F.normalize(self.clusters.view_centers[v], dim=1)
            everyone = torch.cat([_of(found.consensus, own), _of(view, own)])
            itself = (view[asked] * centers[labels[asked]]).sum(1, keepdim=True)
            columns = slice(None) if own is None else torch.cat([own, own + len(labels)])
            pull = guarantees.measure_pull(
                view[asked] @ everyone.T,
                torch.cat([(centers @ everyone.T)[labels[asked]], itself], 1),
                attract[:, columns],
                wrong[:, columns],
                others[:, columns],
                self.options.tau,
            )
            there = found.present[asked, v]
            pulls.append((pull, there))
            if self.options.control:
                safe = guarantees.controlled_weight(pull, weight)
                lowest[asked[there]] = torch.minimum(lowest[asked], safe)[there]
        for pull, there in pulls:
            self._note_safety(guarantees.safety(pull, lowest[asked]), there[:n_noted])
        return lowest

    def _note_safety(self, found: guarantees.Safety, noted: Tensor) -> None:
        """Take note of the first rows, where they are to be noted."""
        theta, limit, safe = (one[: len(noted)][noted] for one in (*found, found.safe))
        self.notes.add("false_mass", theta)
        self.notes.add("safe_share", safe.float())
        self.notes.add("false_limit", limit[limit.isfinite()])

    @torch.no_grad()
    def members(self) -> contrast.Members:
        """Return the clusters of rows and how sure they are of them, which says who should be found across rows."""
        squares = squared_distances(self.scene.found.consensus, self.clusters.centers)
        shares = certainty.memberships(squares, self.clusters.consensus_widths)
        return contrast.Members(self.labels, shares.gather(1, self.labels[:, None])[:, 0])

    def hard(self, hard: Tensor) -> Tensor:
        """Return the push and the pull on hard rows, the mean over views."""
        losses = [self.scene.found.consensus.new_zeros(())]
        for rows, known, centers in self._hard_rows(hard):
            losses += pushpull.push_pull(rows, known, centers, self.options.margin)
        return torch.stack(losses).sum() / len(self.scene.views)

    @torch.no_grad()
    def note_separation(self, hard: Tensor) -> None:
        """Take note of how fast push and pull would part hard rows from other clusters, once an epoch (Theorem C)."""
        if "separation_gain" in self.notes or self.settings.n_clusters < 2:
            return
        for rows, known, centers in self._hard_rows(hard):
            self.notes.add(
                "separation_gain", pushpull.separation_gain(rows, known, centers, self.options.margin)
            )

    def _hard_rows(self, hard: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield for each view its hard rows, their clusters and the view's centres."""
        found = self.scene.found
        for v, _ in self.scene.views:
            chosen = (hard & found.present[:, v]).nonzero()[:, 0]
            if len(chosen):
                centers = F.normalize(self.clusters.view_centers[v], dim=1)
                yield found.views[v][chosen], self.labels[chosen], centers

    def of_clusters(self, pseudo: contrast.Pseudo | None) -> Tensor:
        """Return the contrast of clusters, the mean over views."""
        found, losses = self.scene.found, []
        for v, own in self.scene.views:
            known = _of(self.labels, own)
            losses.append(
                contrast.cluster_contrast(
                    _of(found.consensus, own),
                    _of(found.views[v], own),
                    known,
                    self.settings.n_clusters,
                    self.options.tau,
                    _known(pseudo, known),
                )
            )
        return torch.stack(losses).mean()

    def pseudo_rows(self, generator: torch.Generator) -> contrast.Pseudo | None:
        """Draw pseudo-rows of the small clusters in the batch; None where there are none, or they weigh nothing."""
        options, consensus = self.options, self.scene.found.consensus
        if options.minority_weight == 0:
            return None
        small = minority.small_clusters(self.clusters.sizes, options.minority_ratio)
        numbers = [int(c) for c in small.nonzero()[:, 0] if (self.labels == c).any()]
        if not numbers:
            return None
        drawn = []
        for c in numbers:
            own = consensus[self.labels == c]
            spread = max(1.0, options.n_pseudo / len(own))
            rows = minority.pseudo_rows(own, options.n_pseudo, spread, generator)
            drawn.append(F.normalize(rows, dim=1))
            variance = minority.merged_variance(own.detach(), options.n_pseudo, spread)
            self.notes.add("pseudo_variance", variance)
        return contrast.Pseudo(torch.tensor(numbers, device=consensus.device), torch.stack(drawn))

    def of_small(self, pseudo: contrast.Pseudo) -> Tensor:
        """Return what keeps the pseudo-rows of small clusters in place (Eq. 38)."""
        consensus, labels = self.scene.found.consensus, self.labels
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
