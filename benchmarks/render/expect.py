"""What a user may expect: each method as a fixed choice, over kinds of data and over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.render.figures import Figure, amount, short, table
from benchmarks.render.standing import BLOCKS, LEVEL, Standing, Standings, counted, find, frontier, paired
from benchmarks.sets import SETS

MINE = "GraphClustering"


def by_kind(by_data: Standings, mine: str = MINE) -> str:
    """Return for each kind of data what our default reaches beside k-means and the peer that is best on average.

    The peer is one for all sets of a kind: nobody knows beforehand which is best on his own.
    """
    rows = []
    for kind in dict.fromkeys(data.kind for data in SETS.values()):
        for block in BLOCKS:
            own = [n for n in counted(by_data, block) if SETS[n].kind == kind and find(by_data[n], mine)]
            if not own:
                continue
            ours = [_found(by_data, name, mine) for name in own]
            rival, theirs = _best_fixed(by_data, own)
            kmeans = [found for name in own if (found := find(by_data[name], "k-means"))]
            rows.append([
                kind,
                block,
                str(len(own)),
                short(_mean(ours)),
                _seconds(ours),
                f"{rival} {short(_mean(theirs))}" if theirs else "",
                _seconds(theirs) if theirs else "",
                short(_mean(kmeans)) if len(kmeans) == len(own) else "",
            ])  # fmt: skip
    headers = ("data", "", "sets", mine, "CPU s", "best single peer", "CPU s", "k-means")
    return table(headers, rows)


def _best_fixed(by_data: Standings, names: Sequence[str]) -> tuple[str, list[Standing]]:
    """Return the peer with the highest mean among those that have a figure on all of these sets."""
    peers = dict.fromkeys(s.method for name in names for s in by_data[name] if not s.ours)
    whole = {}
    for method in peers:
        found = [find(by_data[name], method) for name in names]
        if all(found):
            whole[method] = [one for one in found if one]
    if not whole:
        return "", []
    chosen = max(whole, key=lambda method: _mean(whole[method]))
    return chosen, whole[chosen]


def _found(by_data: Standings, name: str, method: str) -> Standing:
    found = find(by_data[name], method)
    if found is None:
        raise KeyError(f"{method} on {name}")
    return found


def _mean(some: Sequence[Standing]) -> float:
    return float(np.mean([standing.accuracy.mean for standing in some]))


def _seconds(some: Sequence[Standing]) -> str:
    return amount(float(np.median([standing.cpu_seconds for standing in some])))


def head_to_head(by_data: Standings, mine: str = MINE) -> str:
    """Return our default against each peer: mean paired difference, sets won, level and lost, seconds as a ratio."""
    peers = dict.fromkeys(s.method for methods in by_data.values() for s in methods if not s.ours)
    rows = []
    for peer in peers:
        cells, ratios = [], []
        for names in BLOCKS.values():
            pairs = [
                (ours, theirs)
                for name in names
                if (ours := find(by_data[name], mine)) and (theirs := find(by_data[name], peer))
            ]
            if not pairs:
                cells += ["", ""]
                continue
            gaps = [round(paired(ours, theirs).mean, 6) for ours, theirs in pairs]
            won, lost = sum(gap > LEVEL for gap in gaps), sum(gap < -LEVEL for gap in gaps)
            cells += [str(Figure.of(gaps)), f"{won} / {len(gaps) - won - lost} / {lost}"]
            ratios += [theirs.cpu_seconds / max(ours.cpu_seconds, 0.01) for ours, theirs in pairs]
        rows.append([peer, *cells, f"{np.median(ratios):.1f}" if ratios else ""])
    rows.sort(key=lambda row: _leading(row[1]))
    headers = ["peer"]
    headers += [word for block in BLOCKS for word in (f"difference, {block}", "won / level / lost")]
    return table([*headers, "its CPU seconds to ours"], rows)


def _leading(cell: str) -> float:
    return float(cell.split(" ")[0]) if cell else 9.0


def policies(by_data: Standings) -> str:
    """Return every method as the one choice for all single tables: ACC, and sets at the top and on the frontier."""
    rows = []
    methods = dict.fromkeys(s.method for some in by_data.values() for s in some)
    for method in methods:
        cells, whole = [], False
        for block in BLOCKS:
            own = [name for name in counted(by_data, block) if SETS[name].kind != "several views"]
            found = [(name, one) for name in own if (one := find(by_data[name], method))]
            complete = bool(found) and len(found) == len(own)
            whole = whole or complete
            top = sum(
                one.accuracy.mean >= max(s.accuracy.mean for s in by_data[name]) - LEVEL
                for name, one in found
            )
            edge = sum(one in frontier(by_data[name]) for name, one in found)
            mean = short(_mean([one for _, one in found])) if complete else ""
            cells += [mean, f"{top} of {len(found)}", f"{edge} of {len(found)}"] if found else ["", "", ""]
        ours = any(s.ours for some in by_data.values() for s in some if s.method == method)
        if whole:
            rows.append([f"**{method}**" if ours else method, *cells])
    rows.sort(key=lambda row: -float(row[1] or 0))
    headers = ["method"]
    headers += [word for block in BLOCKS for word in (f"mean ACC, {block}", "at the top", "on the frontier")]
    return table(headers, rows)
