"""The steps of a LargeMvC-Net fit: features of a sample, initial network, sweeps over all rows, labels."""

# n rows, s rows of the sample, b rows of a batch, v views, m anchors, c clusters

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.data import Scaler
from coterie.graph.scaling import Sample
from coterie.methods.largemvc import objective
from coterie.methods.largemvc.features import (
    ColumnFeatures,
    ConcatenatedFeatures,
    LandmarkFeatures,
    Rows,
    SparseRows,
    dense,
    scores,
    squares,
    sums,
)
from coterie.methods.largemvc.inputs import FeatureBatch, Inputs, Passes
from coterie.methods.largemvc.network import AnchorModule, UnfoldedNetwork, inverse_softplus
from coterie.methods.largemvc.options import LargeMvCNetOptions
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.anchors import tied
from coterie.ops.cluster_statistics import NearestRows, cluster_means
from coterie.ops.distances import nearest, squared_distances
from coterie.ops.kmeans import kmeans
from coterie.ops.polar import clip_spectrum, polar

_LANDMARKS = 1000
_EPSILON = 1e-12


# Features


def fit_inputs(
    sample: Sample,
    scaled: list[Tensor],
    scaler: Scaler,
    n_clusters: int,
    options: LargeMvCNetOptions,
    generator: torch.Generator,
) -> Inputs:
    """Fit the features of each view, and of all views concatenated, on a sample of scaled rows (s, d)."""
    features: list[ColumnFeatures | LandmarkFeatures] = []
    for v, rows in enumerate(scaled):
        own = torch.from_numpy(np.flatnonzero(sample.sound[:, v]))
        own = own if len(own) else torch.arange(1)
        if options.features == "columns":
            features.append(ColumnFeatures(rows.shape[1], balanced=options.balanced).fit(rows[own]))
            continue
        landmarks = LandmarkFeatures(landmark_count(options, n_clusters, len(own)), rows.shape[1])
        raw = torch.from_numpy(sample.blocks[v])
        features.append(landmarks.fit(rows[own], raw[own], generator=generator))
    concatenated = None
    complete = torch.from_numpy(np.flatnonzero(sample.complete))
    if len(scaled) > 1 and options.features == "landmarks" and len(complete) >= 2 * n_clusters:
        width = landmark_count(options, n_clusters, len(complete))
        concatenated = ConcatenatedFeatures(width, [x.shape[1] for x in scaled])
        concatenated.fit(scaled, torch.from_numpy(sample.sound))
        rows = concatenated.table(scaled)[complete]
        concatenated.landmarks.fit(rows, rows, generator=generator)
    return Inputs(scaler, features, sample.guards, concatenated, sample.idle.tolist())


def landmark_count(options: LargeMvCNetOptions, n_clusters: int, n_rows: int) -> int:
    """Return the number of landmarks of a view: ten per cluster and at least 1,000, at most half the rows.

    Few rows get one per cluster all the same: fewer could not tell the clusters apart.

    Examples
    --------
    >>> auto, given = LargeMvCNetOptions(), LargeMvCNetOptions(n_landmarks=7)
    >>> landmark_count(auto, 10, 10_000), landmark_count(auto, 10, 100), landmark_count(given, 10, 100)
    (1000, 50, 7)
    """
    auto = options.n_landmarks == "auto"
    wanted = max(10 * n_clusters, _LANDMARKS) if auto else int(options.n_landmarks)
    return min(wanted, max(min(n_clusters, n_rows), n_rows // 2))


# The initial network


def kmeans_labels(batch: FeatureBatch, n_anchors: int, *, generator: torch.Generator) -> np.ndarray:
    """Return k-means labels on the leading left singular vectors of the concatenated views, (s,) (spec 2.5)."""
    rows = torch.hstack([dense(x) for x in batch.rows]).cpu()
    vectors = torch.linalg.svd(rows, full_matrices=False)[0][:, :n_anchors].contiguous()
    return nearest(vectors, kmeans(vectors, n_anchors, generator=generator, quiet=True).centers)[0].numpy()


def initialise(
    network: UnfoldedNetwork,
    batch: FeatureBatch,
    labels: Tensor,
    options: LargeMvCNetOptions,
    generator: torch.Generator,
) -> float:
    """Set the anchors from a partition of the sample, (s,), and the thresholds; return alpha (spec 2.4, 2.5)."""
    if options.random_layers:
        network.represent.draw(generator)
    m = len(network.represent.mixing)
    members = F.one_hot(labels.long(), m).to(batch.present)
    anchors = []
    for v, rows in enumerate(batch.rows):
        own = members * batch.present[:, v : v + 1]
        cross = sums(own, rows).to(own)
        if m > cross.shape[1]:
            anchors.append(clip_spectrum(cross / own.sum(0).clamp(min=1)[:, None]))
            continue
        ridge = torch.eye(*cross.shape).to(cross) * (_EPSILON + 1e-6 * torch.linalg.matrix_norm(cross))
        anchors.append(polar(cross + ridge))
    for layer in range(network.n_layers + 1):
        network.set_anchors(layer, anchors)
    mean = objective.mean_present(
        [scores(x, p) for x, p in zip(batch.rows, anchors, strict=True)], batch.present
    )
    alpha = options.sparsity * float(mean.amax(1).mean().clamp(min=0))
    with torch.no_grad():
        theta = torch.full_like(network.represent.raw_theta, max(alpha, _EPSILON))
        network.represent.raw_theta.copy_(inverse_softplus(theta))
        if network.noise is not None:
            residuals = network.residuals(batch.rows, network.represent.step(mean, alpha), 0)
            rho = _quantiles(residuals, batch.present, options.noise_quantile).clamp(min=1e-6)
            network.noise.raw_rho.copy_(inverse_softplus(rho).expand_as(network.noise.raw_rho))
    return alpha


def _quantiles(residuals: Tensor, present: Tensor, q: float) -> Tensor:
    """Return the q-quantile of the residuals of each view over the rows that have it, (v,)."""
    quantiles = []
    for v in range(residuals.shape[1]):
        own = residuals[present[:, v] > 0, v]
        quantiles.append(own.quantile(q) if len(own) else residuals.new_ones(()))
    return torch.stack(quantiles)


# Sweeps


@torch.no_grad()
def sweep(network: UnfoldedNetwork, data: Passes, layer: int, *, alpha: float, fixed: bool = False) -> float:
    """Run one layer over all rows and set the anchors of the next; return J per row before the anchor step.

    Every batch goes through the earlier layers again, so that only sums of the anchors' size are kept (spec 2.8).
    """
    module = AnchorModule(network.anchors(layer))
    beta = network.noise.rho[layer] if network.noise is not None else None
    total = torch.zeros(2, dtype=torch.float64)
    for batch in data:
        last = network(batch.rows, batch.present, layer + 1)[-1]
        module.add(last.codes, batch.rows, last.weights, batch.present)
        limit = torch.full_like(last.residuals[0], torch.inf) if beta is None else beta
        value = objective.objective(last.residuals, last.codes, batch.present, alpha=alpha, beta=limit)
        total += torch.tensor([float(value), len(batch.present)], dtype=torch.float64)
    total = data.collectives.sum(total)
    network.set_anchors(layer + 1, network.anchors(layer) if fixed else module.step(data.collectives))
    return float(total[0] / total[1])


# Labels


@torch.no_grad()
def place_centers(
    codes: Tensor, labels: Tensor | None, n_clusters: int, *, generator: torch.Generator
) -> Tensor:
    """Return the k-means centres of codes, (c, m), started from a partition where there is one."""
    if labels is None:
        return kmeans(codes, n_clusters, generator=generator, n_init=10, quiet=True).centers
    means = cluster_means(codes, labels, n_clusters)
    return kmeans(codes, n_clusters, generator=generator, start=means, quiet=True).centers


class Encoded(NamedTuple):
    """A batch with its codes, row weights and squared distances to the centres."""

    batch: FeatureBatch
    codes: Tensor  # (b, m)
    weights: Tensor  # (b, v)
    distances: Tensor  # (b, c)


@torch.no_grad()
def encode(network: UnfoldedNetwork, data: Iterable[FeatureBatch], centers: Tensor) -> Iterator[Encoded]:
    """Run all layers over batches.

    The layers run in double precision: some processors round narrow products differently from row to row, and a row
    must get the same code alone as in a batch.
    """
    exact, places = copy.deepcopy(network).double(), centers.double()
    for batch in data:
        n_rows = len(batch.present)
        padded = batch.padded(-n_rows % FORWARD_ROWS).double()
        last = exact(padded.rows, padded.present)[-1]
        distances = squared_distances(network.places(last), places)
        yield Encoded(batch, *(x[:n_rows].float() for x in (last.codes, last.weights, distances)))


@dataclass(frozen=True)
class LabelledRows:
    """The outcome of one pass over all rows."""

    labels: np.ndarray  # (n,)
    weights: np.ndarray  # (n, v), 0 where a view is missing or ignored
    corrupt: np.ndarray  # (n, v), bool
    exemplars: np.ndarray  # (c,), the rows nearest to the centres, complete and sound where possible
    inertia: float
    explained: np.ndarray  # (v,), share of each view that the codes explain


@torch.no_grad()
def label_rows(network: UnfoldedNetwork, data: Passes, centers: Tensor) -> LabelledRows:
    """Label all rows by their nearest centre, in one pass."""
    shape, first, inertia = (data.views.n_rows, data.views.n_views), data.first, 0.0
    collectives = data.collectives
    # Filled in place: thousands of small arrays that stay would keep freed memory from going back.
    labels = np.zeros(shape[0], np.int64)
    weights, corrupt = np.zeros(shape, np.float32), np.zeros(shape, bool)
    residual, total = torch.zeros(2, len(network.widths), dtype=torch.float64, device=centers.device)
    nearest_sound, nearest_any = (NearestRows(len(centers), first) for _ in range(2))
    for batch, codes, row_weights, distances in encode(network, data, centers):
        closest = distances.min(1)
        complete = (batch.present[:, : shape[1]][:, ~data.inputs.idle] > 0).all(1)
        nearest_sound.add(distances.masked_fill(~complete[:, None], torch.inf))
        nearest_any.add(distances)
        part = slice(first, first + len(distances))
        first = part.stop
        inertia += float(closest.values.double().sum())
        labels[part] = closest.indices.cpu().numpy()
        weights[part] = (row_weights * batch.present)[:, : shape[1]].cpu().numpy()
        corrupt[part] = batch.corrupt.cpu().numpy()
        residuals = network.residuals(batch.rows, codes, network.n_layers)
        residual += (residuals.square() * batch.present).sum(0)
        total += torch.stack([batch.present[:, v] @ squares(x) for v, x in enumerate(batch.rows)])
    residual, total = collectives.sum(torch.stack([residual, total]))
    explained = 1 - residual / total.clamp(min=_EPSILON)
    sound, either = nearest_sound.over(collectives), nearest_any.over(collectives)
    return LabelledRows(
        collectives.sum(labels),
        collectives.sum(weights),
        collectives.sum(corrupt),
        np.where(nearest_sound.has_row(collectives), sound, either),
        collectives.sum(inertia),
        explained.clamp(min=0)[: shape[1]].float().cpu().numpy(),
    )


@torch.no_grad()
def best_shares(rows: list[Rows], n_anchors: int) -> np.ndarray:
    """Return the largest share of each view's variance that codes of this length could explain, (v,)."""
    shares = []
    for view in rows:
        values = torch.linalg.eigvalsh(_gram(view)).clamp(min=0)
        shares.append(float(values[-n_anchors:].sum() / values.sum().clamp(min=_EPSILON)))
    return np.array(shares)


def _gram(rows: Rows) -> Tensor:
    """Return X' X, (f, f)."""
    if isinstance(rows, SparseRows):
        table = tied(rows.columns.cpu().numpy(), rows.values.cpu().numpy(), rows.width)
        return torch.from_numpy((table.T @ table).toarray())
    return rows.T @ rows
