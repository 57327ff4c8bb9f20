"""Means and spreads of records, and tables of them; everything that a page shows passes through here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.errors import listed

Record = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """The mean of some runs, their standard deviation and their number."""

    mean: float
    sd: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Summarise the values of some runs."""
        return cls(float(np.mean(values)), float(np.std(values)), len(values))

    def __str__(self) -> str:
        return short(self.mean) if self.runs == 1 else f"{short(self.mean)} ± {short(self.sd)}"


def short(share: float) -> str:
    """Write a share with three digits and no zero before the point.

    Examples
    --------
    >>> short(0.9778), short(1.0), short(-0.0123)
    ('.978', '1.000', '-.012')
    """
    return f"{share:.3f}".replace("0.", ".", 1) if abs(share) < 0.9995 else f"{share:.3f}"


def amount(value: float) -> str:
    """Write seconds or megabytes with as many digits as say something.

    Examples
    --------
    >>> amount(0.04), amount(7.26), amount(1240.2)
    ('0.0', '7.3', '1,240')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def grouped(records: Iterable[Record], key: Callable[[Record], Hashable]) -> dict[Any, list[Record]]:
    """Return the records by key, in the order in which the keys first come."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def newest(records: Iterable[Record]) -> list[Record]:
    """Return of each method and data set the records whose settings are those of its last one.

    A method whose defaults were changed is measured anew; what was measured before stays in the file.
    """
    kept: list[Record] = []
    for runs in grouped(records, lambda record: (record["method"], record["data"])).values():
        kept += [record for record in runs if record["settings"] == runs[-1]["settings"]]
    return kept


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; columns of numbers are aligned to the right."""
    lines = list(rows)
    rule = ["---:" if _is_number([line[c] for line in lines]) else "---" for c in range(len(headers))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (headers, rule, *lines)) + "\n"


def _is_number(cells: Sequence[str]) -> bool:
    shown = [cell for cell in cells if cell]
    return bool(shown) and all(cell.lstrip("-.")[:1].isdigit() for cell in shown)


def made_by(*commands: str, of: Iterable[Record] = ()) -> str:
    """Return the commands that make the figures above, as a block, and the commits of records where they differ.

    Examples
    --------
    >>> print(made_by("make", of=[{"machine": {"commit": commit}} for commit in ("a1", "b2+", "a1")]))
    ```
    make
    ```
    <BLANKLINE>
    Measured at 2 commits: a1, b2.
    <BLANKLINE>
    """
    known = (record["machine"]["commit"].rstrip("+") for record in of if "machine" in record)
    commits = list(dict.fromkeys(known))
    mixed = f"\nMeasured at {len(commits)} commits: {listed(commits, 4)}.\n" if len(commits) > 1 else ""
    return "```\n" + "\n".join(commands) + "\n```\n" + mixed
