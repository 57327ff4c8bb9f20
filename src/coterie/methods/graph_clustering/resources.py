"""What `coterie fit` with `GraphClustering` will need: seconds of one core, memory and disk, from rows and columns.

A few counts say how the work grows. The constants they are multiplied with were fitted to one half of the sets of
``python -m benchmarks resources`` and checked on the other. The search for the number of clusters is not counted.
"""

# n rows, d columns of all views, g rows in the graph, l layers, p axes in which rows are compared

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coterie.graph.model import MAX_ROWS
from coterie.graph.neighbours import EXACT_ROWS
from coterie.methods.drift import sample_rows

_AXES = 256
_LEAST_GRAPH = 1000
_MARGIN = 1.25
"""A plan keeps this much below a limit: estimates are not exact."""

SECONDS: Mapping[str, float] = {"start": 8.63, "values": 1.29e-06, "graph": 0.00016}
MEMORY: Mapping[str, float] = {
    "start": 480000000.0,
    "rows": 6.23,
    "axes": 0.426,
    "graph": 2180.0,
    "labels": 249.0,
}
DISK: Mapping[str, float] = {"start": 70900.0, "axes": 1.46, "bases": 3.59, "labels": 80.5}


class Size(NamedTuple):
    """The size of a fit.

    Attributes
    ----------
    n_rows : int
    dims : sequence of int
        Columns of each view.
    max_rows : int
    in_memory : bool
        Whether all rows are read into memory.
    """

    n_rows: int
    dims: Sequence[int]
    max_rows: int = MAX_ROWS
    in_memory: bool = True

    @property
    def graph_rows(self) -> int:
        """Rows in the graph."""
        return min(self.n_rows, self.max_rows)


class Needs(NamedTuple):
    """What a fit will need.

    Attributes
    ----------
    seconds : float
        Of one core.
    memory, disk : float
        Bytes.
    """

    seconds: float
    memory: float
    disk: float

    def sentence(self) -> str:
        """Say it in one sentence.

        Examples
        --------
        >>> Needs(12.3, 6.1e8, 2.2e6).sentence()
        'Needs about 12 s of one core, 0.6 GB of memory and up to 2 MB of disk.'
        """
        return (
            f"Needs about {max(1, round(self.seconds))} s of one core, {self.memory / 1e9:.1f} GB of memory and up "
            f"to {max(1, round(self.disk / 1e6))} MB of disk."
        )


def second_terms(size: Size) -> dict[str, float]:
    """Return what the seconds of a fit grow with."""
    layers, axes = _layers(size.dims)
    g = size.graph_rows
    compared = g if g <= EXACT_ROWS else g**0.5 * 64
    return {
        "start": 1.0,
        "values": size.n_rows * sum(size.dims),
        "search": size.n_rows * compared * axes,
        "graph": g * layers,
    }


def memory_terms(size: Size) -> dict[str, float]:
    """Return what the peak memory of a fit grows with."""
    layers, axes = _layers(size.dims)
    return {
        "start": 1.0,
        "rows": 4 * size.n_rows * sum(size.dims) * size.in_memory,
        "axes": 4 * size.graph_rows * axes,
        "graph": size.graph_rows * layers,
        "labels": size.n_rows,
    }


def disk_terms(size: Size) -> dict[str, float]:
    """Return what the files of a run grow with."""
    _, axes = _layers(size.dims)
    return {
        "start": 1.0,
        "axes": 4 * size.graph_rows * axes,
        "bases": 4 * sum(d * min(d, _AXES) for d in size.dims),
        "sample": 4 * sample_rows(size.n_rows, sum(size.dims)) * sum(size.dims),
        "labels": size.n_rows,
    }


def estimate(size: Size) -> Needs:
    """Estimate what a fit will need."""
    return Needs(
        total(SECONDS, second_terms(size)),
        total(MEMORY, memory_terms(size)),
        total(DISK, disk_terms(size)),
    )


def keep_within(size: Size, memory: float, *, on_disk: bool) -> Size | None:
    """Return how a fit keeps within so many bytes of memory; None where it cannot.

    Rows that are on disk stay there if need be, and then the graph has fewer rows.
    """
    if _MARGIN * estimate(size).memory <= memory:
        return size
    if on_disk:
        size = size._replace(in_memory=False)
    while _MARGIN * estimate(size).memory > memory:
        if size.graph_rows <= _LEAST_GRAPH:
            return None
        size = size._replace(max_rows=max(_LEAST_GRAPH, size.graph_rows // 2))
    return size


def _layers(dims: Sequence[int]) -> tuple[int, int]:
    """Return the number of layers of the graph, and the sum of the axes in them: a view each, and all together."""
    axes = [min(d, _AXES) for d in dims]
    return (1, axes[0]) if len(dims) == 1 else (len(dims) + 1, 2 * sum(axes))


def total(constants: Mapping[str, float], terms: Mapping[str, float]) -> float:
    """Return the sum of constants times terms."""
    return sum(constant * terms[name] for name, constant in constants.items())
