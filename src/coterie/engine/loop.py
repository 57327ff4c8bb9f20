"""One training loop in small steps, each of which can be overridden or listened to."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.engine.adam import Adam
from coterie.engine.stopping import Settling
from coterie.errors import InputError, InterruptedWarning
from coterie.ops.distributed_rows import agree
from coterie.progress import phase, step

log = logging.getLogger("coterie")

Record = dict[str, Any]


class Task(Protocol):
    """What a method brings to the loop: its parameters, its losses and its own steps."""

    @property
    def optimizer(self) -> Adam:
        """The optimizer of the parameters to be trained."""
        ...

    def begin_epoch(self, epoch: int) -> None:
        """Prepare an epoch; all randomness inside it must follow from the seed and this number."""
        ...

    def losses(self, batch: Any) -> tuple[dict[str, Tensor], Any]:
        """Return named losses of a batch, and whatever `after_step` needs.

        The one called "loss" is minimised, the others are recorded. Of several processes each returns its part: the
        parts add up to the losses.
        """
        ...

    def after_step(self, carried: Any) -> None:
        """Do what follows the gradient step, for instance the update of centroids."""
        ...

    def end_epoch(self, epoch: int) -> Record:
        """Return what else the epoch's record should hold."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Return every tensor that training changes, but for the optimizer's."""
        ...

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        ...


class Callback:
    """Listens to a loop. Override what you need; `loop.stop = True` ends training after the epoch."""

    def on_begin(self, loop: Loop) -> None:
        """Hear that training is about to begin, or to go on after a resume."""

    def on_batch_end(self, loop: Loop) -> None:
        """Hear that a batch was done."""

    def on_epoch_end(self, loop: Loop, record: Record) -> None:
        """Hear that an epoch was done and recorded."""

    def on_end(self, loop: Loop) -> None:
        """Hear that training is over, by its end, by a stop or by an interrupt."""


class Loop:
    """Trains a task epoch by epoch, in one stage (`run`) or in several (``with loop: loop.train(until=5)``).

    Parameters
    ----------
    batches : callable
        Takes the number of an epoch, gives its batches.
    per_epoch : int
        How many batches an epoch has; for progress and the schedule.
    schedule : callable, optional
        Maps the share of training that is done, 0 to 1, to a factor of the learning rate.
    settling : Settling, optional
        Ends training before `max_epochs` once nothing moves, and gives the factor instead of a schedule.
    collectives : Collectives
        Losses and gradients are added over its processes.

    Attributes
    ----------
    epoch : int
        Epochs done.
    last_epoch : int
        Epochs after which training ends, as far as the history tells.
    history : list of dict
        One record per epoch: the means of the losses, `seconds`, and what the task adds.
    interrupted : bool
        Whether Ctrl-C or SIGTERM ended training.
    """

    def __init__(
        self,
        task: Task,
        batches: Callable[[int], Iterable[Any]],
        *,
        per_epoch: int,
        max_epochs: int,
        schedule: Callable[[float], float] | None = None,
        settling: Settling | None = None,
        callbacks: Sequence[Callback] = (),
        collectives: Collectives = ALONE,
    ) -> None:
        self.task, self.batches, self.per_epoch, self.max_epochs = task, batches, per_epoch, max_epochs
        self.schedule, self.settling, self.collectives = schedule, settling, collectives
        self.callbacks = list(callbacks)
        self.epoch, self.last_epoch = 0, max_epochs
        self.history: list[Record] = []
        self.stop = False
        self.interrupted = False
        self._rate, self._parameters = task.optimizer.rate, task.optimizer.parameters

    def run(self) -> None:
        """Train all epochs as one stage."""
        with self:
            self.train()

    def __enter__(self) -> Self:
        """Begin: callbacks show progress, or resume from a checkpoint."""
        self._announce("on_begin")
        self._check_together()
        self._phase = phase("training")
        self._phase.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> bool:
        """End; Ctrl-C or SIGTERM in any stage stops training and leaves the task usable."""
        self._announce("on_end")
        self._phase.__exit__(None, None, None)
        # Of several processes the others may be at another step, and would wait for ever.
        self.interrupted = isinstance(error, KeyboardInterrupt) and self.collectives.size == 1
        if isinstance(error, KeyboardInterrupt) and self.interrupted:
            where = f"in epoch {self.epoch + 1} of {self.max_epochs}"
            warnings.warn(InterruptedWarning(where, error), stacklevel=2)
        return self.interrupted

    def train(self, until: int | None = None) -> None:
        """Train one stage: up to an epoch, the last by default, or until a callback stops training."""
        agree(self._parameters, self.collectives)
        until = self.max_epochs if until is None else min(until, self.max_epochs)
        self._find_last_epoch()
        while self.epoch < min(until, self.last_epoch) and not self.stop:
            self.run_epoch()

    def _find_last_epoch(self) -> None:
        if self.settling is not None:
            self.last_epoch = self.collectives.max(self.settling.last_epoch(self.history))

    def run_epoch(self) -> None:
        """Do one epoch and record it."""
        started = time.perf_counter()
        self.task.begin_epoch(self.epoch)
        totals: dict[str, Tensor] = {}
        n_batches = 0
        for n_batches, batch in enumerate(self.batches(self.epoch), 1):
            self._set_rate(self.epoch + (n_batches - 1) / self.per_epoch)
            for name, value in self.step(batch).items():
                totals[name] = totals.get(name, 0) + value.detach()
            self._announce("on_batch_end")
            step(self.epoch + n_batches / self.per_epoch, self.last_epoch)
        means = {name: float(total) / n_batches for name, total in totals.items()}
        record = {"epoch": self.epoch, **means, **self.task.end_epoch(self.epoch)}
        record["seconds"] = time.perf_counter() - started
        self.history.append(record)
        self.epoch += 1
        self._find_last_epoch()
        self._announce("on_epoch_end", record)

    def step(self, batch: Any) -> dict[str, Tensor]:
        """Do one gradient step on a batch and return its losses."""
        losses, carried = self.task.losses(batch)
        self.task.optimizer.zero_grad()
        losses["loss"].backward()
        losses = self._added_up(losses)
        self.task.optimizer.step()
        self.task.after_step(carried)
        return losses

    def _check_together(self) -> None:
        """Check that all processes go on from the same epoch."""
        least, most = self.collectives.min(self.epoch), self.collectives.max(self.epoch)
        if least != most:
            raise InputError(
                f"The processes resume after different epochs, {least} and {most}: put the checkpoint where all "
                "of them can read it, or delete it."
            )

    def _added_up(self, losses: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add up the gradients of all processes, and return the sums of their losses: one message for both."""
        if self.collectives.size == 1:
            return losses
        moved = [p for p in self._parameters if p.grad is not None]
        gradients = [p.grad.flatten() for p in moved if p.grad is not None]
        values = torch.stack([value.detach() for value in losses.values()])
        flat = self.collectives.sum(torch.cat([*gradients, values]))
        *pieces, values = flat.split([p.numel() for p in moved] + [len(values)])
        for parameter, piece in zip(moved, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)
        return dict(zip(losses, values, strict=True))

    def _set_rate(self, epoch: float) -> None:
        if self.settling is not None:
            self.task.optimizer.rate = self._rate * self.settling.rate(self.history, epoch)
        elif self.schedule is not None:
            self.task.optimizer.rate = self._rate * self.schedule(epoch / self.max_epochs)

    def _announce(self, event: str, *details: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(self, *details)
