"""The explorer at many rows: seconds to the first paint and of an answer, and the memory of its process."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.browsing import Page, Program
from benchmarks.disk import write_planted
from benchmarks.records import add_record, machine
from coterie import PCX
from coterie.data import read_views
from coterie.runs import Run

FILE = "explorer"
_ANSWERS = 6
_FITTED = 20_000
_PATIENCE = 7200
_PAINTED = """
return Math.max(...performance.getEntriesByType('paint').map((entry) => entry.startTime)) / 1000
"""
_READY = "return document.documentElement.dataset.readyAfter / 1000"
_ANSWER = """
const started = performance.now();
const body = JSON.stringify({rows: arguments[0], to: arguments[1]});
const headers = {'Content-Type': 'application/json', 'Coterie-Steps': arguments[2]};
return fetch('/api/label', {method: 'POST', headers, body})
  .then((answer) => answer.json()).then(() => (performance.now() - started) / 1000)
"""


# What a person looks at meanwhile: a row, the rows of a cluster, what is shown now.
_LOOK = """
const started = performance.now();
const addresses = ['/api/rows?rows=' + arguments[0], '/api/clusters/' + arguments[1] + '/rows', '/api/state'];
return fetch(addresses[arguments[2] % 3])
  .then((answer) => answer.json()).then(() => (performance.now() - started) / 1000)
"""


def run_explorer(n_rows: int, columns: int, run: Path | None, options: list[str]) -> None:
    """Open a run, planted if none is given, in headless Chromium, answer some questions, and keep the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = _planted(Path(name), n_rows, columns) if run is None else run
        what = f"{n_rows} planted rows, {columns} columns" if run is None else run.name
        record = {
            "what": what,
            **_measured(folder, options, Path(name)),
            "load": os.getloadavg()[1],
            "machine": machine(),
        }
    add_record(FILE, record)
    for key, value in record.items():
        print(f"{key:32} {value}")


def _planted(folder: Path, n_rows: int, columns: int) -> Path:
    """Create a run of planted rows on disk: a small model, fitted to the first rows, labels all."""
    write_planted(folder / "rows.npy", n_rows, columns)
    views = read_views(folder / "rows.npy")
    first = views.select(slice(0, min(n_rows, _FITTED)))
    model = PCX(10, hidden=(32,), max_epochs=2, random_state=0).fit(first)
    model.labels_, confidence = model.assign(views)
    run = Run(folder / "run")
    facts = {"data": str(folder / "rows.npy"), "rows": n_rows}
    with run.created(replace=False):
        run.write(model, model.labels_, confidence, None, facts)
    return run.folder


def _measured(run: Path, options: list[str], downloads: Path) -> dict[str, Any]:
    started = time.perf_counter()
    program = Program(run, *options)
    figures: dict[str, Any] = {"seconds to the link": round(time.perf_counter() - started, 2)}
    page = Page(downloads)
    try:
        page.driver.get(program.link)
        page.until(lambda: page.run("return document.documentElement.dataset.ready") == "yes")
        figures["seconds to the first paint"] = round(page.run(_PAINTED), 2)
        figures["seconds to the map"] = round(page.run(_READY), 2)
        figures["peak MB then"] = program.peak_mb()
        page.until(lambda: page.state()["map_settled"], seconds=_PATIENCE)
        before = program.cpu_seconds()
        looks = sorted(_looks(page))
        figures["seconds of preparation"] = page.state()["refine"]["seconds"]
        figures["CPU seconds of preparation"] = round(program.cpu_seconds() - before, 1)
        figures["looks meanwhile"] = len(looks)
        figures["seconds of a look, median"] = round(looks[len(looks) // 2], 3)
        figures["seconds of a look, 95 of 100"] = round(looks[len(looks) * 95 // 100], 3)
        figures["peak MB of preparation"] = program.peak_mb()
        before = program.cpu_seconds()
        figures["seconds of answers"] = _answers(page)
        figures["CPU seconds an answer"] = round((program.cpu_seconds() - before) / _ANSWERS, 3)
        figures["peak MB after all"] = program.peak_mb()
    finally:
        page.driver.quit()
        program.kill()
    return figures


def _looks(page: Page) -> list[float]:
    """Send requests until corrections are prepared; return the seconds of each as the browser measures them."""
    state, rng, looks = page.state(), np.random.default_rng(1), []
    rows = page.run("return fetch('/api/run').then((answer) => answer.json())")["rows"]
    numbers = [cluster["number"] for cluster in state["clusters"]]
    while not (page.state()["refine"]["ready"] and looks):
        looks.append(page.run(_LOOK, int(rng.integers(rows)), int(rng.choice(numbers)), len(looks)))
        time.sleep(0.2)
    return looks


def _answers(page: Page) -> list[float]:
    """Label five rows at a time, and return the seconds of each answer as the browser sees them."""
    sampled = page.run("return fetch('/api/map').then((answer) => answer.json())")["rows"]
    numbers = [cluster["number"] for cluster in page.state()["clusters"]]
    rng = np.random.default_rng(0)
    answers = [(rng.choice(sampled, 5).tolist(), int(rng.choice(numbers))) for _ in range(_ANSWERS)]
    return [round(page.run(_ANSWER, rows, to, str(page.state()["steps"])), 3) for rows, to in answers]
