"""Pass after pass over the rows as the layers see them: what the first pass found is kept where it fits."""

# n rows of this process, b rows of a piece, v views, p features of a row that are not zero

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.data import Views
from coterie.methods.largemvc.inputs import Inputs, Seen
from coterie.methods.largemvc.rows import SparseRows

# A million rows of four views take 174 MB.
_KEPT_BYTES = 256 * 2**20


class Passes:
    """The rows of this process as the layers see them, piece by piece, as often as one asks.

    To find the landmarks near a row takes a product with all of them, to keep what was found some 30 bytes a view.
    Pieces of sparse features are kept from the first pass on, the first ones where not all fit; the others, and
    columns, are read and prepared anew in every pass. Both ways give the same bits.

    Parameters
    ----------
    inputs : Inputs
    views : Views
    collectives : Collectives
    budget : int, optional
        Bytes that may be kept; 256 MB by default.
    """

    def __init__(
        self,
        inputs: Inputs,
        views: Views,
        collectives: Collectives = ALONE,
        budget: int | None = None,
    ) -> None:
        self.inputs, self.views = inputs, views
        self.budget = _KEPT_BYTES if budget is None else budget
        self.pieces = inputs.pieces(views, collectives)
        self._kept: KeptRows | None = None
        self._n_kept = 0

    @property
    def first(self) -> int:
        """The number of this process's first row."""
        return self.pieces[0].start if self.pieces else 0

    def __iter__(self) -> Iterator[Seen]:
        """Yield all rows in order, in the same pieces every time."""
        for piece in self.pieces[: self._n_kept]:
            if self._kept is not None:
                yield self._kept.get(self._local(piece))
        missing = self.pieces[self._n_kept :]
        for piece, seen in zip(missing, self.inputs.stream(self.views, missing), strict=True):
            self._keep(piece, seen)
            yield seen

    def _keep(self, piece: slice, seen: Seen) -> None:
        """Keep the piece after the last one that is kept, where there is room for it."""
        if not all(isinstance(rows, SparseRows) for rows in seen.rows):
            return
        if self._kept is None:
            everyone = self.pieces[-1].stop - self.first
            self._kept = KeptRows(seen, min(everyone, self.budget // row_bytes(seen)))
        local = self._local(piece)
        if piece == self.pieces[self._n_kept] and local.stop <= self._kept.n_rows:
            self._kept.put(local, seen)
            self._n_kept += 1

    def _local(self, piece: slice) -> slice:
        return slice(piece.start - self.first, piece.stop - self.first)


class KeptRows:
    """Sparse rows in tables that are made once, columns in the narrowest integers that can name them.

    Thousands of small arrays that stay would keep freed memory from going back.

    Parameters
    ----------
    like : Seen
        Rows of the kind that will come.
    n_rows : int
    """

    def __init__(self, like: Seen, n_rows: int) -> None:
        self.n_rows = n_rows
        self._widths = [rows.width for rows in _sparse(like)]
        self._tables = [one.new_empty(n_rows, one.shape[1]) for one in _tables(like)]

    def put(self, rows: slice, seen: Seen) -> None:
        """Set some of the rows."""
        for table, part in zip(self._tables, _tables(seen), strict=True):
            table[rows] = part

    def get(self, rows: slice) -> Seen:
        """Return some of the rows as they were put."""
        *both, present, corrupt = [table[rows] for table in self._tables]
        columns, values = both[: len(self._widths)], both[len(self._widths) :]
        return Seen(
            [
                SparseRows(c.int(), x, width)
                for c, x, width in zip(columns, values, self._widths, strict=True)
            ],
            present,
            corrupt,
        )


def row_bytes(seen: Seen) -> int:
    """Return how many bytes `KeptRows` takes for a row."""
    return sum(one.shape[1] * one.element_size() for one in _tables(seen))


def _tables(seen: Seen) -> list[Tensor]:
    """Return what is to be kept of sparse rows, tables of b lines."""
    few = _sparse(seen)
    return [
        *(rows.columns.to(torch.int16 if rows.width < 2**15 else torch.int32) for rows in few),
        *(rows.values for rows in few),
        seen.present,
        seen.corrupt,
    ]


def _sparse(seen: Seen) -> list[SparseRows]:
    return [rows for rows in seen.rows if isinstance(rows, SparseRows)]
