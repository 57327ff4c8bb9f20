"""The classes of all rows at one moment, their colours, and what an answer changed."""

# n rows, s sampled rows, c classes

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.explore.live.answers import Answer
from coterie.explore.palette import colours


@dataclass(frozen=True)
class State:
    """The classes of all rows at one moment.

    `numbers` (c,) are the classes, ascending, some perhaps without rows; `labels` (n,) the class of each row and
    `confidence` its membership in it; `memberships` (n, m) those in the classes `columns`, None as long as the labels
    are the model's own; `exemplars` the row that stands for each class; `ask` the rows worth asking about.
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
        """Return the number of rows of each class, (c,)."""
        return np.bincount(self.positions(), minlength=len(self.numbers))

    def mean_confidence(self) -> list[float | None]:
        """Return the mean confidence of each class; None for one without rows."""
        sizes = self.sizes()
        sums = np.bincount(self.positions(), self.confidence, minlength=len(self.numbers))
        return [float(total / size) if size else None for total, size in zip(sums, sizes, strict=True)]


class Paints:
    """A colour for every class that stays the same while classes come and go.

    Examples
    --------
    >>> paints = Paints(np.array([0, 1]))
    >>> paints.of(1) == paints.of(1), len({paints.of(number) for number in range(40)})
    (True, 40)
    """

    def __init__(self, model_numbers: NDArray[np.integer]) -> None:
        n = len(model_numbers)
        self._of_model = dict(zip(model_numbers.tolist(), colours(n), strict=True))
        self._others = [*colours(10)[n:], *colours(120)]
        self._from = int(model_numbers.max()) + 1

    def of(self, number: int) -> str:
        """Return the colour of a class."""
        return self._of_model.get(number) or self._others[(number - self._from) % len(self._others)]


@dataclass(frozen=True)
class Change:
    """What an answer changed.

    Attributes
    ----------
    answer : Answer or None
        None where an earlier session is resumed.
    prefix : str
        What happened to it where it is not new: "Undone" or "Redone".
    moved : int
        Rows whose class changed by it.
    marked : tuple of int
        Positions of those of them that are in the sample.
    taken_over : int
        Rows whose class changed only because the first answer hands over from the model to the refiner's graph.
    flows : tuple of (int, int, int)
        From which class to which how many rows moved, the most first.
    """

    answer: Answer | None = None
    prefix: str = ""
    moved: int = 0
    marked: tuple[int, ...] = ()
    taken_over: int = 0
    flows: tuple[tuple[int, int, int], ...] = ()


def compare_states(
    answer: Answer | None,
    before: State,
    after: State,
    sample: NDArray[np.int64],
    by_graph: NDArray[np.integer] | None = None,
    prefix: str = "",
) -> Change:
    """Count the rows that moved between two states, and find those in the sample (s,).

    `by_graph` (n,) has the classes of the refiner's graph without any answer; it is given with the first answer only.
    """
    start = before.labels if by_graph is None else by_graph
    moved = after.labels != start
    pairs = np.stack([start[moved], after.labels[moved]], axis=1)
    flows, counts = np.unique(pairs, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Change(
        answer,
        prefix,
        int(moved.sum()),
        tuple(np.flatnonzero(moved[sample]).tolist()),
        0 if by_graph is None else int((before.labels != start).sum()),
        tuple((int(a), int(b), int(n)) for (a, b), n in zip(flows[order], counts[order], strict=True)),
    )
