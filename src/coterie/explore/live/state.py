"""What is shown now: the class of every row, and what follows from it."""

# n rows, c classes

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.explore.palette import colours


@dataclass(frozen=True)
class State:
    """The classes of all rows at one moment.

    Attributes
    ----------
    numbers : ndarray of shape (c,)
        The classes there are, ascending; some may have no row.
    labels : ndarray of shape (n,)
        The class of each row, one of `numbers`.
    confidence : ndarray of shape (n,)
        Membership in that class.
    memberships : ndarray of shape (n, m) or None
        Of the classes `columns`; None as long as the model itself speaks.
    columns : ndarray of shape (m,)
    exemplars : dict of int to int
        From a class to the row that stands for it.
    ask : list of int
        Rows worth asking about.
    """

    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    confidence: NDArray[np.float32]
    memberships: NDArray[np.float64] | None
    columns: NDArray[np.int64]
    exemplars: dict[int, int]
    ask: list[int]

    def positions(self) -> NDArray[np.intp]:
        """Return the class of each row as a position in `numbers`."""
        return np.searchsorted(self.numbers, self.labels)

    def sizes(self) -> NDArray[np.int64]:
        """Return how many rows each class has, (c,)."""
        return np.bincount(self.positions(), minlength=len(self.numbers))

    def mean_confidence(self) -> list[float | None]:
        """Return the mean confidence of each class; None for one without rows."""
        sizes = self.sizes()
        sums = np.bincount(self.positions(), self.confidence, minlength=len(self.numbers))
        return [float(total / size) if size else None for total, size in zip(sums, sizes, strict=True)]


class Paints:
    """A colour for every class that stays the same while classes come and go.

    Parameters
    ----------
    first : ndarray of int
        The classes of the model.

    Examples
    --------
    >>> paints = Paints(np.array([0, 1]))
    >>> paints.of(1) == paints.of(1), len({paints.of(number) for number in range(40)})
    (True, 40)
    """

    def __init__(self, first: NDArray[np.integer]) -> None:
        self._first = dict(zip(first.tolist(), colours(len(first)), strict=True))
        few = colours(10)[len(first) :]
        self._more = [*few, *colours(120)]
        self._from = int(first.max()) + 1

    def of(self, number: int) -> str:
        """Return the colour of a class."""
        if number in self._first:
            return self._first[number]
        return self._more[(number - self._from) % len(self._more)]
