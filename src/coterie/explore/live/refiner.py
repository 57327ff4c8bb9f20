"""From answers to the classes of all rows: the refiner, and the split of a cluster in two."""

# n rows, b rows of one cluster

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from coterie.errors import InputError
from coterie.explore.live.answers import Corrections
from coterie.explore.live.state import State
from coterie.explore.rows import Table
from coterie.methods.active_learning import concatenate_views
from coterie.methods.refine import Refinement
from coterie.methods.refined_model import RefinedModel

N_ASK = 12
_MOST_ROWS = 1000
_MOST_VALUES = 2**24
_FEWEST = 4


class Refiner:
    """Solves for the classes of all rows, given a person's corrections; the costly preparation is a step of its own.

    Attributes
    ----------
    ready : bool
        Whether `solve` can be called.
    stage : str
        What preparation is doing.
    failure : str or None
        Why preparation failed.
    untouched : ndarray of shape (n,)
        The classes without any correction.
    """

    def __init__(self, model: Any, X: Any, numbers: NDArray[np.integer]) -> None:
        self._model, self._X, self._numbers = model, X, numbers
        self.ready, self.stage = False, "waiting"
        self.failure: str | None = None
        self._started = self._ended = 0.0
        self._refinement: Refinement | None = None
        self.untouched = np.zeros(0, dtype=np.int64)

    @property
    def seconds(self) -> float:
        """How long preparation has taken."""
        return ((self._ended or time.perf_counter()) - self._started) if self._started else 0.0

    def prepare(self) -> None:
        """Read all rows through the model and build the graph; `stage` says how far it is."""
        self._started = time.perf_counter()
        try:
            self.stage = "reading every row through the model"
            refinement = Refinement(self._model, self._X, n_ask=N_ASK)
            self.stage = "building the anchor graph"
            refinement.update(merged={})
        except Exception as error:  # whatever it is, the page must say so and not wait for ever
            self.failure = str(error) or type(error).__name__
            return
        finally:
            self._ended = time.perf_counter()
        self._refinement, self.untouched = refinement, refinement.labels
        self.ready, self.stage = True, "ready"

    def solve(self, corrections: Corrections) -> State:
        """Return the classes of all rows; a contradiction is an `InputError`."""
        refinement = self.prepared()
        try:
            refinement.update(**corrections.for_update())
        except InputError as error:
            words = str(error).replace("in cannot_link", "kept apart").replace("must_link", "Keep together")
            raise InputError(words) from error
        kept = np.setdiff1d(self._numbers, list(corrections.merged))
        exemplars = refinement.model().exemplar_indices_
        return State(
            numbers=np.union1d(refinement.classes, kept).astype(np.int64),
            labels=refinement.labels.astype(np.int64),
            confidence=refinement.memberships.max(axis=1).astype(np.float32),
            memberships=refinement.memberships,
            columns=refinement.classes,
            exemplars=dict(zip(refinement.classes.tolist(), exemplars.tolist(), strict=True)),
            ask=refinement.ask.tolist(),
        )

    def model(self, names: dict[int, str]) -> RefinedModel:
        """Return the last solution as a model."""
        return self.prepared().model(names)

    def prepared(self) -> Refinement:
        """Return the prepared refinement; raise an `InputError` where there is none."""
        if self.failure is not None:
            raise InputError(f"Corrections are not possible: {self.failure}")
        if self._refinement is None:
            raise InputError(f"Corrections are being prepared ({self.stage}); try again in a moment.")
        return self._refinement


def split_in_two(
    model: Any, table: Table, rows: NDArray[np.integer], random_state: int = 0
) -> tuple[list[int], list[int]]:
    """Split the rows of a cluster in two by k-means; return the larger and the smaller part, typical rows first.

    Rows are compared by the model's embedding and by their own views, each with the same weight: an embedding that
    was trained to keep a cluster together may have lost what parts it. At most a thousand rows, evenly spaced, are
    used.
    """
    if len(rows) < _FEWEST:
        raise InputError(f"A cluster of {len(rows)} rows is too small to be split; label its rows instead.")
    width = sum(dim for _, dim in table.views)
    most = max(_FEWEST, min(_MOST_ROWS, _MOST_VALUES // width))
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(np.int64))]
    embedding = np.concatenate(
        [np.asarray(model.transform(table.for_model(chunk))) for chunk in table.chunks(chosen)]
    )
    points = concatenate_views([embedding, *table.read(chosen)[0]])
    if not points.any():
        raise InputError("All rows of this cluster are the same; there is nothing to split.")
    kmeans = KMeans(2, n_init=4, random_state=random_state).fit(points)
    distances = kmeans.transform(points)

    def members(part: int) -> list[int]:
        own = np.flatnonzero(kmeans.labels_ == part)
        return chosen[own[np.argsort(distances[own, part], kind="stable")]].tolist()

    larger = int(np.bincount(kmeans.labels_, minlength=2).argmax())
    return members(larger), members(1 - larger)
