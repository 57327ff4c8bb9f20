"""Tables of the methods' pages: parts on and off, missing and corrupt views, noise, classes cut to a few rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from benchmarks.accuracy import has_settings, settings_of
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, amount, grouped, made_by, newest, short, table
from coterie.methods.registry import find_method

_MEAN = "mean"


def ablations(method: str) -> str:
    """Return what a method reaches with other parameters than its defaults, the means over seeds.

    Records of other defaults than today's do not count, nor do seeds that only the defaults have. A line that has
    all data sets ends in their mean.
    """
    estimator = find_method(method).load()
    usual = settings_of(estimator, {})
    defaults = [record for record in newest(read_records("accuracy")) if not record["params"]]
    changed = [record for record in read_records("ablations") if record["params"]]
    runs = [
        record
        for record in (*defaults, *changed)
        if record["method"] == estimator.__name__
        and has_settings(record, settings_of(estimator, record["params"]), usual)
    ]
    tried = {(record["data"], record["seed"]) for record in runs if record["params"]}
    both = [record for record in runs if (record["data"], record["seed"]) in tried]
    lines = grouped(both, lambda record: written(record["params"]))
    command = (
        f"python -m benchmarks accuracy --method {method} --tag ablations --params '{{\"NAME\": VALUE}}'"
    )
    return (
        _by_data(lines, lambda record: record["scores"]["accuracy"], "ACC with")
        + "\n"
        + made_by(command, of=both)
    )


def as_they_come() -> str:
    """Return ACC of tables with words, dates and gaps as they come, and of peers on an encoding made by hand."""
    runs = read_records("tables")
    methods = list(dict.fromkeys(record["method"] for record in runs))
    command = f"python -m benchmarks tables --seeds {1 + max(record['seed'] for record in runs)}"
    rows = []
    for data, some in grouped(runs, lambda record: record["data"]).items():
        scores = [
            Figure.of([record["accuracy"] for record in some if record["method"] == method])
            for method in methods
        ]
        rows.append([data, f"{some[0]['rows']:,}", str(scores[0].runs), *map(str, scores)])
    return table(("data", "rows", "seeds", *methods), rows) + "\n" + made_by(command, of=runs)


def written(params: Record) -> str:
    """Return parameters as a person writes them.

    Examples
    --------
    >>> written({"noise": False, "n_layers": 1}), written({})
    ('`noise=False, n_layers=1`', 'the defaults')
    """
    return (
        f"`{', '.join(f'{name}={value!r}' for name, value in params.items())}`" if params else "the defaults"
    )


def label_ablations() -> str:
    """Return what FUCSMF reaches with other parameters than its defaults, by labels a class."""
    runs = read_records("label-ablations")
    lines = grouped(runs, lambda record: (written(record["params"]), record["data"]))
    counts = list(dict.fromkeys(record["labels"] for record in runs))
    rows = []
    for (params, data), some in lines.items():
        by_count = {record["labels"]: record["accuracy"]["FUCSMF"] for record in some}
        rows.append([data, params, *(short(by_count[n]) if n in by_count else "" for n in counts)])
    order = {name: i for i, name in enumerate(dict.fromkeys(data for _, data in lines))}
    rows.sort(key=lambda row: (order[row[0]], row[1] != "the defaults"))
    command = "python -m benchmarks labels --draws 5 --tag label-ablations --params '{\"NAME\": VALUE}'"
    headers = ("data", "with", *(f"{n:.0%} labels" if n < 1 else f"{n} a class" for n in counts))
    return table(headers, rows) + "\n" + made_by(command, of=runs)


def solve() -> str:
    """Return the seconds of FUCSMF's solve beside those of other solvers of the same problem, in the last run."""
    last = read_records("solve")[-1]
    cells = {
        f"solve from zero, {last['steps']} steps": "solve",
        "L-BFGS-B over the rows": "L-BFGS-B over the rows",
        "Newton-CG over the rows": "Newton-CG over the rows",
        f"ten more labels, {last['their steps']} steps": "ten more labels",
        "LabelSpreading with seven neighbours, end to end": "LabelSpreading, end to end",
        "graph": "graph",
        "bare products of rows and anchors, all columns": "bare products of all columns",
        "the same through the axes": "bare products through the axes",
    }
    rows = [[name, f"{last[key]:.3g}", amount(last[key] / last["solve"])] for name, key in cells.items()]
    headers = ("", "seconds", "of the solve")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks solve", of=[last])


def scale() -> str:
    """Return what LargeMvCNet costs as rows grow, by the newest record of each number of rows and sweeps."""
    latest = {(record["rows"], record["sweeps"]): record for record in read_records("scale")}
    runs = [record for record in latest.values() if "cpu_ratio_to_all_bare_products" in record]
    rows = [
        [
            f"{record['rows']:,}",
            str(record["sweeps"]),
            f"{record['cpu_seconds']:.0f}",
            f"{record['cpu_microseconds_a_row'] / 1000:.2f}",
            f"{record['cpu_ratio_to_bare_products']:.1f}",
            f"{record['cpu_ratio_to_all_bare_products']:.1f}",
            f"{record['peak_mb']:.0f}",
        ]
        for record in runs
    ]
    headers = (
        "rows",
        "sweeps",
        "CPU s",
        "CPU ms a row",
        "over the bare products",
        "and those of the start",
        "peak MB",
    )
    return table(headers, rows) + "\n" + made_by("OMP_NUM_THREADS=1 python -m benchmarks scale", of=runs)


def corruption() -> str:
    """Return what noise in a view costs LargeMvCNet with and without the noise term, and where it is known."""
    records = read_records("corruption")
    runs = grouped(records, lambda record: record["data"])
    columns = {
        "clean": "clean, with noise term",
        "spoilt": "spoilt, with noise term",
        "spoilt rows taken out": "removed, with noise term",
        "no term: clean": "clean, without noise term",
        "no term: spoilt": "spoilt, without noise term",
        "precision": "precision",
        "recall": "recall",
    }
    lines = [[name, *(short(_mean(some, key)) for key in columns.values())] for name, some in runs.items()]
    if runs:
        everyone = [[_mean(some, key) for key in columns.values()] for some in runs.values()]
        lines.append([_MEAN, *map(short, np.mean(everyone, axis=0))])
    return table(("data", *columns), lines) + "\n" + made_by("python -m benchmarks corruption", of=records)


def missing(method: str) -> str:
    """Return what missing views cost a method; in brackets k-means with filled columns, and with unit rows."""
    estimator = find_method(method).load().__name__
    tag = "missing" if method == "largemvcnet" else f"missing-{method}"
    runs = read_records(tag)
    cases = dict.fromkeys((record["reading"], record["rate"]) for record in runs)
    named = {case: "complete" if case[1] == 0 else f"{case[0]} {case[1]:g}" for case in cases}
    lines, everyone = [], grouped(runs, lambda record: record["data"])
    for name, some in everyone.items():
        lines.append([name, *(_beside(_of_case(some, case), estimator) for case in cases)])
    if len(everyone) > 1:
        whole = [c for c in cases if all(_of_case(some, c) for some in everyone.values())]
        lines.append([_MEAN, *(_beside(_of_case(runs, c), estimator) if c in whole else "" for c in cases)])
    option = "" if method == "largemvcnet" else f" --method {method}"
    command = f"python -m benchmarks missing{option}"
    return table(("data", *named.values()), lines) + "\n" + made_by(command, of=runs)


def robustness() -> str:
    """Return what random neighbours and noise in the first view cost MVSIB."""
    records = read_records("robustness")
    lines = grouped(records, _noise)
    return (
        _by_data(lines, lambda record: record["accuracy"], "ACC with")
        + "\n"
        + made_by("python -m benchmarks robustness", of=records)
    )


def _noise(record: Record) -> str:
    if record["noise"] == "neighbours":
        return f"{record['share']:.0%} of the neighbours drawn at random" if record["share"] else "nothing"
    return f"noise on {record['share']:.0%} of the first view's rows, signal to noise {record['level']:g}"


def imbalance() -> str:
    """Return the recall of three classes cut to a twentieth, and the share of the other rows that are right."""
    records = read_records("imbalance")
    runs = grouped(records, lambda record: (record["data"], json.dumps(record["params"])))
    lines = []
    for (data, _), some in runs.items():
        scores = [short(_mean(some, key)) for key in ("minority_recall", "rest_accuracy")]
        lines.append([data, written(some[-1]["params"]), *scores, str(len(some))])
    headers = ("data", "with", "recall of small classes", "others right", "seeds")
    commands = [
        f"python -m benchmarks imbalance{option}" for option in ("", " --params '{\"seek_small\": false}'")
    ]
    return table(headers, lines) + "\n" + made_by(*commands, of=records)


def _by_data(lines: dict[str, list[Record]], score: Callable[[Record], float], first: str) -> str:
    """Return a table with a line for each case and a column for each data set, means over seeds."""
    names = list(dict.fromkeys(record["data"] for some in lines.values() for record in some))
    rows = []
    for name, some in lines.items():
        by_set = grouped(some, lambda record: record["data"])
        means = [
            float(np.mean([score(record) for record in by_set[data]])) for data in names if data in by_set
        ]
        cells = iter(means)
        shown = [short(next(cells)) if data in by_set else "" for data in names]
        rows.append([name, *shown, short(float(np.mean(means))) if len(means) == len(names) else ""])
    return table((first, *names, _MEAN), rows)


def _of_case(records: Iterable[Record], case: Hashable) -> list[Record]:
    return [record for record in records if (record["reading"], record["rate"]) == case]


def _beside(some: list[Record], method: str) -> str:
    """Return a method's mean over data sets, with those of two forms of k-means in brackets."""
    if not some:
        return ""
    ours, columns, unit = (
        np.mean([_mean(own, who) for own in grouped(some, lambda record: record["data"]).values()])
        for who in (method, "k-means", "k-means, unit rows")
    )
    return f"{short(float(ours))} ({short(float(columns))}, {short(float(unit))})"


def _mean(records: Iterable[Record], key: str) -> float:
    return float(np.mean([record[key] for record in records]))
