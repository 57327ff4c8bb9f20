"""Active learning: which rows to label next, by exploring unlabelled regions and by margin sampling."""

# n rows, s sampled rows, d columns, c classes, r regions

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans

from coterie.data import Views
from coterie.data.subsets import some_rows

_SAMPLE_ROWS = 5000
_MOST_VALUES = 2**24


class Regions:
    """A k-means partition of a sample of the rows into regions, to find regions without labels.

    A model that was asked for too few clusters is confident of its mistake: none of its rows looks uncertain. Only a
    question about a region far from all labels reveals it.

    Attributes
    ----------
    rows : ndarray of shape (s,)
        The sampled rows.
    region : ndarray of shape (s,)
        The region of each.
    medoids : ndarray of shape (r,)
        The sampled row nearest to the centre of each region, as a position in `rows`.
    """

    def __init__(self, data: Views, n_regions: int, seed: int = 0) -> None:
        most = max(2, min(_SAMPLE_ROWS, _MOST_VALUES // sum(data.dims)))
        self.rows = some_rows(data.n_rows, min(most, data.n_rows), seed)
        table = concatenate_views(data.read(self.rows))
        n_distinct = len(np.unique(table, axis=0))
        clustering = KMeans(max(1, min(n_regions, n_distinct)), n_init=2, random_state=seed).fit(table)
        self.region = clustering.labels_
        self.medoids = clustering.transform(table).argmin(axis=0)

    def unlabelled(self, reach: np.ndarray, labelled: np.ndarray) -> np.ndarray:
        """Return the medoids of regions without a label, large regions that labels hardly reach first.

        `reach`, (s,), is how strongly labels reach the sampled rows; `labelled`, (n,), the rows with a label.
        """
        covered = np.zeros(len(self.medoids), dtype=bool)
        covered[self.region[labelled[self.rows]]] = True
        covered |= labelled[self.rows[self.medoids]]
        sizes = np.bincount(self.region, minlength=len(self.medoids))
        typical = [
            np.median(reach[self.region == r]) if sizes[r] else np.inf for r in range(len(self.medoids))
        ]
        priority = sizes / np.maximum(typical, np.finfo(float).tiny)
        order = np.argsort(-priority, kind="stable")
        return self.rows[self.medoids[order[~covered[order]]]]


def concatenate_views(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate views (s, d), each centred and scaled to the same total variance.

    Examples
    --------
    >>> concatenate_views([np.array([[0.0], [2.0]]), np.array([[0.0, 0.0], [30.0, 40.0]])]).round(2)
    array([[-1. , -0.6, -0.8],
           [ 1. ,  0.6,  0.8]])
    """
    return np.concatenate([_standardised(block) for block in blocks], axis=1)


def _standardised(block: np.ndarray) -> np.ndarray:
    centred = block - block.mean(axis=0, dtype=np.float64)
    size = np.sqrt((centred**2).sum() / len(block))
    return centred / size if size > 0 else centred


def interleave(first: np.ndarray, second: np.ndarray, most: int) -> np.ndarray:
    """Return entries of two arrays in turn, without duplicates.

    Examples
    --------
    >>> interleave(np.array([1, 2, 3]), np.array([9, 1, 8]), 4)
    array([1, 9, 2, 3])
    """
    mixed = [entry for pair in zip(first.tolist(), second.tolist(), strict=False) for entry in pair]
    rest = [*first[len(second) :].tolist(), *second[len(first) :].tolist()]
    return np.array(list(dict.fromkeys([*mixed, *rest]))[:most], dtype=np.int64)


def uncertain_rows(memberships: np.ndarray, place: np.ndarray, labelled: np.ndarray, most: int) -> np.ndarray:
    """Return rows by margin sampling: the smallest margin first, the classes in turn, no two rows at one place.

    The margin is the difference of the two largest memberships, (n, c). `place`, (n,), tells where a row is, such as
    its nearest anchor.

    Examples
    --------
    >>> memberships = np.array([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.9, 0.1]])
    >>> uncertain_rows(memberships, np.array([4, 4, 5, 6]), np.zeros(4, dtype=bool), 3)
    array([0, 2, 3])
    """
    if memberships.shape[1] > 1:
        second, first = np.partition(memberships, (-2, -1), axis=1)[:, -2:].T
    else:
        second = first = memberships[:, 0]
    margin = np.where(labelled, np.inf, first - second)
    least = np.full(place.max(initial=-1) + 1, np.inf)
    np.minimum.at(least, place, margin)
    order = np.flatnonzero((margin == least[place]) & ~labelled)
    order = order[np.argsort(margin[order], kind="stable")]
    order = order[np.sort(np.unique(place[order], return_index=True)[1])]  # one of each place
    labels = memberships[order].argmax(axis=1)
    turn = np.zeros(len(order), dtype=np.int64)
    for label in np.unique(labels):
        turn[labels == label] = np.arange((labels == label).sum())
    return order[np.argsort(turn, kind="stable")][:most]
