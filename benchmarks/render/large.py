"""Tables of the page "when one machine is not enough": sizes, killed runs, spoilt files."""

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
    found: dict[str, Cost] = {}
    for one in _all_costs():
        best = found.get(one.method)
        if best is None or (one.rows, one.columns) > (best.rows, best.columns):
            found[one.method] = one
    return [found[name] for name in sorted(found)]


def _all_costs() -> list[Cost]:
    wide = sum(WIDTHS)
    growth = [one for one in read_records("growth") if one["method"] != "exact"]
    return [
        *(
            _cost(one, one["method"], one["columns"], one["passes"])
            for file in ("disk", "scaling")
            for one in read_records(file)
        ),
        *(
            _cost(one, one["method"], {"SSCNet": WIDTH}.get(one["method"], wide), one["epochs"])
            for one in growth
        ),
        *(_cost(one, "LargeMvCNet", wide, one["sweeps"]) for one in read_records("scale")),
    ]


def _cost(one: Record, method: str, columns: int, passes: int | None) -> Cost:
    return Cost(method, one["rows"], columns, passes, one["cpu_seconds"], one["peak_mb"], one)


def sizing() -> str:
    """Return what each method costs from its largest measured fit up to a billion rows."""
    lines, found = [], measured()
    for cost in found:
        lines.append(_line(cost, "measured"))
        lines += [_line(cost.at(rows), "estimated") for rows in SIZES if rows > cost.rows]
    headers = ("method", "rows", "columns", "passes", "processor hours", "memory, GB", "disk, GB", "")
    commands = ("disk", "scaling", "growth", "growth --method mvsib", "scale")
    shown = [f"python -m benchmarks {command}" for command in commands]
    return table(headers, lines) + "\n" + made_by(*shown, of=[cost.record for cost in found if cost.record])


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
    """Return what became of runs that were killed at random moments."""
    runs = read_records("faults")
    lines = [
        [one["method"], str(one["kills"]), str(one["killed_before_the_end"]), str(one["resumed_from_a_checkpoint"]),
         str(one["ended_alike"]), str(one["files_wrongly_loaded"])]
        for one in runs
    ]  # fmt: skip
    headers = (
        "method",
        "runs",
        "killed in time",
        "after a checkpoint",
        "same labels",
        "files wrongly loaded",
    )
    commands = [f"python -m benchmarks faults --method {line[0].lower()}" for line in lines]
    return table(headers, lines) + "\n" + made_by(*commands, of=runs)


def fuzzed() -> str:
    """Return what came of spoilt files, reader by reader."""
    records = read_records("fuzz")
    lines = [
        [one["reader"], f"{one['inputs']:,}", f"{one['read']:,}", f"{one['refused']:,}", str(len(one["faults"])),
         f"{one['most_bytes'] / 2**20:.1f}", f"{one['bytes_there'] / 1024:.1f}", f"{one['most_seconds']:.2f}"]
        for one in records
    ]  # fmt: skip
    total = [f"{sum(one[key] for one in records):,}" for key in ("inputs", "read", "refused")]
    lines.append(["all", *total, str(sum(len(one["faults"]) for one in records)), "", "", ""])
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
