"""What the fits of deep methods share: settings, rows as they are compared, their neighbours, the loop."""

# n rows, s rows of the sample, D features, r axes

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from coterie.data import Scaler, Views
from coterie.data.batches import Batches
from coterie.engine.distributed import current_collectives
from coterie.engine.loop import Callback, Loop, Task
from coterie.engine.schedule import (
    ENOUGH_EPOCHS,
    LEAST_STEPS,
    STREAM_RATE,
    Epochs,
    auto_epochs,
    learning_schedule,
)
from coterie.engine.stopping import Settling
from coterie.errors import InputError
from coterie.graph.initial import initial_labels
from coterie.graph.metric import MetricChoice, MetricSpace, axis_map, fit_metric
from coterie.graph.neighbour_pairs import NeighbourPairs, Pairs
from coterie.graph.projected import ProjectedRows
from coterie.graph.scaling import fit_table_scaler
from coterie.methods.options import Options
from coterie.nn.autoencoder import as_image_shape
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.distributed_rows import gathered

_SEEN_BYTES = 2**28  # of what is seen of all rows, kept for training


@dataclass(frozen=True)
class RunSettings:
    """Parameters in effect: "auto" and presets are resolved. Each method adds its own."""

    least_steps: ClassVar[int] = LEAST_STEPS
    """Gradient steps that "auto" epochs give a small data set."""

    enough_epochs: ClassVar[int] = ENOUGH_EPOCHS
    """Most "auto" epochs of a larger one."""

    stream_options: ClassVar[Mapping[str, Any]] = {}
    """Options with other values in a pass over more rows."""

    n_clusters: int
    scale: Any
    n_neighbors: int
    max_epochs: int | str
    batch_size: int
    learning_rate: float
    options: Options

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Return the settings among an estimator's parameters in effect."""
        return cls(**{field.name: params[field.name] for field in fields(cls)})

    def for_stream(self) -> Self:
        """Return the settings of a pass over more rows: one epoch at a low rate, clusters from its start."""
        no_warmup = {"warmup": 0.0} if "warmup" in self.options.names() else {}
        options = self.options.set_params(**no_warmup, **self.stream_options)
        return replace(self, max_epochs=1, learning_rate=STREAM_RATE * self.learning_rate, options=options)

    def epochs(self, per_epoch: int) -> Epochs:
        """Return how many epochs to train, given the number of batches in each."""
        total = (
            auto_epochs(per_epoch, self.least_steps, self.enough_epochs)
            if isinstance(self.max_epochs, str)
            else self.max_epochs
        )
        return Epochs(total, round(getattr(self.options, "warmup", 0.0) * total))


@dataclass(frozen=True)
class MetricSettings(RunSettings):
    """Settings of a method that compares concatenated views by one metric."""

    metric: str


@dataclass(frozen=True)
class ComparedRows:
    """Rows as a run compares them."""

    batches: Batches  # scaled rows
    sample: Tensor  # (s, D): at most 5,000 of them
    metric: MetricChoice
    seed: int
    generator: torch.Generator  # draws whatever else is fitted before training

    def fingerprint(self) -> list[Any]:
        """Return what tells these rows from others."""
        return fingerprint(self.batches, self.sample)

    def axes(self, space: MetricSpace) -> Callable[[Tensor], Tensor]:
        """Return the map from rows (n, D) to the principal axes (n, r) along which neighbours are searched."""
        return axis_map(space, self.sample.to(space.center.device), self.metric.n_axes, self.generator)

    def search_neighbours(self, axes: Callable[[Tensor], Tensor], n_neighbors: int) -> NeighbourPairs | None:
        """Return the kNN graph along axes, from which positives are drawn; None for 0 neighbours or too few rows."""
        if n_neighbors == 0 or self.batches.views.n_rows < 3:
            return None
        return NeighbourPairs(self.batches, axes, n_neighbors)

    def partition(self, axes: Callable[[Tensor], Tensor], n_clusters: int) -> np.ndarray:
        """Return the partition of the kNN graph along axes, (n,)."""
        batches = self.batches

        def read(numbers: np.ndarray) -> np.ndarray:
            pieces = (torch.from_numpy(np.hstack(views)) for views in batches.in_order(numbers))
            return np.concatenate([axes(piece).cpu().numpy() for piece in pieces])

        return initial_labels(
            read, batches.views.n_rows, n_clusters, seed=self.seed, collectives=batches.collectives
        )


def compare_rows(
    data: Views,
    settings: MetricSettings,
    seed: int,
    *,
    scaler: Scaler | None = None,
    metric: MetricChoice | None = None,
) -> ComparedRows:
    """Scale the rows and choose their metric, or keep a fitted scaler and metric."""
    generator, collectives = torch.Generator().manual_seed(seed), current_collectives()
    scaler = scaler or fit_table_scaler(data, settings.scale, collectives)
    batches = Batches(data, scaler, batch_size=settings.batch_size, seed=seed, collectives=collectives)
    sample = torch.from_numpy(batches.sample())
    metric = metric or fit_metric(sample, settings.metric, settings.n_neighbors, generator)
    return ComparedRows(batches, sample, metric, seed, generator)


@torch.no_grad()
def see_all(projection: ProjectedRows, batches: Batches, device: torch.device) -> Tensor | None:
    """Return what a network sees of all rows, (n, r), unless that is too much to keep."""
    n_rows = batches.views.n_rows
    if 4 * n_rows * projection.n_seen > _SEEN_BYTES:
        return None
    tables = (torch.from_numpy(np.hstack(views)).to(device) for views in batches.in_order())
    mine = ArrayBuilder.of(projection(table) for table in tables).joined()
    return torch.from_numpy(gathered(mine, n_rows, batches.collectives)).to(device)


def check_image_shape(
    needed_by: str, image_shape: Sequence[int] | None, n_features: int
) -> tuple[int, int, int]:
    """Return the (channels, height, width) of images with this many pixels."""
    if image_shape is None:
        raise InputError(
            f"{needed_by}='conv' needs image_shape=(height, width) or (channels, height, width)."
        )
    shape = as_image_shape(image_shape)
    if math.prod(shape) != n_features:
        raise InputError(
            f"image_shape={shape} has {math.prod(shape)} pixels, but rows have {n_features} features."
        )
    return shape


def fingerprint(batches: Batches, sample: Tensor) -> list[Any]:
    """Return what tells data from others: their shape and a checksum of a sample."""
    views = batches.views
    return [views.n_rows, list(views.dims), zlib.crc32(sample.cpu().numpy().tobytes())]


class BatchTask(Task, Protocol):
    """A task of the loop with its rows, their neighbours and its epochs."""

    @property
    def batches(self) -> Batches: ...  # noqa: D102
    @property
    def pairs(self) -> Pairs | None: ...  # noqa: D102
    @property
    def epochs(self) -> Epochs: ...  # noqa: D102


def make_loop(
    task: BatchTask,
    callbacks: Sequence[Callback] = (),
    *,
    settling: Settling | None = None,
    constant: bool = False,
) -> Loop:
    """Return the loop that trains a task on its rows, each with a neighbour as its positive.

    With `constant` the learning rate stays what it is also after a warm-up.
    """
    batches, epochs = task.batches, task.epochs
    return Loop(
        task,
        lambda epoch: batches.epoch(epoch, task.pairs),
        per_epoch=batches.per_epoch,
        max_epochs=epochs.total,
        schedule=None if constant else learning_schedule(epochs.warmup / max(1, epochs.total)),
        settling=settling,
        callbacks=callbacks,
        collectives=batches.collectives,
    )
