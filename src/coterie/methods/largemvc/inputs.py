"""From rows as users have them to what the layers see: masks, guards, scaling, features."""

# b rows, v views, d columns of a view, f features of a view

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from coterie.data import Scaler, Views
from coterie.data.ahead import read_ahead
from coterie.methods.largemvc.features import ColumnFeatures, Guard, LandmarkFeatures

_CHUNK_BYTES = 16 * 2**20
_LEAST_ROWS = 256


@dataclass(frozen=True)
class Seen:
    """A batch as the layers see it.

    Attributes
    ----------
    rows : list of Tensor of shape (b, f)
        The features of each view; zeros where the view does not count.
    present : Tensor of shape (b, v)
        1 where the view counts, else 0.
    corrupt : Tensor of bool, shape (b, v)
        Where a view is there but was judged corrupt.
    """

    rows: list[Tensor]
    present: Tensor
    corrupt: Tensor


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
    """

    def __init__(
        self,
        scaler: Scaler,
        features: Sequence[ColumnFeatures | LandmarkFeatures],
        guards: Sequence[Guard] = (),
    ) -> None:
        super().__init__()
        self.scaler = scaler
        self.features = nn.ModuleList(features)
        self.guards = nn.ModuleList(guards)

    @property
    def widths(self) -> list[int]:
        """How many features each view has."""
        return [cast(LandmarkFeatures, one).width for one in self.features]

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
        counts, corrupt = usable(blocks, there, cast(Sequence[Guard], self.guards))
        device = next(self.buffers()).device
        present = torch.from_numpy(counts).to(device, torch.float32)
        scaled = self.scaler.transform(blocks, counts)
        rows = [
            feature(torch.from_numpy(block).to(device)) * present[:, v : v + 1]
            for v, (feature, block) in enumerate(zip(self.features, scaled, strict=True))
        ]
        return Seen(rows, present, torch.from_numpy(corrupt).to(device))

    def stream(self, views: Views) -> Iterator[Seen]:
        """Prepare all rows in their order, a piece at a time; files are read ahead."""
        widest = max(*views.dims, *self.widths)
        step = max(_LEAST_ROWS, _CHUNK_BYTES // (4 * widest))

        def read(rows: slice) -> tuple[list[np.ndarray], np.ndarray | None]:
            return views.read(rows), None if views.present is None else views.present[rows]

        pieces = views.chunks(step)
        for blocks, there in map(read, pieces) if views.in_memory else read_ahead(read, pieces):
            yield self.see(blocks, there)

    @torch.no_grad()
    def back(self, features: Sequence[Tensor]) -> list[np.ndarray]:
        """Return rows in the user's units that have about these features, one array a view."""
        found = [
            cast(Callable[[Tensor], Tensor], one.back)(view).cpu().numpy()
            for one, view in zip(self.features, features, strict=True)
        ]
        scaled = [isinstance(one, ColumnFeatures) for one in self.features]
        restored = self.scaler.inverse_transform(found)
        return [again if was else plain for plain, again, was in zip(found, restored, scaled, strict=True)]


def usable(
    blocks: Sequence[np.ndarray], there: np.ndarray | None, guards: Sequence[Guard]
) -> tuple[np.ndarray, np.ndarray]:
    """Return where a view counts and where it was judged corrupt, both bool (b, v).

    An empty row (all zeros, as of a text without words) says nothing, and a corrupt one misleads: neither counts
    as long as the row has another view to go by.
    """
    shape = len(blocks[0]), len(blocks)
    there = np.ones(shape, dtype=bool) if there is None else there
    filled = np.column_stack([block.any(axis=1) for block in blocks]) & there
    filled = np.where(filled.any(axis=1, keepdims=True), filled, there)
    corrupt = np.zeros(shape, dtype=bool)
    for v, guard in enumerate(guards):
        found = guard(torch.from_numpy(blocks[v]).to(guard.prototypes.device)).cpu().numpy()
        corrupt[:, v] = found & filled[:, v]
    sound = filled & ~corrupt
    lost = np.logical_not(sound.any(axis=1))
    corrupt[lost] = False
    return np.where(lost[:, None], filled, sound), corrupt
