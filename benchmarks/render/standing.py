"""Our methods against their peers: means of the records, paired differences, the Pareto frontier, who is ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.peers import PEERS, TODAY
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, grouped, newest
from benchmarks.sets import CHOSEN, FRESH, SETS

COMPARED = tuple(data.name for data in (*FRESH, *CHOSEN))
BLOCKS = {"fresh": tuple(d.name for d in FRESH), "chosen": tuple(d.name for d in CHOSEN)}
"""Data sets that no default of ours was chosen on, and those they were."""
_TODAY = frozenset(peer.name for peer in TODAY)
LEVEL = 0.005
"""Half a point: what is nearer is level."""


@dataclass(frozen=True)
class Standing:
    """What a method reaches on a data set, and what it costs."""

    method: str
    rows: int
    ours: bool
    accuracy: Figure
    cpu_seconds: float
    peak_mb: float
    by_seed: Mapping[int, float] = field(default_factory=dict)
    commit: str = ""


Standings = dict[str, list[Standing]]


def standings() -> Standings:
    """Return by data set what each method with a record reaches, on complete rows, the peers' first.

    Our methods' accuracies are those of all seeds in `peers` and `accuracy`; their costs are those measured beside
    the peers, on one thread, where there are such.
    """
    by_data: Standings = {name: [] for name in COMPARED}
    for (name, method), runs in grouped(
        compared(), lambda record: (record["data"], record["method"])
    ).items():
        by_data[name].append(_standing(method, runs))
    order = [*PEERS]
    for methods in by_data.values():
        methods.sort(key=lambda s: (s.ours, order.index(s.method) if s.method in order else 0, s.method))
    return by_data


def compared() -> list[Record]:
    """Return the records of which the standings are means; of other scalings of a data set there are none."""
    measured = [record for record in newest(ended()) if not record["missing"]]
    alone = [
        {**record, "ours": True, "alone": True}
        for record in newest(r for r in read_records("accuracy") if not r["params"])
    ]
    return [record for record in (*measured, *alone) if record["data"] in COMPARED]


def ended() -> list[Record]:
    """Return the records of `peers` that have scores, with the scaling that peers get today."""
    return [record for record in read_records("peers") if "failed" not in record and _is_scaled(record)]


def failed() -> list[Record]:
    """Return the records of `peers` that say why there are no scores."""
    return [record for record in read_records("peers") if "failed" in record]


def _is_scaled(record: Record) -> bool:
    known = SETS.get(record["data"])
    return known is None or record.get("scale", "unit") == known.scale


def _standing(method: str, runs: Sequence[Record]) -> Standing:
    by_seed = {record["seed"]: record["scores"]["accuracy"] for record in reversed(runs)}
    timed = [record for record in runs if "alone" not in record] or runs
    commits = Counter(record["machine"]["commit"].rstrip("+") for record in runs if "machine" in record)
    return Standing(
        method,
        runs[0]["rows"],
        bool(runs[0]["ours"]),
        Figure.of([by_seed[seed] for seed in sorted(by_seed)]),
        Figure.of([record["cpu_seconds"] for record in timed]).mean,
        Figure.of([record["peak_mb"] for record in timed]).mean,
        by_seed,
        max(commits, key=commits.__getitem__, default=""),
    )


def best(methods: Iterable[Standing], *, ours: bool) -> Standing | None:
    """Return the most accurate of our methods, or of the peers."""
    return max(
        (standing for standing in methods if standing.ours == ours),
        key=lambda standing: standing.accuracy.mean,
        default=None,
    )


def find(methods: Iterable[Standing], name: str) -> Standing | None:
    """Return the standing of a method."""
    return next((standing for standing in methods if standing.method == name), None)


def paired(mine: Standing, theirs: Standing) -> Figure:
    """Return the mean difference over the seeds that both have, and its spread; of the means where none is shared."""
    shared = sorted(set(mine.by_seed) & set(theirs.by_seed))
    if not shared:
        return Figure(mine.accuracy.mean - theirs.accuracy.mean, 0.0, 1)
    return Figure.of([mine.by_seed[seed] - theirs.by_seed[seed] for seed in shared])


def frontier(methods: Sequence[Standing]) -> list[Standing]:
    """Return the methods that none other beats in both accuracy and seconds, cheapest first."""
    edge: list[Standing] = []
    for standing in sorted(methods, key=lambda standing: (standing.cpu_seconds, -standing.accuracy.mean)):
        if not edge or standing.accuracy.mean > edge[-1].accuracy.mean:
            edge.append(standing)
    return edge


def lead(methods: Sequence[Standing]) -> float:
    """Return how far our best method is ahead of the best peer; less than nothing where it is behind."""
    mine, theirs = best(methods, ours=True), best(methods, ours=False)
    if mine is None or theirs is None:
        raise ValueError("nothing to compare")
    return round(mine.accuracy.mean - theirs.accuracy.mean, 6)  # so that half a point is half a point


def is_measured(methods: Sequence[Standing]) -> bool:
    """Return whether a method of ours has a record, and a peer that people run today: to beat others is cheap."""
    return best(methods, ours=True) is not None and any(standing.method in _TODAY for standing in methods)


def counted(by_data: Standings, block: str) -> list[str]:
    """Return the data sets of a block that count: those measured beside what people run today."""
    return [name for name in BLOCKS[block] if is_measured(by_data[name])]


def is_level(methods: Sequence[Standing]) -> bool:
    """Return whether no peer is more than half a point ahead of our best method."""
    return is_measured(methods) and lead(methods) >= -LEVEL


def is_on_frontier(methods: Sequence[Standing]) -> bool:
    """Return whether a method of ours is on the Pareto frontier of time and accuracy."""
    return any(standing.ours for standing in frontier(methods))
