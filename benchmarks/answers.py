"""Ten answers of a scripted user: active learning by the page against rows drawn at random."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.making import make
from benchmarks.records import add_record, is_recorded, machine, measured, print_means, read_records
from benchmarks.sets import SETS
from coterie.explore.live.session import Session
from coterie.methods.registry import find_method
from coterie.metrics import accuracy

FILE = "answers"
N_ANSWERS = 10


class User:
    """Knows the classes, and calls each cluster by the class that most of its rows are of.

    Of several clusters of one name the largest is meant; a class that no cluster is called by is a new cluster when
    it first comes up.
    """

    def __init__(self, classes: np.ndarray, clusters: np.ndarray) -> None:
        self._classes = classes
        self._number_of: dict[int, int] = {}
        numbers, sizes = np.unique(clusters, return_counts=True)
        for number in numbers[np.argsort(sizes)].tolist():
            self._number_of[int(np.bincount(classes[clusters == number]).argmax())] = number

    def answer(self, session: Session, row: int) -> None:
        """Label a row with the cluster of its class."""
        kind = int(self._classes[row])
        before = set(session.state.numbers.tolist())
        session.label([row], self._number_of.get(kind))
        if kind not in self._number_of:
            (self._number_of[kind],) = set(session.state.numbers.tolist()) - before


def run_answers(
    name: str,
    method: str,
    seeds: Sequence[int],
    folder: Path,
    params: dict[str, Any],
    n_answers: int = N_ANSWERS,
) -> None:
    """Cluster a data set badly, answer twice ten times, and keep the accuracy after every answer."""
    views, truth = SETS[name].load(folder)
    classes = np.unique(truth, return_inverse=True)[1]
    estimator = find_method(method).load()
    for seed in seeds:
        case = {
            "data": name,
            "method": estimator.__name__,
            "params": params,
            "seed": seed,
            "answers": n_answers,
        }
        if is_recorded(FILE, case):
            continue
        with measured() as costs:
            usual = {"n_clusters": int(classes.max()) + 1, "random_state": seed}
            model = make(estimator, **(usual | params)).fit(views)
            courses = _courses(model, views, classes, n_answers, seed)
        record = {
            **case,
            "rows": views.n_rows,
            "clustered": round(accuracy(classes, model.labels_), 4),
            **courses,
            **costs,
            "machine": machine(),
        }
        add_record(FILE, record)
        print(name, seed, {way: course[-1] for way, course in courses.items()}, flush=True)
    print_answers()


def _courses(
    model: Any, views: Any, classes: np.ndarray, n_answers: int, seed: int
) -> dict[str, list[float]]:
    """Return the accuracy with nothing said and after every answer, for both ways to choose rows."""
    rng = np.random.default_rng([seed, 17])
    ways = {
        "asked": lambda session: session.state.ask[0],
        "random": lambda _: int(rng.integers(len(classes))),
    }
    curves: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        session = Session(model, views, Path(folder), embedding="pca", max_rows=200)
        session.prepare()
        for way, choose in ways.items():
            user = User(classes, np.asarray(model.labels_))
            curves[way] = [round(accuracy(classes, session.refiner.untouched), 4)]
            for _ in range(n_answers):
                user.answer(session, choose(session))
                curves[way].append(round(accuracy(classes, session.state.labels), 4))
            for _ in range(n_answers):
                session.undo()
        session.log.close()
    return curves


def print_answers() -> None:
    """Print the means over seeds for each data set and method."""
    scores = {
        "clustered": lambda r: r["clustered"],
        "nothing said": lambda r: r["asked"][0],
        "random": lambda r: r["random"][-1],
        "asked": lambda r: r["asked"][-1],
    }
    print_means("ACC after the answers", read_records(FILE), ("data", "method", "params"), scores)
