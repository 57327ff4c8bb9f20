"""How rows are compared: maps into layers, tables in which Euclidean distance is the distance that is meant.

One view has one layer. Several views have one layer each, and one more for all of them concatenated.
"""

# b rows, v views, l layers, d columns of a view, r columns of a layer

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from coterie.data import Scaler, Views
from coterie.data.subsets import some_rows
from coterie.graph.concatenation import Concatenation
from coterie.graph.metric import MetricChoice, MetricSpace, fit_metric
from coterie.graph.outliers import Guard, usable
from coterie.graph.scaling import Sample, draw_sample, fit_scaler, fit_table_scaler
from coterie.nn.forward import passes
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.ops.pca import principal_axes
from coterie.store import below

_METRIC_ROWS = 5000
_AXES = 256
_HELD = 0.95
_MOST_VALUES = 5 * 10**7
_MANY_AXES = 1024


class Layers(NamedTuple):
    """Rows in every layer.

    Attributes
    ----------
    tables : list of ndarray of shape (b, r), float32
        One a layer.
    there : ndarray of bool, shape (b, l)
        Where a row can be compared in a layer.
    """

    tables: list[np.ndarray]
    there: np.ndarray


@dataclass
class Projection:
    """A metric space and the principal axes along which rows are compared in it; None leaves a step out."""

    space: MetricSpace | None
    axes: Tensor | None

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (b, r) as they are compared; a row comes out the same alone as in a batch."""
        if self.space is None and self.axes is None:
            return rows
        width = rows.shape[1] if self.axes is None else self.axes.shape[1]
        compared = np.empty((len(rows), width), dtype=np.float32)
        start = 0
        with torch.no_grad():
            for part, size in passes(torch.from_numpy(rows)):
                values = part if self.space is None else self.space(part)
                values = values if self.axes is None else values @ self.axes
                compared[start : start + size] = values[:size].numpy()
                start += size
        return compared


class Comparison:
    """Maps raw rows into layers.

    Attributes
    ----------
    scaler : Scaler
    idle : ndarray of bool, shape (v,)
        Which views never change, and are not compared.
    guards : list of Guard
        What finds corrupt rows of a view; none for a single view.
    projections : list of Projection
        One for each view that is compared, and one for the concatenated views.
    concatenation : Concatenation or None
    metric : MetricChoice or None
        How a single view is compared.
    """

    def __init__(
        self,
        scaler: Scaler,
        idle: np.ndarray,
        guards: Sequence[Guard],
        projections: Sequence[Projection],
        concatenation: Concatenation | None,
        metric: MetricChoice | None,
    ) -> None:
        self.scaler, self.idle, self.guards = scaler, idle, list(guards)
        self.projections, self.concatenation, self.metric = list(projections), concatenation, metric

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return len(self.projections)

    @property
    def views(self) -> list[int]:
        """The views that are compared."""
        return [int(v) for v in np.flatnonzero(~self.idle)]

    def layer_weights(self) -> np.ndarray:
        """Return the weight of each layer, (l,): 1 a view, and half as much as all of them for the concatenated."""
        n_views = len(self.views)
        return np.array([1.0] * n_views + ([n_views / 2] if self.concatenation is not None else []))

    def scaled(
        self, blocks: Sequence[np.ndarray], present: np.ndarray
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the scaled rows of the compared views, and where a view of a row counts, (b, compared views)."""
        counts = usable(blocks, present, self.guards, self.idle)[0] if len(self.idle) > 1 else present
        scaled = self.scaler.transform(blocks, counts)
        return [scaled[v] for v in self.views], counts[:, self.views]

    def layers(self, scaled: Sequence[np.ndarray], there: np.ndarray) -> Layers:
        """Return scaled rows in every layer; only rows with every view are there in the concatenated one."""
        tables = [project(rows) for project, rows in zip(self.projections, scaled, strict=False)]
        if self.concatenation is None:
            return Layers(tables, there)
        tables.append(self.concatenated(scaled))
        return Layers(tables, np.column_stack([there, there.all(axis=1)]))

    def concatenated(self, scaled: Sequence[np.ndarray]) -> np.ndarray:
        """Return all views of scaled rows as one table, (b, r)."""
        assert self.concatenation is not None
        table = self.concatenation.table([torch.from_numpy(rows) for rows in scaled]).numpy()
        return self.projections[-1](table)

    # Saving

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything that was learned as JSON values and arrays."""
        arrays = {f"scaler.{name}": array for name, array in self.scaler.state().items()}
        for i, guard in enumerate(self.guards):
            arrays |= module_arrays(f"guard{i}.", guard)
        for i, project in enumerate(self.projections):
            if project.space is not None:
                arrays |= module_arrays(f"space{i}.", project.space)
            if project.axes is not None:
                arrays[f"axes{i}"] = project.axes.numpy()
        if self.concatenation is not None:
            arrays |= module_arrays("concatenation.", self.concatenation)
        values = {
            "scale": list(self.scaler.modes_),
            "idle": self.idle.tolist(),
            "guards": [list(guard.prototypes.shape) for guard in self.guards],
            "projections": len(self.projections),
            "metric": None if self.metric is None else self.metric.as_values(),
        }
        return values, arrays

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], arrays: dict[str, np.ndarray], dims: Sequence[int]
    ) -> Comparison:
        """Take back what `state` gave, for views of these numbers of columns."""
        idle = np.array(values["idle"], dtype=bool)
        metric = None if values["metric"] is None else MetricChoice.from_values(values["metric"])
        scaler = Scaler.from_state(values["scale"], below("scaler.", arrays))
        n_projections = int(values["projections"])
        with unfilled():
            guards = [Guard(*shape) for shape in values["guards"]]
            spaces = [
                MetricSpace(metric.kind, dims[0]) if metric is not None else None
                for _ in range(n_projections)
            ]
            several = n_projections > int((~idle).sum())
            concatenation = (
                Concatenation([d for d, out in zip(dims, idle, strict=True) if not out]) if several else None
            )
        for i, guard in enumerate(guards):
            load_arrays(f"guard{i}.", guard, arrays)
        for i, space in enumerate(spaces):
            if space is not None:
                load_arrays(f"space{i}.", space, arrays)
        if concatenation is not None:
            load_arrays("concatenation.", concatenation, arrays)
        axes = [
            torch.tensor(arrays[f"axes{i}"]) if f"axes{i}" in arrays else None for i in range(n_projections)
        ]
        projections = [Projection(space, own) for space, own in zip(spaces, axes, strict=True)]
        return cls(scaler, idle, guards, projections, concatenation, metric)


def fit_comparison(
    data: Views, *, scale: Any = "auto", metric: str = "auto", n_neighbors: int, seed: int
) -> Comparison:
    """Choose how rows are compared, from a sample and without labels.

    One view is scaled where a few columns drown the others, and compared by the metric and along the principal axes
    under which neighbours of neighbours are neighbours most often. Several views get the scalings under which they
    agree most on who is near whom; a view that never changes is left out.

    Parameters
    ----------
    data : Views
        Checked.
    scale : "auto", or what `Scaler` takes
    metric : {"auto", "euclidean", "correlation", "whitened"}
        Of a single view.
    n_neighbors : int
    seed : int

    Examples
    --------
    >>> from coterie.data import as_views
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> fit_comparison(as_views(rows), n_neighbors=5, seed=0).metric.kind
    'euclidean'
    """
    generator = torch.Generator().manual_seed(seed)
    k = max(1, min(n_neighbors, data.n_rows - 1))
    if data.n_views == 1:
        return _one_view(data, scale, metric, k, seed, generator)
    drawn = draw_sample(data, guard=True, seed=seed, generator=generator)
    scaler = fit_scaler(drawn, scale, data.names, k, generator)
    scaled = scaler.transform(drawn.blocks, drawn.sound)
    return compare_views(drawn, scaler, scaled, data.n_rows, generator)


def compare_views(
    sample: Sample, scaler: Scaler, scaled: Sequence[np.ndarray], n_rows: int, generator: torch.Generator
) -> Comparison:
    """Return the comparison of views that a scaler brings to a common scale, each alone and all concatenated.

    Parameters
    ----------
    sample : Sample
    scaler : Scaler
        Fitted.
    scaled : sequence of ndarray of shape (s, d)
        The views of the sample, scaled.
    n_rows : int
        Of all the data.
    generator : torch.Generator
    """
    idle = sample.idle if not sample.idle.all() else np.zeros_like(sample.idle)
    used = [int(v) for v in np.flatnonzero(~idle)]
    views = [torch.from_numpy(scaled[v]) for v in used]
    projections = [
        Projection(None, wide_axes(view[torch.from_numpy(sample.sound[:, v])], n_rows, generator))
        for v, view in zip(used, views, strict=True)
    ]
    concatenation = None
    if len(used) > 1:
        concatenation = Concatenation([view.shape[1] for view in views])
        concatenation.fit(views, torch.from_numpy(sample.sound[:, used]))
        table = concatenation.table(views)[torch.from_numpy(sample.complete)]
        projections.append(Projection(None, wide_axes(table, n_rows, generator)))
    return Comparison(scaler, idle, sample.guards, projections, concatenation, None)


def _one_view(
    data: Views, scale: Any, metric: str, k: int, seed: int, generator: torch.Generator
) -> Comparison:
    sample = data.select(some_rows(data.n_rows, 4 * _METRIC_ROWS, seed))
    scaler = fit_table_scaler(sample, scale)
    numbers = some_rows(data.n_rows, _METRIC_ROWS, seed)
    rows = torch.from_numpy(scaler.transform(data.read(numbers))[0])
    choice = fit_metric(rows, metric, k, generator)
    space = MetricSpace(choice.kind, rows.shape[1]).fit(rows)
    axes = principal_axes(space(rows), choice.n_axes, generator=generator)
    return Comparison(scaler, np.zeros(1, dtype=bool), [], [Projection(space, axes)], None, choice)


def wide_axes(rows: Tensor, n_rows: int, generator: torch.Generator) -> Tensor | None:
    """Return principal axes (d, r) for a wide view, or None where its columns are compared as they are.

    Wide rows are compared along 256 axes where these hold 95 % of the variance. Words and links lose their neighbours
    along so few; then all columns count, or 1,024 axes where the data would not fit.
    """
    if rows.shape[1] <= _AXES or len(rows) < 2:
        return None
    centred = rows - rows.mean(0)
    axes = principal_axes(centred, _AXES, generator=generator)
    variance = centred.square().sum().clamp(min=torch.finfo(rows.dtype).tiny)
    if (centred @ axes).square().sum() >= _HELD * variance:
        return axes
    if n_rows * rows.shape[1] <= _MOST_VALUES or rows.shape[1] <= _MANY_AXES:
        return None
    return principal_axes(centred, _MANY_AXES, generator=generator)
