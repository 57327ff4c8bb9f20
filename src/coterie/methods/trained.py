"""Clusterers that train a network epoch by epoch: how they fit, how they follow a stream, and their rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from coterie.collectives import Collectives
from coterie.data import Scaler, Views
from coterie.engine.loop import Callback, Loop, Record, Task
from coterie.engine.schedule import STREAM_RATE, learning_schedule
from coterie.methods.costs import CostClusterer
from coterie.methods.params import Rule, either, flag, one_of, real, whole
from coterie.methods.run_setup import RunParts, RunSettings
from coterie.store import versions

TRAINING_RULES: Mapping[str, Rule] = {
    "max_epochs": either(one_of("auto"), whole(0)),
    "batch_size": whole(2),
    "learning_rate": real(0, above=True),
    "verbose": either(whole(0), flag()),
}
"""Rules of the parameters that say how to train, for the `_rules` of each `TrainedClusterer`."""


class ClusterTask(Task, Protocol):
    """A task of the loop whose clusters start after a warm-up."""

    @property
    def settings(self) -> RunSettings:
        """The settings of the run."""
        ...

    @property
    def collectives(self) -> Collectives:
        """The processes that train together."""
        ...

    @property
    def started(self) -> bool:
        """Whether there are clusters yet."""
        ...

    def start(self, in_haste: bool = False) -> None:
        """Find the clusters to start from; in haste, leave out what a model can do without."""
        ...


PartsT = TypeVar("PartsT", bound=RunParts)
TaskT = TypeVar("TaskT", bound=ClusterTask)


class TrainedClusterer(CostClusterer, Generic[PartsT, TaskT]):
    """Base of the estimators that train a network on rows and their neighbours.

    A subclass takes `TRAINING_RULES` into its `_rules` and implements the abstract methods below.
    """

    _stream_options: ClassVar[Mapping[str, Any]] = {}
    """Options of the method that are others in a pass over more rows."""

    device: str
    history_: list[Record]
    scaler_: Scaler

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on with more rows, as from a stream; the clusters keep their numbers.

        The first call is a `fit`. Each later one is a pass over the new rows, in which the network adapts slowly.
        Afterwards `labels_` and what else is said of rows refers to the rows given last.

        Parameters
        ----------
        X : array-like, views, or path
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "history_"):
            return self.fit(X)
        self._check_params()
        data = self._check_input(X, reset=False)
        self._continue(data)
        return self

    def _fit(self, data: Views) -> None:
        params = self._resolved()
        parts = self._prepare(params, data)
        task = self._make_task(params, parts)
        loop = make_loop(task, parts, self._watchers(parts.fingerprint()))
        loop.run()
        if not task.started:
            task.start(in_haste=loop.interrupted)
        self._finish(parts, task, loop.history)

    def _continue(self, data: Views) -> None:
        params = self._resolved()
        options = params["options"].set_params(warmup=0.0, **self._stream_options)
        rate = STREAM_RATE * params["learning_rate"]
        params |= {"max_epochs": 1, "learning_rate": rate, "options": options}
        done = len(self.history_)
        parts = self._prepare_more(params, data, self.seed_ + done)
        task = self._make_task(params, parts)
        loop = make_loop(task, parts)
        self._follow(task, loop)
        self._finish(parts, task, [*self.history_, *({**record, "epoch": done} for record in loop.history)])

    def _finish(self, parts: PartsT, task: TaskT, history: list[Record]) -> None:
        self.scaler_, self.history_ = parts.scaler, history
        self.versions_ = versions()
        self._conclude(parts, task)

    # What a method brings

    def _check_data(self, data: Views) -> None:
        """Check that the data of a `fit` suit the method."""
        self._check_enough(data)

    @abstractmethod
    def _prepare(self, params: Mapping[str, Any], data: Views) -> PartsT:
        """Return the parts of a `fit`, from `seed_` and for `device`."""

    @abstractmethod
    def _prepare_more(self, params: Mapping[str, Any], data: Views, seed: int) -> PartsT:
        """Return the parts of a pass over more rows: what is fitted, and the new rows."""

    @abstractmethod
    def _make_task(self, params: Mapping[str, Any], parts: PartsT) -> TaskT:
        """Return the task that trains these parts."""

    @abstractmethod
    def _follow(self, task: TaskT, loop: Loop) -> None:
        """Run the loop of a pass over more rows, with the clusters that there are."""

    @abstractmethod
    def _conclude(self, parts: PartsT, task: TaskT) -> None:
        """Keep what was trained, label every row, and set what follows from that."""


def make_loop(task: ClusterTask, parts: RunParts, callbacks: Sequence[Callback] = ()) -> Loop:
    """Return the loop that trains a task on the rows of a run and their neighbours."""
    settings, batches = task.settings, parts.batches
    return Loop(
        task,
        lambda epoch: batches.epoch(epoch, parts.pairs),
        per_epoch=batches.per_epoch,
        max_epochs=settings.max_epochs,
        schedule=learning_schedule(settings.warmup_epochs / max(1, settings.max_epochs)),
        callbacks=callbacks,
        collectives=task.collectives,
    )
