"""The settings of one MVSIB run, resolved from an estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from coterie.methods.mvsib.options import MVSIBOptions
from coterie.methods.run_setup import RunSettings


@dataclass(frozen=True)
class Settings(RunSettings):
    """Everything that training needs to know."""

    least_steps: ClassVar[int] = 600
    enough_epochs: ClassVar[int] = 36

    options: MVSIBOptions

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
        if self.options.curriculum is None:
            return 3
        done = self.since_start(epoch) / max(1, self.cluster_epochs())
        return 1 + sum(done >= begin for begin in self.options.curriculum)

    def holds_start(self, epoch: int) -> bool:
        """Whether rows still keep the initial clusters; where no epoch has clusters, any `hold` keeps them."""
        if self.cluster_epochs() == 0:
            return self.options.hold > 0
        return self.since_start(epoch) < self.options.hold * self.cluster_epochs()

    def cross_gate(self, epoch: int) -> float:
        """Return g_e, which grows over the third stage from nothing to one (M4)."""
        begin = 0.0 if self.options.curriculum is None else self.options.curriculum[1]
        done = (self.since_start(epoch) + 1) / max(1, self.cluster_epochs())
        return min(1.0, max(0.0, (done - begin) / max(1 - begin, 1e-9)))

    def routes_rows(self, epoch: int) -> bool:
        """Whether ambiguous rows are routed in an epoch."""
        return self.stage(epoch) >= 2 and (self.options.hard_weight > 0 or self.options.false_mask < 1)
