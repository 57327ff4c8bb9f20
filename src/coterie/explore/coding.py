"""What a model of sparse codes says: the atoms of each cluster, and how well rows are written."""

# n rows, m atoms, k clusters

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.landmarks import LandmarkGraph, read_graph
from coterie.explore.pictures import ImageLayout, to_pixels
from coterie.explore.projection import project
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


@dataclass(frozen=True)
class Entry:
    """What an atom adds to one feature of a row, in the units of the scaled data."""

    view: str
    name: str
    weight: float


@dataclass(frozen=True)
class Atom:
    """An atom that a cluster uses more than others do.

    Attributes
    ----------
    number : int
        Its place in the code.
    use : float
        Its mean absolute weight in the rows of the cluster.
    ratio : float or None
        That over its mean in all other rows; infinite when they do not use it, None when there are none.
    pixels : ndarray of uint8 or None
        The atom as an image, when rows are images: black negative, grey zero, white positive.
    entries : list of Entry
        What it adds to features that are not pixels, the largest first.
    """

    number: int
    use: float
    ratio: float | None
    pixels: NDArray[np.uint8] | None
    entries: list[Entry]


@dataclass(frozen=True)
class Spread:
    """How a share is spread over the rows.

    Attributes
    ----------
    median : float
    counts : ndarray of shape (bins,)
        Rows in equal steps from 0 to 1; what is above 1 is in the last.
    above : int
        How many are above 1.
    """

    median: float
    counts: NDArray[np.float64]
    above: int


@dataclass(frozen=True)
class WrittenRow:
    """A row, its cluster, what its code leaves of it, and the share of zeros in its code."""

    row: int
    cluster: int
    error: float
    zeros: float


@dataclass(frozen=True)
class Coding:
    """All of it.

    Attributes
    ----------
    atoms : list of list of Atom
        Per cluster, those that set it apart first; none for an empty cluster.
    zeros, errors : Spread
        Share of zeros in the codes, and what the codes leave of the rows as a share of their length.
    worst : list of WrittenRow
        The rows with the largest errors, largest first.
    graph : LandmarkGraph
    """

    atoms: list[list[Atom]]
    zeros: Spread
    errors: Spread
    worst: list[WrittenRow]
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
    """Collect what a model says about its codes; None for a model without atoms.

    Parameters
    ----------
    model : estimator
        Asked for `atoms_`, `atom_use_`, `sparsity_`, `reconstruction_`, `landmark_graph_`, `landmark_places_`
        and `landmark_labels_`.
    table : Table
        The data, for the names of views and features.
    labels : ndarray of shape (n,)
        The clusters of the rows.
    layout : ImageLayout or None
        How the values of a row make an image, when rows are images.
    embedding, random_state
        How landmarks are laid out, see `coterie.explore.projection.project`.
    """
    if not hasattr(model, "atoms_"):
        return None
    zeros, errors = np.asarray(model.sparsity_), np.asarray(model.reconstruction_)
    worst = np.argsort(-errors, kind="stable")[:_WORST_ROWS].tolist()
    return Coding(
        atoms=_read_atoms(model, table, labels, layout),
        zeros=_spread(zeros),
        errors=_spread(errors),
        worst=[WrittenRow(i, int(labels[i]), float(errors[i]), float(zeros[i])) for i in worst],
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
    """Return the atoms that a cluster uses most, compared with all other rows.

    Parameters
    ----------
    use : ndarray of shape (k, m)
        Mean absolute weight of each atom in each cluster.
    sizes : ndarray of shape (k,)
        Rows of each cluster.
    cluster : int
        The cluster.
    count : int
        The most atoms to return.

    Returns
    -------
    list of (int, float or None)
        Number of the atom and how many times as much it is used as elsewhere, largest first. Atoms that are
        used hardly more than elsewhere are left out, and those below a tenth of the cluster's most used one.

    Examples
    --------
    >>> top_atoms(np.array([[0.75, 0.2, 0.3], [0.25, 0.2, 0.0]]), np.array([5, 5]), 0)
    [(2, inf), (0, 3.0)]
    """
    mine = use[cluster].astype(np.float64)
    enough = (mine > 0) & (mine >= _LEAST_USE * mine.max())
    others = np.where(np.arange(len(sizes)) == cluster, 0, sizes)
    if others.sum() == 0:
        order = np.argsort(-mine, kind="stable")
        return [(int(j), None) for j in order if enough[j]][:count]
    elsewhere = others @ use.astype(np.float64) / others.sum()
    ratio = np.divide(mine, elsewhere, out=np.full(len(mine), np.inf), where=elsewhere > 0)
    # Among atoms that no other row uses, the most used comes first.
    order = np.lexsort((-mine, -ratio))
    return [(int(j), float(ratio[j])) for j in order if enough[j] and ratio[j] >= _LEAST_RATIO][:count]


def _read_atoms(
    model: Any, table: Table, labels: NDArray[np.integer], layout: ImageLayout | None
) -> list[list[Atom]]:
    parts = [
        np.asarray(part) for part in (model.atoms_ if isinstance(model.atoms_, list) else [model.atoms_])
    ]
    use = np.asarray(model.atom_use_)
    sizes = np.bincount(labels, minlength=len(use))
    chosen = [top_atoms(use, sizes, c) if sizes[c] else [] for c in range(len(use))]
    picture_view = None if layout is None else table.view_of_size(layout.size)
    pixels: dict[int, NDArray[np.uint8]] = {}
    if layout is not None and picture_view is not None:
        shown = sorted({number for atoms in chosen for number, _ in atoms})
        pixels = _draw(parts[picture_view], shown, layout)
    return [
        [
            Atom(j, float(use[c, j]), ratio, pixels.get(j), _entries(parts, j, table, skip=picture_view))
            for j, ratio in atoms
        ]
        for c, atoms in enumerate(chosen)
    ]


def _draw(atoms: NDArray[np.floating], shown: list[int], layout: ImageLayout) -> dict[int, NDArray[np.uint8]]:
    """Draw atoms with one scale of brightness for all, in which grey is zero."""
    if not shown:
        return {}
    bright = float(np.percentile(np.abs(atoms[shown]), _BRIGHTEST))
    return {j: to_pixels(atoms[j], layout, -bright, bright) for j in shown}


def _entries(
    parts: list[NDArray[np.floating]], atom: int, table: Table, *, skip: int | None = None
) -> list[Entry]:
    """Return the largest entries of an atom over all views but `skip`."""
    found = [
        Entry(view, str(table.feature_names[v][j]), float(parts[v][atom, j]))
        for v, (view, _) in enumerate(table.views)
        if v != skip
        for j in np.argsort(-np.abs(parts[v][atom]), kind="stable")[:_ENTRIES]
        if parts[v][atom, j] != 0
    ]
    return sorted(found, key=lambda entry: -abs(entry.weight))[:_ENTRIES]
