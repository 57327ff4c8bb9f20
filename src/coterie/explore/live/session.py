"""One exploration of a run: what is shown, what a person said, and what follows from it."""

# n rows, s sampled rows

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import InputError
from coterie.explore.live import answers as said
from coterie.explore.live.change import Change, compared
from coterie.explore.live.log import AnswerLog, Entry
from coterie.explore.live.metadata import Metadata
from coterie.explore.live.refiner import Refiner
from coterie.explore.live.sample import Sample
from coterie.explore.live.splitting import halves
from coterie.explore.live.state import Paints, State
from coterie.explore.pictures import ImageLayout
from coterie.explore.rows import Table
from coterie.explore.summary import positions, read_classes

_logger = logging.getLogger(__name__)

_UNSEEN_SECONDS = 10.0
_BEHIND = 10


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
        Of the model in its clusters; asked of the model where it is not known.
    metadata : Metadata, optional
    truth : array-like of shape (n,), optional
        Known classes, to be shown.
    image_shape : tuple, optional
    title : str
    max_rows : int
        Rows on the map, besides the exemplars.
    embedding : {"auto", "tsne", "pca"}
        How the map is drawn.

    Attributes
    ----------
    state : State
    version : int
        Grows with every change of what is shown.
    layout : ImageLayout or None
        How rows are images.
    picture_view : int or None
        The view in which they are.
    shown : threading.Event
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
    ) -> None:
        self.model, self.data, self.title, self.metadata = model, X, title, metadata
        self.image_shape, self.embedding = image_shape, embedding
        self.shown, self.ready = threading.Event(), False
        self.table = Table(X, model)
        self._check_columns()
        self.layout = None if image_shape is None else ImageLayout.from_shape(image_shape)
        self.picture_view = None if self.layout is None else self.table.view_of_size(self.layout.size)
        labels = positions(model)
        if len(labels) != self.table.n_rows:
            raise InputError(
                f"The data have {self.table.n_rows} rows, the model was fitted on {len(labels)}; give the same rows."
            )
        self.truth = truth
        self.classes = None if truth is None else read_classes(truth, self.table.n_rows)
        self.sample = Sample(model, self.table, labels, max_rows)
        k = self.sample.reading.n_clusters
        self.model_numbers = np.asarray(getattr(model, "classes_", np.arange(k)), dtype=np.int64)
        self.paints = Paints(self.model_numbers)
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = AnswerLog(folder / "answers.jsonl")
        self.refiner = Refiner(model, X, self.model_numbers)
        self._by_model = self._model_state(confidence)
        self.state, self.version = self._by_model, 1
        self._lock = threading.RLock()

    def _check_columns(self) -> None:
        found, fitted = [dim for _, dim in self.table.views], list(self.model.view_dims_in_)
        if found != fitted:
            raise InputError(
                f"The data have {found} columns, the model was fitted on {fitted}; give the data it was fitted on."
            )

    def _model_state(self, confidence: NDArray[np.floating] | None) -> State:
        sure = self.model.assign(self.data).confidence if confidence is None else confidence
        return State(
            numbers=self.model_numbers,
            labels=np.asarray(self.model.labels_, dtype=np.int64),
            confidence=np.asarray(sure, dtype=np.float32),
            memberships=None,
            columns=self.model_numbers,
            exemplars=self.modelled_exemplars,
            ask=[],
        )

    @property
    def modelled_exemplars(self) -> dict[int, int]:
        """From a class to the row that stands for it, as the model itself has them."""
        exemplars = self.sample.reading.exemplars.items()
        return {int(self.model_numbers[c]): row for c, row in exemplars}

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return self.table.n_rows

    @property
    def known(self) -> said.Knowledge:
        """What the answers mean together."""
        return self._known_by(self.log.answers)

    def _known_by(self, answers: list[said.Answer]) -> said.Knowledge:
        return said.gathered(answers, getattr(self.model, "names_", None))

    # What takes long, and runs beside the page

    def prepare(self) -> None:
        """Make ready for answers, and follow those of an earlier session."""
        self.refiner.prepare()
        if self.refiner.failure is None:
            with self._lock:
                try:
                    self._show(self._solved(self.known), Change())
                    self.ready = True
                except InputError as error:
                    self.refiner.failure = f"{self.log.path} does not fit these data: {error}"

    def draw_map(self) -> None:
        """Replace the quick map by a good one; where that fails, the quick one stays."""
        try:
            self.sample.lay_out(self.embedding, self.folder / "map.coterie")
        except Exception:
            _logger.exception("The map could not be computed; the quick one stays.")
            self.sample.settled = True
        with self._lock:
            self.version += 1

    def start(self) -> None:
        """Do both in the background, one after the other, once the page has its quick map and nobody waits."""
        threading.Thread(target=self._prepare_all, daemon=True).start()

    def _prepare_all(self) -> None:
        _give_way()
        self.shown.wait(_UNSEEN_SECONDS)
        self.draw_map()
        self.prepare()

    # What a person says

    def label(self, rows: list[int], to: int | None) -> Change:
        """Give rows a class; None is a new one."""
        with self._lock:
            self._check_rows(rows)
            number = self._new_number() if to is None else self._existing(to)
            return self._take(said.Label(rows=rows, to=number))

    def merge(self, source: int, into: int) -> Change:
        """Make two classes one."""
        with self._lock:
            if self._existing(source) == self._existing(into):
                raise InputError("A cluster cannot be merged with itself; choose another one.")
            return self._take(said.Merge(source=source, into=into))

    def split(self, cluster: int) -> Change:
        """Part a class in two."""
        with self._lock:
            self.refiner.check()
            rows = np.flatnonzero(self.state.labels == self._existing(cluster))
            stay, go = halves(self.model, self.table, rows)
            return self._take(said.Split(cluster=cluster, new=self._new_number(), stay=stay, go=go))

    def together(self, rows: list[int]) -> Change:
        """Say that rows are of one class."""
        with self._lock:
            self._check_rows(rows)
            return self._take(said.Together(rows=rows))

    def apart(self, rows: list[int]) -> Change:
        """Say that two rows are not of one class."""
        with self._lock:
            self._check_rows(rows)
            return self._take(said.Apart(rows=rows))

    def name(self, cluster: int, name: str) -> Change:
        """Give a class a name."""
        with self._lock:
            return self._take(said.Name(cluster=self._existing(cluster), name=name))

    def undo(self) -> Change:
        """Take the last answer back."""
        return self._step(self.log.undo, self.log.entries, "Taken back")

    def redo(self) -> Change:
        """Let the answer that was taken back last count again."""
        return self._step(self.log.redo, self.log.undone, "Said again")

    def export(self, write: Callable[[Session, Path], None], file: str) -> Path:
        """Write something to take away into the folder, and return where it is."""
        path = self.folder / file
        with self._lock:
            write(self, path)
        return path

    def check_followed(self) -> None:
        """Raise one sentence as long as what is shown does not follow the answers of an earlier session."""
        if self.known.moves_rows and not self.ready:
            self.refiner.check()
            raise InputError("Your earlier answers are being followed; try again in a moment.")

    # Behind it

    def _take(self, answer: said.Answer) -> Change:
        """Solve for an answer, write it down, and only then show it."""
        if isinstance(answer, said.Name):
            self.log.add(answer)
            return self._show(self.state, Change(answer))
        known, before = self._known_by([*self.log.answers, answer]), self.known
        try:
            state = self._solved(known)
            self.log.add(answer)
        except InputError:
            self._solved(before)  # the refiner goes back to what is shown
            raise
        first = None if before.moves_rows else self.refiner.untouched
        return self._show(state, compared(answer, self.state, state, self.sample.rows, first))

    def _step(self, step: Callable[[], None], concerned: list[Entry], word: str) -> Change:
        with self._lock:
            answer = concerned[-1].answer if concerned else None
            if isinstance(answer, said.Name):  # moves no row, so it need not wait for the refiner
                step()
                return self._show(self.state, Change(answer, word))
            self.refiner.check()
            step()
            state = self._solved(self.known)
            return self._show(state, compared(answer, self.state, state, self.sample.rows, word=word))

    def _solved(self, known: said.Knowledge) -> State:
        state = self.refiner.solve(known)
        return state if known.moves_rows else replace(self._by_model, ask=state.ask)

    def _show(self, state: State, change: Change) -> Change:
        self.state = state
        self.version += 1
        return change

    def _check_rows(self, rows: list[int]) -> None:
        wrong = [row for row in rows if row >= self.n_rows]
        if wrong:
            raise InputError(f"There is no row {wrong[0]}: the rows are 0 to {self.n_rows - 1}.")

    def _existing(self, number: int) -> int:
        if number not in self.state.numbers:
            raise InputError(f"There is no cluster {number}; choose one of those shown.")
        return number

    def _new_number(self) -> int:
        used = [int(self.model_numbers.max())]
        for entry in (*self.log.entries, *self.log.undone):
            answer = entry.answer
            used += [answer.to] if isinstance(answer, said.Label) else []
            used += [answer.new] if isinstance(answer, said.Split) else []
        return max(used) + 1


def _give_way() -> None:
    """Let other threads of this process go first, where the system can: somebody waits for the page."""
    if sys.platform == "linux":  # elsewhere the number of a thread is not that of a process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BEHIND)
