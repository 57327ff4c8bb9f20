"""What an answer did."""

# n rows, s sampled rows

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.explore.live.answers import Answer
from coterie.explore.live.state import State


@dataclass(frozen=True)
class Change:
    """What an answer did.

    Attributes
    ----------
    answer : Answer or None
        Which one; None where an earlier session is gone on with.
    word : str
        What became of it where it is not new: it was taken back, or said again.
    moved : int
        Rows that changed their class by it.
    marked : tuple of int
        Positions of those of them that are in the sample.
    taken_over : int
        Rows that changed only because, with the first answer, the graph speaks and no longer the model.
    flows : tuple of (int, int, int)
        From which class to which how many rows moved, the most first.
    """

    answer: Answer | None = None
    word: str = ""
    moved: int = 0
    marked: tuple[int, ...] = ()
    taken_over: int = 0
    flows: tuple[tuple[int, int, int], ...] = ()


def compared(
    answer: Answer | None,
    before: State,
    after: State,
    sample: NDArray[np.int64],
    by_graph: NDArray[np.integer] | None = None,
    word: str = "",
) -> Change:
    """Compare what was shown with what is shown now.

    Parameters
    ----------
    answer : Answer or None
    before, after : State
    sample : ndarray of shape (s,)
        The rows on the map.
    by_graph : ndarray of shape (n,), optional
        With the first answer only: the classes as the graph has them with nothing said.
    word : str
    """
    start = before.labels if by_graph is None else by_graph
    moved = after.labels != start
    return Change(
        answer,
        word,
        int(moved.sum()),
        tuple(np.flatnonzero(moved[sample]).tolist()),
        0 if by_graph is None else int((before.labels != start).sum()),
        _flows(start[moved], after.labels[moved]),
    )


def _flows(before: NDArray[np.integer], after: NDArray[np.integer]) -> tuple[tuple[int, int, int], ...]:
    """Count the rows of each pair of classes, the most first."""
    pairs, counts = np.unique(np.stack([before, after], axis=1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((int(a), int(b), int(n)) for (a, b), n in zip(pairs[order], counts[order], strict=True))
