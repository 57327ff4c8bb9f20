"""When training ends: once labels and losses have settled, and the learning rate has then fallen to nothing."""

# e epochs done, w epochs of a window

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

WINDOW_STEPS = 50
"""Gradient steps over which labels and losses are compared; at least an epoch."""

_LEAST_RATE = 0.001
_RISE_STEPS = 20
_COOLING = 3  # the rate falls over a third as many epochs as were trained before


@dataclass(frozen=True)
class Settling:
    """Stop criterion and learning rate of a run that ends when nothing moves.

    The rate rises over the first 20 steps and then stays until training has settled: over a window of epochs at most
    a share `labels` of the rows changed their label, and the mean of each watched loss fell by less than a share
    `losses` from the window before. Then the rate falls to nothing over a third as many epochs as were trained, and
    training ends. All follows from the history, so a resumed run ends where one that was never stopped does.

    Parameters
    ----------
    max_epochs : int
        A cap: training ends there, settled or not.
    per_epoch : int
        Gradient steps of an epoch.
    watched : sequence of str
        Names of losses in the records of the history. An epoch whose record lacks one is not settled.
    changed : str
        Name in the records of the share of rows whose label changed in an epoch.
    labels, losses : float
        Tolerances.

    Examples
    --------
    >>> settling = Settling(max_epochs=100, per_epoch=50)
    >>> history = [{"loss": loss, "changed": 0.0} for loss in (5.0, 3.0, 2.0, 2.0)]
    >>> settling.last_epoch(history[:3]), settling.last_epoch(history)
    (100, 6)
    >>> [round(settling.rate(history, epoch), 3) for epoch in (0, 1, 4, 5, 6)]
    [0.051, 1.0, 1.0, 0.5, 0.001]
    """

    max_epochs: int
    per_epoch: int
    watched: Sequence[str] = ("loss",)
    changed: str = "changed"
    labels: float = 0.01
    losses: float = 0.02

    @property
    def window(self) -> int:
        """Epochs of a window."""
        return math.ceil(WINDOW_STEPS / self.per_epoch)

    def last_epoch(self, history: Sequence[Mapping[str, Any]]) -> int:
        """Return the number of epochs after which training ends, as far as the history tells."""
        return min(self.max_epochs, self._steady(history) + self._cooling(history))

    def rate(self, history: Sequence[Mapping[str, Any]], epoch: float) -> float:
        """Return the factor of the learning rate after so many epochs, of which a part may be done."""
        steady = self._steady(history)
        risen = min(1.0, (epoch * self.per_epoch + 1) / _RISE_STEPS)
        if epoch <= steady:
            return _LEAST_RATE + (1 - _LEAST_RATE) * risen
        done = min(1.0, (epoch - steady) / self._cooling(history))
        return _LEAST_RATE + (1 - _LEAST_RATE) * risen * (1 + math.cos(math.pi * done)) / 2

    def _steady(self, history: Sequence[Mapping[str, Any]]) -> int:
        """Return the number of epochs at the full rate."""
        most = self.max_epochs - math.ceil(self.max_epochs / (_COOLING + 1))
        settled = np.flatnonzero(self._settled(history))
        return most if len(settled) == 0 else min(most, int(settled[0]) + 2 * self.window)

    def _cooling(self, history: Sequence[Mapping[str, Any]]) -> int:
        return max(1, math.ceil(self._steady(history) / _COOLING))

    def _settled(self, history: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return whether training has settled after 2 w, 2 w + 1, ... epochs, with w the window."""
        w, names = self.window, (self.changed, *self.watched)
        if len(history) < 2 * w:
            return np.zeros(0, dtype=bool)
        values = np.array([[record.get(name, math.nan) for name in names] for record in history])
        means = sliding_window_view(values, w, axis=0).mean(
            axis=2
        )  # (e - w + 1, names); nan where a record lacks one
        last, before = means[w:], means[:-w]
        level = (last[:, 1:] >= before[:, 1:] - self.losses * np.abs(before[:, 1:])).all(axis=1)
        return level & (w * last[:, 0] <= self.labels)
