"""What SSCNet computes for a row: a sparse code, its place in the spectral embedding, a cluster."""

# b rows of a batch, D features, m atoms, p features of the embedding, k clusters

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from coterie.data.batches import Batches
from coterie.graph.projected import ProjectedRows
from coterie.methods.run_setup import ComparedRows, check_image_shape
from coterie.methods.sscnet.blocks import SparseCoder
from coterie.methods.sscnet.dictionaries import LinearDictionary, make_dictionary
from coterie.methods.sscnet.landmarks import Landmarks
from coterie.methods.sscnet.options import SSCNetSettings
from coterie.nn.autoencoder import initialise, mlp
from coterie.nn.forward import FORWARD_ROWS, passes
from coterie.ops.stiefel import EigenLayers

AXES = 256
"""Most principal axes that are coded; a convolutional dictionary codes all columns."""

HIDDEN = (512, 256)
"""Widths of the hidden layers from a code to its embedding."""

_SPECTRAL = (64, 64)
_CLASSIFY = 32
_BATCH_LAYERS = 3
_SPREAD_ROWS = 1024
_LEAST_SPREAD = 1e-12


class SSCNetwork(nn.Module):
    """Sparse coder, amortised spectral embedding and classifier; every row goes through it on its own.

    Parameters
    ----------
    projection : ProjectedRows
        The metric and the principal axes of the rows.
    n_embedding : int
        p, width of the embedding in which neighbours attract each other.

    Attributes
    ----------
    embed : Module
        (b, m) codes to (b, p).
    spectral : Module
        (b, p) to (b, k), the place of a row among the bottom eigenvectors (the paper's G after its eigen-layers;
        spec 2.8: as a map of the code it means the same in every batch).
    classify : Module
        (b, k) places to (b, k) logits.
    spread, code_spread : Tensor of shape ()
        Standard deviations of the embedding and of the codes before training: maps learn best from inputs of unit
        variance, and the first codes are a hundredth as large as the rows.
    """

    spread: Tensor
    code_spread: Tensor

    def __init__(
        self, projection: ProjectedRows, coder: SparseCoder, n_embedding: int, n_clusters: int
    ) -> None:
        super().__init__()
        self.projection, self.coder = projection, coder
        self.embed = mlp([coder.dictionary.n_atoms, *HIDDEN, n_embedding])
        self.spectral = mlp([n_embedding, *_SPECTRAL, n_clusters])
        self.classify = mlp([n_clusters, _CLASSIFY, n_clusters])
        self.register_buffer("spread", torch.ones(()))
        self.register_buffer("code_spread", torch.ones(()))

    def embedding(self, codes: Tensor) -> Tensor:
        """Return the embedding (b, p) of codes (b, m)."""
        return self.embed(codes / self.code_spread)

    def place(self, embedded: Tensor) -> Tensor:
        """Return the (b, k) places of embedded rows (b, p) among the bottom eigenvectors."""
        return self.spectral(embedded / self.spread)


@dataclass(frozen=True)
class Modules:
    """Everything of SSCNet that training changes."""

    network: SSCNetwork
    landmarks: Landmarks
    layers: EigenLayers

    def to(self, device: torch.device) -> Modules:
        """Move all modules to a device."""
        return Modules(self.network.to(device), self.landmarks.to(device), self.layers.to(device))

    def named(self) -> dict[str, nn.Module]:
        """Return the modules by name."""
        return {"network": self.network, "landmarks": self.landmarks, "layers": self.layers}


def build_modules(settings: SSCNetSettings, kind: str, n_features: int, n_landmarks: int) -> Modules:
    """Return the modules with all their buffers, untrained."""
    image_shape = None
    if settings.dictionary == "conv":
        image_shape = check_image_shape("dictionary", settings.image_shape, n_features)
    k, n_blocks, options = settings.n_clusters, settings.n_blocks, settings.options
    projection = ProjectedRows(kind, n_features, None if image_shape is not None else AXES)
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        dictionaries = [
            make_dictionary(
                settings.dictionary, projection.n_seen, settings.n_atoms, options.hidden, image_shape
            )
            for _ in range(1 if options.share_blocks else max(1, n_blocks))
        ]
        coder = SparseCoder(dictionaries, n_blocks, options.error)
        network = SSCNetwork(projection, coder, options.n_code, k)
    n_compared = max(coder.dictionary.n_atoms, options.n_code)
    landmarks = Landmarks(n_landmarks, n_features, n_compared, k, n_neighbors=options.graph_neighbors)
    return Modules(network, landmarks, EigenLayers(_BATCH_LAYERS, k))


def draw_modules(settings: SSCNetSettings, rows: ComparedRows) -> Modules:
    """Return modules with the projection fitted to a sample and the weights drawn."""
    sample, generator = rows.sample, rows.generator
    n_landmarks = min(settings.n_landmarks, rows.batches.views.n_rows)
    modules = build_modules(settings, rows.metric.kind, sample.shape[1], n_landmarks)
    network = modules.network
    projected = network.projection.fit(sample, generator)(sample)
    network.coder.prepare(projected, settings.options.sparsity, generator)
    with torch.no_grad():
        network.code_spread.copy_(_spread(network.coder.codes(projected[:_SPREAD_ROWS])))
    for part in (network.embed, network.spectral, network.classify):
        initialise(part, generator)
    return modules


@torch.no_grad()
def start_embedding(network: SSCNetwork, classifier: nn.Sequential) -> None:
    """Give the embedding the hidden layers of a classifier of rows, applied to the row that a code decodes to."""
    dictionary = network.coder.dictionary
    if isinstance(dictionary, LinearDictionary):
        weights = {name: tensor.clone() for name, tensor in classifier[:-1].state_dict().items()}
        weights["0.weight"] = weights["0.weight"] @ dictionary.matrix * network.code_spread
        network.embed[:-1].load_state_dict(weights)


def _spread(values: Tensor) -> Tensor:
    return values.std(0, correction=0).mean().clamp(min=_LEAST_SPREAD)


class Predictions(NamedTuple):
    """What the network predicts for rows."""

    codes: Tensor  # (b, m)
    embedding: Tensor  # (b, p)
    places: Tensor  # (b, k)
    logits: Tensor  # (b, k)
    errors: Tensor  # (b,): length of the residual relative to that of the row


@torch.no_grad()
def predict_rows(network: SSCNetwork, rows: Tensor) -> Predictions:
    """Return the predictions for rows (b, D); a row alone gets those that it gets in a batch."""
    pieces = [predict_seen(network, network.projection(part)[:size]) for part, size in passes(rows)]
    return Predictions(*(torch.cat(values) for values in zip(*pieces, strict=True)))


@torch.no_grad()
def predict_seen(network: SSCNetwork, seen: Tensor) -> Predictions:
    """Return the predictions for what is coded of rows, (b, r)."""
    parts = []
    for projected, size in passes(seen):
        coded = network.coder(projected)
        embedding = network.embedding(coded.codes)
        places = network.place(embedding)
        lengths = torch.linalg.vector_norm(projected, dim=1).clamp(min=torch.finfo(projected.dtype).tiny)
        errors = torch.linalg.vector_norm(projected - coded.decoded, dim=1) / lengths
        whole = Predictions(coded.codes, embedding, places, network.classify(places), errors)
        parts.append(Predictions(*(values[:size] for values in whole)))
    return Predictions(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))


def predict_batches(network: SSCNetwork, batches: Batches) -> Iterator[Predictions]:
    """Yield the predictions for all rows of this process, in their order."""
    device = next(network.parameters()).device
    for views in batches.in_order():
        yield predict_rows(network, torch.from_numpy(np.hstack(views)).to(device))


@torch.no_grad()
def graph_features(network: SSCNetwork, seen: Tensor, *, by_code: bool) -> Tensor:
    """Return the features of a graph of what is coded of rows: sparse codes (b, m), or embeddings (b, p)."""
    codes = torch.cat([network.coder.codes(part)[:size] for part, size in passes(seen)])
    if by_code:
        return codes
    return torch.cat([network.embedding(part) for part in codes.split(FORWARD_ROWS)])
