"""One exploration of a run: the state that is shown, a person's answers, and what follows from them."""

# n rows, s sampled rows

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import InputError
from coterie.explore.live.answers import (
    Answer,
    Apart,
    Corrections,
    Label,
    Merge,
    Name,
    Split,
    Together,
    combine,
    labels_digest,
)
from coterie.explore.live.log import AnswerLog, Entry
from coterie.explore.live.metadata import Metadata
from coterie.explore.live.refiner import Refiner, split_in_two
from coterie.explore.live.sample import Sample
from coterie.explore.live.state import Change, Paints, State, compare_states
from coterie.explore.pictures import ImageLayout
from coterie.explore.rows import Table
from coterie.explore.summary import (
    Cluster,
    cluster_positions,
    describe_clusters,
    described_features,
    read_classes,
)

_logger = logging.getLogger(__name__)

_LONGEST_WAIT = 10.0
_LOW_PRIORITY = 10
_TYPICAL = 10


class StaleError(InputError):
    """An answer was given to clusters that another answer has changed since."""


class Session:
    """A fitted model, its rows, and a person's answers about them.

    Parameters
    ----------
    model : estimator
        Fitted on `X`.
    X : Views
    folder : Path
        Where answers, the map and exports are kept; made where there is none.
    confidence : ndarray of shape (n,), optional
        Of the model in its clusters; computed where it is not given.
    metadata : Metadata, optional
    truth : array-like of shape (n,), optional
        Known classes, to be shown.
    image_shape : tuple, optional
    title : str
    max_rows : int
        Rows on the map, in addition to the exemplars.
    embedding : {"auto", "tsne", "pca"}
        How the map is drawn.
    maps : Path, optional
        The file that keeps the maps; by default in the folder.

    Attributes
    ----------
    state : State
    version : int
        Grows with every change of what is shown.
    map_requested : threading.Event
        Set when a page has asked for the map.
    ready : bool
        Whether answers can be given, and those of an earlier session are shown.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        folder: Path,
        *,
        confidence: NDArray[np.floating] | None = None,
        metadata: Metadata | None = None,
        truth: ArrayLike | None = None,
        image_shape: tuple[int, ...] | None = None,
        title: str = "",
        max_rows: int = 5000,
        embedding: str = "auto",
        maps: Path | None = None,
    ) -> None:
        self.model, self.data, self.title, self.metadata = model, X, title, metadata
        self.image_shape, self.embedding, self.truth = image_shape, embedding, truth
        self.map_requested, self.ready = threading.Event(), False
        self.table = Table(X, model)
        self.n_rows = self.table.n_rows
        labels = cluster_positions(model)
        self._check_shape(len(labels))
        self.layout = None if image_shape is None else ImageLayout.from_shape(image_shape)
        self.picture_view = None if self.layout is None else self.table.view_of_size(self.layout.size)
        self.classes = None if truth is None else read_classes(truth, self.n_rows)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # answers, and exports of the data, are their owner's
        self.sample = Sample(model, self.table, labels, max_rows, embedding, maps or folder / "map.coterie")
        k, exemplars = self.sample.of_model.n_clusters, self.sample.of_model.exemplars
        self.model_numbers = np.asarray(getattr(model, "classes_", np.arange(k)), dtype=np.int64)
        self.model_exemplars = {int(self.model_numbers[c]): row for c, row in exemplars.items()}
        self.paints = Paints(self.model_numbers)
        self.folder = folder
        self.log = AnswerLog(folder / "answers.jsonl", of=labels_digest(model.labels_))
        self.refiner = Refiner(model, X, self.model_numbers)
        self._model_state = State(
            numbers=self.model_numbers,
            labels=np.asarray(model.labels_, dtype=np.int64),
            confidence=np.asarray(
                model.assign(X).confidence if confidence is None else confidence, dtype=np.float32
            ),
            memberships=None,
            columns=self.model_numbers,
            exemplars=self.model_exemplars,
            ask=[],
        )
        self.state, self.version = self._model_state, 1
        self._lock = threading.RLock()
        self._described: tuple[int, list[Cluster]] = (0, [])
        self.described_sample = self.sample.of_model

    def _check_shape(self, n_rows: int) -> None:
        dims, fitted = [dim for _, dim in self.table.views], list(self.model.view_dims_in_)
        if dims != fitted:
            raise InputError(
                f"The data have {dims} columns, the model was fitted on {fitted}; give the data it was fitted on."
            )
        if self.n_rows != n_rows:
            raise InputError(
                f"The data have {self.n_rows} rows, the model was fitted on {n_rows}; give the same rows."
            )

    def clusters(self) -> list[Cluster]:
        """Describe all classes, once for each state; their names are a person's or say what sets them apart."""
        version, described = self._described
        if version == self.version:  # who looks does not wait for an answer that is being solved
            return described
        with self._lock:
            version, described = self._described
            if version != self.version:
                state, version = self.state, self.version
                self.described_sample = sample = self.sample.by_state(state)
                described = describe_clusters(
                    sample,
                    state.numbers.tolist(),
                    described_features(sample, self.table, skip=self.picture_view),
                    state.sizes(),
                    self.classes,
                    state.positions(),
                    self.corrections.names,
                )
                self._described = version, described
            return described

    def names(self) -> dict[int, str]:
        """Return the name of each class that has one."""
        named = zip(self.state.numbers.tolist(), self.clusters(), strict=True)
        return {number: cluster.name for number, cluster in named if cluster.name}

    @property
    def corrections(self) -> Corrections:
        """What the answers add up to."""
        return self._combined(self.log.answers)

    def _combined(self, answers: list[Answer]) -> Corrections:
        return combine(answers, getattr(self.model, "names_", None))

    # What takes long, and runs in the background

    def prepare(self) -> None:
        """Prepare the refiner, and follow the answers of an earlier session."""
        self.refiner.prepare()
        if self.refiner.failure is None:
            with self._lock:
                try:
                    self._show(self._solve(self.corrections), Change())
                    self.ready = True
                except InputError as error:
                    self.refiner.failure = f"{self.log.path} does not fit these data: {error}"

    def draw_map(self) -> None:
        """Replace the quick map by the final one; where that fails, the quick one stays."""
        try:
            self.sample.lay_out()
        except Exception:
            _logger.exception("The map could not be computed; the quick one stays.")
            self.sample.settled = True
        with self._lock:
            self.version += 1

    def start(self) -> None:
        """Draw the map and prepare in the background, once the page has its quick map."""
        threading.Thread(target=self._prepare_all, daemon=True).start()

    def _prepare_all(self) -> None:
        if sys.platform == "linux":  # elsewhere the number of a thread is not that of a process
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOW_PRIORITY)
        self.map_requested.wait(_LONGEST_WAIT)
        self.draw_map()
        self.prepare()

    # Answers

    @contextmanager
    def unchanged_since(self, steps: int) -> Iterator[None]:
        """Let nobody else answer during a block; raise a `StaleError` if somebody has since so many `log.steps`."""
        with self._lock:
            if steps != self.log.steps:
                raise StaleError(
                    "Another tab has given an answer since, so this one was not taken: look at the clusters as they "
                    "are now, and give it again."
                )
            yield

    def label(self, rows: list[int], to: int | None) -> Change:
        """Give rows a class; None is a new one."""
        with self._lock:
            self.check_rows(rows)
            return self._take(Label(rows=rows, to=self._new_number() if to is None else self._existing(to)))

    def merge(self, source: int, into: int) -> Change:
        """Make two classes one."""
        with self._lock:
            if self._existing(source) == self._existing(into):
                raise InputError("A cluster cannot be merged with itself; choose another one.")
            return self._take(Merge(source=source, into=into))

    def split(self, cluster: int) -> Change:
        """Split a class in two."""
        with self._lock:
            self.refiner.prepared()
            stay, go = self.parts(cluster)
            new = self._new_number()
            return self._take(Split(cluster=cluster, new=new, stay=stay[:_TYPICAL], go=go[:_TYPICAL]))

    def parts(self, cluster: int) -> tuple[list[int], list[int]]:
        """Return the rows of the two parts that a split would make of a class, typical ones first."""
        rows = np.flatnonzero(self.state.labels == self._existing(cluster))
        return split_in_two(self.model, self.table, rows)

    def together(self, rows: list[int]) -> Change:
        """Link rows that are of one class (must-link)."""
        with self._lock:
            self.check_rows(rows)
            return self._take(Together(rows=rows))

    def apart(self, rows: list[int]) -> Change:
        """Separate two rows that are not of one class (cannot-link)."""
        with self._lock:
            self.check_rows(rows)
            return self._take(Apart(rows=rows))

    def name(self, cluster: int, name: str) -> Change:
        """Give a class a name."""
        with self._lock:
            return self._take(Name(cluster=self._existing(cluster), name=name))

    def undo(self) -> Change:
        """Undo the last answer."""
        return self._step(self.log.undo, self.log.entries, "Undone")

    def redo(self) -> Change:
        """Redo the answer that was undone last."""
        return self._step(self.log.redo, self.log.undone, "Redone")

    def export(self, write: Callable[[Session, Path], None], file: str) -> Path:
        """Write a file of the current state into the folder, and return its path."""
        path = self.folder / file
        with self._lock:
            write(self, path)
        return path

    def check_followed(self) -> None:
        """Raise an `InputError` as long as the answers of an earlier session are not yet followed."""
        if self.corrections.move_rows and not self.ready:
            self.refiner.prepared()
            raise InputError("Your earlier answers are being followed; try again in a moment.")

    # Internals

    def _take(self, answer: Answer) -> Change:
        """Solve for an answer, write it down, and only then show it."""
        if isinstance(answer, Name):
            self.log.add(answer)
            return self._show(self.state, Change(answer))
        before, after = self.corrections, self._combined([*self.log.answers, answer])
        try:
            state = self._solve(after)
            self.log.add(answer)
        except InputError:
            self._solve(before)  # the refiner goes back to what is shown
            raise
        by_graph = None if before.move_rows else self.refiner.untouched
        return self._show(state, compare_states(answer, self.state, state, self.sample.rows, by_graph))

    def _step(self, step: Callable[[], None], entries: list[Entry], prefix: str) -> Change:
        with self._lock:
            answer = entries[-1].answer if entries else None
            if isinstance(answer, Name):  # moves no row, so it need not wait for the refiner
                step()
                return self._show(self.state, Change(answer, prefix))
            self.refiner.prepared()
            step()
            state = self._solve(self.corrections)
            return self._show(
                state, compare_states(answer, self.state, state, self.sample.rows, prefix=prefix)
            )

    def _solve(self, corrections: Corrections) -> State:
        state = self.refiner.solve(corrections)
        return state if corrections.move_rows else replace(self._model_state, ask=state.ask)

    def _show(self, state: State, change: Change) -> Change:
        self.state = state
        self.version += 1
        return change

    def check_rows(self, rows: list[int]) -> None:
        """Raise an `InputError` for a row that there is not."""
        wrong = [row for row in rows if row >= self.n_rows]
        if wrong:
            raise InputError(f"There is no row {wrong[0]}: the rows are 0 to {self.n_rows - 1}.")

    def _existing(self, number: int) -> int:
        if number not in self.state.numbers:
            raise InputError(f"There is no cluster {number}; choose one of those shown.")
        return number

    def _new_number(self) -> int:
        answers = [entry.answer for entry in (*self.log.entries, *self.log.undone)]
        used = [answer.to for answer in answers if isinstance(answer, Label)]
        used += [answer.new for answer in answers if isinstance(answer, Split)]
        return max([int(self.model_numbers.max()), *used]) + 1
