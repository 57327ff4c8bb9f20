"""From raw rows to the input of the layers: masks, corrupt rows, scaling, features."""

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
from coterie.data.ahead import read_ahead
from coterie.graph.outliers import Guard, scaled_rows, usable
from coterie.methods.largemvc.features import ColumnFeatures, ConcatenatedFeatures, LandmarkFeatures
from coterie.methods.largemvc.rows import Rows, padded
from coterie.nn.forward import FORWARD_ROWS

_CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True)
class FeatureBatch:
    """The input of the layers for a batch of rows.

    Attributes
    ----------
    rows : list of Tensor of shape (b, f), or of SparseRows
        The features of each view, and of the concatenated views as one more; zeros where a view does not count.
    present : Tensor of shape (b, v) or (b, v + 1)
        1 where the view counts, else 0; the concatenated views have the weight of all others together.
    corrupt : Tensor of bool, shape (b, v)
        Where a view is present but an outlier.
    """

    rows: list[Rows]
    present: Tensor
    corrupt: Tensor

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

    Parameters
    ----------
    scaler : Scaler
        Fitted.
    features : sequence of ColumnFeatures or LandmarkFeatures
        Fitted, one per view.
    guards : sequence of Guard
        Fitted outlier detectors, one per view, or none.
    concatenated : ConcatenatedFeatures, optional
        Fitted; features of the concatenated views, for rows that have all of them.
    idle : sequence of bool
        Which views are constant or empty.
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

        for blocks, present in map(read, chunks) if views.in_memory else read_ahead(read, chunks):
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
