"""What SSCNet computes for a row: a sparse code, its place in the spectral embedding, a cluster."""

# b rows of a batch, D features, m atoms, p features of the embedding, k clusters

from __future__ import annotations

import torch
from torch import Tensor, nn

from coterie.methods.sscnet.blocks import Coded, SparseCoder
from coterie.nn.autoencoder import mlp
from coterie.nn.metric import MetricSpace
from coterie.ops.pca import principal_axes

_EMBED = (512, 256)
_SPECTRAL = (64, 64)
_CLASSIFY = 32
_LEAST_SPREAD = 1e-12


class Look(nn.Module):
    """What the coder sees of a row: its place in a metric space, along the leading principal axes.

    Wide rows become `n_axes` numbers of mean variance one, so that a block costs the same whatever the width of
    the data, and what is noise in them need not be written in atoms.

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
        How many numbers the coder sees of a row.
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
    def fit(self, sample: Tensor, generator: torch.Generator) -> Look:
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


class SSCNetwork(nn.Module):
    """Sparse coder, amortised spectral embedding and classifier; every row goes through it on its own.

    Parameters
    ----------
    look : Look
    coder : SparseCoder
    n_embedding : int
        p, width of the space in which neighbours are drawn together.
    n_clusters : int

    Attributes
    ----------
    embed : Module
        (b, m) codes to (b, p).
    spectral : Module
        (b, p) to (b, k), the place of a row among the bottom eigenvectors (the paper's G after its eigen-layers;
        spec 2.8: as a map of the code it means the same in every batch).
    classify : Module
        (b, k) places to (b, k) logits.
    spread : Tensor of shape ()
        Of the embedding when clusters were first sought: contrast makes it large, and the maps behind it learn from
        numbers around one.
    """

    spread: Tensor

    def __init__(self, look: Look, coder: SparseCoder, n_embedding: int, n_clusters: int) -> None:
        super().__init__()
        self.look, self.coder = look, coder
        self.embed = mlp([coder.dictionary.n_atoms, *_EMBED, n_embedding])
        self.spectral = mlp([n_embedding, *_SPECTRAL, n_clusters])
        self.classify = mlp([n_clusters, _CLASSIFY, n_clusters])
        self.register_buffer("spread", torch.ones(()))

    def code(self, x: Tensor) -> Coded:
        """Return the sparse codes of rows."""
        return self.coder(self.look(x))

    def place(self, embedded: Tensor) -> Tensor:
        """Return the (b, k) places of embedded rows (b, p) among the bottom eigenvectors."""
        return self.spectral(embedded / self.spread)
