"""Comparisons that the page asks for: two of a cluster, a known class, a selection, and the rest."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coterie.errors import InputError
from coterie.explore.compare import compare_groups
from coterie.explore.live.answers import Class, Rows, Strict
from coterie.explore.live.metadata import Groups
from coterie.explore.live.row_details import RowDetails, feature_json
from coterie.explore.live.session import Session
from coterie.explore.pictures import data_uri, to_pixels
from coterie.explore.summary import cluster_title

_MOST_COLUMNS, _MOST_VALUES = 4, 6


class OfCluster(Strict):
    """The rows of a cluster."""

    kind: Literal["cluster"]
    number: Class


class OfClass(Strict):
    """The rows of a known class, by its code."""

    kind: Literal["class"]
    number: Class


class OfRows(Strict):
    """These rows."""

    kind: Literal["rows"]
    rows: Rows


class Rest(Strict):
    """All rows that are not in the other group."""

    kind: Literal["rest"]


Group = Annotated[OfCluster | OfClass | OfRows | Rest, Field(discriminator="kind")]


class CompareRequest(Strict):
    """Two groups of rows."""

    first: Group
    second: Group


def compare_json(session: Session, details: RowDetails, request: CompareRequest) -> dict[str, Any]:
    """Return how two groups differ, with typical rows of both and the rows between them."""
    one, other = (_members(session, group) for group in (request.first, request.second))
    first = ~other if one is None and other is not None else one
    second = ~one if other is None and one is not None else other
    if first is None or second is None:
        raise InputError(
            "The rest is what the other group leaves; choose a cluster, a class or the selection there."
        )
    groups = np.flatnonzero(first), np.flatnonzero(second)
    found = compare_groups(session.model, session.table, *groups, session.picture_view)
    wanted = list(dict.fromkeys([*found.typical[0], *found.typical[1], *found.between]))
    return {
        "titles": [_title(session, group) for group in (request.first, request.second)],
        "sizes": [len(group) for group in groups],
        "features": [feature_json(feature) for feature in found.features],
        "typical": list(found.typical),
        "between": found.between,
        "rows": details.rows(wanted),
        "pictures": None if found.means is None else _pictures(session, details, *found.means),
        "columns": _columns(session, *groups),
    }


def _members(session: Session, group: Any) -> NDArray[np.bool_] | None:
    """Return which rows a group has, (n,); None for the rest."""
    match group:
        case OfCluster(number=number):
            return session.state.labels == number
        case OfClass(number=number):
            if session.classes is None:
                raise InputError("There are no known classes; give them with --truth.")
            return session.classes.codes == number
        case OfRows(rows=rows):
            session.check_rows(rows)
            members = np.zeros(session.n_rows, dtype=bool)
            members[rows] = True
            return members
    return None


def _title(session: Session, group: Any) -> str:
    match group:
        case OfCluster(number=number):
            return f"cluster {cluster_title(number, session.names())}"
        case OfClass(number=number):
            names = [] if session.classes is None else session.classes.names
            return f"class {names[number]}" if number < len(names) else f"class {number}"
        case OfRows(rows=rows):
            return f"{len(rows):,} selected"
    return "the rest"


def _pictures(
    session: Session, details: RowDetails, first: NDArray[np.float64], second: NDArray[np.float64]
) -> dict[str, str]:
    """Draw both means, and their difference around a middle grey."""
    assert session.layout is not None
    widest = float(np.abs(first - second).max()) or 1.0
    difference = data_uri(to_pixels(first - second, session.layout, -widest, widest))
    return {"first": details.draw(first), "second": details.draw(second), "difference": difference}


def _columns(
    session: Session, first: NDArray[np.integer], second: NDArray[np.integer]
) -> list[dict[str, Any]]:
    """Return the shares of the values of metadata in both groups, for the columns in which they differ most."""
    if session.metadata is None:
        return []
    found = []
    for i, name in enumerate(session.metadata.names):
        values = session.metadata.values(i, np.concatenate([first, second]))
        if not isinstance(values, Groups) or len(values.names) < 2:
            continue
        codes = values.codes[: len(first)], values.codes[len(first) :]
        shares = [
            np.bincount(part[part >= 0], minlength=len(values.names)) / max(1, len(part)) for part in codes
        ]
        apart = float(np.abs(shares[0] - shares[1]).sum() / 2)
        lines = [
            {"value": value, "first": round(float(a), 4), "second": round(float(b), 4)}
            for value, a, b in zip(values.names, *shares, strict=True)
        ]
        lines.sort(key=lambda line: -abs(line["first"] - line["second"]))
        found.append((apart, {"name": name, "values": lines[:_MOST_VALUES]}))
    found.sort(key=lambda entry: -entry[0])
    return [column for apart, column in found[:_MOST_COLUMNS] if apart > 0]
