"""What a network sees of a row."""

# b rows of a batch, D features

from __future__ import annotations

import torch
from torch import Tensor, nn

from coterie.graph.metric import MetricSpace
from coterie.ops.pca import principal_axes

_LEAST_SPREAD = 1e-12


class ProjectedRows(nn.Module):
    """What a network sees of a row: its place in a metric space, along the leading principal axes.

    Wide rows become `n_axes` numbers of mean variance one, so that a network costs the same whatever the width
    of the data, and need not see what is noise in them.

    Parameters
    ----------
    kind : str
        Of the `MetricSpace`.
    n_features : int
    n_axes : int, optional
        None keeps all columns as they are, as images need them.

    Attributes
    ----------
    n_seen : int
        How many numbers are seen of a row.
    """

    axes: Tensor
    spread: Tensor

    def __init__(self, kind: str, n_features: int, n_axes: int | None) -> None:
        super().__init__()
        self.space = MetricSpace(kind, n_features)
        self.n_seen = n_features if n_axes is None else min(n_axes, n_features)
        self.whole = self.n_seen == n_features
        self.register_buffer("axes", torch.zeros(0 if self.whole else n_features, self.n_seen))
        self.register_buffer("spread", torch.ones(()))

    @torch.no_grad()
    def fit(self, sample: Tensor, generator: torch.Generator) -> ProjectedRows:
        """Learn the space and the axes from a sample of rows."""
        seen = self.space.fit(sample)(sample)
        if not self.whole:
            axes = principal_axes(seen, self.n_seen, generator=generator)
            self.axes[:, : axes.shape[1]].copy_(axes)
            self.spread.copy_((seen @ self.axes).var(0, correction=0).mean().sqrt().clamp(min=_LEAST_SPREAD))
        return self

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """Return what is seen of rows (b, D)."""
        seen = self.space(x)
        return seen if self.whole else seen @ self.axes / self.spread

    @torch.no_grad()
    def directions(self, seen: Tensor) -> Tensor:
        """Return what directions of the seen space (c, n_seen) are in that of the rows, (c, D)."""
        return self.space.directions(seen if self.whole else seen @ self.axes.T * self.spread)
