"""The settings of one PC-X run, resolved from an estimator's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.methods.pcx.options import PCXOptions
from coterie.methods.run_setup import RunSettings


@dataclass(frozen=True)
class Settings(RunSettings):
    """Everything that training needs to know; `hidden` and `batch_size` are those of `PCX`."""

    options: PCXOptions
    hidden: Sequence[int]
    batch_size: int

    @property
    def cluster_epochs(self) -> int:
        """Epochs after the warm-up."""
        return self.max_epochs - self.warmup_epochs

    def past_burn_in(self, epoch: int) -> bool:
        """Whether the entropy term and the size weights are on in an epoch."""
        return epoch - self.warmup_epochs >= self.options.burn_in * self.cluster_epochs

    def holds_start(self, epoch: int) -> bool:
        """Whether rows keep the clusters of the start in an epoch."""
        return epoch - self.warmup_epochs < self.options.hold * self.cluster_epochs
