"""What MVSIB computes for a row: an embedding of each view, and their weighted consensus."""

# b rows of a batch, V views, d features of an embedding, k clusters

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.graph.projected import ProjectedRows
from coterie.nn.autoencoder import initialise, mlp, mlp_pair

_LEAST = 1e-12

AXES = 256
"""Most principal axes of a view that its encoder sees."""


class Embedded(NamedTuple):
    """Rows as the network embeds them.

    Attributes
    ----------
    seen : list of Tensor of shape (b, D_v)
        What the encoders see of each view.
    codes : list of Tensor of shape (b, d)
        What they make of it, before it is brought to unit length.
    views : list of Tensor of shape (b, d)
        Of unit length; what stands in a row without the view means nothing.
    consensus : Tensor of shape (b, d)
        The weighted mean of the views that a row has, of unit length.
    present : Tensor of bool, shape (b, V)
    """

    seen: list[Tensor]
    codes: list[Tensor]
    views: list[Tensor]
    consensus: Tensor
    present: Tensor


class MVSIBNetwork(nn.Module):
    """An auto-encoder for each view, learnable weights of the views, a guess at a row's uncertainty, and centres.

    Parameters
    ----------
    dims : sequence of int
        Columns of the views.
    hidden : sequence of int
    n_code : int
        d.
    n_clusters : int

    Attributes
    ----------
    centers : Tensor of shape (k, d)
        Of the clusters in the consensus.
    idle : Tensor of bool, shape (V,)
        Views that say nothing.
    """

    centers: Tensor
    idle: Tensor

    def __init__(self, dims: Sequence[int], hidden: Sequence[int], n_code: int, n_clusters: int) -> None:
        super().__init__()
        self.looks = nn.ModuleList([ProjectedRows("euclidean", width, AXES) for width in dims])
        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
            couples = [mlp_pair(min(width, AXES), hidden, n_code) for width in dims]
            self.guess = mlp([n_code, max(1, n_code // 2), 1])
        self.encoders = nn.ModuleList([encoder for encoder, _ in couples])
        self.decoders = nn.ModuleList([decoder for _, decoder in couples])
        self.view_logits = nn.Parameter(torch.zeros(len(dims)))
        self.register_buffer("centers", torch.zeros(n_clusters, n_code))
        self.register_buffer("idle", torch.zeros(len(dims), dtype=torch.bool))

    def prepare(
        self, sample: Sequence[Tensor], present: np.ndarray, idle: np.ndarray, generator: torch.Generator
    ) -> MVSIBNetwork:
        """Fit what is seen of each view to a sample of its present rows, and draw the weights."""
        self.idle.copy_(torch.from_numpy(idle))
        for v, look in enumerate(self.looks):
            own = sample[v][torch.from_numpy(present[:, v])]
            cast(ProjectedRows, look).fit(own if len(own) else sample[v], generator)
        for part in (*self.encoders, *self.decoders, self.guess):
            initialise(part, generator)
        return self

    @property
    def n_seen(self) -> int:
        """How many numbers the encoders see of a row, of all views together."""
        return sum(cast(ProjectedRows, look).n_seen for look in self.looks)

    @property
    def view_weights(self) -> Tensor:
        """The alpha of the views, (V,), which sum to one; 0 for those that say nothing."""
        return self.view_logits.masked_fill(self.idle, -torch.inf).softmax(0)

    def see(self, views: Sequence[Tensor]) -> list[Tensor]:
        """Return what the encoders see of scaled rows (b, D) of each view."""
        return [look(rows) for look, rows in zip(self.looks, views, strict=True)]

    def forward(self, seen: Sequence[Tensor], present: Tensor) -> Embedded:
        """Embed rows.

        Parameters
        ----------
        seen : sequence of Tensor of shape (b, D_v)
            From `see`.
        present : Tensor of bool, shape (b, V)
        """
        codes = [encoder(rows) for encoder, rows in zip(self.encoders, seen, strict=True)]
        units = [F.normalize(code, dim=1, eps=_LEAST) for code in codes]
        return Embedded(list(seen), codes, units, self.fuse(units, present), present)

    def fuse(self, units: Sequence[Tensor], present: Tensor) -> Tensor:
        """Return the consensus of unit rows: the mean of the views that a row has, by their weights, made unit."""
        shares = present * self.view_weights
        total = sum((shares[:, v, None] * unit for v, unit in enumerate(units)), units[0].new_zeros(()))
        return F.normalize(total, dim=1, eps=_LEAST)

    def reconstruction(self, found: Embedded) -> Tensor:
        """Return the mean squared error of the decoded codes (Eq. 2), over the views that rows have."""
        errors = [
            F.mse_loss(decoder(code), rows, reduction="none").mean(1)
            for decoder, code, rows in zip(self.decoders, found.codes, found.seen, strict=True)
        ]
        there = found.present & ~self.idle
        return (torch.stack(errors, 1) * there).sum() / there.sum().clamp(min=1)

    def predicted_doubt(self, consensus: Tensor) -> Tensor:
        """Return the guess at the uncertainty of rows, (b,), from 0 to 1; it does not move the rows (M13)."""
        return self.guess(consensus.detach())[:, 0].sigmoid()
