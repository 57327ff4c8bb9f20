"""The page of peers: what to expect, who is ahead, accuracy, cost, frontiers, missing views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from benchmarks.peers import PEERS
from benchmarks.render import apart
from benchmarks.render.apart import COMMAND
from benchmarks.render.expect import by_kind, head_to_head, policies
from benchmarks.render.figures import amount, made_by, table
from benchmarks.render.standing import (
    BLOCKS,
    COMPARED,
    LEVEL,
    Standing,
    Standings,
    best,
    compared,
    counted,
    frontier,
    is_level,
    is_on_frontier,
    lead,
    paired,
    standings,
)
from benchmarks.render.svg import COLOURS, GREY, Panel, Series, drawing
from benchmarks.sets import CHOSEN, FRESH, SETS

_OURS = {
    "GraphClustering": COLOURS[5],
    "LargeMvCNet": COLOURS[0],
    "MVSIB": COLOURS[1],
    "PCX": COLOURS[2],
    "SSCNet": COLOURS[3],
    "SSC": COLOURS[4],
}
_OTHER = "°"
"""Marks a figure that was measured at another commit than most of its table."""
_TABLES = {
    "One table, fresh": tuple(d.name for d in FRESH if d.kind != "several views"),
    "Several views, fresh": tuple(d.name for d in FRESH if d.kind == "several views"),
    "One table, chosen": tuple(d.name for d in CHOSEN if d.kind != "several views"),
    "Several views, chosen": tuple(d.name for d in CHOSEN if d.kind == "several views"),
}

HOW = """## How it was measured


Every method got the same rows and the true number of clusters where it takes one, ran with its defaults in a
process of its own on one thread, and never saw a label.

- **Fresh and chosen.** No default of ours was chosen while looking at a score on a *fresh* set. The list of
  fresh sets was fixed before the first figure, and none was dropped. On the *chosen* ones people looked, so
  expect less elsewhere. The two never share a column or a mean. A set on which a default was changed since is
  a chosen one: half of the single tables inside packages, drawn by name, when the scaling of tables was chosen.
  The other half was looked at once, to confirm it, and is still called fresh.
- **Scaling.** Peers get the rows as a user of such data would scale them: standardised columns for
  measurements, values as they are for time series and gene expression, rows of unit length for text and for
  the sets of the data folder, views side by side with equal weight. Our methods get the values as they are
  and choose a scaling themselves.
- **Peers as their users call them.** UMAP has 15 neighbours, no least distance and 10 or 2 axes, then
  k-means (ten starts), a mixture with full covariances, or HDBSCAN with clusters of at least a hundredth of
  the rows. Leiden works as in scanpy: 50 principal axes, 15 neighbours, UMAP's weights, resolution 1; "for
  k" bisects the resolution until there are k communities. PhenoGraph has 30 neighbours and Jaccard weights.
  EVoC finds its own number of clusters, "for k" is told it. What finds its own number pays for that in ACC,
  and noise rows count as wrong. clustpy's networks have PCX's layers and number of epochs.
- **In our own words** (`benchmarks/peers`): SNF, weighted nearest neighbours, LMVSC, co-regularised
  spectral clustering and the two plain graphs. leidenalg and igraph are under the GPL: measured here, never
  imported by the library.
- **Figures.** ACC is the mean over seeds ± standard deviation, of one seed where no deviation follows; a
  difference is the mean over the seeds that both have. Half a point or less is level. Seconds are CPU
  seconds of one thread, without numba's compiling, which stands apart below; a map that several peers share
  is charged to each. Peers that numba compiles carry about 650 MB of compiled code in their memory. ° marks
  a figure of another commit than most of its table.
"""


WHY = """What runs of GraphClustering with one thing changed showed (one seed, no records kept):

- **Columns of measurements in like units** (olive, athletes, body, crabs): our test of scalings keeps the values as
  they are; with standardised columns the same method gains five to twelve points. It would lose on iris and glucose.
- **Classes of very different size** (oils, olive, pbmc68k, hpc-jobs): the clusters come out far more alike in size
  than the classes, since the criterion prefers that, and the largest class is cut.
- **The number of neighbours**: five are better than the default on tissues, arrowhead, trace, osuleaf and nci60
  (64 to 442 rows), thirty on flavia and hpc-jobs, where PhenoGraph with its thirty is good.
- **Unexplained**: wine, the two corpora of docstrings, and motions, where SNF fuses six short sensors better.
  gunpoint, trace and crabs have hardly any groups in plain distances: nobody is good there.
"""


LEFT = """## What was not measured

- N2D, and the deep peers of clustpy and imml's methods on fresh sets; our methods other than GraphClustering there.
- A million rows, and seventy thousand rows for the peers that people run today; missing views for SNF, MOFA and UMAP.
- snfpy 0.2.2 fails with scikit-learn 1.9 (`check_array() got an unexpected keyword argument 'force_all_finite'`), so
  SNF is in our own words. aeon cannot be installed beside the pinned versions (pip ends at a package that refuses
  Python 3.11), so its time series come from sktime, which has the same files.
- Fresh sets have two or three seeds, the peers of today on chosen sets one.
"""


def page() -> str:
    """Return the page."""
    by_data = standings()
    parts = [
        "# Beside what you use today\n",
        "## What to expect\n",
        answer(by_data),
        "ACC is a mean over the sets of a kind, seconds are their median. The best single peer is the one with the "
        "highest mean over all of them: one choice for all, as a user has to make it. Only sets that were measured "
        "beside UMAP, Leiden and the like count.\n",
        by_kind(by_data),
        _verdict(by_data),
        _losses(by_data),
        WHY,
        "### Our default against each peer\n",
        "GraphClustering minus the peer, mean over data sets ± their spread, worst for us first; sets won, level and "
        "lost.\n",
        head_to_head(by_data),
        "### One method for every single table\n",
        "Mean ACC where a method has a figure on every set of the block; sets where it is within half a point of the "
        "best of all, and where nothing is both faster and more accurate.\n",
        policies(by_data),
        made_by(COMMAND, of=compared()),
        HOW,
    ]
    for title, names in _TABLES.items():
        parts += _block(by_data, title, names)
    parts += ["## Missing views\n", apart.missing(), "## Seventy thousand rows\n", apart.large()]
    parts += [
        "## Compiling\n",
        apart.compiling(),
        "## What did not end\n",
        apart.failures(),
        LEFT,
        "## The data\n",
        apart.sources(),
    ]
    return "\n".join(parts)


def _block(by_data: Standings, title: str, names: Sequence[str]) -> list[str]:
    drawn = "-".join(title.lower().replace(",", "").split())
    parts = [f"## {title}\n", f"![ACC against processor seconds](frontier-{drawn}.svg)\n"]
    parts += [
        "The dashed line is the frontier: nothing is both faster and more accurate.\n",
        _versus(by_data, names),
    ]
    for word, shown in _CELLS.items():
        parts += [f"### {word}: {title.lower()}\n", _matrix(by_data, names, shown)]
    return parts


_CELLS: dict[str, Callable[[Standing], str]] = {
    "ACC": lambda standing: str(standing.accuracy),
    "CPU seconds": lambda standing: amount(standing.cpu_seconds),
    "Peak memory, MB": lambda standing: amount(standing.peak_mb),
}


def drawings() -> dict[str, str]:
    """Return the plots by file name."""
    by_data = standings()
    made = {}
    for title, names in _TABLES.items():
        shown = {name: by_data[name] for name in names if by_data[name]}
        used = {standing.method for methods in shown.values() for standing in methods}
        legend = [(name, colour) for name, colour in _OURS.items() if name in used]
        panels = [_panel(name, methods) for name, methods in shown.items()]
        file = "-".join(title.lower().replace(",", "").split())
        made[f"frontier-{file}.svg"] = drawing(panels, 4, [*legend, ("peers", GREY)])
    return made


def _panel(name: str, methods: Sequence[Standing]) -> Panel:
    edge = frontier(methods)
    series = [Series("frontier", _points(edge), "#666", dashed=True)]
    for standing in methods:
        label = [standing.method] if standing in edge else []
        colour = _OURS.get(standing.method, GREY) if standing.ours else GREY
        series.append(Series(standing.method, _points([standing]), colour, line=False, labels=label))
    return Panel(f"{name}, {methods[0].rows:,} rows", series, "processor seconds", log_x=True)


def _points(methods: Sequence[Standing]) -> list[tuple[float, float]]:
    return [(standing.cpu_seconds, standing.accuracy.mean) for standing in methods]


def answer(by_data: Standings) -> str:
    """Return the sentences that a user reads first."""
    lines = []
    for block in BLOCKS:
        known = counted(by_data, block)
        level, edge = (sum(test(by_data[name]) for name in known) for test in (is_level, is_on_frontier))
        word = "none of our defaults was chosen on" if block == "fresh" else "our defaults were chosen on"
        lines.append(
            f"On **{level} of {len(known)}** data sets that {word}, no peer is more than half a point ahead of the "
            f"best coterie method, and on **{edge}** a coterie method is on the frontier of ACC against CPU seconds."
        )
    return "\n".join(lines) + "\n"


def _verdict(by_data: Standings) -> str:
    known = [name for block in BLOCKS for name in counted(by_data, block)]
    ahead = [name for name in known if lead(by_data[name]) > LEVEL]
    level = [name for name in known if abs(lead(by_data[name])) <= LEVEL]
    off = [name for name in known if not is_on_frontier(by_data[name])]
    lines = [
        "## Who is ahead\n",
        f"Of {len(known)} data sets, the best coterie method is ahead of every peer on {len(ahead)}, level with the "
        f"best peer on {len(level)} and behind it on {len(known) - len(ahead) - len(level)}. The best peer is the "
        f"best of {len(PEERS)} on that very set, which no user knows beforehand.",
    ]
    if off:
        lines.append(f"No method of ours is on the frontier on {', '.join(off)}.")
    rest = [name for name in COMPARED if name not in known]
    if rest:
        lines.append(
            f"Not yet measured beside UMAP, Leiden and the like, and not counted: {', '.join(rest)}."
        )
    return "\n".join(lines) + "\n"


def _losses(by_data: Standings) -> str:
    """Return the sets where a peer is more than half a point ahead of all our methods, largest loss first."""
    lost = [name for block in BLOCKS for name in counted(by_data, block) if not is_level(by_data[name])]
    rows = []
    for name in sorted(lost, key=lambda name: lead(by_data[name])):
        mine, theirs = best(by_data[name], ours=True), best(by_data[name], ours=False)
        if mine is None or theirs is None:
            continue
        ahead = [
            s.method for s in by_data[name] if not s.ours and s.accuracy.mean > mine.accuracy.mean + LEVEL
        ]
        rows.append([
            name,
            "fresh" if SETS[name].fresh else "chosen",
            f"{mine.method} {mine.accuracy}",
            f"{theirs.method} {theirs.accuracy}",
            str(paired(mine, theirs)),
            str(len(ahead)),
        ])  # fmt: skip
    headers = ("data", "", "best of ours", "best peer", "difference", "peers ahead")
    return "### Where we lose\n\n" + table(headers, rows)


def _versus(by_data: Standings, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        methods = by_data[name]
        mine, theirs = best(methods, ours=True), best(methods, ours=False)
        if mine is None or theirs is None:
            continue
        rows.append([
            name,
            f"{methods[0].rows:,}",
            f"{mine.method} {mine.accuracy}",
            str(mine.accuracy.runs),
            amount(mine.cpu_seconds),
            f"{theirs.method} {theirs.accuracy}",
            str(theirs.accuracy.runs),
            amount(theirs.cpu_seconds),
            str(paired(mine, theirs)),
            "yes" if is_on_frontier(methods) else "no",
            str(sum(not standing.ours for standing in methods)),
        ])  # fmt: skip
    headers = (
        "data", "rows", "best of ours", "seeds", "CPU s", "best peer", "seeds", "CPU s", "difference",
        "on the frontier", "peers measured",
    )  # fmt: skip
    return table(headers, rows)


def _matrix(by_data: Standings, names: Sequence[str], shown: Callable[[Standing], str]) -> str:
    """Return methods against data sets; what is of another commit than most of the table is marked."""
    by_method: dict[str, dict[str, Standing]] = {}
    for name in names:
        for standing in by_data[name]:
            by_method.setdefault(standing.method, {})[name] = standing
    commits = Counter(one.commit for found in by_method.values() for one in found.values())
    usual = max(commits, key=commits.__getitem__, default="")
    order = sorted(by_method, key=lambda m: ([*PEERS].index(m) if m in PEERS else len(PEERS), m))
    rows = []
    for method in order:
        found = by_method[method]
        cells = [
            shown(found[n]) + (_OTHER if found[n].commit != usual else "") if n in found else ""
            for n in names
        ]
        rows.append([method if method in PEERS else f"**{method}**", *cells])
    mark = f"\nMost figures are of commit {usual}.\n" if usual else ""
    return table(["", *names], rows) + mark
