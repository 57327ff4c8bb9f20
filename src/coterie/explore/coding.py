"""Sparse codes of a model: the atoms of each cluster, reconstruction errors, and the landmark graph."""

# n rows, m atoms, k clusters, l landmarks, e edges

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.explore.pictures import ImageLayout, to_pixels
from coterie.explore.projection import Projection, project
from coterie.explore.rows import Table

_ATOMS = 6
_ENTRIES = 4
_WORST_ROWS = 10
_BINS = 20
# An atom that a cluster hardly uses says little about it, however rare it is elsewhere.
_LEAST_USE = 0.1
# Less is written as 1.0 times, and a tie with rounding errors is no difference.
_LEAST_RATIO = 1.05
# A few extreme pixels must not make all the others grey.
_BRIGHTEST = 99
_MOST_EDGES = 3000


@dataclass(frozen=True)
class Entry:
    """What an atom adds to one feature of a row, in the units of the scaled data."""

    view: str
    name: str
    weight: float


@dataclass(frozen=True)
class Atom:
    """An atom that a cluster uses more than others do.

    `use` is its mean absolute weight in the rows of the cluster, and `ratio` that over the mean in all other rows:
    infinite when they do not use it, None when there are none. `pixels` are drawn when rows are images, black
    negative, grey zero, white positive; `entries` are its largest values in features that are not pixels.
    """

    number: int
    use: float
    ratio: float | None
    pixels: NDArray[np.uint8] | None
    entries: list[Entry]


@dataclass(frozen=True)
class Spread:
    """The median of a share over rows, and rows in equal steps from 0 to 1; those `above` 1 are in the last."""

    median: float
    counts: NDArray[np.float64]
    above: int


@dataclass(frozen=True)
class CodedRow:
    """A row, its cluster, its reconstruction error, and the share of zeros in its code."""

    row: int
    cluster: int
    error: float
    zeros: float


@dataclass(frozen=True)
class LandmarkGraph:
    """The landmark graph that was cut.

    `edges` (e, 2) are pairs of landmarks, the strongest first, not all when there are very many; `within` is the
    share of all edge weight that joins landmarks of one cluster, and `shares` (k, k) that of the edge weight at each
    cluster which leads to each other, with rows that sum to one.
    """

    projection: Projection
    labels: NDArray[np.integer]
    edges: NDArray[np.integer]
    n_edges: int
    n_components: int
    within: float
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class Coding:
    """The sparse codes of a model.

    `atoms` are those that set each cluster apart, `zeros` the share of zeros in the codes, `errors` the length of the
    residual over that of the row, and `worst` the rows with the largest errors.
    """

    atoms: list[list[Atom]]
    zeros: Spread
    errors: Spread
    worst: list[CodedRow]
    graph: LandmarkGraph


def read_coding(
    model: Any,
    table: Table,
    labels: NDArray[np.integer],
    *,
    layout: ImageLayout | None = None,
    embedding: str = "auto",
    random_state: int = 0,
) -> Coding | None:
    """Collect the atoms, codes and landmarks of a model; None for a model without atoms."""
    if not hasattr(model, "atoms_"):
        return None
    zeros, errors = np.asarray(model.sparsity_), np.asarray(model.reconstruction_)
    worst = np.argsort(-errors, kind="stable")[:_WORST_ROWS].tolist()
    return Coding(
        atoms=_read_atoms(model, table, labels, layout),
        zeros=_spread(zeros),
        errors=_spread(errors),
        worst=[CodedRow(i, int(labels[i]), float(errors[i]), float(zeros[i])) for i in worst],
        graph=read_graph(
            model.landmark_graph_,
            np.asarray(model.landmark_labels_),
            project(model.landmark_places_, embedding, random_state=random_state),
            n_clusters=len(model.atom_use_),
        ),
    )


def _spread(shares: NDArray[np.floating]) -> Spread:
    counts, _ = np.histogram(np.minimum(shares, 1), bins=_BINS, range=(0, 1))
    return Spread(float(np.median(shares)), counts.astype(np.float64), int((shares > 1).sum()))


def top_atoms(
    use: NDArray[np.floating], sizes: NDArray[np.integer], cluster: int, count: int = _ATOMS
) -> Sequence[tuple[int, float | None]]:
    """Rank the atoms of a cluster by their mean absolute weight over that in all other rows.

    `use` (k, m) has the mean absolute weights, `sizes` (k,) the rows of each cluster. Returns the number of each atom
    and its ratio, largest first. Atoms that are used hardly more than elsewhere are left out, and those below a tenth
    of the cluster's most used one.

    Examples
    --------
    >>> top_atoms(np.array([[0.75, 0.2, 0.3], [0.25, 0.2, 0.0]]), np.array([5, 5]), 0)
    [(2, inf), (0, 3.0)]
    """
    inside = use[cluster].astype(np.float64)
    enough = (inside > 0) & (inside >= _LEAST_USE * inside.max())
    others = np.where(np.arange(len(sizes)) == cluster, 0, sizes)
    if others.sum() == 0:
        order = np.argsort(-inside, kind="stable")
        return [(int(j), None) for j in order if enough[j]][:count]
    elsewhere = others @ use.astype(np.float64) / others.sum()
    ratio = np.divide(inside, elsewhere, out=np.full(len(inside), np.inf), where=elsewhere > 0)
    # Among atoms that no other row uses, the most used comes first.
    order = np.lexsort((-inside, -ratio))
    return [(int(j), float(ratio[j])) for j in order if enough[j] and ratio[j] >= _LEAST_RATIO][:count]


def _read_atoms(
    model: Any, table: Table, labels: NDArray[np.integer], layout: ImageLayout | None
) -> list[list[Atom]]:
    by_view = model.atoms_ if isinstance(model.atoms_, list) else [model.atoms_]
    by_view, use = [np.asarray(atoms) for atoms in by_view], np.asarray(model.atom_use_)
    sizes = np.bincount(labels, minlength=len(use))
    chosen = [top_atoms(use, sizes, c) if sizes[c] else [] for c in range(len(use))]
    picture_view = None if layout is None else table.view_of_size(layout.size)
    pixels: dict[int, NDArray[np.uint8]] = {}
    if layout is not None and picture_view is not None:
        numbers = sorted({number for atoms in chosen for number, _ in atoms})
        pixels = _draw(by_view[picture_view], numbers, layout)
    return [
        [
            Atom(j, float(use[c, j]), ratio, pixels.get(j), _entries(by_view, j, table, skip=picture_view))
            for j, ratio in atoms
        ]
        for c, atoms in enumerate(chosen)
    ]


def _draw(
    atoms: NDArray[np.floating], numbers: list[int], layout: ImageLayout
) -> dict[int, NDArray[np.uint8]]:
    """Draw atoms with one scale of brightness for all, in which grey is zero."""
    if not numbers:
        return {}
    bright = float(np.percentile(np.abs(atoms[numbers]), _BRIGHTEST))
    return {j: to_pixels(atoms[j], layout, -bright, bright) for j in numbers}


def _entries(
    by_view: list[NDArray[np.floating]], atom: int, table: Table, *, skip: int | None = None
) -> list[Entry]:
    """Return the largest entries of an atom over all views but `skip`."""
    entries = [
        Entry(view, str(table.feature_names[v][j]), float(by_view[v][atom, j]))
        for v, (view, _) in enumerate(table.views)
        if v != skip
        for j in np.argsort(-np.abs(by_view[v][atom]), kind="stable")[:_ENTRIES]
        if by_view[v][atom, j] != 0
    ]
    return sorted(entries, key=lambda entry: -abs(entry.weight))[:_ENTRIES]


def read_graph(
    graph: Any, labels: NDArray[np.integer], projection: Projection, *, n_clusters: int
) -> LandmarkGraph:
    """Measure how well the clusters of landmarks (l,) cut a symmetric graph (l, l); loops do not count."""
    upper = sparse.triu(graph, k=1).tocoo()
    edges = upper.data > 0
    ends, weights = np.stack([upper.row, upper.col], axis=1)[edges], upper.data[edges].astype(np.float64)
    between = np.zeros((n_clusters, n_clusters))
    np.add.at(between, (labels[ends[:, 0]], labels[ends[:, 1]]), weights)
    between += between.T
    total = between.sum(axis=1, keepdims=True)
    strongest = np.argsort(-weights, kind="stable")[:_MOST_EDGES]
    return LandmarkGraph(
        projection=projection,
        labels=labels,
        edges=ends[strongest],
        n_edges=len(ends),
        n_components=int(connected_components(graph, directed=False)[0]),
        within=float(between.trace() / between.sum()) if len(ends) else 1.0,
        shares=np.divide(between, total, out=np.zeros_like(between), where=total > 0),
    )
