"""What MVSIB computes for a row: an embedding of each view, and their weighted consensus."""

# b rows of a batch, V views, d features of an embedding, k clusters

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.collectives import share_of
from coterie.data.batches import Batches
from coterie.graph.projected import ProjectedRows
from coterie.methods.mvsib.options import MVSIBSettings
from coterie.methods.mvsib.trained_router import TrainedRouter
from coterie.nn.autoencoder import initialise, mlp, mlp_pair
from coterie.nn.forward import passes

_LEAST = 1e-12


class Embedded(NamedTuple):
    """Rows as the network embeds them."""

    inputs: list[Tensor]  # (b, D_v): inputs of the encoders
    codes: list[Tensor]  # (b, d): their outputs, before normalisation
    views: list[Tensor]  # (b, d): of unit length; arbitrary in a row without the view
    consensus: Tensor  # (b, d): the weighted mean of the views that a row has, of unit length
    present: Tensor  # (b, V)


class MVSIBNetwork(nn.Module):
    """An auto-encoder for each view, learnable weights of the views, an uncertainty head, centres, maybe a router.

    Parameters
    ----------
    dims : sequence of int
        Columns of the views.
    n_code : int
        d.
    n_axes : int or None
        Most principal axes of a view that its encoder takes; None is all columns.

    Attributes
    ----------
    centers : Tensor of shape (k, d)
        Of the clusters in the consensus.
    idle : Tensor of bool, shape (V,)
        Views without information.
    """

    centers: Tensor
    idle: Tensor

    def __init__(
        self,
        dims: Sequence[int],
        hidden: Sequence[int],
        n_code: int,
        n_clusters: int,
        n_axes: int | None,
        *,
        with_router: bool = False,
    ) -> None:
        super().__init__()
        projections = [ProjectedRows("euclidean", width, n_axes) for width in dims]
        self.projections = nn.ModuleList(projections)
        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
            couples = [mlp_pair(projection.n_seen, hidden, n_code) for projection in projections]
            self.uncertainty = mlp([n_code, max(1, n_code // 2), 1])
            self.router = TrainedRouter() if with_router else None
        self.encoders = nn.ModuleList([encoder for encoder, _ in couples])
        self.decoders = nn.ModuleList([decoder for _, decoder in couples])
        self.view_logits = nn.Parameter(torch.zeros(len(dims)))
        self.register_buffer("centers", torch.zeros(n_clusters, n_code))
        self.register_buffer("idle", torch.zeros(len(dims), dtype=torch.bool))

    def draw(
        self, sample: Sequence[Tensor], present: np.ndarray, idle: np.ndarray, generator: torch.Generator
    ) -> MVSIBNetwork:
        """Fit the projection of each view to a sample of its present rows, and draw the weights."""
        self.idle.copy_(torch.from_numpy(idle))
        for v, projection in enumerate(self.projections):
            own = sample[v][torch.from_numpy(present[:, v])]
            cast(ProjectedRows, projection).fit(own if len(own) else sample[v], generator)
        routers = [] if self.router is None else [self.router]
        for part in (*self.encoders, *self.decoders, self.uncertainty, *routers):
            initialise(part, generator)
        return self

    @property
    def n_inputs(self) -> int:
        """Width of the encoders' inputs, of all views together."""
        return sum(cast(ProjectedRows, projection).n_seen for projection in self.projections)

    @property
    def view_weights(self) -> Tensor:
        """The alpha of the views, (V,), which sum to one; 0 for views without information."""
        return self.view_logits.masked_fill(self.idle, -torch.inf).softmax(0)

    def project(self, views: Sequence[Tensor]) -> list[Tensor]:
        """Return the encoders' inputs of scaled rows (b, D) of each view."""
        return [projection(rows) for projection, rows in zip(self.projections, views, strict=True)]

    def forward(self, inputs: Sequence[Tensor], present: Tensor) -> Embedded:
        """Embed rows, given their inputs (b, D_v) from `project` and which views they have (b, V)."""
        codes = [encoder(rows) for encoder, rows in zip(self.encoders, inputs, strict=True)]
        units = [F.normalize(code, dim=1, eps=_LEAST) for code in codes]
        return Embedded(list(inputs), codes, units, self.fuse(units, present), present)

    def fuse(self, units: Sequence[Tensor], present: Tensor) -> Tensor:
        """Return the consensus: the weighted mean of the views that a row has, normalised."""
        shares = present * self.view_weights
        total = sum((shares[:, v, None] * unit for v, unit in enumerate(units)), units[0].new_zeros(()))
        return F.normalize(total, dim=1, eps=_LEAST)

    def reconstruction(self, embedded: Embedded) -> Tensor:
        """Return the mean squared error of the decoded codes (Eq. 2), over the views that rows have."""
        errors = [
            F.mse_loss(decoder(code), rows, reduction="none").mean(1)
            for decoder, code, rows in zip(self.decoders, embedded.codes, embedded.inputs, strict=True)
        ]
        there = embedded.present & ~self.idle
        return (torch.stack(errors, 1) * there).sum() / there.sum().clamp(min=1)

    def predicted_doubt(self, consensus: Tensor) -> Tensor:
        """Return the predicted uncertainty of rows, (b,), from 0 to 1; no gradient reaches the encoders (M13)."""
        return self.uncertainty(consensus.detach())[:, 0].sigmoid()


def build_network(settings: MVSIBSettings, dims: Sequence[int]) -> MVSIBNetwork:
    """Return the network with all its buffers, untrained."""
    options = settings.options
    return MVSIBNetwork(
        dims,
        settings.hidden,
        settings.n_code,
        settings.n_clusters,
        options.n_axes,
        with_router=options.router == "trained",
    )


@torch.no_grad()
def embed_batches(network: MVSIBNetwork, batches: Batches, *, projected: bool = False) -> Iterator[Embedded]:
    """Yield the embeddings of this process's rows in their order, on the CPU; a row alone gets those of a batch.

    Where `projected`, the batches hold inputs of the encoders, not scaled rows.
    """
    device = network.centers.device
    start = share_of(batches.views.n_rows, batches.collectives).start
    for views in batches.in_order():
        numbers = np.arange(start, start + len(views[0]))
        start += len(numbers)
        present = torch.from_numpy(batches.views.present_rows(numbers)).to(device)
        tables = [torch.from_numpy(view).to(device) for view in views]
        for (mask, size), *parts in zip(passes(present), *(passes(table) for table in tables), strict=True):
            rows = [part for part, _ in parts]
            embedded = network(rows if projected else network.project(rows), mask)
            yield Embedded(
                [],
                [],
                [view[:size].cpu() for view in embedded.views],
                embedded.consensus[:size].cpu(),
                embedded.present[:size].cpu(),
            )
