"""How long to train, and at which rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

STREAM_RATE = 0.1
"""Share of the learning rate with which a fitted model follows a stream."""

LEAST_STEPS = 2500
"""Gradient steps that a small data set gets."""

ENOUGH_EPOCHS = 60
"""Epochs after which more of them change nothing, whatever the size."""

_ENOUGH_STEPS = 20_000
_MOST_EPOCHS = 600  # of a few rows: more of them overfit


@dataclass(frozen=True)
class Epochs:
    """How many epochs a run has, and how many of them are the warm-up, before there are clusters.

    Examples
    --------
    >>> epochs = Epochs(total=10, warmup=6)
    >>> epochs.clusters, [epoch for epoch in range(10) if epochs.within(0.5, epoch)]
    (4, [0, 1, 2, 3, 4, 5, 6, 7])
    """

    total: int
    warmup: int

    @property
    def clusters(self) -> int:
        """Epochs with clusters."""
        return self.total - self.warmup

    def in_warmup(self, epoch: int) -> bool:
        """Whether an epoch comes before there are clusters."""
        return epoch < self.warmup

    def within(self, share: float, epoch: int) -> bool:
        """Whether an epoch comes before this share of the epochs with clusters is over."""
        return epoch - self.warmup < share * self.clusters


def auto_epochs(per_epoch: int, least_steps: int = LEAST_STEPS, enough: int = ENOUGH_EPOCHS) -> int:
    """Return how many epochs suit so many batches in each: 20,000 steps, within `least_steps` and `enough` epochs.

    A few rows get 600 epochs at most, however few steps that makes.

    Examples
    --------
    >>> [auto_epochs(batches) for batches in (1, 8, 40, 274, 4000)]
    [600, 313, 63, 60, 5]
    """
    least = min(math.ceil(least_steps / per_epoch), _MOST_EPOCHS)
    return max(least, min(enough, math.ceil(_ENOUGH_STEPS / per_epoch)))


def learning_schedule(warmup: float) -> Callable[[float], float] | None:
    """Return the factor of the learning rate over the course of training; None, a constant rate, without a warm-up.

    One cycle rises over the first tenth of the warm-up and falls as a cosine to nearly nothing at its end;
    the cluster phase then starts at a half and falls likewise.

    Examples
    --------
    >>> rate = learning_schedule(warmup=0.5)
    >>> [round(rate(done), 3) for done in (0.0, 0.05, 0.4999, 0.5, 1.0)]
    [0.04, 1.0, 0.001, 0.5, 0.001]
    """
    if warmup == 0:
        return None

    def onecycle(done: float) -> float:
        if done >= warmup:
            return _cosine(0.5, 0.001, (done - warmup) / max(1 - warmup, 1e-9))
        done = done / warmup
        return _cosine(0.04, 1.0, done / 0.1) if done < 0.1 else _cosine(1.0, 0.001, (done - 0.1) / 0.9)

    return onecycle


def _cosine(start: float, end: float, done: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * min(done, 1.0))) / 2


def mixed_seed(seed: int, number: int) -> int:
    """Return a seed for a generator from the run's seed and a number.

    Examples
    --------
    >>> mixed_seed(0, 1) == mixed_seed(0, 1), mixed_seed(0, 1) == mixed_seed(0, 2)
    (True, False)
    """
    return int(np.random.SeedSequence([seed, number % 2**32]).generate_state(1, np.uint64)[0]) >> 1
