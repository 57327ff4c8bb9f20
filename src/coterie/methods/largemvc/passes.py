"""Repeated passes over the rows: features of the first pass are cached where they fit into memory."""

# n rows of this process, b rows of a chunk, v views, p features of a row that are not zero

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.data import Views
from coterie.methods.largemvc.inputs import FeatureBatch, Inputs
from coterie.methods.largemvc.rows import SparseRows

_CACHE_BYTES = 256 * 2**20


class Passes:
    """The features of this process's rows, chunk by chunk, as often as they are iterated over.

    Finding the landmarks near a row costs a product with all of them; caching the result costs few bytes per view.
    Chunks of sparse features are cached from the first pass on, as many as fit; the others, and column features, are
    read and prepared anew in every pass. Both ways give the same bits.
    """

    def __init__(
        self,
        inputs: Inputs,
        views: Views,
        collectives: Collectives = ALONE,
        cache_bytes: int | None = None,
    ) -> None:
        self.inputs, self.views = inputs, views
        self.cache_bytes = _CACHE_BYTES if cache_bytes is None else cache_bytes
        self.chunks = inputs.chunks(views, collectives)
        self._cache: RowCache | None = None
        self._n_cached = 0

    @property
    def first(self) -> int:
        """The number of this process's first row."""
        return self.chunks[0].start if self.chunks else 0

    def __iter__(self) -> Iterator[FeatureBatch]:
        """Yield all rows in order, in the same chunks every time."""
        for chunk in self.chunks[: self._n_cached]:
            if self._cache is not None:
                yield self._cache.get(self._local(chunk))
        rest = self.chunks[self._n_cached :]
        for chunk, batch in zip(rest, self.inputs.stream(self.views, rest), strict=True):
            self._store(chunk, batch)
            yield batch

    def _store(self, chunk: slice, batch: FeatureBatch) -> None:
        """Cache the chunk after the last cached one, where there is room for it."""
        if not all(isinstance(rows, SparseRows) for rows in batch.rows):
            return
        if self._cache is None:
            n_rows = self.chunks[-1].stop - self.first
            self._cache = RowCache(batch, min(n_rows, self.cache_bytes // row_bytes(batch)))
        local = self._local(chunk)
        if chunk == self.chunks[self._n_cached] and local.stop <= self._cache.n_rows:
            self._cache.put(local, batch)
            self._n_cached += 1

    def _local(self, chunk: slice) -> slice:
        return slice(chunk.start - self.first, chunk.stop - self.first)


class RowCache:
    """Sparse rows in preallocated tables like those of a batch, with column indices of the narrowest integer type.

    Thousands of small arrays that stay would keep freed memory from going back.
    """

    def __init__(self, like: FeatureBatch, n_rows: int) -> None:
        self.n_rows = n_rows
        self._widths = [rows.width for rows in _sparse(like)]
        self._tables = [table.new_empty(n_rows, table.shape[1]) for table in _tables(like)]

    def put(self, rows: slice, batch: FeatureBatch) -> None:
        """Store some rows."""
        for table, part in zip(self._tables, _tables(batch), strict=True):
            table[rows] = part

    def get(self, rows: slice) -> FeatureBatch:
        """Return some rows as they were put."""
        *both, present, corrupt = [table[rows] for table in self._tables]
        columns, values = both[: len(self._widths)], both[len(self._widths) :]
        views = zip(columns, values, self._widths, strict=True)
        return FeatureBatch([SparseRows(c.int(), x, width) for c, x, width in views], present, corrupt)


def row_bytes(batch: FeatureBatch) -> int:
    """Return the bytes that `RowCache` takes per row."""
    return sum(table.shape[1] * table.element_size() for table in _tables(batch))


def _tables(batch: FeatureBatch) -> list[Tensor]:
    """Return the tables to cache of sparse rows, b lines each."""
    views = _sparse(batch)
    return [
        *(rows.columns.to(torch.int16 if rows.width < 2**15 else torch.int32) for rows in views),
        *(rows.values for rows in views),
        batch.present,
        batch.corrupt,
    ]


def _sparse(batch: FeatureBatch) -> list[SparseRows]:
    return [rows for rows in batch.rows if isinstance(rows, SparseRows)]
