"""How the values of a column spread in one group of rows and in another, in the column's own units."""

# s rows, d columns, b bins

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.explore.model_sample import ClusterMeans, Feature
from coterie.explore.rows import Table

_BINS = 16
_OUTER = (0.5, 99.5)
_MOSTLY_ZERO = 0.6
_FLAG = 2
_FEW_COLUMNS = 100


@dataclass(frozen=True)
class Spread:
    """Shares of two groups of rows in the same steps of a column.

    Attributes
    ----------
    marks : list of float
        The edges of the steps, or the values themselves where there are few.
    values : bool
        Whether the marks are values.
    inside, outside : list of float
        Share of each group in each step.
    """

    marks: list[float]
    values: bool
    inside: list[float]
    outside: list[float]


def spread(
    values: NDArray[np.floating],
    inside: NDArray[np.bool_],
    outside: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> Spread:
    """Return how a column (s,) spreads in two groups of rows; outliers count in the first and the last step.

    Examples
    --------
    >>> inside = np.array([True, True, False, False])
    >>> found = spread(np.array([0.0, 1.0, 1.0, 1.0]), inside, ~inside, np.ones(4))
    >>> found.marks, found.inside, found.outside
    ([0.0, 1.0], [0.5, 0.5], [0.0, 1.0])
    """
    distinct = np.unique(values)
    few = len(distinct) <= _BINS
    if few:
        marks, steps = distinct, np.searchsorted(distinct, values)
    else:
        low, high = np.percentile(values, _OUTER)
        marks = (
            np.linspace(low, high, _BINS + 1)
            if high > low
            else np.linspace(distinct[0], distinct[-1], _BINS + 1)
        )
        steps = np.clip(np.searchsorted(marks, values, side="right") - 1, 0, _BINS - 1)
    n_steps = len(distinct) if few else _BINS

    def shares(group: NDArray[np.bool_]) -> list[float]:
        counts = np.bincount(steps[group], weights[group], minlength=n_steps)
        return np.round(counts / (counts.sum() or 1.0), 4).tolist()

    return Spread([float(f"{mark:.4g}") for mark in marks.tolist()], few, shares(inside), shares(outside))


def kind_of(values: NDArray[np.floating], width: int) -> str:
    """Say what a column is: a "flag" of two values 0 and 1, a "word" count, which is mostly 0, or a "number".

    Examples
    --------
    >>> kind_of(np.array([0.0, 1.0]), 3), kind_of(np.array([0.0, 0.0, 2.0, 0.0]), 500), kind_of(np.array([3.5]), 1)
    ('flag', 'word', 'number')
    """
    if width > _FEW_COLUMNS and values.min(initial=0.0) >= 0 and (values == 0).mean() > _MOSTLY_ZERO:
        return "word"
    distinct = np.unique(values)
    return "flag" if len(distinct) <= _FLAG and np.isin(distinct, (0, 1)).all() else "number"


def with_spreads(
    features: Sequence[Sequence[Feature]],
    table: Table,
    rows: NDArray[np.int64],
    groups: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    weights: NDArray[np.float64],
) -> list[list[Feature]]:
    """Add to features what their columns are and how they spread; of each list, inside and outside its two groups.

    Parameters
    ----------
    features : sequence of sequence of Feature
    table : Table
    rows : ndarray of shape (s,)
        Row numbers.
    groups : sequence of two ndarrays of bool, shape (s,)
    weights : ndarray of shape (s,)
        How many rows of the data each stands for.
    """
    columns: dict[tuple[str, int], tuple[NDArray[np.bool_], NDArray[np.float32], int]] = {}
    for v, (view, dim) in enumerate(table.views):
        wanted = sorted({feature.column for own in features for feature in own if feature.view == view})
        if wanted:
            parts = [table.read_view(v, chunk) for chunk in table.chunks(rows)]
            has = np.isin(rows, np.concatenate([numbers for numbers, _ in parts]))
            block = np.concatenate([values[:, wanted] for _, values in parts])
            columns |= {(view, j): (has, block[:, i], dim) for i, j in enumerate(wanted)}

    def described(feature: Feature, inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> Feature:
        has, values, dim = columns[feature.view, feature.column]
        shape = spread(values, inside[has], outside[has], weights[has])
        return replace(feature, kind=kind_of(values, dim), spread=shape)

    return [
        [described(feature, *group) for feature in own] for own, group in zip(features, groups, strict=True)
    ]


def differences(
    table: Table,
    rows: NDArray[np.int64],
    inside: NDArray[np.bool_],
    outside: NDArray[np.bool_],
    weights: NDArray[np.float64],
    *,
    count: int,
    skip: int | None = None,
) -> list[Feature]:
    """Return the features in which two groups of rows differ most, with both spreads, the largest difference first.

    The difference of the means is in standard deviations over both groups.
    """
    chosen = np.flatnonzero(inside | outside)
    labels = np.where(inside[chosen], 0, 1)
    features: list[Feature] = []
    for v, (view, dim) in enumerate(table.views):
        if v == skip:
            continue
        means, start = ClusterMeans(2, dim), 0
        for chunk in table.chunks(rows[chosen]):
            at = np.arange(start, start + len(chunk))
            numbers, values = table.read_view(v, chunk)
            has = at[np.isin(chunk, numbers)]
            means.add(values, labels[has], weights[chosen][has])
            start += len(chunk)
        features += means.top(table.feature_names[v], view=view, count=count)[0]
    features.sort(key=lambda feature: -abs(feature.difference))
    return with_spreads([features[:count]], table, rows, [(inside, outside)], weights)[0]
