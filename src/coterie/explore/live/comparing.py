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
_TYPICAL = 6


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


def split_json(session: Session, details: RowDetails, number: int) -> dict[str, Any]:
    """Return what a split would make of a cluster: shares, typical rows and differences of the two parts."""
    parts = session.parts(number)
    larger, smaller = (np.array(part) for part in parts)
    found = compare_groups(session.model, session.table, larger, smaller, session.picture_view)
    shown = [part[:_TYPICAL] for part in parts]
    total = sum(map(len, parts))
    return {
        "shares": [round(len(part) / total, 3) for part in parts],
        "features": [feature_json(feature) for feature in found.features[:_TYPICAL]],
        "rows": [details.rows(part) for part in shown],
    }


def question_json(session: Session, details: RowDetails, row: int) -> dict[str, Any]:
    """Return a row between its two likeliest clusters, and the features in which these differ most."""
    session.check_rows([row])
    (described,) = details.rows([row])
    likely = [
        described["cluster"],
        *([] if described["second"] is None else [described["second"]["cluster"]]),
    ]
    exemplars = [session.state.exemplars.get(number) for number in likely]
    pictures = {one["row"]: one["image"] for one in details.rows([e for e in exemplars if e is not None])}
    return {
        "row": described,
        "candidates": [
            {"number": number, "image": None if exemplar is None else pictures[exemplar]}
            for number, exemplar in zip(likely, exemplars, strict=True)
        ],
        "features": _between(session, row, likely) if len(likely) == 2 else [],
    }


def _between(session: Session, row: int, likely: list[int]) -> list[dict[str, Any]]:
    """Return the value of a row and the means of two clusters in the features that tell the two apart."""
    session.clusters()
    at = np.searchsorted(session.state.numbers, likely)
    blocks, present = session.table.read(np.array([row]))
    found: list[tuple[float, dict[str, Any]]] = []
    for v, ((view, _), means) in enumerate(
        zip(session.table.views, session.described_sample.means, strict=True)
    ):
        if v == session.picture_view or not present[0, v]:
            continue
        centres, deviation = means.of_clusters()[at], means.spread()[1]
        apart = np.nan_to_num((centres[0] - centres[1]) / deviation)
        for j in np.argsort(-np.abs(apart), kind="stable")[:_TYPICAL]:
            if apart[j]:
                values = blocks[v][0, j], *centres[:, j]
                own, first, second = (float(f"{value:.4g}") for value in values)
                place = float(np.clip((own - first) / (second - first or 1.0), 0, 1))
                found.append(
                    (
                        abs(float(apart[j])),
                        {
                            "name": str(session.table.feature_names[v][j]),
                            "view": view,
                            "value": own,
                            "means": [first, second],
                            "place": round(place, 3),
                        },
                    )
                )
    found.sort(key=lambda entry: -entry[0])
    return [feature for _, feature in found[:_TYPICAL]]


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
