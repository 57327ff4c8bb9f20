"""The settings of one PC-X run, resolved from an estimator's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.methods.parts import RunSettings


@dataclass(frozen=True)
class Settings(RunSettings):
    """Everything that training needs to know.

    The names are those of the parameters of `PCX`, where they are explained.
    """

    init: str
    student: float
    hidden: Sequence[int]
    batch_size: int
    centroid_weight: float
    entropy_weight: float
    consistency_weight: float
    balance_weight: float
    neighbor_weight: float
    attraction: float
    relative_weights: bool
    tau: float
    burn_in: float
    hold: float
    memory: float
    centroid_update: str
    ci_unit: bool
    fixed_centroids: bool
    imbalance: bool
    smoothing: float
    code_noise: float
    reconstruction: str
    reconstruction_weight: float
    rescue: bool
    recluster_every: int | None

    @property
    def cluster_epochs(self) -> int:
        """Epochs after the warm-up."""
        return self.max_epochs - self.warmup_epochs

    def past_burn_in(self, epoch: int) -> bool:
        """Whether the entropy term and the size weights are on in an epoch."""
        return epoch - self.warmup_epochs >= self.burn_in * self.cluster_epochs

    def holds_start(self, epoch: int) -> bool:
        """Whether rows keep the clusters of the start in an epoch."""
        return epoch - self.warmup_epochs < self.hold * self.cluster_epochs

    def may_rescue(self, epoch: int) -> bool:
        """Whether a dead centroid may still be moved: not in the warm-up, nor in the last fifth of the epochs."""
        return self.rescue and not self.in_warmup(epoch) and epoch < 0.8 * self.max_epochs
