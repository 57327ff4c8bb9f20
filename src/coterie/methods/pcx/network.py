"""What PC-X computes: an auto-encoder whose decoder sees the code and its centroid."""

# b rows of a batch, D features, r axes of them that are seen, d code features, k clusters

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from coterie.data.batches import Batches
from coterie.errors import InputError
from coterie.graph.metric import MetricSpace
from coterie.graph.projected import ProjectedRows
from coterie.methods.pcx.options import PCXSettings
from coterie.methods.run_setup import ComparedRows, check_image_shape
from coterie.nn.autoencoder import check_code, conv_pair, initialise, mlp
from coterie.nn.forward import passes
from coterie.ops.distances import exact_distances, squared_distances


class CIUnit(nn.Module):
    """Centroid-Integration Unit, Eq. 3: one linear layer on the code concatenated with its centroid.

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
    projection : ProjectedRows
        The metric and the principal axes of the encoder's input.
    target : MetricSpace
        The scale of the decoder's output.
    encoder, decoder : Module
        What is seen of rows, (b, r), to codes (b, d), and these to (b, D).
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
        projection: ProjectedRows,
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
        self.projection, self.target = projection, target
        self.encoder, self.decoder = encoder, decoder
        self.fuse: nn.Module = CIUnit(n_code) if ci_unit else CodeOnly()
        self.output: nn.Module = nn.Sigmoid() if logits else nn.Identity()
        self.register_buffer("centroids", torch.zeros(n_clusters, n_code))
        self.register_buffer("sizes", torch.ones(n_clusters))

    def encode(self, x: Tensor) -> Tensor:
        """Return the codes z of rows."""
        return self.encoder(self.projection(x))

    def decode(self, codes: Tensor, centroids: Tensor, noise: Tensor | None = None) -> Tensor:
        """Return the rows that codes and their centroids decode to; noise is added to the decoder's input."""
        fused = self.fuse(codes, centroids)
        return self.decoder(fused if noise is None else fused + noise)

    def distances(self, codes: Tensor) -> Tensor:
        """Return the (b, k) squared distances of codes to the centroids, which get no gradient."""
        return squared_distances(codes, self.centroids)

    def exemplars(self) -> Tensor:
        """Return the centroids decoded in input space, g(h(mu, mu))."""
        return self.target.inverse(self.output(self.decode(self.centroids, self.centroids)))


def build_network(settings: PCXSettings, kind: str, n_features: int, n_axes: int | None) -> PCXNetwork:
    """Return the network with all its buffers, untrained; a user's modules are copied, never changed."""
    projection = ProjectedRows(kind, n_features, n_axes)
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        encoder, decoder = _autoencoder(settings, n_features, projection.n_seen)
        return PCXNetwork(
            projection,
            MetricSpace("euclidean", n_features),
            encoder,
            decoder,
            n_clusters=settings.n_clusters,
            n_code=settings.n_code,
            ci_unit=settings.options.ci_unit,
            logits=settings.options.reconstruction == "bce",
        )


def draw_network(settings: PCXSettings, rows: ComparedRows) -> PCXNetwork:
    """Return a network with its metric fitted and its weights drawn; a user's own modules keep theirs."""
    sample = rows.sample
    network = build_network(settings, rows.metric.kind, sample.shape[1], settings.n_axes)
    network.projection.fit(sample, rows.generator)
    if settings.options.reconstruction != "bce":
        network.target.fit(sample)
    elif sample.min() < 0 or sample.max() > 1:
        raise InputError(
            "reconstruction='bce' needs values from 0 to 1; use scale='minmax' or reconstruction='mse'."
        )
    if isinstance(settings.encoder, str):
        initialise(network.encoder, rows.generator)
        initialise(network.decoder, rows.generator)
    initialise(network.fuse, rows.generator)
    return network


def _autoencoder(settings: PCXSettings, n_features: int, n_seen: int) -> tuple[nn.Module, nn.Module]:
    encoder, n_code = settings.encoder, settings.n_code
    if not isinstance(encoder, str):
        if len(encoder) != 2 or not all(isinstance(module, nn.Module) for module in encoder):
            raise InputError(
                "A custom encoder needs its decoder: give encoder=(encoder, decoder), two modules."
            )
        check_code(encoder[0], n_features, n_code)
        return copy.deepcopy(encoder[0]), copy.deepcopy(encoder[1])
    if encoder == "mlp":
        hidden = tuple(settings.hidden)
        return mlp([n_seen, *hidden, n_code]), mlp([n_code, *hidden[::-1], n_features])
    return conv_pair(check_image_shape("encoder", settings.image_shape, n_features), n_code)


@torch.no_grad()
def encode_rows(network: PCXNetwork, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the codes (b, d) of rows and their squared distances to the centroids (b, k), in evaluation mode."""
    training = network.training
    network.eval()
    codes, distances = [], []
    for part, size in passes(rows):
        code = network.encode(part)[:size]
        codes.append(code)
        distances.append(exact_distances(code, network.centroids))
    network.train(training)
    return torch.cat(codes), torch.cat(distances)


def encode_batches(network: PCXNetwork, batches: Batches) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the codes and distances of all rows of this process, in their order."""
    device = network.centroids.device
    for views in batches.in_order():
        yield encode_rows(network, torch.from_numpy(np.hstack(views)).to(device))
