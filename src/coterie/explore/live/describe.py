"""What the page shows, as plain JSON: the run, the map, its colourings, the state and the history."""

from __future__ import annotations

import re
from typing import Any

from coterie.errors import counted
from coterie.explore.figures import plane_points
from coterie.explore.live.answers import Answer, Apart, Label, Merge, Name, Split, Together
from coterie.explore.live.filters import filters
from coterie.explore.live.levels import level_groups
from coterie.explore.live.metadata import Groups
from coterie.explore.live.session import Session
from coterie.explore.live.state import Change
from coterie.explore.maps import DATA
from coterie.explore.palette import UNLABELLED, by_amount, by_confidence, by_group, colours
from coterie.explore.summary import cluster_title, method_name

_COLUMN, _LEVEL = "column-", "level-"
_MOST_FLOWS = 3


def run_json(session: Session) -> dict[str, Any]:
    """Return what stays the same: the facts of the run and the ways to colour the map."""
    return {
        "title": session.title,
        "method": method_name(session.model),
        "rows": session.n_rows,
        "sampled": len(session.sample.rows),
        "views": [{"name": name, "features": dim} for name, dim in session.table.views],
        "colourings": [{"key": key, "name": name} for key, name in colourings(session).items()],
        "filters": filters(session),
        "classes": [] if session.classes is None else session.classes.names,
        "maps": [{"key": key, "name": name} for key, name in session.sample.maps.titles.items()],
        "searchable": session.metadata is not None,
        "pictures": session.image_shape is not None,
    }


def state_json(session: Session) -> dict[str, Any]:
    """Return the current state: clusters, questions, history, and how far preparation is."""
    state, sample, names, given = session.state, session.sample, session.names(), session.corrections.names
    sizes, confidences = state.sizes().tolist(), state.mean_confidence()
    positions = [sample.position(row) for row in state.exemplars.values()]
    return {
        "version": session.version,
        "steps": session.log.steps,
        "clusters": [
            {
                "number": number,
                "name": given.get(number, ""),
                "suggested": names.get(number, ""),
                "title": cluster_title(number, names),
                "size": size,
                "confidence": confidence,
                "colour": session.paints.of(number),
                "exemplar": state.exemplars.get(number),
            }
            for number, size, confidence in zip(state.numbers.tolist(), sizes, confidences, strict=True)
        ],
        "ask": state.ask,
        "exemplars": [position for position in positions if position is not None],
        "history": history_json(session),
        "undo": len(session.log.entries),
        "redo": len(session.log.undone),
        "refine": {
            "ready": session.ready,
            "stage": session.refiner.stage,
            "seconds": round(session.refiner.seconds, 1),
            "failure": session.refiner.failure,
        },
        "map_settled": sample.settled,
        "notice": session.log.notice,
    }


def change_json(session: Session, change: Change) -> dict[str, Any]:
    """Return what an answer changed, in numbers and in words."""
    names, answer = session.corrections.names, change.answer
    words = "" if answer is None else f"{in_words(answer, names)}."
    words = f"{change.prefix}: {words}" if change.prefix else words
    if not isinstance(answer, Name):
        rows = counted(change.moved, "row") if change.moved else "No row"
        words += f" {rows} moved{_flows(change, names)}."
    if isinstance(answer, Apart) and answer in session.log.answers:
        first, second = (session.state.labels[row] for row in answer.rows)
        if first == second:
            words += " Their neighbours still keep them in one cluster; label one of them to separate them."
    if change.taken_over:
        words += (
            f" From now on labels come from the graph of neighbours, no longer from the model alone: that changed "
            f"{counted(change.taken_over, 'more row')}."
        )
    return {"moved": change.moved, "marked": list(change.marked), "words": words.strip()}


def _flows(change: Change, names: dict[int, str]) -> str:
    """Say from where to where the rows moved: the largest flows."""
    flows = [
        (count, f"from {cluster_title(source, names)} to {cluster_title(to, names)}")
        for source, to, count in change.flows
    ]
    if len(flows) == 1:
        return f" {flows[0][1]}"
    listed = [f"{count:,} {way}" for count, way in flows[:_MOST_FLOWS]]
    others = sum(count for count, _ in flows[_MOST_FLOWS:])
    listed += [f"{others:,} between other clusters"] if others else []
    return f": {', '.join(listed)}" if listed else ""


def map_json(session: Session, key: str = DATA) -> dict[str, Any]:
    """Return the rows of a map and where they lie."""
    projection = session.sample.projection(key)
    return {
        **plane_points(projection.coordinates),
        "rows": session.sample.rows.tolist(),
        "method": projection.method,
        "version": session.version,
    }


def colourings(session: Session) -> dict[str, str]:
    """Return the ways to colour the map: keys and titles."""
    ways = {"cluster": "Cluster", "confidence": "Confidence", "given": "Your labels"}
    if len(session.table.views) > 1:
        ways["views"] = "Views of the row"
    if session.classes is not None:
        ways["class"] = "Known class"
    if session.metadata is not None:
        ways |= {f"{_COLUMN}{i}": name for i, name in enumerate(session.metadata.names)}
    return ways


def colouring_json(session: Session, key: str) -> dict[str, Any] | None:
    """Return the marker that colours the dots, and the groups of its legend; None for an unknown key."""
    state, rows = session.state, session.sample.rows
    if re.fullmatch(f"{_LEVEL}[0-9]{{1,4}}", key):
        return _groups(*level_groups(session, int(key.removeprefix(_LEVEL))))
    if key not in colourings(session):
        return None
    if key == "confidence":
        return {"marker": by_confidence(state.confidence[rows], len(state.numbers)), "groups": []}
    if key == "cluster":
        return _groups(state.positions()[rows].tolist(), _clusters(session, state.numbers.tolist()))
    if key == "given":
        return _given_json(session)
    if key == "class" and session.classes is not None:
        return _known_groups(session.classes.codes[rows].tolist(), session.classes.names, "not labelled")
    if key == "views":
        values: Any = Groups.of(_missing_views(session))
    else:
        assert session.metadata is not None
        values = session.metadata.values(int(key.removeprefix(_COLUMN)), rows)
    if not isinstance(values, Groups):
        return {"marker": by_amount(values), "groups": []}
    return _known_groups(values.codes.tolist(), [name or "no value" for name in values.names], "other values")


def _clusters(session: Session, numbers: list[int]) -> list[tuple[str, str]]:
    names = session.names()
    return [(cluster_title(number, names), session.paints.of(number)) for number in numbers]


def _given_json(session: Session) -> dict[str, Any]:
    """Colour the labels that a person gave, and bring their dots to the front."""
    given = session.corrections.labels
    numbers = sorted(set(given.values()))
    code_of = {number: code for code, number in enumerate(numbers, start=1)}
    codes = [code_of[given[row]] if row in given else 0 for row in session.sample.rows.tolist()]
    groups = _groups(codes, [("not labelled", UNLABELLED), *_clusters(session, numbers)])
    return groups | {"front": [position for position, code in enumerate(codes) if code]}


def _missing_views(session: Session) -> list[str]:
    names = [name for name, _ in session.table.views]
    missing = [
        ", ".join(name for name, has in zip(names, of_row, strict=True) if not has)
        for of_row in session.sample.of_model.present.tolist()
    ]
    return [f"without {views}" if views else "all views" for views in missing]


def _known_groups(codes: list[int], names: list[str], rest: str) -> dict[str, Any]:
    """Colour by groups, with one more for the rows of none, which are coded -1."""
    entries = [(rest, UNLABELLED), *zip(names, colours(len(names)), strict=True)]
    groups = _groups([code + 1 for code in codes], entries)
    return groups if -1 in codes else groups | {"groups": groups["groups"][1:], "offset": 1}


def _groups(codes: list[int], entries: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "marker": by_group(codes, [colour for _, colour in entries]),
        "groups": [{"name": name, "colour": colour} for name, colour in entries],
    }


def history_json(session: Session) -> list[dict[str, str]]:
    """Return the answers that count, oldest first, in words."""
    names = session.corrections.names
    return [{"at": entry.at, "words": in_words(entry.answer, names)} for entry in session.log.entries]


def in_words(answer: Answer, names: dict[int, str]) -> str:
    """Write an answer as a sentence.

    Examples
    --------
    >>> in_words(Label(rows=[7], to=2), {2: "cats"})
    'Row 7 belongs to cluster 2: cats'
    """
    match answer:
        case Label(rows=rows, to=to):
            return f"{_belong(rows)} to cluster {cluster_title(to, names)}"
        case Merge(source=source, into=into):
            return f"Cluster {cluster_title(source, names)} merged into {cluster_title(into, names)}"
        case Split(cluster=cluster, new=new):
            return (
                f"Cluster {cluster_title(cluster, names)} split; its new part is {cluster_title(new, names)}"
            )
        case Together(rows=rows):
            return f"{_belong(rows)} to one cluster"
        case Apart(rows=[first, second]):
            return f"Rows {first} and {second} belong to different clusters"
        case Name(cluster=cluster, name=name):
            return (
                f"Cluster {cluster} is called {name}" if name else f"Cluster {cluster} no longer has a name"
            )
    raise TypeError(answer)


def _belong(rows: list[int]) -> str:
    if len(rows) == 1:
        return f"Row {rows[0]} belongs"
    few = ", ".join(map(str, rows[:3]))
    return f"Rows {few} belong" if len(rows) <= 3 else f"{len(rows):,} rows ({few}, ...) belong"
