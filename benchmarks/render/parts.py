"""What the parts of the papers add: differences by regime, and the tables that they come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.paper_parts.parts import Paper, Params, Part
from benchmarks.paper_parts.run import records_name
from benchmarks.paper_parts.tables import PAPERS
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, amount, grouped, made_by, short, table
from benchmarks.render.gains import GAINS
from benchmarks.render.trials import written

HELPS = 0.01
_OWN, _GRAPH = ("paper", "printed"), ("start", "free", "ours")

INTRO = f"""## What each part adds

Mean difference of ACC with a part and without it, over data sets and conditions: in the paper's own regime (its
start and its schedule, shortened where the tables below say so), and on top of our graph start. In brackets the
number of data sets and conditions, and of pairs of fits. A part helps where it adds {short(HELPS)} or more in the
mean over seeds.
"""
STEPS = """## What the idea, the corrections and the graph give

ACC and CPU seconds of a fit: the paper's recipe with all of its parts; the same with what we corrected; the
same as printed but from the partition of the graph; the graph start alone; our defaults. All on the same rows;
figures without ± are of one seed.
"""
_STEPS = {
    "the printed recipe": ("printed", "paper"),
    "with our corrections": ("corrected",),
    "its losses from the graph": ("start",),
    "the graph alone": ("graph",),
    "our defaults": ("ours",),
}


def section() -> str:
    """Return the part of the page about parts."""
    measured = {paper.method: latest(read_records(records_name(paper.method))) for paper in PAPERS.values()}
    lines = [line for paper in PAPERS.values() for line in _contrasts(paper, measured[paper.method])]
    headers = (
        "paper",
        "part",
        "where",
        "the paper prints",
        "its own regime",
        "on the graph",
        "helps there",
        "helps on the graph",
    )
    steps = [line for paper in PAPERS.values() for line in _steps(paper, measured[paper.method])]
    parts = [INTRO, table(headers, lines), STEPS, table(("paper", "data", *_STEPS), steps)]
    for paper in PAPERS.values():
        runs = measured[paper.method]
        parts.append(f"### {paper.title}: with each part and without it\n")
        parts.append(_by_regime(paper, runs) if runs else "Not measured yet.\n")
    return "\n".join(parts)


def latest(records: Iterable[Record]) -> list[Record]:
    """Return the last record of each case, and of each data set, condition and regime those of its last row limit."""
    last = {_case(record): record for record in records}.values()
    kept: list[Record] = []
    for runs in grouped(last, lambda r: (r["data"], r["condition"], r["regime"])).values():
        newest = runs[-1]["rows"], runs[-1]["shared"]
        kept += [record for record in runs if (record["rows"], record["shared"]) == newest]
    return kept


def _case(record: Record) -> str:
    names = ("data", "condition", "regime", "change", "seed", "rows", "shared")
    return json.dumps([record[name] for name in names], sort_keys=True)


def gains(runs: Sequence[Record], regime: str, contrast: tuple[Params, Params]) -> dict[str, Figure]:
    """Return the differences of ACC with a part and without it, by data set and condition, paired by seed."""
    scores: list[dict[tuple[str, int], float]] = []
    for change in contrast:
        same = [run for run in runs if run["regime"] == regime and run["change"] == _plain(change)]
        scores.append({(_data(run), run["seed"]): run["scores"]["accuracy"] for run in same})
    on, off = scores
    pairs = grouped([{"case": case, "gain": on[case] - off[case]} for case in on if case in off], _first)
    return {data: Figure.of([pair["gain"] for pair in some]) for data, some in pairs.items()}


def _first(pair: Record) -> str:
    return str(pair["case"][0])


def _plain(change: Params) -> Any:
    return json.loads(json.dumps(dict(change)))


def _data(run: Record) -> str:
    return run["data"] if run["condition"] == "complete" else f"{run['data']}, {run['condition']}"


def _contrasts(paper: Paper, runs: Sequence[Record]) -> Iterable[list[str]]:
    for part in paper.parts:
        printed = GAINS.get(paper.method, {}).get(part.name, "")
        own, graph = (_in_first(part, runs, regimes) for regimes in (_OWN, _GRAPH))
        if own or graph:
            shown = [_mean(own), _mean(graph), _where(own), _where(graph)]
            yield [paper.title, part.name, part.where, printed, *shown]


def _steps(paper: Paper, runs: Sequence[Record]) -> Iterable[list[str]]:
    whole = [run for run in runs if not run["change"]]
    for data, some in grouped(whole, _data).items():
        cells = []
        for regimes in _STEPS.values():
            own = [run for regime in regimes for run in some if run["regime"] == regime]
            same = [run for run in own if run["regime"] == own[0]["regime"]]
            cells.append(_with_cost(same) if same else "")
        yield [paper.title, data, *cells]


def _with_cost(runs: Sequence[Record]) -> str:
    return f"{_accuracy(runs)} ({amount(float(np.mean([run['cpu_seconds'] for run in runs])))} s)"


def _in_first(part: Part, runs: Sequence[Record], regimes: Sequence[str]) -> dict[str, Figure]:
    """Return the gains in the first of these regimes in which the part was measured."""
    measured = (gains(runs, regime, part.regimes[regime]) for regime in regimes if regime in part.regimes)
    return next((found for found in measured if found), {})


def _mean(by_data: dict[str, Figure]) -> str:
    if not by_data:
        return ""
    mean = float(np.mean([figure.mean for figure in by_data.values()]))
    fits = sum(figure.runs for figure in by_data.values())
    return f"{mean:+.3f}".replace("0.", ".", 1) + f" ({len(by_data)}, {fits})"


def _where(by_data: dict[str, Figure]) -> str:
    if not by_data:
        return ""
    return ", ".join(data for data, figure in by_data.items() if round(figure.mean, 4) >= HELPS) or "nowhere"


def _by_regime(paper: Paper, runs: Sequence[Record]) -> str:
    """Return a table of every regime and change, with a column for each data set and condition."""
    names = list(dict.fromkeys(_data(run) for run in runs))
    swept = {json.dumps({name: value}) for name, (_, values) in paper.sweeps.items() for value in values}
    lines, swept_lines = [], []
    for name, regime in paper.regimes.items():
        own = [run for run in runs if run["regime"] == name]
        for change, some in grouped(own, lambda run: json.dumps(run["change"])).items():
            shown = "all of it" if change == "{}" else written(json.loads(change))
            by_data = grouped(some, _data)
            cells = [str(_accuracy(by_data[data])) if data in by_data else "" for data in names]
            spent = amount(float(np.mean([run["cpu_seconds"] for run in some])))
            clusters = _used(some)
            (swept_lines if change in swept else lines).append([regime.words, shown, *cells, clusters, spent])
    rows = sorted({run["fitted_rows"] for run in runs if run["rows"]})
    most = f"Fits are of {rows[0]:,} to {rows[-1]:,} rows, drawn once where a set has more. " if rows else ""
    text = f"{most}Figures without ± are of one seed; clusters are those with rows, of those asked for.\n"
    headers = ("regime", "with", *names, "clusters", "CPU s")
    parts = [text, table(headers, lines)]
    if swept_lines:
        parts += ["Sweeps in the paper's regime:\n", table(headers, swept_lines)]
    command = f"python -m benchmarks paper-parts --method {paper.method}"
    return "\n".join([*parts, made_by(command, of=runs)])


def _accuracy(runs: Sequence[Record]) -> Figure:
    return Figure.of([run["scores"]["accuracy"] for run in runs])


def _used(runs: Sequence[Record]) -> str:
    share = float(np.mean([run["used_clusters"] / run["clusters"] for run in runs]))
    return f"{share:.0%}"
