"""Tables of the page "when one machine is not enough": sizes, killed runs, damaged files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from benchmarks.records import read_records
from benchmarks.render.figures import Record, amount, made_by, table
from benchmarks.subspaces import WIDTH
from benchmarks.views import WIDTHS
from coterie.data.batches import SHARD_BYTES

SIZES = (10**6, 10**7, 10**8, 10**9)
ROW_BYTES = 100
"""Memory a row beyond what was measured: its label, its place in two orders, and ten neighbours of five bytes."""
_KEPT_BYTES = 8 + 24
"""Bytes a row of the model's labels and of labels.csv."""


@dataclass(frozen=True)
class Cost:
    """What a fit costs, measured or estimated.

    Attributes
    ----------
    method : str
    rows, columns : int
    passes : int or None
        Epochs or sweeps; None where the method reads the rows as often as it needs.
    cpu_seconds, peak_mb : float
    record : dict, optional
        What it was read from.
    """

    method: str
    rows: int
    columns: int
    passes: int | None
    cpu_seconds: float
    peak_mb: float
    record: Record | None = None

    def at(self, rows: int) -> Self:
        """Estimate a larger fit.

        Time goes with the rows. Memory takes `ROW_BYTES` for each more, and two shards where all rows took less.
        """
        shards = min(2 * SHARD_BYTES, 4 * self.columns * rows) - 4 * self.columns * self.rows
        more = (ROW_BYTES * (rows - self.rows) + max(0, shards)) / 2**20
        seconds = self.cpu_seconds * rows / self.rows
        return type(self)(self.method, rows, self.columns, self.passes, seconds, self.peak_mb + more)

    @property
    def disk_gb(self) -> float:
        """Gigabytes of the rows as float32, of the model's labels and of labels.csv."""
        return self.rows * (4 * self.columns + _KEPT_BYTES) / 1e9


def measured() -> list[Cost]:
    """Return the largest fit on record of each method; of two of one size that with more columns."""
    largest: dict[str, Cost] = {}
    for cost in _all_costs():
        best = largest.get(cost.method)
        if best is None or (cost.rows, cost.columns) > (best.rows, best.columns):
            largest[cost.method] = cost
    return [largest[name] for name in sorted(largest)]


def _all_costs() -> list[Cost]:
    wide = sum(WIDTHS)
    growth = [record for record in read_records("growth") if record["method"] != "exact"]
    return [
        *(
            _cost(record, record["method"], record["columns"], record["passes"])
            for file in ("disk", "scaling")
            for record in read_records(file)
        ),
        *(
            _cost(record, record["method"], {"SSCNet": WIDTH}.get(record["method"], wide), record["epochs"])
            for record in growth
        ),
        *(_cost(record, "LargeMvCNet", wide, record["sweeps"]) for record in read_records("scale")),
    ]


def _cost(record: Record, method: str, columns: int, passes: int | None) -> Cost:
    return Cost(method, record["rows"], columns, passes, record["cpu_seconds"], record["peak_mb"], record)


def sizing() -> str:
    """Return what each method costs from its largest measured fit up to a billion rows."""
    lines, costs = [], measured()
    for cost in costs:
        lines.append(_line(cost, "measured"))
        lines += [_line(cost.at(rows), "estimated") for rows in SIZES if rows > cost.rows]
    headers = ("method", "rows", "columns", "passes", "processor hours", "memory, GB", "disk, GB", "")
    commands = ("disk", "scaling", "growth", "growth --method mvsib", "scale")
    shown = [f"python -m benchmarks {command}" for command in commands]
    return table(headers, lines) + "\n" + made_by(*shown, of=[cost.record for cost in costs if cost.record])


def _line(cost: Cost, how: str) -> list[str]:
    hours = cost.cpu_seconds / 3600
    return [
        cost.method,
        f"{cost.rows:,}",
        f"{cost.columns:,}",
        "as needed" if cost.passes is None else str(cost.passes),
        f"{hours:.2f}" if hours < 10 else amount(hours),
        amount(cost.peak_mb / 1024),
        amount(cost.disk_gb),
        how,
    ]


def killed() -> str:
    """Return what became of work that was killed, stopped or left without room."""
    runs = read_records("faults")
    columns = {
        "SIGKILL": "kills",
        "in time": "killed_before_the_end",
        "after a checkpoint": "resumed_from_a_checkpoint",
        "SIGTERM": "stops",
        "in time ": "stopped",
        "left a model": "models_left_by_a_stop",
        "disk full": "full",
        "refused": "refused_without_room",
        "same results in the end": "ended_alike",
        "files wrongly loaded": "files_wrongly_loaded",
        "faults": "faults",
    }
    lines = [
        [
            record["method"],
            *(str(len(record[key]) if key == "faults" else record[key]) for key in columns.values()),
        ]
        for record in runs
    ]
    return table(("work", *columns), lines) + "\n" + made_by("python -m benchmarks faults", of=runs)


def fuzzed() -> str:
    """Return the outcomes of damaged files, reader by reader."""
    records, counts = read_records("fuzz"), ("inputs", "read", "refused")
    lines = [
        [record["reader"], *(f"{record[key]:,}" for key in counts), str(len(record["faults"])),
         f"{record['most_bytes'] / 2**20:.1f}", f"{record['bytes_there'] / 1024:.1f}",
         f"{record['most_seconds']:.2f}"]
        for record in records
    ]  # fmt: skip
    total = [f"{sum(record[key] for record in records):,}" for key in counts]
    lines.append(["all", *total, str(sum(len(record["faults"]) for record in records)), "", "", ""])
    headers = (
        "reader",
        "inputs",
        "read",
        "refused",
        "faults",
        "most MB taken",
        "by a file of kB",
        "longest, CPU s",
    )
    return table(headers, lines) + "\n" + made_by("python -m benchmarks fuzz", of=records)
