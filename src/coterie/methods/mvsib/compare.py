"""From views to inputs of the encoders: scaled batches with masks, and wide rows projected once."""

# n rows, V views

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from coterie.data import Scaler, Views, as_views
from coterie.data.batches import SAMPLE_ROWS, Batches
from coterie.data.subsets import some_rows
from coterie.engine.distributed import current_collectives
from coterie.graph.model import MAX_ROWS, ReferenceRows, build_graph
from coterie.graph.outliers import usable
from coterie.methods.mvsib.network import MVSIBNetwork, build_network
from coterie.methods.mvsib.options import MVSIBSettings
from coterie.methods.run_setup import fingerprint
from coterie.ops.distributed_rows import gathered

_COUNT_ROWS = 4096


@dataclass(frozen=True)
class EncoderInputs:
    """Rows as the encoders take them."""

    batches: Batches  # projected rows where they are kept in memory, else scaled rows
    projected: bool

    def fingerprint(self) -> list[object]:
        """Return what tells these rows from others."""
        return fingerprint(self.batches, torch.from_numpy(self.batches.sample()))


def join_views(data: Views, settings: MVSIBSettings, seed: int) -> ReferenceRows:
    """Compare the rows in each view and in all views concatenated, and join their neighbours to one graph."""
    return build_graph(
        data,
        scale=settings.scale,
        n_neighbors=settings.n_neighbors,
        max_rows=max(MAX_ROWS, settings.n_clusters),
        seed=seed,
        collectives=current_collectives(),
    )


def scale_rows(data: Views, scaler: Scaler, idle: np.ndarray, batch_size: int, seed: int) -> Batches:
    """Return batches of scaled rows, with a mask of the views that count."""
    return Batches(
        counted(data, idle), scaler, batch_size=batch_size, seed=seed, collectives=current_collectives()
    )


def counted(data: Views, idle: np.ndarray) -> Views:
    """Return the data with a mask of the views that count: zeros do not where a row has another view."""
    there = np.ones((data.n_rows, data.n_views), dtype=bool)
    for part in data.chunks(_COUNT_ROWS):
        known = None if data.present is None else data.present[part]
        there[part] = usable(data.read(part), known, (), idle)[0]
    return data if there.all() else as_views(data, mask=there)


def draw_network(settings: MVSIBSettings, batches: Batches, idle: np.ndarray) -> MVSIBNetwork:
    """Return a network with its projections fitted to a sample of scaled rows and its weights drawn."""
    rows = some_rows(batches.views.n_rows, SAMPLE_ROWS, batches.seed)
    # Copies that torch allocates: products of arrays that lie elsewhere in memory may round differently.
    sample = [torch.tensor(view) for view in batches.read(rows)]
    network = build_network(settings, batches.views.dims)
    generator = torch.Generator().manual_seed(batches.seed)
    return network.draw(sample, batches.views.present_rows(rows), idle, generator)


def project_rows(batches: Batches, network: MVSIBNetwork) -> EncoderInputs:
    """Return the encoders' inputs, projected and kept in memory where that saves work; else scaled rows.

    Wide or sparse rows would be made dense, scaled and projected again in every epoch.
    """
    views, collectives = batches.views, batches.collectives
    if not views.in_memory or network.n_inputs >= sum(views.dims):
        return EncoderInputs(batches, projected=False)
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
    kept = Batches(inputs, plain, batch_size=batches.batch_size, seed=batches.seed, collectives=collectives)
    return EncoderInputs(kept, projected=True)
