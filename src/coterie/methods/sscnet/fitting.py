"""From data and parameters to a trained network: the parts of a run, its task, and what is said of all rows."""

# n rows, D features, m atoms, p features of the embedding, k clusters

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import share_of
from coterie.data import Scaler, Views
from coterie.data.batches import Batches
from coterie.data.scaling import fit_table_scaler
from coterie.engine.distributed import current_collectives
from coterie.errors import InputError
from coterie.graph.metric import MetricChoice, axis_map, fit_metric
from coterie.graph.neighbour_pairs import search_pairs
from coterie.graph.projected import ProjectedRows
from coterie.methods.run_setup import RunParts
from coterie.methods.sscnet.blocks import SparseCoder
from coterie.methods.sscnet.dictionaries import make_dictionary
from coterie.methods.sscnet.landmarks import Landmarks
from coterie.methods.sscnet.network import SSCNetwork
from coterie.methods.sscnet.settings import Settings
from coterie.methods.sscnet.training import SSCTask
from coterie.nn.autoencoder import as_image_shape, initialise
from coterie.nn.forward import passes
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distances import squared_distances
from coterie.ops.distributed_rows import gathered
from coterie.ops.memberships import calibrated_tau
from coterie.ops.stiefel import EigenLayers

_BATCH_LAYERS = 3
AXES = 256
"""Most principal axes that are coded; a convolutional dictionary sees all columns."""


@dataclass(frozen=True)
class Modules:
    """Everything of SSCNet that training changes."""

    network: SSCNetwork
    landmarks: Landmarks
    layers: EigenLayers

    def to(self, device: torch.device) -> Modules:
        """Move all of them."""
        return Modules(self.network.to(device), self.landmarks.to(device), self.layers.to(device))


@dataclass(frozen=True)
class Parts(RunParts):
    """What a run works with.

    Attributes
    ----------
    metric : MetricChoice
    modules : Modules
    """

    metric: MetricChoice
    modules: Modules


def prepare(params: Mapping[str, Any], data: Views, seed: int, device: torch.device) -> Parts:
    """Fit the scaling and the metric, draw the network, search the neighbours."""
    generator, collectives = torch.Generator().manual_seed(seed), current_collectives()
    scaler = fit_table_scaler(data, params["scale"], collectives)
    batches = Batches(data, scaler, batch_size=params["batch_size"], seed=seed, collectives=collectives)
    sample = torch.from_numpy(batches.sample())
    metric = fit_metric(sample, params["metric"], params["n_neighbors"], generator)
    n_landmarks = min(params["n_landmarks"], data.n_rows)
    modules = build_modules(params, metric.kind, sum(data.dims), n_landmarks)
    network = modules.network
    network.coder.prepare(network.look.fit(sample, generator)(sample), params["options"].sparsity, generator)
    for part in (network.embed, network.spectral, network.classify):
        initialise(part, generator)
    modules, sample = modules.to(device), sample.to(device)
    space = modules.network.look.space
    pairs = search_pairs(batches, axis_map(space, sample, metric.n_axes, generator), params["n_neighbors"])
    return Parts(batches, sample, scaler, pairs, seed, metric, modules)


def prepare_more(
    params: Mapping[str, Any],
    data: Views,
    modules: Modules,
    scaler: Scaler,
    metric: MetricChoice,
    *,
    seed: int,
) -> Parts:
    """Take new rows with the modules, the scaling and the metric of an earlier run."""
    batches = Batches(
        data, scaler, batch_size=params["batch_size"], seed=seed, collectives=current_collectives()
    )
    sample = torch.from_numpy(batches.sample()).to(modules.landmarks.rows.device)
    generator = torch.Generator().manual_seed(seed)
    space = modules.network.look.space
    pairs = search_pairs(batches, axis_map(space, sample, metric.n_axes, generator), params["n_neighbors"])
    return Parts(batches, sample, scaler, pairs, seed, metric, modules)


def build_modules(params: Mapping[str, Any], kind: str, n_features: int, n_landmarks: int) -> Modules:
    """Return the modules with all their buffers, untrained."""
    image_shape = _image_shape(params, n_features)
    k, n_blocks, options = params["n_clusters"], params["n_blocks"], params["options"]
    look = ProjectedRows(kind, n_features, None if image_shape is not None else AXES)
    n_dictionaries = 1 if options.share_blocks else max(1, n_blocks)
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        dictionaries = [
            make_dictionary(params["dictionary"], look.n_seen, params["n_atoms"], options.hidden, image_shape)
            for _ in range(n_dictionaries)
        ]
        coder = SparseCoder(dictionaries, n_blocks, options.error)
        network = SSCNetwork(look, coder, options.n_code, k)
    compared = max(coder.dictionary.n_atoms, options.n_code)
    landmarks = Landmarks(n_landmarks, n_features, compared, k, n_neighbors=options.graph_neighbors)
    return Modules(network, landmarks, EigenLayers(_BATCH_LAYERS, k))


def _image_shape(params: Mapping[str, Any], n_features: int) -> tuple[int, int, int] | None:
    """Return the shape of the images that a convolutional dictionary is for, None for the others."""
    if params["dictionary"] != "conv":
        return None
    if params["image_shape"] is None:
        raise InputError("dictionary='conv' needs image_shape=(height, width) or (channels, height, width).")
    shape = as_image_shape(params["image_shape"])
    if math.prod(shape) != n_features:
        raise InputError(
            f"image_shape={shape} has {math.prod(shape)} pixels, but rows have {n_features} features."
        )
    return shape


def make_task(params: Mapping[str, Any], parts: Parts) -> SSCTask:
    """Return the task that trains the modules."""
    modules = parts.modules
    return SSCTask(
        modules.network,
        modules.landmarks,
        modules.layers,
        Settings.resolve(params, parts.batches.per_epoch),
        parts.batches,
        seed=parts.seed,
        collectives=parts.batches.collectives,
    )


class Told(NamedTuple):
    """What the network says of some rows.

    Attributes
    ----------
    codes : Tensor of shape (b, m)
    embedding : Tensor of shape (b, p)
    places : Tensor of shape (b, k)
    logits : Tensor of shape (b, k)
    errors : Tensor of shape (b,)
        What the dictionary leaves of a row, as a share of its length.
    """

    codes: Tensor
    embedding: Tensor
    places: Tensor
    logits: Tensor
    errors: Tensor


@torch.no_grad()
def tell(network: SSCNetwork, rows: Tensor) -> Told:
    """Return what the network says of rows (b, D), each row the same alone and in company."""
    parts = []
    for part, size in passes(rows):
        seen = network.look(part)
        coded = network.coder(seen)
        embedding = network.embed(coded.codes)
        places = network.place(embedding)
        lengths = torch.linalg.vector_norm(seen, dim=1).clamp(min=torch.finfo(seen.dtype).tiny)
        errors = torch.linalg.vector_norm(seen - coded.decoded, dim=1) / lengths
        told = Told(coded.codes, embedding, places, network.classify(places), errors)
        parts.append(Told(*(one[:size] for one in told)))
    return Told(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))


def told(network: SSCNetwork, batches: Batches) -> Iterator[Told]:
    """Yield what the network says of all rows, in their order."""
    device = next(network.parameters()).device
    for views in batches.in_order():
        yield tell(network, torch.from_numpy(np.hstack(views)).to(device))


@dataclass(frozen=True)
class Described:
    """What is said of all rows after training.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    exemplars : ndarray of shape (k,)
        The rows that the network places nearest to the centres of the clusters.
    sparsity : ndarray of shape (n,)
        Share of the code's entries that are zero.
    errors : ndarray of shape (n,)
        What the dictionary leaves of a row, as a share of its length.
    use : ndarray of shape (k, m)
        Mean absolute weight of each atom in the codes of each cluster.
    """

    labels: np.ndarray
    exemplars: np.ndarray
    sparsity: np.ndarray
    errors: np.ndarray
    use: np.ndarray


def describe(modules: Modules, batches: Batches) -> Described:
    """Label every row and gather what the codes tell, in one pass."""
    centers, n_atoms = modules.landmarks.centers, modules.network.coder.dictionary.n_atoms
    k, n_rows, collectives = len(centers), batches.views.n_rows, batches.collectives
    labels, sparsity, errors = ArrayBuilder(), ArrayBuilder(), ArrayBuilder()
    use = torch.zeros(k, n_atoms, dtype=torch.float64, device=centers.device)
    exemplars = NearestRows(k, share_of(n_rows, collectives).start)
    for part in told(modules.network, batches):
        found = part.logits.argmax(1)
        labels.add(found)
        sparsity.add((part.codes == 0).float().mean(1))
        errors.add(part.errors)
        use.index_add_(0, found, part.codes.abs().double())
        distances = squared_distances(F.normalize(part.places, dim=1), centers)
        exemplars.add(distances.masked_fill(F.one_hot(found, k) == 0, torch.inf))
    whole, zeros, left = (gathered(one.joined(), n_rows, collectives) for one in (labels, sparsity, errors))
    sizes = np.bincount(whole, minlength=k)
    used = collectives.sum(use).cpu().numpy() / np.maximum(sizes, 1)[:, None]
    return Described(whole, exemplars.over(collectives), zeros, left, used.astype(np.float32))


def membership_tau(parts: Parts, labels: np.ndarray) -> float:
    """Return the sharpness of the memberships: the mean confidence is the share of neighbours in one cluster.

    A classifier of its own pseudo-labels is surer than it has reason to be; neighbours can be checked.
    """
    if parts.pairs is None:
        return 1.0
    return calibrated_tau(-tell(parts.modules.network, parts.sample).logits, parts.pairs.agreement(labels))
