"""An array that is built from pieces."""

# n rows, b of them in a piece

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from torch import Tensor

_GROWTH = 1.5


class ArrayBuilder:
    """An array that grows in place.

    A list of pieces would keep small arrays alive between large temporaries, and memory would never be freed.

    Examples
    --------
    >>> builder = ArrayBuilder()
    >>> for piece in ([1, 2], [3]):
    ...     builder.add(np.array(piece))
    >>> builder.joined()
    array([1, 2, 3])
    """

    def __init__(self) -> None:
        self._rows: np.ndarray | None = None
        self._size = 0

    @classmethod
    def of(cls, pieces: Iterable[np.ndarray | Tensor]) -> Self:
        """Return a builder of the given pieces."""
        builder = cls()
        for piece in pieces:
            builder.add(piece)
        return builder

    def add(self, piece: np.ndarray | Tensor) -> None:
        """Append rows, (b, ...)."""
        rows = piece.numpy(force=True) if isinstance(piece, Tensor) else piece
        if self._rows is None:
            self._rows = np.empty_like(rows, shape=(0, *rows.shape[1:]))
        needed = self._size + len(rows)
        if needed > len(self._rows):
            _resize(self._rows, max(needed, int(_GROWTH * len(self._rows))))
        self._rows[self._size : needed] = rows
        self._size = needed

    def joined(self) -> np.ndarray:
        """Return all rows, (n, ...)."""
        if self._rows is None:
            raise ValueError("No piece was added.")
        _resize(self._rows, self._size)
        return self._rows


def _resize(rows: np.ndarray, size: int) -> None:
    # In place: the system moves the pages of large arrays, and no second copy is made.
    rows.resize((size, *rows.shape[1:]), refcheck=False)
