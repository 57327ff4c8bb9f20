"""Fit a method in each regime with and without each part of its paper, and keep what came out; resumable."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import settings_of
from benchmarks.making import make
from benchmarks.paper_parts.conditions import Given, drawn, under
from benchmarks.paper_parts.parts import Paper
from benchmarks.paper_parts.tables import PAPERS
from benchmarks.records import is_recorded, measured, print_means, read_records, save_record
from benchmarks.sets import SETS
from coterie.errors import InputError
from coterie.methods.registry import find_method
from coterie.metrics import score_all


def records_name(method: str) -> str:
    """Return the name of the file of results of a method."""
    return f"paper-parts-{method}"


def run_paper_parts(
    method: str,
    names: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    *,
    regimes: Sequence[str] = (),
    conditions: Sequence[str] = (),
    rows: int | None = None,
    params: Mapping[str, Any] | None = None,
    only: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Measure what has no record yet, seed by seed, and print the table.

    Parameters
    ----------
    regimes, conditions
        Names; all of the method's table by default.
    rows
        Most rows of a set.
    params
        Parameters of all fits, such as fewer epochs; recorded as `shared`.
    only
        Changes to measure, where not all are wanted.
    """
    paper = find_paper(method)
    tag, shared = records_name(paper.method), dict(params or {})
    for case in cases(paper, names, seeds, regimes, conditions, rows, only):
        regime = paper.regimes[case["regime"]]
        estimator = find_method(regime.method or paper.method).load()
        changed = {**regime.params, **shared, **case["change"]}
        case |= {"method": estimator.__name__, "shared": shared, "settings": settings_of(estimator, changed)}
        if not is_recorded(tag, case):
            views, truth = drawn(*SETS[case["data"]].load(folder), case["rows"])
            given = under(case["condition"], views, truth, case["seed"])
            save_record(tag, {**case, **fitted(estimator, given, case["seed"], changed)})
    keys = ("data", "rows", "condition", "regime", "change")
    print_means(paper.title, read_records(tag), keys, {"ACC": lambda record: record["scores"]["accuracy"]})


def find_paper(method: str) -> Paper:
    """Return the table of a method."""
    if method not in PAPERS:
        raise InputError(f"{method!r} has no table of parts; these have: {', '.join(PAPERS)}.")
    return PAPERS[method]


def cases(
    paper: Paper,
    names: Sequence[str],
    seeds: Sequence[int],
    regimes: Sequence[str],
    conditions: Sequence[str],
    rows: int | None,
    only: Sequence[Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield what is to be measured; the first seed of all of it comes before the second."""
    for regime in regimes:
        if regime not in paper.regimes:
            raise InputError(
                f"{paper.title} has no regime {regime!r}; its regimes are: {', '.join(paper.regimes)}."
            )
    wanted = itertools.product(seeds, names, conditions or paper.conditions, regimes or paper.regimes)
    for seed, name, condition, regime in wanted:
        for change in paper.changes(regime, condition):
            if not only or dict(change) in only:
                yield {
                    "data": name,
                    "rows": rows or paper.rows,
                    "condition": condition,
                    "regime": regime,
                    "change": dict(change),
                    "seed": seed,
                }


def fitted(estimator: Any, given: Given, seed: int, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores and costs of a fit; where labels are given, of the rows without one, whose names count."""
    with measured() as costs:
        model = make(estimator, len(np.unique(given.truth)), random_state=seed, **params)
        model = model.fit(given.views) if given.labels is None else model.fit(given.views, given.labels)
    free = slice(None) if given.labels is None else given.labels < 0
    scores = score_all(given.truth[free], model.labels_[free])
    if given.labels is not None:
        scores["accuracy"] = float(np.mean(given.truth[free] == model.labels_[free]))
    return {
        "fitted_rows": given.views.n_rows,
        "scores": {key: round(value, 4) for key, value in scores.items()},
        "clusters": model.n_clusters_,
        "used_clusters": int(np.count_nonzero(np.bincount(model.labels_))),
        "epochs": getattr(model, "n_iter_", 0),
        **routing(getattr(model, "history_", [])),
        **costs,
    }


def routing(history: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the means over epochs of how steady the routes of MVSIB are and of the share of hard rows (4.10)."""
    means = {}
    for name in ("route_consistency", "hard_share"):
        values = [record[name] for record in history if name in record]
        if values:
            means[name] = round(float(np.mean(values)), 4)
    return means
