"""Options of MVSIB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from coterie.methods.options import Options
from coterie.methods.params import Rule, either, flag, one_of, real, rising, whole


@dataclass(frozen=True, kw_only=True, repr=False)
class MVSIBOptions(Options):
    """What the paper names, for ``MVSIB(options=MVSIBOptions(tau=0.2))``.

    All losses but that of rows and the guess at uncertainty are off by default: none of them moved a figure that we
    measured. 0.1 is what the specification has for each.

    Parameters
    ----------
    warmup : float, default=0.8
        Share of the epochs that train the encoders before there are clusters. Without a warm-up the learning rate is
        constant.
    hold : float, default=0.5
        Share of the epochs with clusters in which rows keep the initial ones, which the encoders learn; then the
        clusters move with the consensus.
    tau : float, default=0.5
        Temperature of all contrasts, at least 0.025.
    n_partners : int, default=15
        Neighbours of a row that are kept, those that most views name; partners are drawn from them.
    reconstruction_weight : float, default=0.0
        Weight of the reconstruction (Eq. 2).
    row_weight : float, default=1.0
        Weight of the contrast of rows (Eq. 44).
    cluster_weight : float, default=0.0
        Weight of the contrast of clusters (Eq. 43).
    doubt_weight : float, default=0.1
        Weight of the guess at a row's uncertainty (Eq. 45).
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
        Weight of the entropy beside the gap of the memberships (Eq. 11).
    gate : (float, float), default=(0.3, 0.7)
        Mean uncertainties at which the gate begins to open and is open (Eq. 29).
    gate_window : bool, default=False
        Whether it closes again above, as the paper's text asks.
    router : {"rule", "mlp"}, default="rule"
        What tells false negatives from hard ones.
    false_mode : {"denominator", "numerator", "both"}, default="denominator"
        Where the weight of false negatives acts: on repulsion, on attraction (Eq. 24), or on both.
    false_mask : float, default=0.1
        That weight, pi; 1 spares nobody.
    control : bool, default=True
        Whether the weight is lowered where Theorem A asks for it.
    margin : float, default=0.2
        Of the push.
    minority_ratio : float, default=0.5
        A cluster with fewer rows than this share of the mean is small.
    n_pseudo : int, default=5
        Pseudo-rows drawn for a small cluster in a batch.
    """

    warmup: float = 0.8
    hold: float = 0.5
    tau: float = 0.5
    n_partners: int = 15
    reconstruction_weight: float = 0.0
    row_weight: float = 1.0
    cluster_weight: float = 0.0
    doubt_weight: float = 0.1
    hard_weight: float = 0.0
    cross_weight: float = 0.0
    minority_weight: float = 0.0
    curriculum: tuple[float, float] | None = (0.2, 0.5)
    uncertain: float = 0.3
    doubt_balance: float = 0.5
    gate: tuple[float, float] = (0.3, 0.7)
    gate_window: bool = False
    router: str = "rule"
    false_mode: str = "denominator"
    false_mask: float = 0.1
    control: bool = True
    margin: float = 0.2
    minority_ratio: float = 0.5
    n_pseudo: int = 5

    rules: ClassVar[Mapping[str, Rule]] = {
        "warmup": real(0, 1),
        "hold": real(0, 1),
        "tau": real(0.025),
        "n_partners": whole(1),
        "reconstruction_weight": real(0),
        "row_weight": real(0),
        "cluster_weight": real(0),
        "doubt_weight": real(0),
        "hard_weight": real(0),
        "cross_weight": real(0),
        "minority_weight": real(0),
        "curriculum": either(one_of(None), rising(1)),
        "uncertain": real(0, 1),
        "doubt_balance": real(0, 1),
        "gate": rising(),
        "gate_window": flag(),
        "router": one_of("rule", "mlp"),
        "false_mode": one_of("denominator", "numerator", "both"),
        "false_mask": real(0, 1),
        "control": flag(),
        "margin": real(0),
        "minority_ratio": real(0),
        "n_pseudo": whole(2),
    }
