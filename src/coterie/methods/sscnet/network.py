"""What SSCNet computes for a row: a sparse code, its place in the spectral embedding, a cluster."""

# b rows of a batch, D features, m atoms, p features of the embedding, k clusters

from __future__ import annotations

import torch
from torch import Tensor, nn

from coterie.graph.projected import ProjectedRows
from coterie.methods.sscnet.blocks import Coded, SparseCoder
from coterie.nn.autoencoder import mlp

_EMBED = (512, 256)
_SPECTRAL = (64, 64)
_CLASSIFY = 32


class SSCNetwork(nn.Module):
    """Sparse coder, amortised spectral embedding and classifier; every row goes through it on its own.

    Parameters
    ----------
    look : ProjectedRows
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

    def __init__(self, look: ProjectedRows, coder: SparseCoder, n_embedding: int, n_clusters: int) -> None:
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
