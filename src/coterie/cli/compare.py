"""`coterie compare`: what differs between two runs, in words and as a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coterie.cli.inputs import load_model
from coterie.data import Identifiers
from coterie.errors import InputError, counted
from coterie.metrics import Changes, compare_labels
from coterie.runs import read_confidence, write_table

_WIDEST = 12
_FLOWS = 10


class Labelled(NamedTuple):
    """The labels of a run, what its clusters are called, and the identifiers of its rows where they are known."""

    labels: np.ndarray
    confidence: np.ndarray | None
    names: Mapping[int, str]
    identifiers: Identifiers | None

    def take(self, rows: np.ndarray) -> Labelled:
        """Return the same of some rows."""
        return Labelled(
            self.labels[rows],
            None if self.confidence is None else self.confidence[rows],
            self.names,
            None
            if self.identifiers is None
            else self.identifiers._replace(values=self.identifiers.values[rows]),
        )


class Comparison(NamedTuple):
    """Two runs on the rows that both have, what differs, and how many rows only one of them has."""

    first: Labelled
    second: Labelled
    rows: np.ndarray
    changes: Changes
    left_out: tuple[int, int]


def compare_runs(first: Path, second: Path) -> Comparison:
    """Compare the clusters of two runs or models on the rows that both have.

    Rows are matched by their identifiers where both runs have them under one name, otherwise by position.
    """
    one, two = _labelled(first), _labelled(second)
    mine, theirs = _shared_rows(one, two, first, second)
    left_out = len(one.labels) - len(mine), len(two.labels) - len(theirs)
    one, two = one.take(mine), two.take(theirs)
    return Comparison(one, two, mine, compare_labels(one.labels, two.labels), left_out)


def _labelled(path: Path) -> Labelled:
    model, the_run = load_model(path)
    names = getattr(model, "names_", {})
    if the_run is None:
        return Labelled(model.labels_, None, names, None)
    confidence = read_confidence(the_run.labels, len(model.labels_))
    return Labelled(model.labels_, confidence, names, the_run.read_identifiers())


def _shared_rows(one: Labelled, two: Labelled, first: Path, second: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers in each run of the rows that both have."""
    ids, others = one.identifiers, two.identifiers
    if ids is not None and others is not None and ids.name == others.name and ids.unique and others.unique:
        _, mine, theirs = np.intersect1d(ids.values, others.values, assume_unique=True, return_indices=True)
        if not len(mine):
            raise InputError(
                f"{first} and {second} have no {ids.name} in common: compare runs of the same rows."
            )
        order = np.argsort(mine)
        return mine[order], theirs[order]
    if len(one.labels) != len(two.labels):
        raise InputError(
            f"{first} has {counted(len(one.labels), 'row')} and {second} {len(two.labels):,}, and no column that "
            "names the rows of both: compare runs of the same rows, or fit both with --id COLUMN."
        )
    rows = np.arange(len(one.labels))
    return rows, rows


def describe(comparison: Comparison) -> str:
    """Say in a few lines what differs."""
    changes, n_rows = comparison.changes, len(comparison.rows)
    share = len(changes.moved) / n_rows
    lines = [
        f"{counted(n_rows, 'row')} in both: {len(changes.moved):,} moved ({share:.1%}), ARI {changes.ari:.3f}, "
        f"NMI {changes.nmi:.3f}."
    ]
    if any(comparison.left_out):
        lines.append(
            f"Rows that only one has: {comparison.left_out[0]:,} in the first, "
            f"{comparison.left_out[1]:,} in the second."
        )
    lines += ["", *_confusion(comparison), "", *_fates(comparison)]
    return "\n".join(lines)


def _confusion(comparison: Comparison) -> list[str]:
    """Return the shared rows as a table, the clusters of the second run in the order of those that they match."""
    changes = comparison.changes
    if max(changes.counts.shape) > _WIDEST:
        return [
            f"The table of {changes.counts.shape[0]} by {changes.counts.shape[1]} clusters is too wide to print."
        ]
    order = [changes.after.index(changes.matched[c]) for c in changes.before if c in changes.matched]
    order += [j for j in range(len(changes.after)) if j not in order]
    heading = ["", *(title(changes.after[j], comparison.second.names) for j in order)]
    cells = [
        [title(cluster, comparison.first.names), *(f"{changes.counts[i, j]:,}" for j in order)]
        for i, cluster in enumerate(changes.before)
    ]
    table = [heading, *cells]
    widths = [max(len(line[j]) for line in table) for j in range(len(heading))]
    return [
        "  ".join(
            cell.ljust(width) if j == 0 else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def _fates(comparison: Comparison) -> list[str]:
    """Say what became of each cluster, and the largest moves."""
    changes, lines = comparison.changes, []
    for i, cluster in enumerate(changes.before):
        mine = f"{title(cluster, comparison.first.names)} ({changes.counts[i].sum():,})"
        if cluster not in changes.matched:
            lines.append(f"{mine} is gone")
            continue
        fate = changes.matched[cluster]
        j = changes.after.index(fate)
        lines.append(
            f"{mine} is {title(fate, comparison.second.names)} ({changes.counts[:, j].sum():,}), "
            f"{changes.counts[i, j]:,} shared"
        )
    matched = set(changes.matched.values())
    lines += [
        f"{title(cluster, comparison.second.names)} ({changes.counts[:, j].sum():,}) is new"
        for j, cluster in enumerate(changes.after)
        if cluster not in matched
    ]
    flows = changes.flows()
    if flows:
        lines += ["", "Moves:"]
    lines += [
        f"  {counted(n, 'row')} from {title(one, comparison.first.names)} to {title(other, comparison.second.names)}"
        for one, other, n in flows[:_FLOWS]
    ]
    return lines + ([f"  and {len(flows) - _FLOWS} smaller"] if len(flows) > _FLOWS else [])


def title(cluster: int, names: Mapping[int, str]) -> str:
    """Name a cluster by its number, and what it is called where it has a name.

    Examples
    --------
    >>> title(3, {3: "cats"}), title(0, {}), title(-1, {})
    ('3 cats', '0', 'outliers')
    """
    if cluster < 0:
        return "outliers"
    return f"{cluster} {names[cluster]}" if names.get(cluster) else str(cluster)


def write_changes(path: Path, comparison: Comparison) -> None:
    """Write the rows that moved: where from, where to, and how sure each run is."""
    moved = comparison.changes.moved
    first, second = comparison.first.take(moved), comparison.second.take(moved)
    columns: dict[str, Any] = {"row": comparison.rows[moved]}
    if first.identifiers is not None:
        columns[first.identifiers.column] = first.identifiers.values
    for kind, side in (("before", first), ("after", second)):
        columns[f"cluster_{kind}"] = side.labels
        if side.names:
            columns[f"name_{kind}"] = [side.names.get(int(label), "") for label in side.labels]
        if side.confidence is not None:
            columns[f"confidence_{kind}"] = side.confidence
    write_table(path, columns)
