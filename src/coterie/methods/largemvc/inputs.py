"""From rows as users have them to what the layers see: masks, guards, scaling, features."""

# b rows, v views, d columns of a view, f features of a view

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
from coterie.methods.largemvc.features import ColumnFeatures, LandmarkFeatures, SideBySide
from coterie.methods.largemvc.rows import Rows, padded
from coterie.nn.forward import FORWARD_ROWS

_CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Seen:
    """A batch as the layers see it.

    Attributes
    ----------
    rows : list of Tensor of shape (b, f), or of SparseRows
        The features of each view, and of all of them side by side as one more; zeros where a view does not count.
    present : Tensor of shape (b, v) or (b, v + 1)
        1 where the view counts, else 0; views side by side count as much as the others together.
    corrupt : Tensor of bool, shape (b, v)
        Where a view is there but was judged corrupt.
    """

    rows: list[Rows]
    present: Tensor
    corrupt: Tensor

    def first(self, n_rows: int) -> Seen:
        """Return the first rows."""
        return Seen([x[:n_rows] for x in self.rows], self.present[:n_rows], self.corrupt[:n_rows])

    def padded(self, more: int) -> Seen:
        """Return the rows and so many empty ones."""
        if not more:
            return self
        present, corrupt = (F.pad(one, (0, 0, 0, more)) for one in (self.present, self.corrupt))
        return Seen([padded(x, more) for x in self.rows], present, corrupt)

    def double(self) -> Seen:
        """Return the same in double precision."""
        return Seen([x.double() for x in self.rows], self.present.double(), self.corrupt)


class Inputs(nn.Module):
    """Prepares batches of raw rows.

    Parameters
    ----------
    scaler : Scaler
        Fitted.
    features : sequence of ColumnFeatures or LandmarkFeatures
        Fitted, one a view.
    guards : sequence of Guard
        Fitted, one a view; empty where nothing is guarded.
    beside : SideBySide, optional
        Fitted; all views as one view more, for rows that have all of them.
    idle : sequence of bool
        Which views say nothing.
    """

    idle: Tensor

    def __init__(
        self,
        scaler: Scaler,
        features: Sequence[ColumnFeatures | LandmarkFeatures],
        guards: Sequence[Guard] = (),
        beside: SideBySide | None = None,
        idle: Sequence[bool] = (),
    ) -> None:
        super().__init__()
        self.register_buffer("idle", torch.tensor([*idle] or [False] * len(features)))
        self.beside = beside
        self.scaler = scaler
        self.features = nn.ModuleList(features)
        self.guards = nn.ModuleList(guards)

    @property
    def widths(self) -> list[int]:
        """How many features each view has, the views side by side included."""
        own = [cast(LandmarkFeatures, one).width for one in self.features]
        return own if self.beside is None else [*own, self.beside.width]

    @property
    def guard_sizes(self) -> list[int]:
        """How many prototypes each view's guard has."""
        return [len(cast(Guard, guard).prototypes) for guard in self.guards]

    def see(self, blocks: Sequence[np.ndarray], there: np.ndarray | None) -> Seen:
        """Prepare raw rows.

        Parameters
        ----------
        blocks : sequence of ndarray of shape (b, d)
        there : ndarray of bool, shape (b, v), optional
            Where a view is there; everywhere by default.
        """
        counts, corrupt = usable(blocks, there, cast(Sequence[Guard], self.guards), self.idle.cpu().numpy())
        return self.see_scaled(scaled_rows(self.scaler, blocks, counts), counts, corrupt)

    def see_scaled(self, scaled: Sequence[Tensor], counts: np.ndarray, corrupt: np.ndarray) -> Seen:
        """Prepare rows that are scaled already.

        Parameters
        ----------
        scaled : sequence of Tensor of shape (b, d)
            From `scaled_rows`.
        counts, corrupt : ndarray of bool, shape (b, v)
            From `usable`.
        """
        device = self.idle.device
        present = torch.from_numpy(counts).to(device, torch.float32)
        scaled = [rows.to(device) for rows in scaled]
        rows: list[Rows] = [
            feature(block) * present[:, v : v + 1]
            for v, (feature, block) in enumerate(zip(self.features, scaled, strict=True))
        ]
        if self.beside is not None:
            whole = present[:, ~self.idle].amin(1, keepdim=True)
            rows.append(self.beside(scaled) * whole)
            present = torch.hstack([present, whole * len(scaled)])
        return Seen(rows, present, torch.from_numpy(corrupt).to(device))

    def pieces(self, views: Views, collectives: Collectives = ALONE) -> list[slice]:
        """Cut the rows into pieces for one pass in order; whole pieces are this process's.

        So every sum over a piece is rounded the same way, however many processes there are.
        """
        widest = max(*views.dims, *self.widths)
        step = FORWARD_ROWS * max(1, _CHUNK_BYTES // (4 * widest * FORWARD_ROWS))
        everyone = list(views.chunks(step))
        return everyone[share_of(len(everyone), collectives)]

    def stream(self, views: Views, pieces: Sequence[slice]) -> Iterator[Seen]:
        """Prepare pieces of the rows one after another; files are read ahead."""
        for blocks, there in _read_pieces(views, pieces):
            yield self.see_alike(blocks, there)

    def see_alike(self, blocks: Sequence[np.ndarray], there: np.ndarray | None) -> Seen:
        """Prepare raw rows as `see` does, padded to whole parts of `FORWARD_ROWS`.

        Products are taken part by part, so what is found of a row does not depend on how many rows there are.
        """
        n_rows = len(blocks[0])
        short = -n_rows % FORWARD_ROWS
        if not short:
            return self.see(blocks, there)
        more = (0, short), (0, 0)
        known = None if there is None else np.pad(there, more, constant_values=True)
        return self.see([np.pad(block, more) for block in blocks], known).first(n_rows)

    @torch.no_grad()
    def back(self, features: Sequence[Tensor]) -> list[np.ndarray]:
        """Return rows in the user's units that have about these features, one array a view."""
        found = [
            cast(Callable[[Tensor], Tensor], one.back)(view).cpu().numpy()
            for one, view in zip(self.features, features[: len(self.features)], strict=True)
        ]
        scaled = [isinstance(one, ColumnFeatures) for one in self.features]
        restored = self.scaler.inverse_transform(found)
        return [again if was else plain for plain, again, was in zip(found, restored, scaled, strict=True)]


def _read_pieces(
    views: Views, pieces: Sequence[slice]
) -> Iterator[tuple[list[np.ndarray], np.ndarray | None]]:
    def read(rows: slice) -> tuple[list[np.ndarray], np.ndarray | None]:
        return views.read(rows), None if views.present is None else views.present[rows]

    return map(read, pieces) if views.in_memory else prefetch(read, pieces)
