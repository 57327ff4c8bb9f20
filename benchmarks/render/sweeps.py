"""Ablations as tables, and sweeps as plots: layers, anchors, blocks, labels a class, missing views."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.records import read_records
from benchmarks.render.figures import Figure, Record, grouped, made_by, newest, table
from benchmarks.render.svg import COLOURS, Panel, Series, drawing


def section() -> str:
    """Return the part of the page about ablations and sweeps."""
    parts = ["## Ablations\n"]
    for method in dict.fromkeys(one["method"] for one in read_records("ablations")):
        parts += [f"### {method}\n", _ablations(method)]
    parts += ["## Sweeps\n"]
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


def _ablations(method: str) -> str:
    runs = [one for one in read_records("ablations") if one["method"] == method]
    usual = [one for one in newest(read_records("accuracy")) if one["method"] == method and not one["params"]]
    names = list(dict.fromkeys(one["data"] for one in runs))
    usual = [one for one in usual if one["data"] in names]
    rows = []
    for params, some in grouped([*usual, *runs], lambda one: as_params(one["params"])).items():
        means = _means(some)
        shown = "defaults" if params == "{}" else f"`{params}`"
        rows.append([shown, *(str(means[n]) if n in means else "" for n in names)])
    command = f"python -m benchmarks accuracy --method {method.lower()} --tag ablations --params '{{...}}'"
    return table(["", *names], rows) + "\n" + made_by(command, of=[*usual, *runs])


def _means(runs: Iterable[Record]) -> dict[str, Figure]:
    by_data = grouped(newest(runs), lambda one: one["data"])
    return {name: Figure.of([one["scores"]["accuracy"] for one in some]) for name, some in by_data.items()}


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
    found = [*read_records("ablations"), *read_records("sweeps")]
    varied = [one for one in found if one["method"] == method and [*one["params"]] == [name]]
    panels = []
    for data, runs in grouped(varied, lambda one: one["data"]).items():
        values = grouped(runs, lambda one: one["params"][name])
        points = {value: _means(some)[data].mean for value, some in values.items()}
        usual = _means(
            one for one in read_records("accuracy") if (one["method"], one["data"]) == (method, data)
        )
        if default is not None and data in usual:
            points.setdefault(default, usual[data].mean)
        if len(points) > 1:
            panels.append(Panel(data, [Series(method, sorted(points.items()), COLOURS[0])], name))
    return panels


def _labels() -> list[Panel]:
    panels = []
    for data, runs in grouped(read_records("labels"), lambda one: one["data"]).items():
        counted = [one for one in runs if one["labels"] >= 1 and not one["params"]]
        series = [
            Series(name, [(one["labels"], one["accuracy"][name]) for one in counted], colour)
            for name, colour in zip(("FUCSMF", "harmonic"), COLOURS, strict=False)
        ]
        best = [(one["labels"], _best_spreading(one)) for one in counted]
        panels.append(
            Panel(data, [*series, Series("best LabelSpreading", best, COLOURS[2])], "labels a class")
        )
    return panels


def _best_spreading(record: Record) -> float:
    return max(value for name, value in record["accuracy"].items() if name.startswith("LabelSpreading"))


def _missing() -> list[Panel]:
    found: dict[str, list[Series]] = {}
    for method, tag, colour in (
        ("LargeMvCNet", "missing", COLOURS[0]),
        ("MVSIB", "missing-mvsib", COLOURS[1]),
    ):
        runs = [one for one in read_records(tag) if one["reading"] == "rows"]
        for data, some in grouped(runs, lambda one: one["data"]).items():
            for who, shade in ((method, colour), ("k-means, unit rows", COLOURS[5])):
                if any(one.name == who for one in found.get(data, [])):
                    continue
                rates = grouped(some, lambda one: one["rate"])
                points = [(rate, Figure.of([r[who] for r in these]).mean) for rate, these in rates.items()]
                found.setdefault(data, []).append(Series(who, sorted(points), shade))
    return [Panel(data, series, "share of incomplete rows") for data, series in found.items()]


def _legend(panels: Sequence[Panel]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.name, one.colour) for panel in panels for one in panel.series))
