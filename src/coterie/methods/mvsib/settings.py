"""The settings of one MVSIB run, resolved from an estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from coterie.methods.parts import RunSettings


@dataclass(frozen=True)
class Settings(RunSettings):
    """Everything that training needs to know.

    The names are those of the parameters of `MVSIB`, where they are explained.
    """

    least_steps: ClassVar[int] = 600
    enough_epochs: ClassVar[int] = 36

    tau: float
    reconstruction_weight: float
    cluster_weight: float
    row_weight: float
    doubt_weight: float
    hard_weight: float
    cross_weight: float
    minority_weight: float
    curriculum: tuple[float, float] | None
    hold: float
    uncertain: float
    doubt_balance: float
    gate: tuple[float, float]
    gate_window: bool
    router: str
    false_mode: str
    false_mask: float
    control: bool
    margin: float
    minority_ratio: float
    n_pseudo: int
    neighbor_noise: float

    def cluster_epochs(self) -> int:
        """How many epochs there are with clusters."""
        return self.max_epochs - self.warmup_epochs

    def since_start(self, epoch: int) -> int:
        """How many epochs with clusters came before this one."""
        return epoch - self.warmup_epochs

    def stage(self, epoch: int) -> int:
        """Return the stage of the curriculum: 0 before there are clusters, then 1, 2 and 3 (spec 2.6).

        Without a curriculum every epoch with clusters has all losses.
        """
        if self.in_warmup(epoch):
            return 0
        if self.curriculum is None:
            return 3
        done = self.since_start(epoch) / max(1, self.cluster_epochs())
        return 1 + sum(done >= begin for begin in self.curriculum)

    def holds_start(self, epoch: int) -> bool:
        """Whether rows still keep the clusters of the start."""
        return self.since_start(epoch) < self.hold * self.cluster_epochs()

    def cross_gate(self, epoch: int) -> float:
        """Return g_e, which grows over the third stage from nothing to one (M4)."""
        begin = 0.0 if self.curriculum is None else self.curriculum[1]
        done = (self.since_start(epoch) + 1) / max(1, self.cluster_epochs())
        return min(1.0, max(0.0, (done - begin) / max(1 - begin, 1e-9)))

    def routes_rows(self, epoch: int) -> bool:
        """Whether ambiguous rows are routed in an epoch."""
        return self.stage(epoch) >= 2 and (self.hard_weight > 0 or self.false_mask < 1)
