"""The settings of one SSCNet run, resolved from an estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.methods.parts import RunSettings


@dataclass(frozen=True)
class Settings(RunSettings):
    """Everything that training needs to know.

    The names are those of the parameters of `SSCNet`, where they are explained.
    """

    sparsity: float
    coding_weight: float
    neighbor_weight: float
    spectral_weight: float
    assignment_weight: float
    joint: bool
    graph_on: str
    n_neighbors: int
    n_layers: int
    refresh_every: int

    def is_time_to_refresh(self, epoch: int) -> bool:
        """Whether the landmarks' graph is computed again before an epoch."""
        since = epoch - self.warmup_epochs
        return since > 0 and since % self.refresh_every == 0
