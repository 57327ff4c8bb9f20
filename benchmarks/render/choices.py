"""Tables of the page on choosing: the picks of `recommend` against all methods, and the counts of `choose_k`."""

from __future__ import annotations

import numpy as np

from benchmarks.choosing import off_by
from benchmarks.records import read_records
from benchmarks.render.figures import made_by, short, table
from benchmarks.render.standing import best, compared, standings

_METHODS = ("GraphClustering", "PCX", "SSCNet", "SSC", "LargeMvCNet", "MVSIB")
_ALONE = ("stability", "modularity", "drop")


def choosing() -> str:
    """Return the accuracy of every method on every set, the pick of `recommend` in bold, and the best peer."""
    standing, runs = standings(), read_records("choosing")
    rows = []
    for record in runs:
        peers = standing.get(record["data"], [])
        known = record["recorded"] | {other.method: other.accuracy.mean for other in peers}
        cells = [short(known[method]) if method in known else "" for method in _METHODS]
        picked = _METHODS.index(record["picked"])
        cells[picked] = f"**{cells[picked]}**"
        peer = best(peers, ours=False)
        rows.append(
            [record["data"], *cells, "" if peer is None else f"{peer.method} {short(peer.accuracy.mean)}"]
        )
    headers = ("data", *_METHODS, "best peer")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks choosing", of=[*compared(), *runs])


def counting() -> str:
    """Return the number of clusters that `choose_k` finds on every set, and the number of classes."""
    records = read_records("counting")
    rows = [
        [
            record["data"],
            str(record["classes"]),
            str(record["k"]),
            ", ".join(map(str, record["near"])),
            "yes" if record["clear"] else "no",
            *(str(record["alone"][name]) for name in _ALONE),
        ]
        for record in records
    ]
    off = [np.mean([off_by(record["k"], record["classes"]) for record in records])]
    off += [
        np.mean([off_by(record["alone"][name], record["classes"]) for record in records]) for name in _ALONE
    ]
    chosen, *alone = (f"{mean:.2f}" for mean in off)
    rows.append(["doublings off, mean", "", chosen, "", "", *alone])
    headers = ("data", "classes", "chosen", "about as good", "clear", *_ALONE)
    return table(headers, rows) + "\n" + made_by("python -m benchmarks counting", of=records)
