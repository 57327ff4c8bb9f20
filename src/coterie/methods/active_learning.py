"""Which rows a person should be asked about: those that stand for what nobody spoke of, and those that are unsure."""

# n rows, s sampled rows, d columns, c classes, r regions

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans

from coterie.data import Views
from coterie.data.subsets import some_rows

_SAMPLE = 5000
_MOST_VALUES = 2**24


class Regions:
    """The rows cut into regions, of which each has a row that stands for it.

    A model that was asked for too few clusters, or put two kinds of rows into one, is sure of its mistake: no row of
    it looks unsure. Only a question about a region far from all labels finds it.

    Parameters
    ----------
    data : Views
    n_regions : int
    seed : int

    Attributes
    ----------
    rows : ndarray of shape (s,)
        The sampled rows.
    region : ndarray of shape (s,)
        Their regions.
    centres : ndarray of shape (r,)
        The sampled row nearest to the middle of each region, as a position in `rows`.
    """

    def __init__(self, data: Views, n_regions: int, seed: int = 0) -> None:
        most = max(2, min(_SAMPLE, _MOST_VALUES // sum(data.dims)))
        self.rows = some_rows(data.n_rows, min(most, data.n_rows), seed)
        points = side_by_side(data.read(self.rows))
        distinct = len(np.unique(points, axis=0))
        found = KMeans(max(1, min(n_regions, distinct)), n_init=2, random_state=seed).fit(points)
        self.region = found.labels_
        self.centres = found.transform(points).argmin(axis=0)

    def unspoken(self, reach: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the rows that stand for regions nobody spoke of: large ones that labels hardly reach first.

        Parameters
        ----------
        reach : ndarray of shape (s,)
            How strongly labels reach the sampled rows.
        known : ndarray of bool, shape (n,)
            Rows that a person labelled.
        """
        spoken = np.zeros(len(self.centres), dtype=bool)
        spoken[self.region[known[self.rows]]] = True
        spoken |= known[self.rows[self.centres]]
        sizes = np.bincount(self.region, minlength=len(self.centres))
        middle = [
            np.median(reach[self.region == r]) if sizes[r] else np.inf for r in range(len(self.centres))
        ]
        worth = sizes / np.maximum(middle, np.finfo(float).tiny)
        order = np.argsort(-worth, kind="stable")
        return self.rows[self.centres[order[~spoken[order]]]]


def side_by_side(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Return views (s, d) as one table in which each has the same variance in all.

    Examples
    --------
    >>> side_by_side([np.array([[0.0], [2.0]]), np.array([[0.0, 0.0], [30.0, 40.0]])]).round(2)
    array([[-1. , -0.6, -0.8],
           [ 1. ,  0.6,  0.8]])
    """
    return np.concatenate([_weighed(block) for block in blocks], axis=1)


def _weighed(block: np.ndarray) -> np.ndarray:
    centred = block - block.mean(axis=0, dtype=np.float64)
    size = np.sqrt((centred**2).sum() / len(block))
    return centred / size if size > 0 else centred


def in_turn(first: np.ndarray, second: np.ndarray, most: int) -> np.ndarray:
    """Return entries of two arrays in turn, none twice.

    Examples
    --------
    >>> in_turn(np.array([1, 2, 3]), np.array([9, 1, 8]), 4)
    array([1, 9, 2, 3])
    """
    mixed = [one for pair in zip(first.tolist(), second.tolist(), strict=False) for one in pair]
    rest = [*first[len(second) :].tolist(), *second[len(first) :].tolist()]
    return np.array(list(dict.fromkeys([*mixed, *rest]))[:most], dtype=np.int64)


def worth_asking(memberships: np.ndarray, place: np.ndarray, known: np.ndarray, most: int) -> np.ndarray:
    """Return rows to ask a person about: the least sure first, the classes in turn, no two at one place.

    A row is unsure when its two largest memberships are close.

    Parameters
    ----------
    memberships : ndarray of shape (n, c)
    place : ndarray of shape (n,)
        A number for where a row is, such as its nearest anchor.
    known : ndarray of bool, shape (n,)
        Rows that need no question.
    most : int

    Examples
    --------
    >>> memberships = np.array([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.9, 0.1]])
    >>> worth_asking(memberships, np.array([4, 4, 5, 6]), np.zeros(4, dtype=bool), 3)
    array([0, 2, 3])
    """
    if memberships.shape[1] > 1:
        second, first = np.partition(memberships, (-2, -1), axis=1)[:, -2:].T
    else:
        second = first = memberships[:, 0]
    margin = np.where(known, np.inf, first - second)
    least = np.full(place.max(initial=-1) + 1, np.inf)
    np.minimum.at(least, place, margin)
    order = np.flatnonzero((margin == least[place]) & ~known)
    order = order[np.argsort(margin[order], kind="stable")]
    order = order[np.sort(np.unique(place[order], return_index=True)[1])]  # one of each place
    labels = memberships[order].argmax(axis=1)
    turn = np.zeros(len(order), dtype=np.int64)
    for label in np.unique(labels):
        turn[labels == label] = np.arange((labels == label).sum())
    return order[np.argsort(turn, kind="stable")][:most]
