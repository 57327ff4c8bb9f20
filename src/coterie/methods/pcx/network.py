"""What PC-X computes: an auto-encoder whose decoder sees the code and its centroid."""

# b rows of a batch, D features, d code features, k clusters

from __future__ import annotations

import torch
from torch import Tensor, nn

from coterie.graph.metric import MetricSpace
from coterie.ops.distances import squared_distances


class CIUnit(nn.Module):
    """Centroid-Integration Unit, Eq. 3: one linear layer on the code and its centroid, side by side.

    Parameters
    ----------
    n_code : int

    Examples
    --------
    >>> CIUnit(3)(torch.zeros(2, 3), torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """

    def __init__(self, n_code: int) -> None:
        super().__init__()
        self.mix = nn.Linear(2 * n_code, n_code)

    def forward(self, codes: Tensor, centroids: Tensor) -> Tensor:
        """Return the decoder's input h(z, mu)."""
        return self.mix(torch.cat([codes, centroids], dim=1))


class CodeOnly(nn.Module):
    """The ablation "PC-X-no CI": the decoder sees the code alone."""

    def forward(self, codes: Tensor, centroids: Tensor) -> Tensor:
        """Return the codes."""
        return codes


class PCXNetwork(nn.Module):
    """Encoder, CI-Unit, decoder and the slow exemplars.

    Parameters
    ----------
    space : MetricSpace
        The look at the rows that the encoder is given.
    target : MetricSpace
        The form of the rows that the decoder gives back.
    encoder, decoder : Module
        (b, D) to (b, d) and back.
    n_clusters, n_code : int
    ci_unit : bool
        False removes the unit (ablation).
    logits : bool
        Whether the decoder gives logits of [0, 1] data.

    Attributes
    ----------
    centroids : Tensor of shape (k, d)
        A buffer: slow exemplars get no gradient.
    sizes : Tensor of shape (k,)
        Moving average of the rows of each cluster in a batch.
    """

    centroids: Tensor
    sizes: Tensor

    def __init__(
        self,
        space: MetricSpace,
        target: MetricSpace,
        encoder: nn.Module,
        decoder: nn.Module,
        *,
        n_clusters: int,
        n_code: int,
        ci_unit: bool = True,
        logits: bool = False,
    ) -> None:
        super().__init__()
        self.space, self.target = space, target
        self.encoder, self.decoder = encoder, decoder
        self.fuse: nn.Module = CIUnit(n_code) if ci_unit else CodeOnly()
        self.output: nn.Module = nn.Sigmoid() if logits else nn.Identity()
        self.register_buffer("centroids", torch.zeros(n_clusters, n_code))
        self.register_buffer("sizes", torch.ones(n_clusters))

    def encode(self, x: Tensor) -> Tensor:
        """Return the codes z of rows."""
        return self.encoder(self.space(x))

    def decode(self, codes: Tensor, centroids: Tensor, noise: Tensor | None = None) -> Tensor:
        """Return the rows that codes with these centroids stand for; noise is added to the decoder's input."""
        fused = self.fuse(codes, centroids)
        return self.decoder(fused if noise is None else fused + noise)

    def distances(self, codes: Tensor) -> Tensor:
        """Return the (b, k) squared distances of codes to the centroids, which get no gradient."""
        return squared_distances(codes, self.centroids)

    def exemplars(self) -> Tensor:
        """Return the centroids decoded in input space, g(h(mu, mu))."""
        return self.target.inverse(self.output(self.decode(self.centroids, self.centroids)))
