"""Rows that are equal in every view: they are one node of the graph."""

# b rows, v views

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ROWS = 4096


def row_hashes(blocks: Sequence[np.ndarray], present: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of the content of each row, (b,): equal rows have equal hashes, in any batch.

    Parameters
    ----------
    blocks : sequence of ndarray of shape (b, d), float32
        One a view.
    present : ndarray of bool, shape (b, v)

    Examples
    --------
    >>> hashes = row_hashes([np.array([[1.0], [2.0], [1.0]], dtype=np.float32)], np.ones((3, 1), dtype=bool))
    >>> bool(hashes[0] == hashes[2] != hashes[1])
    True
    """
    rng = np.random.default_rng(0)
    hashes = np.zeros(len(present), dtype=np.uint64)
    for v, block in enumerate(blocks):
        factors = rng.integers(1, 2**64, size=(2, block.shape[1]), dtype=np.uint64) | np.uint64(1)
        absent = rng.integers(1, 2**64, dtype=np.uint64)
        for start in range(0, len(block), _ROWS):
            part = slice(start, start + _ROWS)
            # Adding zero turns -0.0 into 0.0. Each value is mixed before the sum: a plain sum would let bits cancel.
            bits = (block[part] + np.float32(0)).view(np.uint32).astype(np.uint64)
            bits *= factors[0]
            bits ^= bits >> np.uint64(29)
            bits *= factors[1]
            own = bits.sum(axis=1, dtype=np.uint64)
            hashes[part] += np.where(present[part, v], own, absent)
    return hashes


def first_of_equal(hashes: np.ndarray, *, by_content: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each group of equal rows, and the group of each row.

    Groups are in the order of their first rows or, by content, of their hashes.

    Examples
    --------
    >>> first_of_equal(np.array([5, 9, 5, 7]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    >>> first_of_equal(np.array([5, 9, 5, 7]), by_content=True)
    (array([0, 3, 1]), array([0, 2, 0, 1]))
    """
    _, first, groups = np.unique(hashes, return_index=True, return_inverse=True)
    if by_content:
        return first, groups
    order = np.argsort(first)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[order] = np.arange(len(first))
    return first[order], ranks[groups]
