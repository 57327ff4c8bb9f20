"""What the page is told, as plain JSON: the run, the map, the clusters, rows, and the history."""

from __future__ import annotations

from typing import Any

from coterie.explore.html_parts import counted
from coterie.explore.live import answers as said
from coterie.explore.live.change import Change
from coterie.explore.live.metadata import Groups
from coterie.explore.live.session import Session
from coterie.explore.markers import (
    UNLABELLED,
    by_amount,
    by_confidence,
    by_group,
    map_layout,
    plane_points,
)
from coterie.explore.palette import colours
from coterie.explore.summary import cluster_title, method_name

_COLUMN = "column-"
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
        "searchable": session.metadata is not None,
        "pictures": session.image_shape is not None,
    }


def state_json(session: Session) -> dict[str, Any]:
    """Return what is shown now."""
    state, names = session.state, session.known.names
    sizes, sure = state.sizes().tolist(), state.mean_confidence()
    refiner = session.refiner
    return {
        "version": session.version,
        "clusters": [
            {
                "number": number,
                "name": names.get(number, ""),
                "title": cluster_title(number, names),
                "size": size,
                "confidence": confidence,
                "colour": session.paints.of(number),
                "exemplar": state.exemplars.get(number),
            }
            for number, size, confidence in zip(state.numbers.tolist(), sizes, sure, strict=True)
        ],
        "ask": state.ask,
        "exemplars": [
            place for row in state.exemplars.values() if (place := session.sample.place(row)) is not None
        ],
        "history": history_json(session),
        "undo": len(session.log.entries),
        "redo": len(session.log.undone),
        "refine": {
            "ready": session.ready,
            "stage": refiner.stage,
            "seconds": round(refiner.seconds, 1),
            "failure": refiner.failure,
        },
        "map_settled": session.sample.settled,
        "notice": session.log.notice,
    }


def change_json(session: Session, change: Change) -> dict[str, Any]:
    """Return what an answer did."""
    names = session.known.names
    words = "" if change.answer is None else f"{in_words(change.answer, names)}."
    words = f"{change.word}: {words}" if change.word else words
    if not isinstance(change.answer, said.Name):
        many = counted(change.moved, "row") if change.moved else "No row"
        words += f" {many} moved{_flows(change, names)}."
    if isinstance(change.answer, said.Apart) and change.answer in session.log.answers:
        one, other = (int(session.state.labels[row]) for row in change.answer.rows)
        still = " They still are of one cluster, as their neighbours say; label one of them to part them."
        words += still if one == other else ""
    if change.taken_over:
        words += (
            f" From now on the graph of neighbours speaks for every row, not the model alone: "
            f"{counted(change.taken_over, 'more row')} changed by that."
        )
    return {"moved": change.moved, "marked": list(change.marked), "words": words.strip()}


def _flows(change: Change, names: dict[int, str]) -> str:
    """Say from where to where the rows moved: the largest flows."""
    if len(change.flows) == 1:
        ((source, to, _),) = change.flows
        return f" from {cluster_title(source, names)} to {cluster_title(to, names)}"
    shown = [
        f"{count:,} from {cluster_title(source, names)} to {cluster_title(to, names)}"
        for source, to, count in change.flows[:_MOST_FLOWS]
    ]
    others = sum(count for _, _, count in change.flows[_MOST_FLOWS:])
    shown += [f"{others:,} between other clusters"] if others else []
    return f": {', '.join(shown)}" if shown else ""


def map_json(session: Session) -> dict[str, Any]:
    """Return the rows of the map and where they lie."""
    return {
        **plane_points(session.sample.projection.coordinates),
        "rows": session.sample.rows.tolist(),
        "method": session.sample.projection.method,
        "layout": map_layout(),
        "version": session.version,
    }


def colourings(session: Session) -> dict[str, str]:
    """Return the ways to colour the map: keys and what they are called."""
    ways = {"cluster": "Cluster", "confidence": "Confidence", "said": "Your labels"}
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
    if key not in colourings(session):
        return None
    if key == "confidence":
        return {"marker": by_confidence(state.confidence[rows], len(state.numbers)), "groups": []}
    if key == "cluster":
        names = session.known.names
        shown = [
            (cluster_title(number, names), session.paints.of(number)) for number in state.numbers.tolist()
        ]
        return _grouped(state.positions()[rows].tolist(), shown)
    if key == "said":
        return _said_json(session)
    if key == "class" and session.classes is not None:
        return _known_groups(session.classes.codes[rows].tolist(), session.classes.names, "not labelled")
    if key == "views":
        return _groups_json(Groups.of(_presences(session)))
    assert session.metadata is not None
    found = session.metadata.values(int(key.removeprefix(_COLUMN)), rows)
    return _groups_json(found) if isinstance(found, Groups) else {"marker": by_amount(found), "groups": []}


def _said_json(session: Session) -> dict[str, Any]:
    given, names = session.known.labels, session.known.names
    numbers = sorted(set(given.values()))
    at = {number: i for i, number in enumerate(numbers)}
    codes = [at[given[row]] if row in given else -1 for row in session.sample.rows.tolist()]
    shown = [(cluster_title(number, names), session.paints.of(number)) for number in numbers]
    found = _grouped([code + 1 for code in codes], [("not labelled", UNLABELLED), *shown])
    return found | {"front": [place for place, code in enumerate(codes) if code >= 0]}


def _presences(session: Session) -> list[str]:
    names = [name for name, _ in session.table.views]

    def said_of(has: list[bool]) -> str:
        lacking = [name for name, there in zip(names, has, strict=True) if not there]
        return f"without {', '.join(lacking)}" if lacking else "all views"

    return [said_of(has) for has in session.sample.reading.present.tolist()]


def _groups_json(groups: Groups) -> dict[str, Any]:
    named = [name or "no value" for name in groups.names]
    return _known_groups(groups.codes.tolist(), named, "other values")


def _known_groups(codes: list[int], names: list[str], rest: str) -> dict[str, Any]:
    """Colour by groups, with one more for the rows of none, which are coded -1."""
    shown = [(rest, UNLABELLED), *zip(names, colours(len(names)), strict=True)]
    found = _grouped([code + 1 for code in codes], shown)
    return found if -1 in codes else found | {"groups": found["groups"][1:], "offset": 1}


def _grouped(codes: list[int], shown: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "marker": by_group(codes, [colour for _, colour in shown]),
        "groups": [{"name": name, "colour": colour} for name, colour in shown],
    }


def history_json(session: Session) -> list[dict[str, str]]:
    """Return the answers that count, oldest first, in words."""
    names = session.known.names
    return [{"at": entry.at, "words": in_words(entry.answer, names)} for entry in session.log.entries]


def in_words(answer: said.Answer, names: dict[int, str]) -> str:
    """Say an answer as a sentence.

    Examples
    --------
    >>> in_words(said.Label(rows=[7], to=2), {2: "cats"})
    'Row 7 is of cluster 2: cats'
    """
    match answer:
        case said.Label():
            return f"{_rows(answer.rows)} of cluster {cluster_title(answer.to, names)}"
        case said.Merge():
            return f"Cluster {cluster_title(answer.source, names)} merged into {cluster_title(answer.into, names)}"
        case said.Split():
            new = cluster_title(answer.new, names)
            return f"Cluster {cluster_title(answer.cluster, names)} split; its new part is {new}"
        case said.Together():
            return f"{_rows(answer.rows)} of one cluster"
        case said.Apart():
            return f"Rows {answer.rows[0]} and {answer.rows[1]} are of different clusters"
        case said.Name():
            return (
                f"Cluster {answer.cluster} is called {answer.name}"
                if answer.name
                else (f"Cluster {answer.cluster} has no name any more")
            )


def _rows(rows: list[int]) -> str:
    if len(rows) == 1:
        return f"Row {rows[0]} is"
    few = ", ".join(map(str, rows[:3]))
    return f"Rows {few} are" if len(rows) <= 3 else f"{len(rows)} rows ({few}, ...) are"
