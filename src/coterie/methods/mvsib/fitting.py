"""From data and parameters to a trained network: the parts of a run, and what is said of all rows at its end."""

# n rows, s rows of the sample, V views, k clusters

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import Collectives
from coterie.data import Scaler, Views, as_views
from coterie.data.batches import Batches
from coterie.data.subsets import some_rows
from coterie.engine.distributed import current_collectives
from coterie.methods.mvsib.network import MVSIBNetwork
from coterie.methods.mvsib.pairing import JoinedPairs
from coterie.methods.mvsib.settings import Settings
from coterie.methods.mvsib.training import Beginning, MVSIBTask
from coterie.methods.parts import RunParts
from coterie.graph.concatenation import Concatenation
from coterie.methods.several.first import first_partition
from coterie.graph.outliers import scaled_rows, usable
from coterie.methods.several.joined import JoinedViews, join_views
from coterie.graph.scaling import SAMPLE_ROWS, draw_sample, fit_scaler
from coterie.ops.pca import principal_axes
from coterie.ops.shares import agreed, gathered

_AXES = 256
_HELD = 0.95
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


class Neighbourhood:
    """Finds the neighbours that views name, each alone and all side by side.

    Wide rows are compared along 256 leading axes where these hold nearly all of the variance, else in all columns:
    words and links lose their neighbours among few axes (measured on cora: a start of ACC .55 instead of .65).

    Parameters
    ----------
    views : list of Tensor of shape (s, d)
        A sample of scaled rows.
    present : ndarray of bool, shape (s, V)
    idle : ndarray of bool, shape (V,)
    n_neighbors : int
    generator : torch.Generator
    collectives : Collectives

    Attributes
    ----------
    only_beside : bool
        Whether single views are not asked; False until it is set.
    """

    def __init__(
        self,
        views: list[Tensor],
        present: np.ndarray,
        idle: np.ndarray,
        n_neighbors: int,
        generator: torch.Generator,
        collectives: Collectives,
    ) -> None:
        self.collectives = collectives
        self.only_beside = False
        self.used = [int(v) for v in np.flatnonzero(~idle)]
        self.n_neighbors, self.generator = n_neighbors, generator
        chosen = [views[v] for v in self.used]
        self.beside = Concatenation([view.shape[1] for view in chosen])
        self.beside.fit(chosen, torch.from_numpy(present[:, self.used]))
        self.axes = [
            self._axes(view[torch.from_numpy(present[:, v])])
            for v, view in zip(self.used, chosen, strict=True)
        ]
        self.wide = self._axes(self.beside.table(chosen)) if len(chosen) > 1 else None

    def _axes(self, rows: Tensor) -> Tensor | None:
        if rows.shape[1] <= _AXES or len(rows) < 2:
            return None
        centred = rows - rows.mean(0)
        axes = principal_axes(centred, _AXES, generator=self.generator)
        held = (centred @ axes).square().sum() / centred.square().sum().clamp(
            min=torch.finfo(rows.dtype).tiny
        )
        return axes if held >= _HELD else None

    def join(self, views: list[Tensor], present: np.ndarray) -> JoinedViews:
        """Return the joined graph of scaled rows."""
        chosen = [views[v] for v in self.used]
        there = present[:, self.used]
        rows = [_along(view, axes) for view, axes in zip(chosen, self.axes, strict=True)]
        together = _along(self.beside.table(chosen), self.wide) if len(chosen) > 1 else None
        joined = join_views(
            rows,
            there,
            together=together,
            complete=np.asarray(there.all(axis=1)),
            n_neighbors=min(self.n_neighbors, len(present) - 1),
            generator=self.generator,
            collectives=self.collectives,
        )
        return joined.side_by_side() if self.only_beside else joined


def _along(rows: Tensor, axes: Tensor | None) -> Tensor:
    return rows if axes is None else rows @ axes


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
    scaler = fit_scaler(drawn, params["scale"], data.names, max(1, k), generator)
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
    if k < 1:
        alone = np.eye(data.n_views)
        return Parts(short, torch.hstack(sample), scaler, None, seed, network, None, alone, seen)
    around = Neighbourhood(sample, drawn.sound, drawn.idle, k, generator, collectives)
    named = around.join(sample, drawn.sound)
    joined, found = first_partition(
        named, params["n_clusters"], seek_small=params["seek_small"], generator=generator
    )
    around.only_beside = bool(agreed(np.array([int(joined is not named)]), collectives)[0])
    joined = named.side_by_side() if around.only_beside else named
    labels = agreed(found, collectives)

    def join(numbers: np.ndarray) -> JoinedViews:
        return joined if np.array_equal(numbers, rows) else join_chamber(around, batches, numbers)

    pairs = JoinedPairs(batches, join, params["n_partners"])
    whole = np.eye(data.n_views)
    whole[np.ix_(around.used, around.used)] = joined.agreement
    beginning = Beginning(rows, torch.from_numpy(labels).long())
    return Parts(short, torch.hstack(sample), scaler, pairs, seed, network, beginning, whole, seen)


def join_chamber(around: Neighbourhood, batches: Batches, numbers: np.ndarray) -> JoinedViews:
    """Return the joined graph of the rows of a chamber."""
    pieces = list(batches.in_order(numbers))
    views = [torch.from_numpy(np.concatenate(parts)) for parts in zip(*pieces, strict=True)]
    return around.join(views, batches.views.present_rows(numbers))


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
    sample = [torch.from_numpy(view) for view in batches.read(rows)]
    k = min(params["n_neighbors"], data.n_rows - 1)
    pairs = None
    if k >= 1:
        around = Neighbourhood(sample, batches.views.present_rows(rows), idle, k, generator, collectives)
        pairs = JoinedPairs(
            batches, lambda numbers: join_chamber(around, batches, numbers), params["n_partners"]
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
    return MVSIBNetwork(dims, params["hidden"], params["n_code"], params["n_axes"], params["n_clusters"])


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
