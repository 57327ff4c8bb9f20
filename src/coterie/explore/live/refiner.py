"""From what a person said to the classes of all rows; the costly preparation runs beside the page."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from coterie.errors import InputError
from coterie.explore.live.answers import Knowledge
from coterie.explore.live.state import State
from coterie.methods.refine import Refinement
from coterie.methods.refined_model import RefinedModel

N_ASK = 12


class Refiner:
    """Re-solves the clusters of a model for a person's answers.

    Parameters
    ----------
    model : estimator
    X : Views
    numbers : ndarray of int
        The classes of the model.

    Attributes
    ----------
    ready : bool
        Whether `solve` can be called.
    stage : str
        What preparation is doing.
    failure : str or None
        Why preparation ended without success.
    """

    def __init__(self, model: Any, X: Any, numbers: np.ndarray) -> None:
        self._model, self._X, self._numbers = model, X, numbers
        self.ready, self.stage = False, "waiting"
        self.failure: str | None = None
        self._started: float | None = None
        self._seconds = 0.0
        self._refinement: Refinement | None = None
        self.untouched = np.zeros(0, dtype=np.int64)

    @property
    def seconds(self) -> float:
        """How long preparation has taken."""
        running = self._started is not None and not (self.ready or self.failure)
        return time.perf_counter() - self._started if running and self._started else self._seconds

    def prepare(self) -> None:
        """Read all rows through the model and build the graph; `stage` says how far it is."""
        self._started = time.perf_counter()
        try:
            self.stage = "reading every row through the model"
            refinement = Refinement(self._model, self._X, n_ask=N_ASK)
            self.stage = "tying rows to anchors"
            refinement.update(merged={})
        except Exception as error:  # whatever it is, the page must say so and not wait for ever
            self.failure = str(error) or type(error).__name__
            return
        finally:
            self._seconds = time.perf_counter() - self._started
        self._refinement, self.untouched = refinement, refinement.labels
        self.ready, self.stage = True, "ready"

    def solve(self, known: Knowledge) -> State:
        """Return the classes of all rows by what is known; a contradiction is an `InputError`."""
        refinement = self._prepared()
        try:
            refinement.update(**known.for_update())
        except InputError as error:
            words = str(error).replace("in cannot_link", "kept apart").replace("must_link", "Keep together")
            raise InputError(words) from error
        going_on = np.setdiff1d(self._numbers, list(known.merged))
        exemplars = refinement.model().exemplar_indices_
        return State(
            numbers=np.union1d(refinement.classes, going_on).astype(np.int64),
            labels=refinement.labels.astype(np.int64),
            confidence=refinement.memberships.max(axis=1).astype(np.float32),
            memberships=refinement.memberships,
            columns=refinement.classes,
            exemplars=dict(zip(refinement.classes.tolist(), exemplars.tolist(), strict=True)),
            ask=refinement.ask.tolist(),
        )

    def model(self, names: dict[int, str]) -> RefinedModel:
        """Return the last answer as a model."""
        return self._prepared().model(names)

    def check(self) -> None:
        """Raise one sentence where `solve` cannot be called."""
        self._prepared()

    def _prepared(self) -> Refinement:
        if self.failure is not None:
            raise InputError(f"Corrections are not possible: {self.failure}")
        if self._refinement is None:
            raise InputError(f"Corrections are being prepared ({self.stage}); try again in a moment.")
        return self._refinement
