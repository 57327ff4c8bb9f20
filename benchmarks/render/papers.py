"""The page of the papers: their figures, those of their authors' code, ours, why they differ; parts and sweeps."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.records import read_records
from benchmarks.render import parts as paper_parts
from benchmarks.render import sweeps
from benchmarks.render.figures import Figure, Record, made_by, newest, short, table
from benchmarks.sets import SETS

SOURCE = Path(__file__).parents[1] / "papers.toml"
_NAMES = {
    "accuracy": "ACC",
    "nmi": "NMI",
    "ari": "ARI",
    "purity": "purity",
    "fowlkes_mallows": "Fowlkes-Mallows",
}

INTRO = """# The papers' tables

What each paper prints, what its authors' code gave when we ran it, and what our method with its defaults reaches
on the same data: mean ± standard deviation over seeds (for FUCSMF over draws of labels), last epoch; the
difference is to the paper, or to the authors' code where nothing is printed. Beside ACC stands that of a plain
kNN graph: spectral clustering on the neighbours of rows of unit length (mean of three seeds). Rows of data that
we do not have are named, not guessed. A commit with a * is the last of several in that row. What is wrong in the
papers' equations is on the page of [errata](../errata.md); what each of their parts adds is
[below](#what-each-part-adds).
"""


def page() -> str:
    """Return the page."""
    parts = [INTRO]
    for paper in tomllib.loads(SOURCE.read_text())["paper"]:
        rows = [line for row in paper["row"] for line in _lines(paper["method"], row)]
        headers = (
            "where", "data", "score", "the paper", "authors' code", "ours", "runs", "difference", "kNN graph",
            "commit", "why",
        )  # fmt: skip
        parts += [f"## {paper['name']}\n", table(headers, rows), f"Not here: {paper['not_here']}\n"]
        commands = dict.fromkeys(_command(paper["method"], row) for row in paper["row"])
        parts.append(made_by(*commands))
    return "\n".join([*parts, paper_parts.section(), sweeps.section()])


def _lines(method: str, row: dict[str, Any]) -> Iterator[list[str]]:
    runs = _runs(method, row)
    columns = [row.get("printed", {}), row.get("authors", {})]
    for number, score in enumerate(dict.fromkeys(score for column in columns for score in column)):
        ours, theirs = _figure(method, score, runs), [column.get(score) for column in columns]
        stated = next(value for value in theirs if value is not None)
        shown = [str(ours), str(ours.runs), short(ours.mean - stated)] if ours else ["not measured", "", ""]
        cells = ["" if value is None else short(value) for value in theirs]
        knn = SETS[row["data"]].knn if score == "accuracy" and "labels" not in row else None
        why = row["reason"] if number == 0 else row.get("more", {}).get(score, "")
        graph = "" if knn is None else short(knn)
        yield [row["where"], row["data"], _NAMES[score], *cells, *shown, graph, _commit(runs), why]


def _commit(runs: list[Record]) -> str:
    """Return the commit of some runs, the last one with a mark where they are of several."""
    known = list(dict.fromkeys(run["machine"]["commit"].rstrip("+") for run in runs))
    return f"{known[-1]}{'' if len(known) == 1 else ' *'}" if known else ""


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
