"""From data and parameters to a trained network: the parts of a run, and what is said of all rows at its end."""

# n rows, s rows of the sample, V views, k clusters

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from coterie.data import Scaler, Views, as_views
from coterie.data.batches import Batches
from coterie.data.subsets import some_rows
from coterie.engine.distributed import current_collectives
from coterie.graph.compare import Comparison, compare_views
from coterie.graph.initial import join_sample, partition_views, view_agreement
from coterie.graph.outliers import scaled_rows, usable
from coterie.graph.scaling import SAMPLE_ROWS, Sample, draw_sample, fit_scaler
from coterie.methods.mvsib.network import MVSIBNetwork
from coterie.methods.mvsib.pairing import JoinedPairs
from coterie.methods.mvsib.settings import Settings
from coterie.methods.mvsib.training import Beginning, MVSIBTask
from coterie.methods.run_setup import RunParts
from coterie.ops.distributed_rows import agreed, gathered

_COUNT_ROWS = 4096


@dataclass(frozen=True)
class Parts(RunParts):
    """What a run works with.

    Attributes
    ----------
    pairs : JoinedPairs or None
    network : MVSIBNetwork
    beginning : Beginning or None
    agreement : ndarray of shape (V, V)
        How much the views agree on who is near whom.
    seen : bool
        Whether the batches hold what the encoders see, not scaled rows.
    """

    pairs: JoinedPairs | None
    network: MVSIBNetwork
    beginning: Beginning | None
    agreement: np.ndarray
    seen: bool


def counted(data: Views, idle: np.ndarray) -> Views:
    """Return the data with a mask of the views that count: zeros say nothing where a row has another view."""
    there = np.ones((data.n_rows, data.n_views), dtype=bool)
    for part in data.chunks(_COUNT_ROWS):
        known = None if data.present is None else data.present[part]
        there[part] = usable(data.read(part), known, (), idle)[0]
    return data if there.all() else as_views(data, mask=there)


def prepare(params: Mapping[str, Any], data: Views, seed: int, device: torch.device) -> Parts:
    """Fit the scaling, draw the network, search the neighbours, cut their graph."""
    generator, collectives = torch.Generator().manual_seed(seed), current_collectives()
    k = min(params["n_neighbors"], data.n_rows - 1)
    drawn = draw_sample(data, guard=False, seed=seed, generator=generator)
    scaler = fit_scaler(drawn, params["scale"], data.names, k, generator)
    sample = scaled_rows(scaler, drawn.blocks, drawn.sound)
    network = build_network(params, data.dims).prepare(sample, drawn.sound, drawn.idle, generator).to(device)
    batches = Batches(
        counted(data, drawn.idle),
        scaler,
        batch_size=params["batch_size"],
        seed=seed,
        collectives=collectives,
    )
    rows = some_rows(data.n_rows, SAMPLE_ROWS, seed)
    short, seen = condensed(batches, network)
    scaled = [view.numpy() for view in sample]
    comparison = compare_views(drawn, scaler, scaled, len(rows), generator)
    joined = join_sample(comparison, scaled, drawn.sound, k, missing=~drawn.there, collectives=collectives)
    labels = agreed(partition_views(joined, params["n_clusters"], seed=seed), collectives)

    def join(numbers: np.ndarray) -> sparse.csr_matrix:
        return joined.matrix if np.array_equal(numbers, rows) else join_shard(comparison, batches, numbers, k)

    pairs = JoinedPairs(batches, join, params["options"].n_partners)
    agree = view_agreement(comparison, joined)
    beginning = Beginning(rows, torch.from_numpy(labels).long())
    return Parts(short, torch.hstack(sample), scaler, pairs, seed, network, beginning, agree, seen)


def join_shard(
    comparison: Comparison, batches: Batches, numbers: np.ndarray, n_neighbors: int
) -> sparse.csr_matrix:
    """Return the joined graph of the rows of a shard."""
    pieces = list(batches.in_order(numbers))
    views = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    there, k = batches.views.present_rows(numbers), min(n_neighbors, len(numbers) - 1)
    return join_sample(comparison, views, there, k, collectives=batches.collectives).matrix


def prepare_more(
    params: Mapping[str, Any],
    data: Views,
    network: MVSIBNetwork,
    scaler: Scaler,
    agreement: np.ndarray,
    *,
    seed: int,
) -> Parts:
    """Take new rows with the network and the scaling of an earlier run."""
    generator, collectives = torch.Generator().manual_seed(seed), current_collectives()
    idle = network.idle.cpu().numpy()
    batches = Batches(
        counted(data, idle), scaler, batch_size=params["batch_size"], seed=seed, collectives=collectives
    )
    rows = some_rows(data.n_rows, SAMPLE_ROWS, seed)
    blocks, there = data.read(rows), batches.views.present_rows(rows)
    sample = [torch.from_numpy(view) for view in batches.read(rows)]
    k = min(params["n_neighbors"], data.n_rows - 1)
    pairs = None
    if k >= 1:
        drawn = Sample(blocks, there, there, np.zeros_like(there), [], idle)
        scaled = [view.numpy() for view in sample]
        comparison = compare_views(drawn, scaler, scaled, len(rows), generator)
        pairs = JoinedPairs(
            batches, lambda numbers: join_shard(comparison, batches, numbers, k), params["options"].n_partners
        )
    short, seen = condensed(batches, network)
    return Parts(short, torch.hstack(sample), scaler, pairs, seed, network, None, agreement, seen)


def condensed(batches: Batches, network: MVSIBNetwork) -> tuple[Batches, bool]:
    """Return batches of what the encoders see, kept in memory, and True, where that saves work; else as they are.

    Wide or sparse rows would be made dense, scaled and turned to their axes again in every epoch.
    """
    views, together = batches.views, batches.collectives
    if not views.in_memory or network.n_seen >= sum(views.dims):
        return batches, False
    pieces = []
    for rows in batches.in_order():
        tensors = [torch.from_numpy(view).to(network.centers.device) for view in rows]
        pieces.append([one.cpu().numpy() for one in network.see(tensors)])
    whole = [gathered(np.concatenate(parts), views.n_rows, together) for parts in zip(*pieces, strict=True)]
    seen = as_views(whole, mask=views.present)
    seen.check()  # else every batch would be searched for missing rows
    plain = Scaler("none").fit(seen)
    short = Batches(seen, plain, batch_size=batches.batch_size, seed=batches.seed, collectives=together)
    return short, True


def build_network(params: Mapping[str, Any], dims: tuple[int, ...]) -> MVSIBNetwork:
    """Return the network with all its buffers, untrained."""
    return MVSIBNetwork(dims, params["hidden"], params["n_code"], params["n_clusters"])


def make_task(params: Mapping[str, Any], parts: Parts) -> MVSIBTask:
    """Return the task that trains the network."""
    return MVSIBTask(
        parts.network,
        Settings.resolve(params, parts.batches.per_epoch),
        parts.batches,
        pairs=parts.pairs,
        beginning=parts.beginning,
        seen=parts.seen,
        seed=parts.seed,
        collectives=parts.batches.collectives,
    )
