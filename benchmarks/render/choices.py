"""Tables of the page on choosing: the picks of `recommend` beside all methods, and what `choose_k` counts."""

from __future__ import annotations

import numpy as np

from benchmarks.choosing import off_by
from benchmarks.records import read_records
from benchmarks.render.figures import made_by, short, table
from benchmarks.render.standing import best, compared, standings

_METHODS = ("PCX", "SSCNet", "SSC", "LargeMvCNet", "MVSIB")
_ALONE = ("stability", "modularity", "drop")


def choosing() -> str:
    """Return the accuracy of every method on every set, the pick of `recommend` in bold, and the best peer."""
    standing, runs = standings(), read_records("choosing")
    rows = []
    for one in runs:
        beside = standing.get(one["data"], [])
        known = one["recorded"] | {other.method: other.accuracy.mean for other in beside}
        cells = [short(known[method]) if method in known else "" for method in _METHODS]
        picked = _METHODS.index(one["picked"])
        cells[picked] = f"**{cells[picked]}**"
        peer = best(beside, ours=False)
        rows.append(
            [one["data"], *cells, "" if peer is None else f"{peer.method} {short(peer.accuracy.mean)}"]
        )
    headers = ("data", *_METHODS, "best peer")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks choosing", of=[*compared(), *runs])


def counting() -> str:
    """Return the number of clusters that `choose_k` finds on every set beside the number of classes."""
    records = read_records("counting")
    rows = [
        [
            one["data"],
            str(one["classes"]),
            str(one["k"]),
            ", ".join(map(str, one["near"])),
            "yes" if one["clear"] else "no",
            *(str(one["alone"][name]) for name in _ALONE),
        ]
        for one in records
    ]
    off = [np.mean([off_by(one["k"], one["classes"]) for one in records])]
    off += [np.mean([off_by(one["alone"][name], one["classes"]) for one in records]) for name in _ALONE]
    chosen, *alone = (f"{mean:.2f}" for mean in off)
    rows.append(["doublings off, mean", "", chosen, "", "", *alone])
    headers = ("data", "classes", "chosen", "about as good", "clear", *_ALONE)
    return table(headers, rows) + "\n" + made_by("python -m benchmarks counting", of=records)
