"""What a command says while it works: what it does and how long that will take, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from coterie.cli.inputs import is_follower
from coterie.progress import watched

FIRST = 2.0
"""Seconds of work after which the first line comes."""
EVERY = 10.0
"""Seconds between two lines."""


class Reporter:
    """Keeps the seconds of each phase, and says every few seconds what is being done.

    On a terminal training has a bar of its own and no lines.

    Parameters
    ----------
    quiet : bool
        Keep the seconds only.

    Attributes
    ----------
    seconds : dict of str to float
        Of each phase, without those of phases inside it, in the order in which they began.
    expected : float or None
        Seconds that all of it is expected to take.
    """

    def __init__(self, quiet: bool) -> None:
        self.seconds: dict[str, float] = {}
        self.expected: float | None = None
        self._quiet = quiet
        self._stack: list[tuple[str, float, float]] = []  # name, begin, share that is done
        self._started = self._turned = time.monotonic()
        self._lock = threading.Lock()
        self._done = threading.Event()

    def begin(self, name: str) -> None:
        """Begin a phase."""
        with self._lock:
            self._turn()
            self.seconds.setdefault(name, 0.0)
            self._stack.append((name, time.monotonic(), 0.0))

    def step(self, share: float) -> None:
        """Note that a share of the phase is done."""
        with self._lock:
            if self._stack:
                name, began, _ = self._stack[-1]
                self._stack[-1] = name, began, share

    def end(self) -> None:
        """End a phase."""
        with self._lock:
            self._turn()
            self._stack.pop()

    def _turn(self) -> None:
        now = time.monotonic()
        if self._stack:
            self.seconds[self._stack[-1][0]] += now - self._turned
        self._turned = now

    def line(self) -> str | None:
        """Return what is being done and how long it will take; None between phases."""
        with self._lock:
            if not self._stack:
                return None
            name, began, share = self._stack[-1]
        now = time.monotonic()
        if name == "training" and sys.stderr.isatty():
            return None
        took, left = now - self._started, None
        if share > 0.02:
            left = (now - began) * (1 - share) / share
        elif self.expected is not None and took < self.expected:
            left = self.expected - took
        percent = f" {share:.0%}" if share else ""
        until = "" if left is None else f", about {_duration(left)} left"
        return f"coterie: {name}{percent}, {_duration(took)} so far{until}"

    def __enter__(self) -> Reporter:
        if not self._quiet:
            threading.Thread(target=self._speak, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _speak(self) -> None:
        wait = FIRST
        while not self._done.wait(wait):
            line = self.line()
            wait = EVERY if line else 1.0
            if line:
                print(line, file=sys.stderr, flush=True)

    def summary(self) -> str:
        """Return the seconds of the phases in words.

        Examples
        --------
        >>> reporter = Reporter(quiet=True)
        >>> reporter.seconds = {"reading": 0.31, "graph": 2.0}
        >>> reporter.summary()
        'reading 0.3 s, graph 2.0 s'
        """
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items())


_current = Reporter(quiet=True)


def current() -> Reporter:
    """Return the reporter of the command that runs."""
    return _current


@contextmanager
def reported(arguments: Sequence[str]) -> Iterator[None]:
    """Report the phases of the command with these arguments."""
    global _current
    _current = Reporter(quiet="--quiet" in arguments or is_follower())
    with _current, watched(_current):
        yield


def _duration(seconds: float) -> str:
    """Write seconds as a person would say them.

    Examples
    --------
    >>> _duration(8.4), _duration(312), _duration(9000)
    ('8 s', '5 min', '2.5 h')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
