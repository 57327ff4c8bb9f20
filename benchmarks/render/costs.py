"""The page of costs: growth with rows, and how near the training steps are to the machine's limit."""

from __future__ import annotations

import numpy as np

from benchmarks.records import read_records
from benchmarks.render.figures import Record, amount, grouped, made_by, short, table
from benchmarks.scaling import METHODS

INTRO = """# Cost: growth with rows, and the machine's limit

## As rows grow
Twenty planted groups on disk, 1,024 columns, in four views for the methods that take several; two passes, for what
is asked is how cost grows. Processor seconds of a whole fit, start and labels included. The exponent is that of a
power law through the points: 1 is linear; below 1 the fixed costs of the start still count.
"""
LIMIT = """## The machine's limit
Matrix products of each training step over the rate of a product of two 1,024 x 1,024 matrices in the same run, the
median over steps; the bare loop does forward, backward and step over the same layers and nothing else. LargeMvCNet
trains only if asked to (`max_epochs`); FUCSMF multiplies sparse matrices, which no such limit fits.
"""
RATIOS = """## An epoch beside a bare loop
Ratios within one run, by the wall clock on an idle machine.
"""


def page() -> str:
    """Return the page."""
    growth = [
        *read_records("scaling"),
        *(record for record in read_records("disk") if record["method"] in METHODS),
    ]
    scaled = _growth(growth) if growth else "Not measured yet.\n"
    limit = {(record["method"], record["what"]): record for record in read_records("limit")}
    limits = _limits(limit) if limit else "Not measured yet.\n"
    speed = [
        *(record for record in read_records("speed") if "ratio" in record),
        *read_records("contrast-speed"),
    ]
    return "\n".join(
        [
            INTRO,
            scaled,
            made_by(
                "OMP_NUM_THREADS=1 python -m benchmarks scaling --rows 10000,100000",
                "python -m benchmarks disk",
                of=growth,
            ),
            _by_part(),
            LIMIT,
            limits,
            made_by("OMP_NUM_THREADS=1 python -m benchmarks limit --rows 1000", of=limit.values()),
            RATIOS,
            _ratios(),
            made_by("python -m benchmarks speed", "python -m benchmarks speed --method mvsib", of=speed),
            "## From disk\n",
            _disk(),
            made_by("python -m benchmarks disk", of=read_records("disk")),
        ]
    )


def exponent(rows: list[float], costs: list[float]) -> float:
    """Return b of the power law cost = a rows^b through the points.

    Examples
    --------
    >>> round(exponent([1, 10, 100], [3, 30, 300]), 6)
    1.0
    """
    return float(np.polyfit(np.log(rows), np.log(costs), 1)[0])


def _growth(records: list[Record]) -> str:
    lines = []
    for method, runs in grouped(records, lambda record: record["method"]).items():
        latest = {record["rows"]: record for record in runs}
        ordered = [latest[rows] for rows in sorted(latest)]
        for number, record in enumerate(ordered):
            fitted = ""
            if number == len(ordered) - 1 and len(ordered) > 1:
                fitted = f"{exponent([o['rows'] for o in ordered], [o['cpu_seconds'] for o in ordered]):.2f}"
            spent = 1e6 * record["cpu_seconds"] / record["rows"]
            lines.append(
                [
                    method,
                    f"{record['rows']:,}",
                    str(record["passes"] or "as needed"),
                    amount(record["cpu_seconds"]),
                    f"{spent:,.0f}",
                    amount(record["peak_mb"]),
                    short(record["accuracy"]),
                    fitted,
                ]
            )
    headers = ("method", "rows", "passes", "CPU s", "CPU µs a row", "peak MB", "ACC", "exponent")
    return table(headers, lines)


def _by_part() -> str:
    """Return earlier measurements that tell the parts of a fit from each other."""
    before = "cpu_seconds_before_the_epochs"
    runs = [*read_records("growth")]
    runs += [
        {**record, "method": "LargeMvCNet", "epochs": record["sweeps"]} for record in read_records("scale")
    ]
    lines = []
    for record in runs:
        costs = [amount(record["cpu_seconds"]), amount(record["peak_mb"]), short(record["accuracy"])]
        apart = amount(record[before]) if before in record else ""
        lines.append([record["method"], f"{record['rows']:,}", str(record["epochs"]), *costs, apart])
    headers = ("method", "rows", "epochs", "CPU s", "peak MB", "ACC", "CPU s before the epochs")
    commands = made_by(
        "python -m benchmarks growth --epochs 2",
        "python -m benchmarks growth --method mvsib --rows 10000,30000,70000",
        "python -m benchmarks scale",
        of=runs,
    )
    return "\n".join(["Other runs, on data of their own:\n", table(headers, lines), commands])


def _limits(latest: dict[tuple[str, str], Record]) -> str:
    lines = [
        [method, what, f"{record['rows']:,}", amount(record["gflops"]), amount(record["peak_gflops"]),
         short(record["share_of_peak"]), str(record["machine"]["threads"])]
        for (method, what), record in latest.items()
    ]  # fmt: skip
    headers = ["method", "what", "rows", "GFLOP/s", "peak GFLOP/s", "share of the peak", "threads"]
    return table(headers, lines)


def _ratios() -> str:
    lines = [
        ["PCX", record["what"], f"{record['rows']:,}", f"{record['bare_seconds']:.2f}",
         f"{record['pcx_seconds']:.2f}", f"{record['ratio']:.2f}", short(record["pcx_share_of_peak"])]
        for record in read_records("speed") if "ratio" in record
    ]  # fmt: skip
    lines += [
        ["MVSIB", record["what"], f"{record['rows']:,}", f"{record['bare_seconds']:.2f}", f"{record['seconds']:.2f}",
         f"{record['ratio']:.2f}", ""]
        for record in read_records("contrast-speed")
    ]  # fmt: skip
    return table(["method", "what", "rows", "bare s", "s", "ratio", "share of the peak"], lines)


def _disk() -> str:
    lines = [
        [record["method"], f"{record['rows']:,}", f"{record['columns']:,}", str(record["passes"] or "as needed"),
         f"{record['cpu_seconds']:,.0f}", amount(record["peak_mb"]), f"{record['rows_per_second']:,.0f}",
         f"{record['rows_per_second_in_memory']:,.0f}", f"{record['ratio']:.2f}", short(record["accuracy"])]
        for record in read_records("disk")
    ]  # fmt: skip
    heads = [
        "method",
        "rows",
        "columns",
        "passes",
        "CPU s",
        "peak MB",
        "rows a second",
        "in memory",
        "ratio",
        "ACC",
    ]
    return table(heads, lines)
