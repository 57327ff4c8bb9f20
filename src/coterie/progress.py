"""Phases of a computation, told to whoever watches it: nobody, unless a program asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Watcher(Protocol):
    """What a program that watches implements; calls come from the thread that computes."""

    def begin(self, name: str) -> None:
        """Begin a phase; it may lie inside another."""

    def step(self, share: float) -> None:
        """Note that a share of the phase, 0 to 1, is done."""

    def end(self) -> None:
        """End the phase that began last."""


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell a watcher of the phases within a block.

    Examples
    --------
    >>> class Printer:
    ...     def begin(self, name): print("begins:", name)
    ...     def step(self, share): print(f"{share:.0%}")
    ...     def end(self): print("ends")
    >>> with watched(Printer()), phase("reading"):
    ...     step(1, 2)
    begins: reading
    50%
    ends
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name what is done within a block; also a decorator of functions."""
    watcher = _watcher.get()
    if watcher is None:
        yield
        return
    watcher.begin(name)
    try:
        yield
    finally:
        watcher.end()


def step(done: float, of: float) -> None:
    """Say how much of the phase is done."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher.step(min(1.0, done / of) if of else 1.0)
