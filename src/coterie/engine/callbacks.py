"""Callbacks that every method shares: progress and checkpoints."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coterie.engine.checkpoint import read_checkpoint, write_checkpoint
from coterie.engine.loop import Callback, Loop, Record, log

CHECKPOINT_EVERY = 10
"""Epochs between two checkpoints; the last epoch is always written."""


class Progress(Callback):
    """A bar with the time left on a terminal; nothing anywhere else.

    Parameters
    ----------
    title : str
        What stands before the bar.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._bar: Any = None

    def on_begin(self, loop: Loop) -> None:
        """Show the bar, if standard error is a terminal."""
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.fields[epoch]} of {task.fields[epochs]}  {task.fields[losses]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(
            self.title,
            total=loop.max_epochs * loop.per_epoch,
            completed=loop.epoch * loop.per_epoch,
            epoch=loop.epoch + 1,
            epochs=loop.max_epochs,
            losses="",
        )
        self._bar.start()

    def on_batch_end(self, loop: Loop) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def on_epoch_end(self, loop: Loop, record: Record) -> None:
        """Show the epoch's loss, and how many epochs there will be."""
        if self._bar is not None:
            last = loop.last_epoch
            self._bar.update(
                self._task,
                total=last * loop.per_epoch,
                epoch=min(loop.epoch + 1, last),
                epochs=last,
                losses=f"loss {record['loss']:.4g}",
            )

    def on_end(self, loop: Loop) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Checkpoint(Callback):
    """Write the state every few epochs, and go on from it when it is there.

    Parameters
    ----------
    identity : mapping
        What must be the same for a resume to make sense: parameters and a fingerprint of the data.
    """

    def __init__(self, path: str | Path, identity: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.identity = json.loads(json.dumps(identity))

    def on_begin(self, loop: Loop) -> None:
        """Resume from the file, if there is one."""
        if self.path.exists():
            read_checkpoint(self.path, loop, self.identity)
            log.info("Resumed from %s after epoch %d.", self.path, loop.epoch)

    def on_epoch_end(self, loop: Loop, record: Record) -> None:
        """Write the file when it is time."""
        if loop.collectives.rank == 0 and (
            loop.epoch % CHECKPOINT_EVERY == 0 or loop.epoch == loop.last_epoch or loop.stop
        ):
            write_checkpoint(self.path, loop, self.identity)
