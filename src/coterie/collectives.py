"""Reductions over processes, injected so that one code path serves one process and many."""

from __future__ import annotations

from typing import Protocol, TypeVar

Numbers = TypeVar("Numbers")


class Collectives(Protocol):
    """Reductions over all processes; arrays and tensors come back in the type they were given.

    Attributes
    ----------
    rank : int
        The number of this process, from 0.
    size : int
        How many processes there are.
    """

    rank: int
    size: int

    def sum(self, values: Numbers) -> Numbers:
        """Return the element-wise sum over all processes."""
        ...

    def min(self, values: Numbers) -> Numbers:
        """Return the element-wise minimum over all processes."""
        ...

    def max(self, values: Numbers) -> Numbers:
        """Return the element-wise maximum over all processes."""
        ...


class Alone:
    """One process: every reduction is the identity."""

    rank = 0
    size = 1

    def sum(self, values: Numbers) -> Numbers:
        """Return `values` as they are."""
        return values

    def min(self, values: Numbers) -> Numbers:
        """Return `values` as they are."""
        return values

    def max(self, values: Numbers) -> Numbers:
        """Return `values` as they are."""
        return values


ALONE = Alone()


def share_of(n: int, collectives: Collectives) -> slice:
    """Return the slice of `n` items that belongs to this process; slices differ in length by at most one."""
    start, stop = (n * rank // collectives.size for rank in (collectives.rank, collectives.rank + 1))
    return slice(start, stop)
