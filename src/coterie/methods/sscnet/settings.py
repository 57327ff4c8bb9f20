"""The settings of one SSCNet run, resolved from an estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.methods.run_setup import RunSettings
from coterie.methods.sscnet.options import SSCNetOptions


@dataclass(frozen=True)
class Settings(RunSettings):
    """Everything that training needs to know; `n_neighbors` is that of `SSCNet`."""

    options: SSCNetOptions
    n_neighbors: int

    def is_time_to_refresh(self, epoch: int) -> bool:
        """Whether the landmarks' graph is computed again before an epoch."""
        since = epoch - self.warmup_epochs
        return since > 0 and since % self.options.refresh_every == 0
