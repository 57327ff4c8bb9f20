"""Tables of the graph core: new rows, growth, neighbours, confidence."""

from __future__ import annotations

import numpy as np

from benchmarks.describe import CHOSEN_ON, KINDS
from benchmarks.graph import BINS
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, amount, grouped, made_by, short, table


def new_rows() -> str:
    """Return the ACC of fitted rows and of rows that were held out."""
    rows, runs = [], read_records("graph-rows")
    for name, some in grouped(runs, lambda record: record["data"]).items():
        fitted, new = (Figure.of([record[key] for record in some]) for key in ("fitted", "new"))
        rows.append([name, str(fitted.runs), str(fitted), str(new), short(new.mean - fitted.mean)])
    headers = ("data", "seeds", "fitted rows", "new rows", "difference")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-rows", of=runs)


def held_out() -> str:
    """Return the ACC of held-out rows by networks and by vote, and 5-NN accuracy by code and by raw row."""
    rows, runs = [], [record for record in read_records("new-rows") if "voted_accuracy" in record]
    keys = ("accuracy", "new_accuracy", "voted_accuracy", "code_neighbours", "raw_neighbours")
    for (method, name), some in grouped(runs, lambda record: (record["method"], record["data"])).items():
        figures = [Figure.of([record[key] for record in some]) for key in keys]
        rows.append([method, name, str(len(some)), *map(str, figures)])
    headers = ("method", "data", "seeds", "fitted", "network", "vote", "5-NN by code", "5-NN by raw row")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks new-rows", of=runs)


def uneven() -> str:
    """Return the ACC on classes of very different sizes, and that of k-means."""
    rows, runs = [], read_records("graph-uneven")
    for name, some in grouped(runs, lambda record: record["data"]).items():
        ours, means = (Figure.of([record[key] for record in some]) for key in ("accuracy", "k-means"))
        size = f"{round(np.mean([record['rows'] for record in some])):,}"
        rows.append([name, size, str(ours.runs), str(ours), str(means)])
    headers = ("data", "rows", "seeds", "ACC", "k-means")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-uneven", of=runs)


def growth() -> str:
    """Return seconds, memory and ACC as rows grow, and the exponent of the seconds from the line before."""
    records = sorted(read_records("graph-growth"), key=lambda record: record["rows"])
    rows, before = [], None
    for record in records:
        exponent = ""
        if before is not None:
            ratio = np.log(record["cpu_seconds"] / before["cpu_seconds"])
            exponent = f"{ratio / np.log(record['rows'] / before['rows']):.2f}"
        spent = [amount(record["cpu_seconds"]), exponent, amount(record["peak_mb"])]
        rows.append([f"{record['rows']:,}", str(record["columns"]), short(record["accuracy"]), *spent])
        before = record
    headers = ("rows", "columns", "ACC", "CPU s", "exponent", "peak MB")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-growth", of=records)


def neighbours() -> str:
    """Return recall and seconds of approximate against exact search."""
    runs = read_records("neighbours")
    rows = [
        [
            record["data"],
            f"{record['rows']:,}",
            str(record["columns"]),
            amount(record["exact, CPU s"]),
            amount(record["inverted file, CPU s"]),
            short(record["recall"]),
        ]
        for record in runs
    ]
    headers = ("data", "rows", "columns", "exact, CPU s", "inverted file, CPU s", "recall")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks neighbours", of=runs)


def confidence() -> str:
    """Return for each level of confidence its mean and the share of rows that are right, over all sets."""
    records = read_records("graph-confidence")
    sums = np.sum([record["bins"] for record in records], axis=0) if records else np.zeros((len(BINS) - 1, 3))
    rows = []
    for low, high, (count, sure, right) in zip(BINS, BINS[1:], sums, strict=False):
        if count:
            rows.append(
                [f"{low:g} to {high:g}", f"{int(count):,}", short(sure / count), short(right / count)]
            )
    headers = ("confidence", "rows", "mean confidence", "share right")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks graph-confidence", of=records)


def described() -> str:
    """Return the ACC by what texts, pictures, series and cells are described by."""
    rows, runs = [], read_records("describe")
    places = {name: place for place, name in enumerate(name for names in KINDS.values() for name in names)}
    runs.sort(key=lambda record: places[record["data"]])  # stable: ways stay in their order
    for (name, way), some in grouped(runs, lambda record: (record["data"], record["way"])).items():
        ours, nmi, means, spent = (
            Figure.of([record[key] for record in some])
            for key in ("accuracy", "nmi", "k-means", "cpu_seconds")
        )
        role = "chosen on" if name in CHOSEN_ON else "confirmed on"
        size = f"{some[0]['rows']:,}"
        rows.append(
            [
                some[0]["kind"],
                name,
                role,
                size,
                way,
                str(ours.runs),
                *map(short, (ours.mean, nmi.mean, means.mean)),
            ]
        )
        rows[-1].append(amount(spent.mean))
    headers = ("things", "data", "role", "rows", "described by", "seeds", "ACC", "NMI", "k-means", "CPU s")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks describe", of=runs)
