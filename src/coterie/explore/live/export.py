"""The exports of a session: labels, the refined model, the answers, the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.readers.files import need
from coterie.explore.live.describe import history_json
from coterie.explore.live.session import Session
from coterie.explore.report import plotly_script, render_page, write_page
from coterie.explore.summary import summarise
from coterie.methods.refined_model import RefinedModel
from coterie.store import atomic_path, text_cell


@dataclass(frozen=True)
class Export:
    """The name and media type of a file, and what writes the current state of a session to it, atomically."""

    file: str
    media_type: str
    write: Callable[[Session, Path], None]


def _columns(session: Session) -> dict[str, np.ndarray]:
    """Return the columns of the labels: row, cluster, name, confidence, and whether a person gave the label."""
    session.check_followed()
    state, corrections, named = session.state, session.corrections, session.names()
    names = np.array([named.get(number, "") for number in state.numbers.tolist()], dtype=object)
    given = np.zeros(session.n_rows, dtype=bool)
    given[list(corrections.labels)] = True
    return {
        "row": np.arange(session.n_rows),
        "cluster": state.labels,
        "name": names[state.positions()],
        "confidence": state.confidence,
        "given": given,
    }


def write_csv(session: Session, path: Path) -> None:
    """Write the labels as CSV."""
    columns = _columns(session)
    with atomic_path(path) as draft, draft.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(
            (row, cluster, text_cell(name), f"{confidence:.6g}", int(given))
            for row, cluster, name, confidence, given in zip(
                *map(np.ndarray.tolist, columns.values()), strict=True
            )
        )


def write_parquet(session: Session, path: Path) -> None:
    """Write the labels as Parquet."""
    arrow = need("pyarrow", "explore", ".parquet")
    table = arrow.table({name: arrow.array(column) for name, column in _columns(session).items()})
    with atomic_path(path) as draft:
        need("pyarrow.parquet", "explore", ".parquet").write_table(table, draft)


def write_model(session: Session, path: Path) -> None:
    """Write the refined model; the model itself, with names if it can hold them, while nothing is corrected."""
    _current_model(session).save(path)


def write_answers(session: Session, path: Path) -> None:
    """Write the answers that count, and the names, as JSON."""
    content = {
        "of": session.log.of,
        "answers": [{"at": entry.at, **entry.answer.model_dump()} for entry in session.log.entries],
        "names": {str(number): name for number, name in session.corrections.names.items()},
    }
    with atomic_path(path) as draft:
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def write_current_report(session: Session, path: Path) -> None:
    """Write the static report of the current state."""
    script = plotly_script()
    summary = summarise(
        _current_model(session),
        session.data,
        truth=session.truth,
        image_shape=session.image_shape,
        embedding=session.embedding,
        names=session.corrections.names,
        rows=session.sample.rows,  # the page and its report show the same rows in the same places
        maps=session.sample.maps,
    )
    answers = [answer["words"] for answer in history_json(session)]
    write_page(path, render_page(summary, script, title=session.title, answers=answers))


def _current_model(session: Session) -> Any:
    session.check_followed()
    corrections = session.corrections
    if corrections.move_rows:
        return session.refiner.model(corrections.names)
    return (
        session.model.named(corrections.names) if isinstance(session.model, RefinedModel) else session.model
    )


EXPORTS = {
    "labels.csv": Export("labels.csv", "text/csv; charset=utf-8", write_csv),
    "labels.parquet": Export("labels.parquet", "application/octet-stream", write_parquet),
    "model": Export("refined.coterie", "application/octet-stream", write_model),
    "answers": Export("answers.json", "application/json", write_answers),
    "report": Export("report.html", "text/html; charset=utf-8", write_current_report),
}
"""The exports, by their names in the page's addresses."""
