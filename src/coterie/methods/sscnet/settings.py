"""The settings of one SSCNet run, resolved from an estimator's parameters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Everything that training needs to know, with nothing left to decide.

    The names are those of the parameters of `SSCNet`, where they are explained.
    """

    n_clusters: int
    max_epochs: int
    warmup_epochs: int
    learning_rate: float
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
    n_starts: int

    def in_warmup(self, epoch: int) -> bool:
        """Whether an epoch trains the codes before there are clusters."""
        return epoch < self.warmup_epochs

    def is_time_to_refresh(self, epoch: int) -> bool:
        """Whether the landmarks' graph is computed again before an epoch."""
        since = epoch - self.warmup_epochs
        return since > 0 and since % self.refresh_every == 0
