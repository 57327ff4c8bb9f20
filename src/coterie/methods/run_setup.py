"""What the runs of methods that train on rows and their neighbours have in common."""

# D features

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from torch import Tensor

from coterie.data import Scaler
from coterie.data.batches import Batches
from coterie.engine.schedule import ENOUGH_EPOCHS, LEAST_STEPS, auto_epochs
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.options import Options


@dataclass(frozen=True)
class RunParts:
    """What a run works with, whatever the network.

    Attributes
    ----------
    batches : Batches
    sample : Tensor of shape (at most 5000, D)
        Scaled rows, for what is fitted on a sample.
    scaler : Scaler
    pairs : Pairs or None
    seed : int
    """

    batches: Batches
    sample: Tensor
    scaler: Scaler
    pairs: Pairs | None
    seed: int

    def fingerprint(self) -> list[Any]:
        """Return what tells these data from others: their shape and a checksum of the sample."""
        views = self.batches.views
        return [views.n_rows, list(views.dims), zlib.crc32(self.sample.cpu().numpy().tobytes())]


@dataclass(frozen=True)
class RunSettings:
    """What every training needs to know, with nothing left to decide.

    Attributes
    ----------
    n_clusters : int
    max_epochs, warmup_epochs : int
        All epochs, and those of them before there are clusters.
    learning_rate : float
    options : Options
        With a `warmup`, a share of the epochs.
    """

    least_steps: ClassVar[int] = LEAST_STEPS
    """Steps of "auto" epochs on a small data set."""

    enough_epochs: ClassVar[int] = ENOUGH_EPOCHS
    """Most "auto" epochs on a larger one."""

    n_clusters: int
    max_epochs: int
    warmup_epochs: int
    learning_rate: float
    options: Options

    @classmethod
    def resolve(cls, params: Mapping[str, Any], per_epoch: int) -> Self:
        """Return the settings of a run from an estimator's parameters and the number of batches in an epoch."""
        epochs = (
            auto_epochs(per_epoch, cls.least_steps, cls.enough_epochs)
            if params["max_epochs"] == "auto"
            else params["max_epochs"]
        )
        names = {field.name for field in fields(cls)}
        chosen = {name: value for name, value in params.items() if name in names}
        warmup_epochs = round(params["options"].warmup * epochs)
        return cls(**(chosen | {"max_epochs": epochs, "warmup_epochs": warmup_epochs}))

    def in_warmup(self, epoch: int) -> bool:
        """Whether an epoch comes before there are clusters."""
        return epoch < self.warmup_epochs
