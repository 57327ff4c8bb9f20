"""The page of the papers: their figures, ours, and why they differ; ablations and sweeps."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.records import read_records
from benchmarks.render import sweeps
from benchmarks.render.figures import Figure, Record, made_by, newest, short, table

SOURCE = Path(__file__).parents[1] / "papers.toml"
_NAMES = {
    "accuracy": "ACC",
    "nmi": "NMI",
    "ari": "ARI",
    "purity": "purity",
    "fowlkes_mallows": "Fowlkes-Mallows",
}

INTRO = """# The papers' tables

What each paper prints, and what our method with its defaults reaches on the same data: mean ± standard deviation over
seeds (for FUCSMF over draws of labels), last epoch. Rows of data that we do not have are named, not guessed. What is
wrong in the papers' equations is on the page of [errata](../errata.md).
"""


def page() -> str:
    """Return the page."""
    parts = [INTRO]
    for paper in tomllib.loads(SOURCE.read_text())["paper"]:
        rows = [line for row in paper["row"] for line in _lines(paper["method"], row)]
        headers = ("where", "data", "score", "the paper", "ours", "runs", "difference", "why")
        parts += [f"## {paper['name']}\n", table(headers, rows), f"Not here: {paper['not_here']}\n"]
        commands = dict.fromkeys(_command(paper["method"], row) for row in paper["row"])
        runs = [record for row in paper["row"] for record in _runs(paper["method"], row)]
        parts.append(made_by(*commands, of=runs))
    return "\n".join([*parts, sweeps.section()])


def _lines(method: str, row: dict[str, Any]) -> Iterator[list[str]]:
    runs = _runs(method, row)
    for number, (score, printed) in enumerate(row["printed"].items()):
        ours = _figure(method, score, runs)
        shown = [str(ours), str(ours.runs), short(ours.mean - printed)] if ours else ["not measured", "", ""]
        why = row["reason"] if number == 0 else row.get("more", {}).get(score, "")
        yield [row["where"], row["data"], _NAMES[score], short(printed), *shown, why]


def _runs(method: str, row: dict[str, Any]) -> list[Record]:
    tag, params = row.get("records", "accuracy"), row.get("params", {})
    records = [
        record for record in read_records(tag) if (record["data"], record["params"]) == (row["data"], params)
    ]
    if method == "FUCSMF":
        return [record for record in records if record["labels"] == row["labels"]][-1:]
    return newest(record for record in records if record["method"] == method)


def _figure(method: str, score: str, runs: list[Record]) -> Figure | None:
    if not runs:
        return None
    if method == "FUCSMF":
        record = runs[-1]
        return Figure(record[score][method], record["deviation"][method], record["draws"])
    return Figure.of([record["scores"][score] for record in runs])


def _command(method: str, row: dict[str, Any]) -> str:
    tag, params = row.get("records", "accuracy"), row.get("params")
    if method == "FUCSMF":
        command = f"python -m benchmarks labels --sets {row['data']}"
    else:
        command = f"python -m benchmarks accuracy --method {method.lower()} --sets {row['data']}"
    if tag not in ("accuracy", "labels"):
        command += f" --tag {tag}"
    return command + (f" --params '{sweeps.as_params(params)}'" if params else "")
