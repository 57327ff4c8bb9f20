"""Two groups of rows side by side: how they differ, what is typical of each, and what lies between them."""

# s rows compared, d width of the embedding

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.distributions import differences
from coterie.explore.model_sample import Feature
from coterie.explore.rows import Table

_MOST_ROWS = 2000
_FEATURES = 12
_TYPICAL = 6


@dataclass(frozen=True)
class Compared:
    """How two groups of rows differ.

    Attributes
    ----------
    features : list of Feature
        With the first group inside and the second elsewhere, the largest difference first.
    typical : tuple of two lists of int
        The rows of each group that are nearest to its mean in the model's embedding.
    between : list of int
        Rows of both whose places along the line through the two means are nearest to the middle.
    means : tuple of two ndarrays, or None
        Mean values of both groups in the view of pictures; None where rows are no pictures.
    """

    features: list[Feature]
    typical: tuple[list[int], list[int]]
    between: list[int]
    means: tuple[NDArray[np.float64], NDArray[np.float64]] | None


def compare_groups(
    model: Any,
    table: Table,
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    picture_view: int | None = None,
) -> Compared:
    """Compare two groups of rows that share none; of each at most 2,000 rows, evenly spaced, are read.

    Parameters
    ----------
    model : estimator
    table : Table
    first, second : ndarray of int
        Row numbers.
    picture_view : int, optional
        The view that is a picture, whose columns are not listed.
    """
    if not len(first) or not len(second):
        raise InputError("One of the two groups has no rows; choose others.")
    if len(np.intersect1d(first, second)):
        raise InputError("The two groups share rows, so they cannot be compared; choose groups that do not.")
    some = [_some(group) for group in (first, second)]
    rows = np.concatenate(some)
    order = np.argsort(rows, kind="stable")
    inside = (np.arange(len(rows)) < len(some[0]))[order]
    rows = rows[order]
    weights = np.where(inside, len(first) / len(some[0]), len(second) / len(some[1]))
    features = differences(table, rows, inside, ~inside, weights, count=_FEATURES, skip=picture_view)
    embedding = np.concatenate(
        [
            np.asarray(model.transform(table.for_model(chunk)), dtype=np.float64)
            for chunk in table.chunks(rows)
        ]
    )
    typical, between = typical_and_between(embedding, inside)
    means = None
    if picture_view is not None:
        numbers, values = table.read_view(picture_view, rows)
        has = np.isin(rows, numbers)
        both = [
            values[group[has]].mean(axis=0, dtype=np.float64)
            for group in (inside, ~inside)
            if group[has].any()
        ]
        means = (both[0], both[1]) if len(both) == 2 else None
    return Compared(
        features, (rows[typical[0]].tolist(), rows[typical[1]].tolist()), rows[between].tolist(), means
    )


def typical_and_between(
    embedding: NDArray[np.float64], inside: NDArray[np.bool_]
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], NDArray[np.intp]]:
    """Return the rows nearest to the mean of each of two groups, and those nearest to the middle between the means.

    Parameters
    ----------
    embedding : ndarray of shape (s, d)
    inside : ndarray of bool, shape (s,)
        The rows of the first group; all others are of the second.

    Examples
    --------
    >>> line = np.array([[0.0], [0.2], [4.0], [9.8], [10.0]])
    >>> (first, second), between = typical_and_between(line, np.array([True, True, False, False, False]))
    >>> int(second[0]), int(between[0])
    (3, 2)
    """
    groups = [np.flatnonzero(inside), np.flatnonzero(~inside)]
    centres = [embedding[group].mean(axis=0) for group in groups]
    nearest = [
        group[np.argsort(np.linalg.norm(embedding[group] - centre, axis=1), kind="stable")[:_TYPICAL]]
        for group, centre in zip(groups, centres, strict=True)
    ]
    way = centres[1] - centres[0]
    along = (embedding - centres[0]) @ way / max(float(way @ way), np.finfo(float).tiny)
    return (nearest[0], nearest[1]), np.argsort(np.abs(along - 0.5), kind="stable")[:_TYPICAL]


def _some(rows: NDArray[np.integer]) -> NDArray[np.int64]:
    return rows[np.unique(np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(np.int64))].astype(np.int64)
