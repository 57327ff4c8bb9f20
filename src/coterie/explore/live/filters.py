"""What the page filters and finds by: columns of the rows on the map, words, and rows that are like another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.distributions import differences
from coterie.explore.live.metadata import Groups
from coterie.explore.live.row_details import feature_json
from coterie.explore.live.session import Session
from coterie.explore.summary import cluster_title

_COLUMN, _FEATURE = "column-", "feature-"
_MOST_FEATURES = 300
_ALIKE = 12
_MOST_COUNTED, _APART = 8, 5


def filters(session: Session) -> list[dict[str, str]]:
    """Return the columns that rows can be filtered by: of the metadata, and of the data but pictures."""
    named = [] if session.metadata is None else session.metadata.names
    found = [{"key": f"{_COLUMN}{i}", "name": name} for i, name in enumerate(named)]
    several = len(session.table.views) > 1
    for v, (view, _) in enumerate(session.table.views):
        if v != session.picture_view:
            names = session.table.feature_names[v][:_MOST_FEATURES]
            found += [
                {"key": f"{_FEATURE}{v}-{j}", "name": f"{view}: {name}" if several else str(name)}
                for j, name in enumerate(names)
            ]
    return found


def filter_json(session: Session, key: str) -> dict[str, Any]:
    """Return the values of a column for the rows on the map: numbers, or codes of groups, -1 for all rare values."""
    name = next((entry["name"] for entry in filters(session) if entry["key"] == key), None)
    if name is None:
        raise InputError("There is no such column to filter by.")
    rows = session.sample.rows
    if key.startswith(_FEATURE):
        view, column = map(int, key.removeprefix(_FEATURE).split("-"))
        values = np.full(len(rows), np.nan)
        has, block = session.table.read_view(view, rows)
        values[np.isin(rows, has)] = block[:, column]
        return {"name": name, "values": _numbers(values)}
    assert session.metadata is not None
    found = session.metadata.values(int(key.removeprefix(_COLUMN)), rows)
    if isinstance(found, Groups):
        return {"name": name, "groups": found.names, "values": found.codes.tolist()}
    return {"name": name, "values": _numbers(found)}


def _numbers(values: NDArray[np.floating]) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]


def rows_like(session: Session, row: int) -> list[int]:
    """Return the rows on the map that are nearest to a row in the model's embedding."""
    session.check_rows([row])
    sample = session.sample.of_model
    own = np.asarray(session.model.transform(session.table.for_model(np.array([row]))), dtype=np.float64)
    near = sample.rows[np.argsort(np.linalg.norm(sample.embedding - own, axis=1), kind="stable")]
    return near[near != row][:_ALIKE].tolist()


def selection_json(session: Session, rows: Sequence[int]) -> dict[str, Any]:
    """Return what some rows are: how many of each cluster and known class, and what sets them apart."""
    session.check_rows(list(rows))
    chosen, state = np.unique(np.asarray(rows, dtype=np.int64)), session.state
    names = session.names()
    numbers, counts = np.unique(state.labels[chosen], return_counts=True)
    clusters = [
        (cluster_title(number, names), count)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
    ]
    classes = []
    if session.classes is not None:
        codes, counts = np.unique(session.classes.codes[chosen], return_counts=True)
        classes = [
            (session.classes.names[code] if code >= 0 else "not labelled", count)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        ]
    compared = np.union1d(chosen, session.sample.rows)
    inside = np.isin(compared, chosen)
    weights = np.ones(len(compared))
    apart = (
        []
        if inside.all()
        else differences(
            session.table, compared, inside, ~inside, weights, count=_APART, skip=session.picture_view
        )
    )
    return {
        "clusters": sorted(clusters, key=lambda entry: -entry[1])[:_MOST_COUNTED],
        "classes": sorted(classes, key=lambda entry: -entry[1])[:_MOST_COUNTED],
        "features": [feature_json(feature) for feature in apart],
    }
