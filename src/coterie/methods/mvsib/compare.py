"""From views to rows that can be compared and embedded: a scaled sample, masks, batches of the encoders' inputs."""

# n rows, s rows of the sample, V views

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from coterie.data import Scaler, Views, as_views
from coterie.data.batches import Batches
from coterie.data.subsets import some_rows
from coterie.engine.distributed import current_collectives
from coterie.graph.compare import Comparison, compare_views
from coterie.graph.outliers import scaled_rows, usable
from coterie.graph.scaling import SAMPLE_ROWS, Sample, draw_sample, fit_scaler
from coterie.methods.mvsib.network import MVSIBNetwork, build_network
from coterie.methods.mvsib.options import MVSIBSettings
from coterie.methods.run_setup import fingerprint
from coterie.ops.distributed_rows import gathered

_COUNT_ROWS = 4096


@dataclass(frozen=True)
class ScaledSample:
    """Some rows of the views and their scaling."""

    numbers: np.ndarray  # (s,): the rows of the sample
    drawn: Sample
    scaler: Scaler
    views: list[Tensor]  # (s, D_v): the scaled rows
    seed: int
    generator: torch.Generator  # draws whatever else is fitted before training

    @property
    def arrays(self) -> list[np.ndarray]:
        """The scaled rows as arrays."""
        return [view.numpy() for view in self.views]


@dataclass(frozen=True)
class ComparedViews:
    """Rows of several views as a run compares and embeds them."""

    sample: ScaledSample
    batches: Batches  # scaled rows, with a mask of the views that count
    inputs: Batches  # inputs of the encoders where they are kept in memory, else the same as `batches`
    projected: bool  # whether `inputs` are inputs of the encoders, not scaled rows
    comparison: Comparison | None  # the metric of each view; None for a single row

    def fingerprint(self) -> list[object]:
        """Return what tells these rows from others."""
        return fingerprint(self.inputs, torch.hstack(self.sample.views))


def scale_views(data: Views, settings: MVSIBSettings, seed: int) -> ScaledSample:
    """Draw a sample of the rows and choose the scaling of each view on it."""
    generator = torch.Generator().manual_seed(seed)
    drawn = draw_sample(data, guard=False, seed=seed, generator=generator)
    n_neighbors = min(settings.n_neighbors, data.n_rows - 1)
    scaler = fit_scaler(drawn, settings.scale, data.names, n_neighbors, generator)
    numbers = some_rows(data.n_rows, SAMPLE_ROWS, seed)
    return ScaledSample(
        numbers, drawn, scaler, scaled_rows(scaler, drawn.blocks, drawn.sound), seed, generator
    )


def draw_network(settings: MVSIBSettings, sample: ScaledSample) -> MVSIBNetwork:
    """Return a network with its projections fitted to the sample and its weights drawn."""
    network = build_network(settings, [view.shape[1] for view in sample.views])
    return network.draw(sample.views, sample.drawn.sound, sample.drawn.idle, sample.generator)


def compare_rows(data: Views, sample: ScaledSample, network: MVSIBNetwork, batch_size: int) -> ComparedViews:
    """Choose the metric of each view, and project the rows to the inputs of the encoders where that saves work."""
    batches = _batches(data, sample.drawn.idle, sample.scaler, batch_size, sample.seed)
    return _compared(batches, sample, network)


def compare_more(
    data: Views, scaler: Scaler, network: MVSIBNetwork, batch_size: int, seed: int
) -> ComparedViews:
    """Compare new rows with the scaling and the network of an earlier fit."""
    idle = network.idle.cpu().numpy()
    batches = _batches(data, idle, scaler, batch_size, seed)
    numbers = some_rows(data.n_rows, SAMPLE_ROWS, seed)
    present = batches.views.present_rows(numbers)
    drawn = Sample(data.read(numbers), present, present, np.zeros_like(present), [], idle)
    views = [torch.from_numpy(view) for view in batches.read(numbers)]
    generator = torch.Generator().manual_seed(seed)
    return _compared(batches, ScaledSample(numbers, drawn, scaler, views, seed, generator), network)


def _batches(data: Views, idle: np.ndarray, scaler: Scaler, batch_size: int, seed: int) -> Batches:
    return Batches(
        counted(data, idle), scaler, batch_size=batch_size, seed=seed, collectives=current_collectives()
    )


def _compared(batches: Batches, sample: ScaledSample, network: MVSIBNetwork) -> ComparedViews:
    inputs, projected = condense(batches, network)
    comparison = None
    if batches.views.n_rows > 1:
        comparison = compare_views(
            sample.drawn, sample.scaler, sample.arrays, len(sample.numbers), sample.generator
        )
    return ComparedViews(sample, batches, inputs, projected, comparison)


def counted(data: Views, idle: np.ndarray) -> Views:
    """Return the data with a mask of the views that count: zeros do not where a row has another view."""
    there = np.ones((data.n_rows, data.n_views), dtype=bool)
    for part in data.chunks(_COUNT_ROWS):
        known = None if data.present is None else data.present[part]
        there[part] = usable(data.read(part), known, (), idle)[0]
    return data if there.all() else as_views(data, mask=there)


def condense(batches: Batches, network: MVSIBNetwork) -> tuple[Batches, bool]:
    """Return batches of the encoders' inputs, kept in memory, and True, where that saves work; else as they are.

    Wide or sparse rows would be made dense, scaled and projected again in every epoch.
    """
    views, collectives = batches.views, batches.collectives
    if not views.in_memory or network.n_inputs >= sum(views.dims):
        return batches, False
    pieces = []
    for rows in batches.in_order():
        tensors = [torch.from_numpy(view).to(network.centers.device) for view in rows]
        pieces.append([view.cpu().numpy() for view in network.project(tensors)])
    whole = [
        gathered(np.concatenate(parts), views.n_rows, collectives) for parts in zip(*pieces, strict=True)
    ]
    inputs = as_views(whole, mask=views.present)
    inputs.check()  # else every batch would be searched for missing rows
    plain = Scaler("none").fit(inputs)
    return Batches(
        inputs, plain, batch_size=batches.batch_size, seed=batches.seed, collectives=collectives
    ), True
