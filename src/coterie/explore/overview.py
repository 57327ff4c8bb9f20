"""All clusters at a glance: the columns that tell them apart, and the merges of the tree above them."""

# k clusters, d columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.explore.model_sample import ClusterMeans

if TYPE_CHECKING:
    from coterie.graph.levels import Levels

_MOST_COLUMNS = 24


@dataclass(frozen=True)
class Heat:
    """How far the mean of each cluster lies from the mean of all rows.

    Attributes
    ----------
    columns : list of (str, str)
        View and name, those of one cluster's peak next to each other.
    cells : ndarray of shape (k, columns)
        In standard deviations over all rows.
    means : ndarray of shape (k, columns)
        In the units of the columns; NaN for a cluster without rows.
    """

    columns: list[tuple[str, str]]
    cells: NDArray[np.float64]
    means: NDArray[np.float64]


def heat_map(
    means: Sequence[tuple[str, Sequence[str], ClusterMeans]], order: Sequence[int], most: int = _MOST_COLUMNS
) -> Heat:
    """Return the columns that differ most between clusters, by their largest distance from the mean of all rows.

    Parameters
    ----------
    means : sequence of (str, sequence of str, ClusterMeans)
        Of each view: its name, its columns, and their means.
    order : sequence of int
        The clusters from top to bottom.
    most : int

    Examples
    --------
    >>> rows = ClusterMeans(2, 2)
    >>> rows.add(np.array([[0.0, 5.0], [2.0, 5.1]]), np.array([0, 1]), np.ones(2))
    >>> heat_map([("table", ["age", "size"], rows)], [0, 1], most=1).cells
    array([[-1.],
           [ 1.]])
    """
    columns, cells, centres = [], [], []
    for view, names, of_view in means:
        inside = of_view.of_clusters()
        mean, deviation = of_view.spread()
        columns += [(view, str(name)) for name in names]
        cells.append(np.nan_to_num((inside - mean) / deviation))
        centres.append(inside)
    every, centre = np.concatenate(cells, axis=1)[list(order)], np.concatenate(centres, axis=1)[list(order)]
    best = np.argsort(-np.abs(every).max(axis=0), kind="stable")[:most]
    best = best[np.abs(every[:, best]).max(axis=0) > 0]
    peaks = np.abs(every[:, best]).argmax(axis=0)
    best = best[np.argsort(peaks, kind="stable")]
    return Heat([columns[j] for j in best], every[:, best], centre[:, best])


def merges_above(levels: Levels, n_clusters: int) -> list[tuple[int, int]]:
    """Return the merges of the tree above a level, in order: each joins the second cluster to the first.

    Examples
    --------
    >>> from coterie.graph.levels import Levels
    >>> tree = Levels(np.array([0, 1, 2]), np.array([[0, 2], [0, 1]]))
    >>> merges_above(tree, 3)
    [(0, 2), (0, 1)]
    """
    start = levels.clusters_at(n_clusters)
    leaf_of = [int(np.flatnonzero(start == c)[0]) for c in range(n_clusters)]
    alive, merges = list(range(n_clusters)), []
    for k in range(n_clusters - 1, 0, -1):
        now = levels.clusters_at(k)
        met: dict[int, int] = {}
        for c in alive:
            part = int(now[leaf_of[c]])
            if part in met:
                merges.append((met[part], c))
                alive.remove(c)
                break
            met[part] = c
    return merges


def tree_order(merges: Sequence[tuple[int, int]], n_clusters: int) -> list[int]:
    """Return clusters in an order in which no two branches of the tree cross.

    Examples
    --------
    >>> tree_order([(0, 2), (0, 1)], 3)
    [0, 2, 1]
    """
    runs = {c: [c] for c in range(n_clusters)}
    for into, gone in merges:
        runs[into] += runs.pop(gone)
    return [c for run in runs.values() for c in run]
