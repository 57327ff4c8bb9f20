"""How our methods stand beside their peers: means of the records, the frontier, who is ahead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.peers import PEERS
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, grouped, newest
from benchmarks.sets import SEVERAL, SINGLE

EIGHTEEN = tuple(one.name for one in (*SEVERAL, *SINGLE))


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
    found: dict[str, list[Standing]] = {name: [] for name in EIGHTEEN}
    for (name, method), runs in grouped(compared(), lambda one: (one["data"], one["method"])).items():
        found[name].append(_standing(method, runs))
    order = [*PEERS]
    for one in found.values():
        one.sort(key=lambda s: (s.ours, order.index(s.method) if s.method in order else 0, s.method))
    return found


def compared() -> list[Record]:
    """Return the records of which the standings are means."""
    beside = [one for one in newest(ended()) if not one["missing"]]
    alone = [
        {**one, "ours": True, "alone": True}
        for one in newest(r for r in read_records("accuracy") if not r["params"])
    ]
    return [one for one in (*beside, *alone) if one["data"] in EIGHTEEN]


def ended() -> list[Record]:
    """Return the records of `peers` that have scores."""
    return [one for one in read_records("peers") if "failed" not in one]


def failed() -> list[Record]:
    """Return the records of `peers` that say why there are no scores."""
    return [one for one in read_records("peers") if "failed" in one]


def _standing(method: str, runs: Sequence[Record]) -> Standing:
    by_seed = {one["seed"]: one["scores"]["accuracy"] for one in reversed(runs)}
    timed = [one for one in runs if "alone" not in one] or runs
    return Standing(
        method,
        runs[0]["rows"],
        bool(runs[0]["ours"]),
        Figure.of([by_seed[seed] for seed in sorted(by_seed)]),
        Figure.of([one["cpu_seconds"] for one in timed]).mean,
        Figure.of([one["peak_mb"] for one in timed]).mean,
    )


def best(methods: Iterable[Standing], *, ours: bool) -> Standing | None:
    """Return the most accurate of our methods, or of the peers."""
    return max((one for one in methods if one.ours == ours), key=lambda one: one.accuracy.mean, default=None)


def frontier(methods: Sequence[Standing]) -> list[Standing]:
    """Return the methods that none other beats in both accuracy and seconds, cheapest first."""
    found: list[Standing] = []
    for one in sorted(methods, key=lambda one: (one.cpu_seconds, -one.accuracy.mean)):
        if not found or one.accuracy.mean > found[-1].accuracy.mean:
            found.append(one)
    return found


def is_ahead(methods: Sequence[Standing]) -> bool:
    """Say whether our best method is ahead of every peer on a data set."""
    mine, theirs = best(methods, ours=True), best(methods, ours=False)
    return mine is not None and (theirs is None or mine.accuracy.mean > theirs.accuracy.mean)


def is_on_frontier(methods: Sequence[Standing]) -> bool:
    """Say whether some method of ours is one that a user would choose."""
    return any(one.ours for one in frontier(methods))
