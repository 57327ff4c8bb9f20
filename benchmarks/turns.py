"""A fit whose epochs take turns with those of other fits, and wait for a moment in which the machine is idle."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist

from coterie.engine.distributed import meeting_place, process_group
from coterie.engine.loop import Loop
from coterie.methods.registry import find_method

WIDTH = 784
EPOCHS = 16
_FITS = 8
_PAUSE = 0.05
_IDLE, _PATIENCE = 0.15, 60  # cores that others may use; how often to look for such a moment


class Turns:
    """The turns of one run, of one process or of several that begin and end them together.

    Parameters
    ----------
    path : Path
        A file that all runs know; the one that has locked it works, the others sleep.
    store : Store or None
        Where the processes of the run meet.
    rank, size : int
    settle : callable
        What to wait for before a turn begins.
    """

    def __init__(
        self, path: Path, store: dist.Store | None, rank: int, size: int, settle: Callable[[], None]
    ) -> None:
        self._file, self._settle = path.open(), settle
        self._store, self._rank, self._size = store, rank, size
        self._taken = 0
        self._depth = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Work when it is the run's turn, and let the others work afterwards; a turn within a turn is none."""
        self._depth += 1
        if self._depth == 1:
            self._taken += 1
            if self._rank == 0:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                self._settle()
            self._meet("begin")
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._meet("end")
                if self._rank == 0:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
                    time.sleep(_PAUSE)  # else the others, who wake up slowly, would never have it

    def _meet(self, where: str) -> None:
        if self._store is None:
            return
        name = f"{where} {self._taken}"
        if self._store.add(name, 1) == self._size:
            self._store.set(f"{name}: all", "")
        self._store.wait([f"{name}: all"])


def cpu_seconds() -> float:
    """Return the CPU seconds that all processes of this machine have used."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # less idle and waiting for a disk


def wait_until_idle(seconds: float = 0.3) -> None:
    """Wait for a moment in which nobody uses the machine, for some while at most."""
    for _ in range(_PATIENCE):
        before = cpu_seconds()
        time.sleep(seconds)
        if cpu_seconds() - before < _IDLE * seconds:
            return


def measure(method: str, path: Path, params: dict[str, Any]) -> None:
    """Fit, and print the labels and the seconds of the epochs or sweeps that are alike and that nobody disturbed.

    Parameters
    ----------
    method : str
    path : Path
        The rows, which all runs know: whose turn it is has locked them.
    params : dict
    """
    rows = np.load(path)
    halves = [slice(0, WIDTH // 2), slice(WIDTH // 2, WIDTH)]
    views = halves if method in ("mvsib", "largemvcnet") else None
    store, rank, size = meeting_place() if dist.is_torchelastic_launched() else (None, 0, 1)
    turns = Turns(path, store, rank, size, wait_until_idle)
    epoch = Loop.run_epoch
    seconds: list[float] = []
    loops: list[Loop] = []

    def in_turn(loop: Loop) -> None:
        with turns.turn():
            used, own, began = cpu_seconds(), time.process_time(), time.perf_counter()
            epoch(loop)
            took = time.perf_counter() - began
            others = cpu_seconds() - used - size * (time.process_time() - own)
        loops.append(loop)
        # Epochs of the first half are of one kind; later ones, with or without neighbours, cost more or less.
        if loop is loops[0] and loop.epoch <= EPOCHS / 2 and others < _IDLE * took:
            seconds.append(took)

    Loop.run_epoch = in_turn  # type: ignore[assignment, method-assign]
    with process_group():
        # LargeMvCNet has one sweep in which rows meet the landmarks; later ones find them kept.
        for _ in range(_FITS if method == "largemvcnet" else 1):
            estimator = find_method(method).load()(10, views=views, random_state=0, **params)
            with turns.turn() if method == "largemvcnet" else nullcontext():
                estimator.fit(rows)
            if method == "largemvcnet":
                seconds.append(estimator.history_[0]["seconds"])
    if rank == 0:
        print(json.dumps({"seconds": seconds, "labels": estimator.labels_.tolist()}))


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
