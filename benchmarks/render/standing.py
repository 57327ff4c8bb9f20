"""Our methods against their peers: means of the records, the Pareto frontier, who is ahead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.peers import PEERS
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, grouped, newest
from benchmarks.sets import SEVERAL, SINGLE

EIGHTEEN = tuple(data.name for data in (*SEVERAL, *SINGLE))


@dataclass(frozen=True)
class Standing:
    """What a method reaches on a data set, and what it costs."""

    method: str
    rows: int
    ours: bool
    accuracy: Figure
    cpu_seconds: float
    peak_mb: float


def standings() -> dict[str, list[Standing]]:
    """Return by data set what each method with a record reaches, on complete rows, the peers' first.

    Our methods' accuracies are those of all seeds in `peers` and `accuracy`; their costs are those measured beside
    the peers, on one thread, where there are such.
    """
    by_data: dict[str, list[Standing]] = {name: [] for name in EIGHTEEN}
    for (name, method), runs in grouped(
        compared(), lambda record: (record["data"], record["method"])
    ).items():
        by_data[name].append(_standing(method, runs))
    order = [*PEERS]
    for methods in by_data.values():
        methods.sort(key=lambda s: (s.ours, order.index(s.method) if s.method in order else 0, s.method))
    return by_data


def compared() -> list[Record]:
    """Return the records of which the standings are means."""
    measured = [record for record in newest(ended()) if not record["missing"]]
    alone = [
        {**record, "ours": True, "alone": True}
        for record in newest(r for r in read_records("accuracy") if not r["params"])
    ]
    return [record for record in (*measured, *alone) if record["data"] in EIGHTEEN]


def ended() -> list[Record]:
    """Return the records of `peers` that have scores."""
    return [record for record in read_records("peers") if "failed" not in record]


def failed() -> list[Record]:
    """Return the records of `peers` that say why there are no scores."""
    return [record for record in read_records("peers") if "failed" in record]


def _standing(method: str, runs: Sequence[Record]) -> Standing:
    by_seed = {record["seed"]: record["scores"]["accuracy"] for record in reversed(runs)}
    timed = [record for record in runs if "alone" not in record] or runs
    return Standing(
        method,
        runs[0]["rows"],
        bool(runs[0]["ours"]),
        Figure.of([by_seed[seed] for seed in sorted(by_seed)]),
        Figure.of([record["cpu_seconds"] for record in timed]).mean,
        Figure.of([record["peak_mb"] for record in timed]).mean,
    )


def best(methods: Iterable[Standing], *, ours: bool) -> Standing | None:
    """Return the most accurate of our methods, or of the peers."""
    return max(
        (standing for standing in methods if standing.ours == ours),
        key=lambda standing: standing.accuracy.mean,
        default=None,
    )


def frontier(methods: Sequence[Standing]) -> list[Standing]:
    """Return the methods that none other beats in both accuracy and seconds, cheapest first."""
    edge: list[Standing] = []
    for standing in sorted(methods, key=lambda standing: (standing.cpu_seconds, -standing.accuracy.mean)):
        if not edge or standing.accuracy.mean > edge[-1].accuracy.mean:
            edge.append(standing)
    return edge


def is_ahead(methods: Sequence[Standing]) -> bool:
    """Return whether our best method is ahead of every peer on a data set."""
    mine, theirs = best(methods, ours=True), best(methods, ours=False)
    return mine is not None and (theirs is None or mine.accuracy.mean > theirs.accuracy.mean)


def is_on_frontier(methods: Sequence[Standing]) -> bool:
    """Return whether a method of ours is on the Pareto frontier of time and accuracy."""
    return any(standing.ours for standing in frontier(methods))
