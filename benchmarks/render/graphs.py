"""Tables of the graph core: new rows, growth, neighbours, confidence."""

from __future__ import annotations

import numpy as np

from benchmarks.graph import BINS
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, amount, grouped, made_by, short, table


def new_rows() -> str:
    """Return the ACC of fitted rows and of rows that were held out."""
    rows, runs = [], read_records("graph-rows")
    for name, some in grouped(runs, lambda one: one["data"]).items():
        fitted, new = (Figure.of([one[key] for one in some]) for key in ("fitted", "new"))
        rows.append([name, str(fitted.runs), str(fitted), str(new), short(new.mean - fitted.mean)])
    headers = ("data", "seeds", "fitted rows", "new rows", "difference")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-rows", of=runs)


def uneven() -> str:
    """Return the ACC on classes of very different sizes, beside k-means."""
    rows, runs = [], read_records("graph-uneven")
    for name, some in grouped(runs, lambda one: one["data"]).items():
        ours, means = (Figure.of([one[key] for one in some]) for key in ("accuracy", "k-means"))
        size = f"{round(np.mean([one['rows'] for one in some])):,}"
        rows.append([name, size, str(ours.runs), str(ours), str(means)])
    headers = ("data", "rows", "seeds", "ACC", "k-means")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-uneven", of=runs)


def growth() -> str:
    """Return seconds, memory and ACC as rows grow, and the exponent of the seconds from the line before."""
    records = sorted(read_records("graph-growth"), key=lambda one: one["rows"])
    rows, before = [], None
    for one in records:
        exponent = ""
        if before is not None:
            ratio = np.log(one["cpu_seconds"] / before["cpu_seconds"])
            exponent = f"{ratio / np.log(one['rows'] / before['rows']):.2f}"
        spent = [amount(one["cpu_seconds"]), exponent, amount(one["peak_mb"])]
        rows.append([f"{one['rows']:,}", str(one["columns"]), short(one["accuracy"]), *spent])
        before = one
    headers = ("rows", "columns", "ACC", "CPU s", "exponent", "peak MB")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-growth", of=records)


def neighbours() -> str:
    """Return recall and seconds of the approximate search beside the exact one."""
    runs = read_records("neighbours")
    rows = [
        [
            one["data"],
            f"{one['rows']:,}",
            str(one["columns"]),
            amount(one["exact, CPU s"]),
            amount(one["inverted file, CPU s"]),
            short(one["recall"]),
        ]
        for one in runs
    ]
    headers = ("data", "rows", "columns", "exact, CPU s", "inverted file, CPU s", "recall")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks neighbours", of=runs)


def confidence() -> str:
    """Return for each level of confidence its mean and the share of rows that are right, over all sets."""
    records = read_records("graph-confidence")
    sums = np.sum([one["bins"] for one in records], axis=0) if records else np.zeros((len(BINS) - 1, 3))
    rows = []
    for low, high, (count, sure, right) in zip(BINS, BINS[1:], sums, strict=False):
        if count:
            rows.append(
                [f"{low:g} to {high:g}", f"{int(count):,}", short(sure / count), short(right / count)]
            )
    headers = ("confidence", "rows", "mean confidence", "share right")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-confidence", of=records)
