"""Nearest neighbours by faiss: exact search for some ten thousand rows, an inverted-file index beyond."""

# n rows, d columns, q queries, k neighbours

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import faiss
import numpy as np
import torch

from coterie.collectives import ALONE, Collectives, share_of
from coterie.ops.distributed_rows import gathered

EXACT_ROWS = 20_000
MISSING = -1
_LEAST_NEIGHBOURS = 10
_LISTS_PER_ROOT = 2
_PROBES = 16
_TRAINING_ROWS_PER_LIST = 40
_EXTRA = 8
_QUERIES = 4096
_BLOCK_VALUES = 2**20


def neighbour_count(n_rows: int) -> int:
    """Return how many neighbours a graph of so many rows needs: log2 n, and at least ten.

    A kNN graph hangs together from about log n neighbours on (von Luxburg 2007); more blur small groups.

    Examples
    --------
    >>> neighbour_count(200), neighbour_count(70_000)
    (10, 16)
    """
    return max(_LEAST_NEIGHBOURS, round(np.log2(max(1, n_rows))))


class Neighbours(NamedTuple):
    """The nearest rows of each query.

    Attributes
    ----------
    indices : ndarray of shape (q, k)
        Nearest first; `MISSING` where a query has fewer neighbours.
    distances : ndarray of shape (q, k), float64
        Euclidean; infinite where a neighbour is missing.
    """

    indices: np.ndarray
    distances: np.ndarray


class NeighbourIndex:
    """Rows that can be searched.

    Up to 20,000 rows are compared one by one. More are put into 2 sqrt(n) inverted lists by k-means, and a query is
    compared with the rows of the 16 nearest lists (`python -m benchmarks neighbours` measures recall and time).

    A few neighbours more than asked for are searched, and their distances computed again in double precision: so a
    query has the same neighbours alone as in a batch, however the search rounds.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32

    Examples
    --------
    >>> index = NeighbourIndex(np.array([[0.0], [1.0], [5.0]], dtype=np.float32))
    >>> index.search(np.array([[4.0]], dtype=np.float32), 2).indices
    array([[2, 1]])
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = np.ascontiguousarray(rows, dtype=np.float32)
        n_rows, n_columns = self.rows.shape
        flat = faiss.IndexFlatL2(n_columns)
        self._index: Any = flat
        with _torch_threads():
            if n_rows > EXACT_ROWS:
                n_lists = int(_LISTS_PER_ROOT * n_rows**0.5)
                self._index = faiss.IndexIVFFlat(flat, n_columns, n_lists)
                self._index.nprobe = _PROBES
                drawn = np.random.default_rng(0).permutation(n_rows)[: _TRAINING_ROWS_PER_LIST * n_lists]
                self._index.train(self.rows[drawn])
            self._index.add(self.rows)

    def search(self, queries: np.ndarray, n_neighbors: int) -> Neighbours:
        """Return the `n_neighbors` nearest rows of each query; fewer where there are not so many."""
        k = min(n_neighbors, len(self.rows))
        asked = min(k + _EXTRA, len(self.rows))
        indices = np.empty((len(queries), k), dtype=np.int64)
        distances = np.empty((len(queries), k))
        with _torch_threads():
            for part in _slices(len(queries), _QUERIES):
                block = np.ascontiguousarray(queries[part], dtype=np.float32)
                nearest = self._index.search(block, asked)[1]
                indices[part], distances[part] = self._ordered(block, nearest, k)
        return Neighbours(indices, distances)

    def _ordered(self, queries: np.ndarray, nearest: np.ndarray, k: int) -> Neighbours:
        """Return the k nearest with their exact distances; equal distances by row number."""
        distances = np.empty(nearest.shape)
        for part in _slices(len(queries), _BLOCK_VALUES // (nearest.shape[1] * self.rows.shape[1])):
            differences = queries[part, None].astype(np.float64) - self.rows[nearest[part]]
            distances[part] = np.sqrt(np.einsum("qkd,qkd->qk", differences, differences))
        distances[nearest == MISSING] = np.inf
        order = np.lexsort((nearest, distances))[:, :k]
        return Neighbours(np.take_along_axis(nearest, order, 1), np.take_along_axis(distances, order, 1))


def neighbours_of_each(
    rows: np.ndarray, n_neighbors: int, *, collectives: Collectives = ALONE
) -> tuple[NeighbourIndex, Neighbours]:
    """Return an index of the rows, and the nearest other rows of each; processes share the search.

    Examples
    --------
    >>> neighbours_of_each(np.array([[0.0], [1.0], [5.0]], dtype=np.float32), 1)[1].indices.ravel()
    array([1, 0, 1])
    """
    n_rows = len(rows)
    k = min(n_neighbors, n_rows - 1)
    index = NeighbourIndex(rows)
    mine = share_of(n_rows, collectives)
    indices, distances = index.search(index.rows[mine], k + 1)
    own = indices == np.arange(n_rows)[mine, None]
    own[:, -1] |= ~own.any(axis=1)  # among many duplicates a row may miss itself
    others = (values[~own].reshape(len(values), k) for values in (indices, distances))
    return index, Neighbours(*(gathered(values, n_rows, collectives) for values in others))


def _slices(n: int, step: int) -> Iterator[slice]:
    for start in range(0, n, max(1, step)):
        yield slice(start, start + max(1, step))


@contextmanager
def _torch_threads() -> Iterator[None]:
    """Let faiss use as many threads as torch does."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
