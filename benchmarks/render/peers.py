"""The page of peers: who is ahead, accuracy, cost, frontiers, missing views."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.peers import PEERS
from benchmarks.render.figures import Figure, amount, grouped, made_by, newest, short, table
from benchmarks.render.standing import (
    EIGHTEEN,
    Standing,
    best,
    compared,
    ended,
    failed,
    frontier,
    is_ahead,
    is_on_frontier,
    standings,
)
from benchmarks.render.svg import COLOURS, GREY, Panel, Series, drawing
from benchmarks.sets import SETS, SEVERAL, SINGLE

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks peers"
GOAL = 13
_LEVEL = 0.005
_OURS = {
    "LargeMvCNet": COLOURS[0],
    "MVSIB": COLOURS[1],
    "PCX": COLOURS[2],
    "SSCNet": COLOURS[3],
    "SSC": COLOURS[4],
}

INTRO = """# Beside what you use today

Every method got the same rows and the true number of clusters, ran with its defaults in a process of its own on one
thread, and never saw a label. Peers see each view with rows of unit length, those for one table see the views side by
side; our methods choose their scaling themselves. HDBSCAN takes no number of clusters, and its noise rows count as
wrong. clustpy's networks have PCX's layers, batches and number of epochs, two fifths of them before there are
clusters. GaussianMixture works on 32 principal axes with diagonal covariances. Co-regularised spectral clustering,
LMVSC and the two graph baselines are small reference methods of ours in `benchmarks/peers`; their settings were fixed
beforehand.

ACC is the mean over seeds ± standard deviation, of one seed where no deviation follows. Seconds are those of one
processor, for the machine did other work as well. Our accuracies take in the records of `python -m benchmarks
accuracy`, up to five seeds.
"""


def page() -> str:
    """Return the page."""
    by_data = standings()
    several, single = ([data.name for data in some] for some in (SEVERAL, SINGLE))
    parts = [INTRO, made_by(COMMAND, of=compared()), _verdict(by_data), _versus(by_data)]
    for title, names, drawn in (("Several views", several, "several"), ("One view", single, "one")):
        parts += [f"## {title}\n", f"![ACC against processor seconds](frontier-{drawn}.svg)\n"]
        parts += ["The dashed line is the frontier: nothing is both faster and more accurate.\n"]
        parts += [
            "### ACC\n",
            _matrix(by_data, names, lambda standing: str(standing.accuracy)),
            made_by(COMMAND),
        ]
        parts += [
            "### Processor seconds\n",
            _matrix(by_data, names, lambda standing: amount(standing.cpu_seconds)),
        ]
        parts += ["### Peak memory, MB\n", _matrix(by_data, names, lambda standing: amount(standing.peak_mb))]
    parts += ["## Missing views\n", _missing(), "## What did not end\n", _failures()]
    return "\n".join(parts)


def drawings() -> dict[str, str]:
    """Return the plots by file name."""
    by_data = standings()
    made = {}
    for word, some in (("several", SEVERAL), ("one", SINGLE)):
        shown = {data.name: by_data[data.name] for data in some if by_data[data.name]}
        used = {standing.method for methods in shown.values() for standing in methods}
        legend = [(name, colour) for name, colour in _OURS.items() if name in used]
        panels = [_panel(name, methods) for name, methods in shown.items()]
        made[f"frontier-{word}.svg"] = drawing(panels, 4, [*legend, ("peers", GREY)])
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


def _verdict(by_data: dict[str, list[Standing]]) -> str:
    measured = [name for name in EIGHTEEN if best(by_data[name], ours=False)]
    ahead = [name for name in measured if is_ahead(by_data[name])]
    behind = [name for name in measured if name not in ahead]
    edge = [name for name in measured if is_on_frontier(by_data[name])]
    lines = [
        "## Who is ahead\n",
        f"The best coterie method is ahead of every peer measured on **{len(ahead)} of {len(EIGHTEEN)}** data sets "
        f"({GOAL} were aimed at), and some coterie method is on the frontier on **{len(edge)}**.",
    ]
    close = [name for name in ahead if _lead(by_data[name]) < _LEVEL]
    if close:
        lines.append(f"On {', '.join(close)} it is ahead by less than half a point, which is level.")
    if behind:
        lines.append(f"A peer is level or ahead on {', '.join(behind)}.")
    off = [name for name in measured if name not in edge]
    if off:
        lines.append(f"No method of ours is on the frontier on {', '.join(off)}.")
    alone = sum(not peer.several for peer in PEERS.values())
    lines.append(
        f"There are {len(PEERS)} peers for several views and {alone} for one; the last column says how many of them "
        "were measured so far. A peer with one seed may stand higher or lower with more."
    )
    if len(measured) < len(EIGHTEEN):
        lines.append(f"No peer was measured yet on {', '.join(n for n in EIGHTEEN if n not in measured)}.")
    return "\n".join(lines) + "\n"


def _lead(methods: Sequence[Standing]) -> float:
    mine, theirs = best(methods, ours=True), best(methods, ours=False)
    return mine.accuracy.mean - theirs.accuracy.mean if mine and theirs else 0.0


def _versus(by_data: dict[str, list[Standing]]) -> str:
    rows = []
    for name, methods in by_data.items():
        mine, theirs = best(methods, ours=True), best(methods, ours=False)
        if mine is None or theirs is None:
            continue
        rows.append(
            [
                name,
                f"{mine.method} {mine.accuracy}",
                str(mine.accuracy.runs),
                f"{theirs.method} {theirs.accuracy}",
                str(theirs.accuracy.runs),
                short(_lead(methods)),
                "yes" if is_on_frontier(methods) else "no",
                str(sum(not standing.ours for standing in methods)),
            ]
        )
    headers = (
        "data",
        "best of ours",
        "seeds",
        "best peer",
        "seeds",
        "difference",
        "on the frontier",
        "peers measured",
    )
    return table(headers, rows)


def _matrix(
    by_data: dict[str, list[Standing]], names: Sequence[str], shown: Callable[[Standing], str]
) -> str:
    by_method: dict[str, dict[str, Standing]] = {}
    for name in names:
        for standing in by_data[name]:
            by_method.setdefault(standing.method, {})[name] = standing
    order = sorted(by_method, key=lambda m: ([*PEERS].index(m) if m in PEERS else len(PEERS), m))
    rows = []
    for method in order:
        cells = [shown(by_method[method][n]) if n in by_method[method] else "" for n in names]
        rows.append([method if method in PEERS else f"**{method}**", *cells])
    return table(["", *names], rows)


def _missing() -> str:
    """Return ACC with a share of the rows incomplete, where it was measured, and on complete rows."""
    gaps = [record for record in newest(ended()) if record["missing"]]
    if not gaps:
        return "Not measured yet.\n" + made_by(f"{COMMAND} --rates 0.3,0.5")
    runs = grouped(gaps, lambda record: (record["method"], record["data"], record["missing"]))
    figures = {
        key: Figure.of([record["scores"]["accuracy"] for record in some]) for key, some in runs.items()
    }
    compared = {(method, name) for method, name, _ in figures}
    for name, methods in standings().items():
        figures |= {(s.method, name, 0): s.accuracy for s in methods if (s.method, name) in compared}
    names = [name for name in SETS if any(name == other for _, other in compared)]
    rates = sorted({rate for _, _, rate in figures})
    rows = []
    for method in dict.fromkeys(
        record["method"] for record in sorted(gaps, key=lambda record: record["ours"])
    ):
        shown = method if method in PEERS else f"**{method}**"
        for rate in rates:
            rows.append([shown, f"{rate:g}", *(str(figures.get((method, name, rate), "")) for name in names)])
    text = (
        "ACC with this share of the rows incomplete. k-means sees the mean of a view where it is missing.\n"
    )
    return "\n".join(
        [text, table(["", "share", *names], rows), made_by(f"{COMMAND} --rates 0,0.3,0.5", of=gaps)]
    )


def _failures() -> str:
    groups = grouped(failed(), lambda record: (record["method"], record["failed"]))
    if not groups:
        return "Everything that was started.\n"
    rows = [
        [method, why, ", ".join(dict.fromkeys(record["data"] for record in some))]
        for (method, why), some in groups.items()
    ]
    return table(["method", "why", "data"], rows)
