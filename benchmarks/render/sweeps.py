"""Sweeps as plots: layers, anchors, blocks, labels a class, missing views."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, grouped, made_by, newest
from benchmarks.render.svg import COLOURS, Panel, Series, drawing


def section() -> str:
    """Return the part of the page about sweeps."""
    parts = ["## Sweeps\n"]
    for name, (words, panels, commands) in _sweeps().items():
        drawn = [f"![{words}]({name})\n"] if panels else ["Not measured yet.\n"]
        parts += [f"### {words}\n", *drawn, made_by(*commands)]
    return "\n".join(parts)


def drawings() -> dict[str, str]:
    """Return the plots by file name."""
    return {
        name: drawing(panels, min(4, len(panels)), _legend(panels))
        for name, (_, panels, _) in _sweeps().items()
        if panels
    }


def as_params(params: dict[str, Any]) -> str:
    """Write parameters as the command line takes them."""
    return json.dumps(params)


def _means(runs: Iterable[Record]) -> dict[str, Figure]:
    by_data = grouped(newest(runs), lambda record: record["data"])
    return {
        name: Figure.of([record["scores"]["accuracy"] for record in some]) for name, some in by_data.items()
    }


def _sweeps() -> dict[str, tuple[str, list[Panel], list[str]]]:
    """Return by file name what each sweep is called, its panels and the commands that make it."""
    accuracy = "python -m benchmarks accuracy --tag sweeps --seeds 3"
    return {
        "layers.svg": (
            "Layers of LargeMvCNet",
            _by_parameter("LargeMvCNet", "n_layers", 2),
            [f"{accuracy} --method largemvcnet --params '{{\"n_layers\": 5}}'"],
        ),
        "anchors.svg": (
            "Anchors of LargeMvCNet",
            _by_parameter("LargeMvCNet", "n_anchors", None),
            [f"{accuracy} --method largemvcnet --sets msrc_v1 --params '{{\"n_anchors\": 14}}'"],
        ),
        "blocks.svg": (
            "Blocks of SSCNet",
            _by_parameter("SSCNet", "n_blocks", 2),
            [f"{accuracy} --method sscnet --sets digits --params '{{\"n_blocks\": 4}}'"],
        ),
        "labels.svg": ("Labels a class", _labels(), ["python -m benchmarks labels"]),
        "missing.svg": (
            "Share of incomplete rows",
            _missing(),
            ["python -m benchmarks missing", "python -m benchmarks missing --method mvsib"],
        ),
    }


def _by_parameter(method: str, name: str, default: int | None) -> list[Panel]:
    """Return one panel a data set of ACC against a parameter that the ablations vary alone."""
    records = [*read_records("ablations"), *read_records("sweeps")]
    varied = [record for record in records if record["method"] == method and [*record["params"]] == [name]]
    panels = []
    for data, runs in grouped(varied, lambda record: record["data"]).items():
        values = grouped(runs, lambda record: record["params"][name])
        points = {value: _means(some)[data].mean for value, some in values.items()}
        usual = _means(
            record
            for record in read_records("accuracy")
            if (record["method"], record["data"]) == (method, data)
        )
        if default is not None and data in usual:
            points.setdefault(default, usual[data].mean)
        if len(points) > 1:
            panels.append(Panel(data, [Series(method, sorted(points.items()), COLOURS[0])], name))
    return panels


def _labels() -> list[Panel]:
    panels = []
    for data, runs in grouped(read_records("labels"), lambda record: record["data"]).items():
        counted = [record for record in runs if record["labels"] >= 1 and not record["params"]]
        series = [
            Series(name, [(record["labels"], record["accuracy"][name]) for record in counted], colour)
            for name, colour in zip(("FUCSMF", "harmonic"), COLOURS, strict=False)
        ]
        best = [(record["labels"], _best_spreading(record)) for record in counted]
        panels.append(
            Panel(data, [*series, Series("best LabelSpreading", best, COLOURS[2])], "labels a class")
        )
    return panels


def _best_spreading(record: Record) -> float:
    return max(value for name, value in record["accuracy"].items() if name.startswith("LabelSpreading"))


def _missing() -> list[Panel]:
    series_of: dict[str, list[Series]] = {}
    for method, tag, colour in (
        ("LargeMvCNet", "missing", COLOURS[0]),
        ("MVSIB", "missing-mvsib", COLOURS[1]),
    ):
        runs = [record for record in read_records(tag) if record["reading"] == "rows"]
        for data, some in grouped(runs, lambda record: record["data"]).items():
            for who, shade in ((method, colour), ("k-means, unit rows", COLOURS[5])):
                if any(series.name == who for series in series_of.get(data, [])):
                    continue
                rates = grouped(some, lambda record: record["rate"])
                points = [(rate, Figure.of([r[who] for r in these]).mean) for rate, these in rates.items()]
                series_of.setdefault(data, []).append(Series(who, sorted(points), shade))
    return [Panel(data, series, "share of incomplete rows") for data, series in series_of.items()]


def _legend(panels: Sequence[Panel]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((series.name, series.colour) for panel in panels for series in panel.series))
