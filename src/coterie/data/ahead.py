"""Reading ahead: the next piece is read on another thread while the present one is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Key = TypeVar("Key")
Piece = TypeVar("Piece")


def read_ahead(read: Callable[[Key], Piece], keys: Iterable[Key]) -> Iterator[Piece]:
    """Yield `read(key)` for each key in order; at most two pieces are held at a time.

    Examples
    --------
    >>> list(read_ahead(lambda number: number * 10, [1, 2, 3]))
    [10, 20, 30]
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming = None
        for key in keys:
            held, coming = coming, pool.submit(read, key)
            if held is not None:
                yield held.result()
        if coming is not None:
            yield coming.result()
