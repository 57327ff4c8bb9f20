"""Shuffled batches of rows, with large sequential reads from disk.

Data on disk are read a shard at a time: blocks of consecutive rows drawn from all over the file. Shards come in
random order, are shuffled inside, and are prefetched. Data in memory are one shard. The seed fixes which blocks make
a shard, so that neighbour tables inside each shard serve all epochs.
"""

# n rows, b rows of a batch, d columns of a view

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.scaling import Scaler
from coterie.data.subsets import some_rows
from coterie.data.views import Views

SHARD_BYTES = 128 * 2**20
SAMPLE_ROWS = 5000
_BLOCK_BYTES = 2 * 2**20

ReadRows = Callable[[np.ndarray], list[np.ndarray]]
Key = TypeVar("Key")
Piece = TypeVar("Piece")


class Partners(Protocol):
    """Draws a positive for each row: another row of the same shard, for instance a nearest neighbour."""

    def draw(self, shard: int, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the local number of the positive of each local row number of a shard."""
        ...


@dataclass(frozen=True)
class Batch:
    """Scaled rows for one training step.

    Attributes
    ----------
    rows : ndarray of shape (b,)
        Their numbers in the data.
    views : list of ndarray of shape (m, d)
        The scaled rows of each view: all of them, or this process's share.
    partners : Batch or None
        The partner of each row, in the same order.
    share : ndarray of shape (m,) or None
        The places among the b rows of those in `views`; None where these are all.
    """

    rows: np.ndarray
    views: list[np.ndarray]
    partners: Batch | None = None
    share: np.ndarray | None = None

    @property
    def own(self) -> np.ndarray:
        """The places of the rows in `views`, (m,)."""
        return np.arange(len(self.rows)) if self.share is None else self.share

    @property
    def part(self) -> float:
        """The share of the rows that are in `views`."""
        return len(self.own) / len(self.rows)

    def with_partners(self) -> Batch:
        """Return the rows and then their partners as one batch; the rows alone without partners.

        Examples
        --------
        >>> positives = Batch(np.array([7]), [np.array([[2.0]])])
        >>> Batch(np.array([3]), [np.array([[1.0]])], positives).with_partners().rows
        array([3, 7])
        """
        if self.partners is None:
            return self
        pairs = zip(self.views, self.partners.views, strict=True)
        return Batch(
            np.concatenate([self.rows, self.partners.rows]),
            [np.concatenate(pair) for pair in pairs],
            share=np.concatenate([self.own, len(self.rows) + self.partners.own]),
        )

    def distinct(self) -> Batch:
        """Return the batch with each row once, in order of first appearance, without partners.

        Examples
        --------
        >>> Batch(np.array([3, 7, 3]), [np.array([[1.0], [2.0], [1.0]])]).distinct().rows
        array([3, 7])
        """
        first = np.sort(np.unique(self.rows, return_index=True)[1])
        kept, share = np.isin(self.own, first), np.isin(first, self.own)
        return Batch(self.rows[first], [view[kept] for view in self.views], share=np.flatnonzero(share))


class Batches:
    """Epochs of shuffled batches over views in memory or on disk.

    Parameters
    ----------
    views : Views
    scaler : Scaler
        Fitted; applied to every batch.
    batch_size : int
        The most rows in a batch; batches of one shard differ by at most one row.
    seed : int
        Decides every order, together with the number of the epoch.
    shard_bytes : int
        Most memory that one shard of data on disk may take.
    collectives : Collectives
        The processes that share the rows of every batch.

    Attributes
    ----------
    shards : list of ndarray
        The row numbers of each shard, ascending within its blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.data import as_views
    >>> views = as_views(np.arange(10.0).reshape(5, 2))
    >>> batches = Batches(views, Scaler("none").fit(views), batch_size=3, seed=0)
    >>> sorted(int(row) for batch in batches.epoch(0) for row in batch.rows)
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        views: Views,
        scaler: Scaler,
        *,
        batch_size: int,
        seed: int,
        shard_bytes: int = SHARD_BYTES,
        collectives: Collectives = ALONE,
    ) -> None:
        self.views, self.scaler, self.batch_size, self.seed = views, scaler, batch_size, seed
        self.collectives = collectives
        self.shards = _shards(views, seed, shard_bytes)

    @property
    def per_epoch(self) -> int:
        """How many batches an epoch has."""
        return sum(math.ceil(len(rows) / self.batch_size) for rows in self.shards)

    def epoch(self, number: int, partners: Partners | None = None) -> Iterator[Batch]:
        """Yield every row once, in an order decided by the seed and the number of the epoch."""
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.shards))
        for shard, read in zip(order, self._readers(order), strict=True):
            numbers = self.shards[shard]
            for local in self._shuffled(len(numbers), rng):
                positives = None
                if partners is not None:
                    positives = self._batch(numbers, partners.draw(int(shard), local, rng), read)
                yield self._batch(numbers, local, read, positives)

    def pairs(self, number: int, partners: Partners) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the row numbers of the batches of an epoch and those of their partners; no row is read."""
        rng = np.random.default_rng([self.seed, number])
        for shard in rng.permutation(len(self.shards)):
            numbers = self.shards[shard]
            for local in self._shuffled(len(numbers), rng):
                yield numbers[local], numbers[partners.draw(int(shard), local, rng)]

    def _batch(
        self, numbers: np.ndarray, local: np.ndarray, read: ReadRows, positives: Batch | None = None
    ) -> Batch:
        if self.collectives.size == 1:
            return Batch(numbers[local], read(local), positives)
        share = np.arange(len(local))[share_of(len(local), self.collectives)]
        return Batch(numbers[local], read(local[share]), positives, share)

    def read_shard(self, shard: int) -> list[np.ndarray]:
        """Read all the scaled rows of a shard."""
        return self.read(self.shards[shard])

    def read(self, rows: np.ndarray | slice) -> list[np.ndarray]:
        """Read and scale rows by their numbers in the data."""
        present = None if self.views.present is None else self.views.present[rows]
        return self.scaler.transform(self.views.read(rows), present)

    def sample(self, most: int = SAMPLE_ROWS) -> np.ndarray:
        """Return at most `most` scaled rows, drawn uniformly, with their views concatenated."""
        return np.hstack(self.read(some_rows(self.views.n_rows, most, self.seed)))

    def in_order(self, rows: np.ndarray | None = None, size: int = 4096) -> Iterator[list[np.ndarray]]:
        """Yield scaled rows `size` at a time: the given numbers, or this process's share of all rows in order."""
        whole = share_of(self.views.n_rows, self.collectives) if rows is None else slice(0, len(rows))
        for start in range(whole.start, whole.stop, size):
            part = slice(start, min(start + size, whole.stop))
            yield self.read(part if rows is None else rows[part])

    def _shuffled(self, n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
        return np.array_split(rng.permutation(n_rows), math.ceil(n_rows / self.batch_size))

    def _readers(self, order: np.ndarray) -> Iterator[ReadRows]:
        """Yield for each shard a function that reads local rows; shards on disk are prefetched and scaled whole."""
        if self.views.in_memory:
            yield self.read  # the one shard, whose local numbers are those of the data
            return
        for views in prefetch(self.read_shard, [int(shard) for shard in order]):
            yield partial(_take, views)


def _take(views: list[np.ndarray], rows: np.ndarray) -> list[np.ndarray]:
    return [view[rows] for view in views]


def prefetch(read: Callable[[Key], Piece], keys: Iterable[Key]) -> Iterator[Piece]:
    """Yield `read(key)` in order, reading the next piece on another thread; at most two pieces are in memory."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pending = None
        for key in keys:
            ready, pending = pending, pool.submit(read, key)
            if ready is not None:
                yield ready.result()
        if pending is not None:
            yield pending.result()


def _shards(views: Views, seed: int, shard_bytes: int) -> list[np.ndarray]:
    row_bytes = 4 * sum(views.dims)
    if views.in_memory or views.n_rows * row_bytes <= shard_bytes:
        return [np.arange(views.n_rows)]
    block = max(1, min(_BLOCK_BYTES, shard_bytes // 8) // row_bytes)
    starts = np.random.default_rng([seed]).permutation(np.arange(0, views.n_rows, block))
    n_shards = math.ceil(views.n_rows * row_bytes / shard_bytes)
    return [
        np.concatenate([np.arange(start, min(start + block, views.n_rows)) for start in np.sort(part)])
        for part in np.array_split(starts, min(n_shards, len(starts)))
    ]
