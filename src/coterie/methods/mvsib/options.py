"""Options and settings of MVSIB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from coterie.engine.schedule import Epochs
from coterie.methods.options import TrainingOptions, option
from coterie.methods.params import either, flag, one_of, real, rising, whole
from coterie.methods.run_setup import RunSettings


@dataclass(frozen=True, kw_only=True, repr=False)
class MVSIBOptions(TrainingOptions):
    """What the paper names, and what we add to it, for ``MVSIB(options=MVSIBOptions(tau=0.2))``.

    All losses but the contrast of rows are off by default: none of the others changed the accuracy. The
    specification has 0.1 for each, and for `false_mask`.

    Parameters
    ----------
    warmup : float, default=0.0
        Share of `max_epochs` that trains the encoders before there are clusters. Without a warm-up the learning rate
        is constant.
    warmup_loss : {"contrast", "reconstruction"}, default="contrast"
        What trains the encoders in the warm-up: the contrast of neighbours, or the paper's reconstruction alone
        (Eq. 2).
    init : {"graph", "kmeans"}, default="graph"
        The initial labels: those of the views' joined graph, or k-means of the consensus after the warm-up, as in the
        paper.
    settle : bool, default=True
        Whether training ends once the clusters have settled. False trains `max_epochs` at a constant learning rate.
    n_axes : int or None, default=256
        Most principal axes of a view that its encoder takes; None shows it all columns.
    neighbors : {"inputs", "consensus"}, default="inputs"
        Whose neighbours count: those of the views' joined graph, also as partners in a batch, or those of the
        consensus and, for the routes, of each view's embeddings, found anew in each epoch, as in the paper.
    equations : {"corrected", "printed"}, default="corrected"
        Which form of the losses: ours, means over views, or the paper's, sums over views, with Eqs. 26, 32 and 44 as
        printed and the centres of a view found by its own k-means.
    hold : float, default=1.0
        Share of the epochs with clusters in which the encoders are trained on the initial labels; then k-means of the
        consensus updates these in each epoch.
    tau : float, default=0.2
        Temperature of all contrasts, at least 0.025.
    n_partners : int, default=15
        Neighbours of a row that are kept, those with the largest weights; positives are drawn from them.
    reconstruction_weight : float, default=0.0
        Weight of the reconstruction (Eq. 2).
    row_weight : float, default=1.0
        Weight of the contrast of rows (Eq. 44).
    cluster_weight : float, default=0.0
        Weight of the contrast of clusters (Eq. 43).
    doubt_weight : float, default=0.0
        Weight of the predicted uncertainty (Eq. 45).
    hard_weight : float, default=0.0
        Weight of the push and the pull on hard rows (Eq. 47).
    cross_weight : float, default=0.0
        Weight of the contrast across rows of one cluster (Eq. 50).
    minority_weight : float, default=0.0
        Weight of the compensation of small clusters (Eq. 38).
    curriculum : (float, float) or None, default=(0.2, 0.5)
        Where the second and the third stage begin, as shares of the epochs with clusters; None has all losses at
        once.
    uncertain : float, default=0.3
        Share p_0 of the rows that count as uncertain at first; it falls to nothing (Eq. 13).
    doubt_balance : float, default=0.5
        Weight of the entropy relative to the gap of the memberships (Eq. 11).
    gate : (float, float), default=(0.3, 0.7)
        Mean uncertainties at which the gate begins to open and is open (Eq. 29).
    gate_window : bool, default=False
        Whether it closes again above, as the paper's text asks.
    router : {"rule", "mlp", "trained"}, default="rule"
        How false negatives are told from hard ones: by a rule, by a network that imitates it, or by the paper's
        network, which the losses train.
    false_mode : {"denominator", "numerator", "both"}, default="denominator"
        Where the weight of false negatives acts: on repulsion, on attraction (Eq. 24), or on both.
    false_mask : float, default=1.0
        That weight, pi: 0.1 in the paper; 1 changes nothing.
    control : bool, default=True
        Whether the weight is lowered where Theorem A asks for it.
    margin : float, default=0.2
        Of the push.
    minority_ratio : float, default=0.5
        A cluster with fewer rows than this share of the mean is small.
    n_pseudo : int, default=5
        Pseudo-rows drawn for a small cluster in a batch.
    """

    warmup: float = option(0.0, real(0, 1))
    warmup_loss: str = option("contrast", one_of("contrast", "reconstruction"))
    init: str = option("graph", one_of("graph", "kmeans"))
    settle: bool = option(True, flag())
    n_axes: int | None = option(256, either(one_of(None), whole(1)))
    neighbors: str = option("inputs", one_of("inputs", "consensus"))
    equations: str = option("corrected", one_of("corrected", "printed"))
    hold: float = option(1.0, real(0, 1))
    tau: float = option(0.2, real(0.025))
    n_partners: int = option(15, whole(1))
    reconstruction_weight: float = option(0.0, real(0))
    row_weight: float = option(1.0, real(0))
    cluster_weight: float = option(0.0, real(0))
    doubt_weight: float = option(0.0, real(0))
    hard_weight: float = option(0.0, real(0))
    cross_weight: float = option(0.0, real(0))
    minority_weight: float = option(0.0, real(0))
    curriculum: tuple[float, float] | None = option((0.2, 0.5), either(one_of(None), rising(1)))
    uncertain: float = option(0.3, real(0, 1))
    doubt_balance: float = option(0.5, real(0, 1))
    gate: tuple[float, float] = option((0.3, 0.7), rising())
    gate_window: bool = option(False, flag())
    router: str = option("rule", one_of("rule", "mlp", "trained"))
    false_mode: str = option("denominator", one_of("denominator", "numerator", "both"))
    false_mask: float = option(1.0, real(0, 1))
    control: bool = option(True, flag())
    margin: float = option(0.2, real(0))
    minority_ratio: float = option(0.5, real(0))
    n_pseudo: int = option(5, whole(2))

    @property
    def printed(self) -> bool:
        """Whether the losses are those that the paper prints."""
        return self.equations == "printed"


PRESETS: Mapping[str | None, Mapping[str, Any]] = {
    None: {"hidden": (256,), "n_code": 64, "n_neighbors": 10, "learning_rate": 3e-3},
    # What the paper prints (3.3, 3.7, 4.4; Eqs. 2 to 52). It gives no widths of the layers, no alpha and beta, no
    # beginning of the stages and no margin: those are the ones of its released code (spec 2.1), as are P and rho.
    "paper": {
        "scale": "minmax",
        "hidden": (500, 500, 2000),
        "n_code": 256,
        "n_neighbors": 10,
        "max_epochs": 300,
        "learning_rate": 1e-4,
        "options": MVSIBOptions(
            warmup=2 / 3,
            warmup_loss="reconstruction",
            init="kmeans",
            settle=False,
            n_axes=None,
            neighbors="consensus",
            equations="printed",
            hold=0.0,
            tau=0.5,
            cluster_weight=0.01,
            row_weight=0.1,
            doubt_weight=0.1,
            hard_weight=0.1,
            cross_weight=0.1,
            minority_weight=1.0,
            curriculum=(0.1, 0.2),
            router="trained",
            false_mode="numerator",
            false_mask=0.1,
        ),
    },
}


@dataclass(frozen=True)
class MVSIBSettings(RunSettings):
    """Parameters of `MVSIB` in effect."""

    least_steps: ClassVar[int] = 200
    enough_epochs: ClassVar[int] = 12
    stream_options: ClassVar[Mapping[str, Any]] = {"curriculum": (0.0, 1.0), "hold": 1.0}

    options: MVSIBOptions
    hidden: Sequence[int]
    n_code: int


@dataclass(frozen=True)
class Curriculum:
    """Which losses and steps an epoch has (spec 2.6)."""

    epochs: Epochs
    options: MVSIBOptions

    def stage(self, epoch: int) -> int:
        """Return the stage: 0 in the warm-up, then 1, 2 and 3; without a curriculum all later epochs are stage 3."""
        if self.epochs.in_warmup(epoch):
            return 0
        if self.options.curriculum is None:
            return 3
        done = (epoch - self.epochs.warmup) / max(1, self.epochs.clusters)
        return 1 + sum(done >= begin for begin in self.options.curriculum)

    def keeps_initial(self, epoch: int) -> bool:
        """Whether rows keep their initial labels; where no epoch has clusters, any `hold` keeps them."""
        if self.epochs.clusters == 0:
            return self.options.hold > 0
        return self.epochs.within(self.options.hold, epoch)

    def cross_gate(self, epoch: int) -> float:
        """Return g_e, which grows over the third stage from zero to one (M4)."""
        begin = 0.0 if self.options.curriculum is None else self.options.curriculum[1]
        done = (epoch - self.epochs.warmup + 1) / max(1, self.epochs.clusters)
        return min(1.0, max(0.0, (done - begin) / max(1 - begin, 1e-9)))

    @property
    def needs_clusters(self) -> bool:
        """Whether a loss needs the places and the widths of the clusters, or predicted uncertainties."""
        options = self.options
        if options.printed:
            return True
        weights = (options.doubt_weight, options.hard_weight, options.cross_weight, options.minority_weight)
        return any(weight > 0 for weight in (*weights, options.cluster_weight)) or options.false_mask < 1

    def routes_rows(self, epoch: int) -> bool:
        """Whether ambiguous rows are routed in an epoch."""
        return self.stage(epoch) >= 2 and (self.options.hard_weight > 0 or self.options.false_mask < 1)
