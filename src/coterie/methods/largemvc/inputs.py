"""From raw rows to the input of the layers: masks, corrupt rows, scaling, features, and a cache of them."""

# n rows of this process, b rows of a batch, v views, d columns of a view, f features of a view

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data import Scaler, Views
from coterie.data.batches import prefetch
from coterie.graph.outliers import Guard, scaled_rows, usable
from coterie.methods.largemvc.features import (
    ColumnFeatures,
    ConcatenatedFeatures,
    LandmarkFeatures,
    Rows,
    SparseRows,
    padded,
)
from coterie.nn.forward import FORWARD_ROWS

_CHUNK_BYTES = 16 * 2**20
_CACHE_BYTES = 256 * 2**20


@dataclass(frozen=True)
class FeatureBatch:
    """The input of the layers for a batch of rows.

    The concatenated views are one more view, with the weight of all others together. A view does not count where it
    is missing, empty or corrupt.
    """

    rows: list[Rows]  # (b, f) for each view; zeros where it does not count
    present: Tensor  # (b, v), 1 where the view counts, else 0
    corrupt: Tensor  # (b, v), bool

    def head(self, n_rows: int) -> FeatureBatch:
        """Return the first rows."""
        return FeatureBatch([x[:n_rows] for x in self.rows], self.present[:n_rows], self.corrupt[:n_rows])

    def padded(self, n_rows: int) -> FeatureBatch:
        """Append so many rows of zeros."""
        if not n_rows:
            return self
        present, corrupt = (F.pad(table, (0, 0, 0, n_rows)) for table in (self.present, self.corrupt))
        return FeatureBatch([padded(x, n_rows) for x in self.rows], present, corrupt)

    def double(self) -> FeatureBatch:
        """Convert to double precision."""
        return FeatureBatch([x.double() for x in self.rows], self.present.double(), self.corrupt)


class Inputs(nn.Module):
    """Prepares raw rows for the layers.

    `features` are fitted, one per view, and `concatenated` those of the concatenated views, for rows that have all of
    them. `guards` are the outlier detectors of the views, and `idle` tells which views are constant or empty.
    """

    idle: Tensor

    def __init__(
        self,
        scaler: Scaler,
        features: Sequence[ColumnFeatures | LandmarkFeatures],
        guards: Sequence[Guard] = (),
        concatenated: ConcatenatedFeatures | None = None,
        idle: Sequence[bool] = (),
    ) -> None:
        super().__init__()
        self.register_buffer("idle", torch.tensor([*idle] or [False] * len(features)))
        self.concatenated = concatenated
        self.scaler = scaler
        self.features = nn.ModuleList(features)
        self.guards = nn.ModuleList(guards)

    @property
    def widths(self) -> list[int]:
        """Number of features of each view, the concatenated views included."""
        own = [cast(LandmarkFeatures, features).width for features in self.features]
        return own if self.concatenated is None else [*own, self.concatenated.width]

    @property
    def guard_sizes(self) -> list[int]:
        """Number of prototypes of each view's outlier detector."""
        return [len(cast(Guard, guard).prototypes) for guard in self.guards]

    def prepare(self, blocks: Sequence[np.ndarray], present: np.ndarray | None) -> FeatureBatch:
        """Prepare raw rows, (b, d) per view; `present` is a mask (b, v), None where no view is missing."""
        counts, corrupt = usable(blocks, present, cast(Sequence[Guard], self.guards), self.idle.cpu().numpy())
        return self.prepare_scaled(scaled_rows(self.scaler, blocks, counts), counts, corrupt)

    def prepare_scaled(
        self, scaled: Sequence[Tensor], counts: np.ndarray, corrupt: np.ndarray
    ) -> FeatureBatch:
        """Prepare rows that are scaled already, given where a view counts and is corrupt, both (b, v)."""
        device = self.idle.device
        present = torch.from_numpy(counts).to(device, torch.float32)
        scaled = [rows.to(device) for rows in scaled]
        rows: list[Rows] = [
            features(block) * present[:, v : v + 1]
            for v, (features, block) in enumerate(zip(self.features, scaled, strict=True))
        ]
        if self.concatenated is not None:
            complete = present[:, ~self.idle].amin(1, keepdim=True)
            rows.append(self.concatenated(scaled) * complete)
            present = torch.hstack([present, complete * len(scaled)])
        return FeatureBatch(rows, present, torch.from_numpy(corrupt).to(device))

    def chunks(self, views: Views, collectives: Collectives = ALONE) -> list[slice]:
        """Cut the rows into chunks and return those of this process.

        Chunks do not depend on the number of processes, so every sum over a chunk is rounded the same way.
        """
        widest = max(*views.dims, *self.widths)
        step = FORWARD_ROWS * max(1, _CHUNK_BYTES // (4 * widest * FORWARD_ROWS))
        chunks = list(views.chunks(step))
        return chunks[share_of(len(chunks), collectives)]

    def stream(self, views: Views, chunks: Sequence[slice]) -> Iterator[FeatureBatch]:
        """Prepare chunks of rows in order; files are read ahead."""

        def read(rows: slice) -> tuple[list[np.ndarray], np.ndarray | None]:
            return views.read(rows), None if views.present is None else views.present[rows]

        for blocks, present in map(read, chunks) if views.in_memory else prefetch(read, chunks):
            yield self._prepare_padded(blocks, present)

    def _prepare_padded(self, blocks: Sequence[np.ndarray], present: np.ndarray | None) -> FeatureBatch:
        """Prepare raw rows padded to multiples of `FORWARD_ROWS`, so that a row alone gets the same features."""
        n_rows = len(blocks[0])
        short = -n_rows % FORWARD_ROWS
        if not short:
            return self.prepare(blocks, present)
        pad = (0, short), (0, 0)
        mask = None if present is None else np.pad(present, pad, constant_values=True)
        return self.prepare([np.pad(block, pad) for block in blocks], mask).head(n_rows)

    @torch.no_grad()
    def restore(self, features: Sequence[Tensor]) -> list[np.ndarray]:
        """Return rows in the user's units with about these features, one array per view."""
        rows = [
            cast(Callable[[Tensor], Tensor], own.restore)(view).cpu().numpy()
            for own, view in zip(self.features, features[: len(self.features)], strict=True)
        ]
        if isinstance(self.features[0], LandmarkFeatures):
            return rows  # landmarks are kept in the user's units
        return self.scaler.inverse_transform(rows)


class Passes:
    """The features of this process's rows, chunk by chunk, as often as they are iterated over.

    Finding the landmarks near a row costs a product with all of them; caching the result costs few bytes per view.
    Chunks of sparse features are cached from the first pass on, as many as fit; the others, and column features, are
    read and prepared anew in every pass. Both ways give the same bits.
    """

    def __init__(
        self, inputs: Inputs, views: Views, collectives: Collectives = ALONE, cache_bytes: int | None = None
    ) -> None:
        self.inputs, self.views, self.collectives = inputs, views, collectives
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
