"""From data and settings to a trained network: the parts of a run, its task, and the labels at its end."""

# n rows, D features, k clusters

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import share_of
from coterie.data import Scaler, Views
from coterie.data.batches import Batches
from coterie.data.scaling import fit_table_scaler
from coterie.engine.distributed import current_collectives
from coterie.graph.initial import initial_labels
from coterie.graph.metric import MetricChoice, axis_map, fit_metric
from coterie.graph.neighbour_pairs import NeighbourPairs, search_pairs
from coterie.methods.pcx import build
from coterie.methods.pcx.network import PCXNetwork
from coterie.methods.pcx.options import PCXOptions
from coterie.methods.pcx.settings import Settings
from coterie.methods.pcx.training import PCXTask, assign_rows
from coterie.methods.run_setup import RunParts
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distributed_rows import gathered
from coterie.ops.memberships import calibrated_tau


@dataclass(frozen=True)
class Parts(RunParts):
    """What a run works with.

    Attributes
    ----------
    metric : MetricChoice
    network : PCXNetwork
    initial : ndarray of shape (n,) or None
        The initial partition, where the graph gives it.
    """

    metric: MetricChoice
    network: PCXNetwork
    initial: np.ndarray | None


def prepare(params: Mapping[str, Any], data: Views, seed: int, device: torch.device) -> Parts:
    """Fit the scaling and the metric, draw the network, search the neighbours."""
    generator, collectives = torch.Generator().manual_seed(seed), current_collectives()
    scaler = fit_table_scaler(data, params["scale"], collectives)
    batches = Batches(data, scaler, batch_size=params["batch_size"], seed=seed, collectives=collectives)
    sample = torch.from_numpy(batches.sample())
    metric = fit_metric(sample, params["metric"], params["n_neighbors"], generator)
    network = build.build_network(params, metric.kind, sum(data.dims))
    build.prepare_network(network, sample, params, generator)
    embed = axis_map(network.space, sample, metric.n_axes, generator)
    pairs = _search_pairs(params, batches, embed)
    initial = _initial_labels(params, batches, embed, seed) if params["options"].init == "graph" else None
    return Parts(batches, sample, scaler, pairs, seed, metric, network.to(device), initial)


def prepare_more(
    params: Mapping[str, Any],
    data: Views,
    network: PCXNetwork,
    scaler: Scaler,
    metric: MetricChoice,
    *,
    seed: int,
) -> Parts:
    """Take new rows with the network, the scaling and the metric of an earlier run."""
    batches = Batches(
        data, scaler, batch_size=params["batch_size"], seed=seed, collectives=current_collectives()
    )
    sample = torch.from_numpy(batches.sample())
    generator = torch.Generator().manual_seed(seed)
    embed = axis_map(network.space, sample.to(network.centroids.device), metric.n_axes, generator)
    pairs = _search_pairs(params, batches, embed)
    return Parts(batches, sample, scaler, pairs, seed, metric, network, None)


def _search_pairs(
    params: Mapping[str, Any],
    batches: Batches,
    embed: Callable[[Tensor], Tensor],
) -> NeighbourPairs | None:
    if params["options"].neighbor_weight == 0:
        return None
    return search_pairs(batches, embed, params["n_neighbors"])


def _initial_labels(
    params: Mapping[str, Any], batches: Batches, embed: Callable[[Tensor], Tensor], seed: int
) -> np.ndarray:
    """Return the partition of the rows' kNN graph."""

    def read(numbers: np.ndarray) -> np.ndarray:
        parts = (torch.from_numpy(np.hstack(views)) for views in batches.in_order(numbers))
        return np.concatenate([embed(rows).cpu().numpy() for rows in parts])

    return initial_labels(
        read,
        batches.views.n_rows,
        params["n_clusters"],
        seed=seed,
        collectives=batches.collectives,
    )


def make_task(params: Mapping[str, Any], parts: Parts) -> PCXTask:
    """Return the task that trains the network."""
    return PCXTask(
        parts.network,
        Settings.resolve(params, parts.batches.per_epoch),
        parts.batches,
        pairs=parts.pairs,
        initial=parts.initial,
        seed=parts.seed,
        collectives=parts.batches.collectives,
    )


def assigned(network: PCXNetwork, batches: Batches) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the codes of the rows in their order, and their squared distances to the centroids."""
    device = network.centroids.device
    for views in batches.in_order():
        yield assign_rows(network, torch.from_numpy(np.hstack(views)).to(device))


@dataclass(frozen=True)
class Labelled:
    """The clusters of all rows.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    inertia : float
        Sum of the squared distances to the nearest centroid.
    exemplars : ndarray of shape (k,)
        The rows nearest to the centroids.
    """

    labels: np.ndarray
    inertia: float
    exemplars: np.ndarray


def label_all(network: PCXNetwork, batches: Batches) -> Labelled:
    """Label every row and find the row nearest to each centroid, in one pass."""
    n_rows, collectives = batches.views.n_rows, batches.collectives
    first = share_of(n_rows, collectives).start
    labels, inertia, exemplars = ArrayBuilder(), 0.0, NearestRows(len(network.centroids), first)
    for _, distances in assigned(network, batches):
        own = distances.min(1)
        labels.add(own.indices)
        inertia += float(own.values.double().sum())
        exemplars.add(distances)
    whole = gathered(labels.joined(), n_rows, collectives)
    return Labelled(whole, collectives.sum(inertia), exemplars.over(collectives))


def membership_tau(parts: Parts, options: PCXOptions, labels: np.ndarray) -> float:
    """Return the tau of the memberships that users see.

    Training draws codes so close to their centroids that any tau that suited it makes everyone certain. So the
    mean confidence is set to what can be checked without labels: the share of neighbours in one cluster.
    """
    distances = assign_rows(parts.network, parts.sample.to(parts.network.centroids.device))[1]
    if parts.pairs is not None and options.relative_weights:
        return calibrated_tau(distances, parts.pairs.agreement(labels))
    mean_distance = float(distances.amin(1).mean())
    return options.tau / mean_distance if options.relative_weights and mean_distance > 0 else options.tau
