"""From data and parameters to a fitted network: the sample, the start, the sweeps, the clusters."""

# n rows, s rows of the sample, v views, m anchors, c clusters

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.data import Scaler
from coterie.graph.outliers import scaled_rows
from coterie.graph.scaling import Sample
from coterie.methods.largemvc import objective
from coterie.methods.largemvc.features import ColumnFeatures, LandmarkFeatures, SideBySide
from coterie.methods.largemvc.inputs import Inputs, Seen
from coterie.methods.largemvc.network import AnchorModule, Layer, UnfoldedNetwork, inverse_softplus
from coterie.methods.largemvc.passes import Passes
from coterie.methods.largemvc.rows import Rows, SparseRows, scores, squares, sums
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.anchors import tied
from coterie.ops.cluster_statistics import NearestRows, cluster_means
from coterie.ops.distances import nearest, squared_distances
from coterie.ops.kmeans import kmeans
from coterie.ops.polar import clip_spectrum, polar

_LANDMARKS = 1000
_LEAST = 1e-12


@dataclass(frozen=True)
class Scaled:
    """The sample as its rows are compared.

    Attributes
    ----------
    views : list of Tensor of shape (s, d)
    beside : SideBySide, optional
        Puts the views side by side, where there are several; its landmarks are not placed yet.
    table : Tensor of shape (s, D), optional
        The views side by side.
    """

    views: list[Tensor]
    beside: SideBySide | None = None
    table: Tensor | None = None


def scale_sample(sample: Sample, scaler: Scaler, params: Mapping[str, Any]) -> Scaled:
    """Scale the sample, once for everything that is learned from it."""
    views = scaled_rows(scaler, sample.blocks, sample.sound)
    if len(views) == 1:
        return Scaled(views)
    width = landmark_count(params["options"].n_landmarks, params["n_clusters"], int(sample.complete.sum()))
    beside = SideBySide(width, [x.shape[1] for x in views]).fit(views, torch.from_numpy(sample.sound))
    return Scaled(views, beside, beside.table(views))


def fit_inputs(
    sample: Sample, scaled: Scaled, scaler: Scaler, params: Mapping[str, Any], generator: torch.Generator
) -> Inputs:
    """Fit what the layers see of each view."""
    features: list[ColumnFeatures | LandmarkFeatures] = []
    for v, rows in enumerate(scaled.views):
        own = torch.from_numpy(np.flatnonzero(sample.sound[:, v]))
        own = own if len(own) else torch.arange(1)
        if params["options"].features == "columns":
            features.append(ColumnFeatures(rows.shape[1]).fit(rows[own]))
            continue
        width = landmark_count(params["options"].n_landmarks, params["n_clusters"], len(own))
        raw = torch.from_numpy(sample.blocks[v])
        landmarks = LandmarkFeatures(width, rows.shape[1])
        features.append(landmarks.fit(rows[own], raw[own], generator=generator))
    beside = _place_beside(sample, scaled, params, generator)
    return Inputs(scaler, features, sample.guards, beside, sample.idle.tolist())


def _place_beside(
    sample: Sample, scaled: Scaled, params: Mapping[str, Any], generator: torch.Generator
) -> SideBySide | None:
    """Place the landmarks of all views side by side, where enough rows have all of them."""
    whole = torch.from_numpy(np.flatnonzero(sample.complete))
    if scaled.beside is None or scaled.table is None:
        return None
    if params["options"].features == "columns" or len(whole) < 2 * params["n_clusters"]:
        return None
    rows = scaled.table[whole]
    scaled.beside.landmarks.fit(rows, rows, generator=generator)
    return scaled.beside


def landmark_count(asked: int | str, n_clusters: int, n_rows: int) -> int:
    """Return how many landmarks a view gets: ten a cluster, 1,000 at least, half the rows at most.

    Examples
    --------
    >>> landmark_count("auto", 10, 10_000), landmark_count("auto", 10, 100), landmark_count(7, 10, 100)
    (1000, 50, 7)
    """
    most = max(1, n_rows // 2)
    return min(max(10 * n_clusters, _LANDMARKS) if asked == "auto" else int(asked), most)


def start_network(network: UnfoldedNetwork, seen: Seen, labels: Tensor, params: Mapping[str, Any]) -> float:
    """Set the first anchors from a partition of the sample, and the thresholds; return alpha (spec 2.4, 2.5)."""
    m = len(network.represent.mixing)
    members = F.one_hot(labels.long(), m).to(seen.present)
    first = []
    for v, rows in enumerate(seen.rows):
        own = members * seen.present[:, v : v + 1]
        cross = sums(own, rows).to(own)
        narrow = m > cross.shape[1]
        even = torch.eye(*cross.shape).to(cross) * (_LEAST + 1e-6 * torch.linalg.matrix_norm(cross))
        first.append(
            clip_spectrum(cross / own.sum(0).clamp(min=1)[:, None]) if narrow else polar(cross + even)
        )
    for layer in range(network.n_layers + 1):
        network.set_anchors(layer, first)
    wanted = objective.mean_present(
        [scores(x, p) for x, p in zip(seen.rows, first, strict=True)], seen.present
    )
    alpha = params["options"].sparsity * float(wanted.amax(1).mean().clamp(min=0))
    with torch.no_grad():
        theta = torch.full_like(network.represent.raw_theta, max(alpha, _LEAST))
        network.represent.raw_theta.copy_(inverse_softplus(theta))
        if network.noise is not None:
            codes = objective.code_step(wanted, alpha)
            lengths = network.lengths(seen.rows, codes, 0)
            rho = _quantiles(lengths, seen.present, params["options"].noise_quantile)
            network.noise.raw_rho.copy_(
                inverse_softplus(rho.clamp(min=1e-6)).expand_as(network.noise.raw_rho)
            )
    return alpha


def _quantiles(lengths: Tensor, present: Tensor, q: float) -> Tensor:
    """Return the q-quantile of the residuals of each view over the rows that have it, (v,)."""
    found = []
    for v in range(lengths.shape[1]):
        own = lengths[present[:, v] > 0, v]
        found.append(own.quantile(q) if len(own) else lengths.new_ones(()))
    return torch.stack(found)


@torch.no_grad()
def sweep(
    network: UnfoldedNetwork,
    data: Iterable[Seen],
    layer: int,
    *,
    alpha: float,
    fixed: bool = False,
    collectives: Collectives = ALONE,
) -> float:
    """Run one layer over all rows and set the anchors of the next; return J per row before the anchor step.

    Every piece goes through the layers before this one again, so nothing is kept from piece to piece but sums of
    the anchors' size (spec 2.8).
    """
    module = AnchorModule(network.anchors(layer))
    beta = network.noise.rho[layer] if network.noise is not None else None
    total = torch.zeros(2, dtype=torch.float64)
    for seen in data:
        last = network(seen.rows, seen.present, layer + 1)[-1]
        module.add(last.codes, seen.rows, last.weights, seen.present)
        limit = torch.full_like(last.lengths[0], torch.inf) if beta is None else beta
        value = objective.objective(last.lengths, last.codes, seen.present, alpha=alpha, beta=limit)
        total += torch.tensor([float(value), len(seen.present)], dtype=torch.float64)
    total = collectives.sum(total)
    if fixed:
        network.set_anchors(layer + 1, network.anchors(layer))
    else:
        network.set_anchors(layer + 1, module.step(collectives))
    return float(total[0] / total[1])


def directions(layer: Layer) -> Tensor:
    """Return codes of unit length, (b, m); a code that the threshold emptied takes the mean before it (spec 6)."""
    empty = layer.codes.sum(1, keepdim=True) <= 0
    return F.normalize(torch.where(empty, layer.mean, layer.codes), dim=1, eps=_LEAST)


@torch.no_grad()
def place_centers(
    codes: Tensor, labels: Tensor | None, n_clusters: int, *, generator: torch.Generator
) -> Tensor:
    """Return the centres of k-means on unit codes, (c, m), started from a partition where there is one."""
    if labels is None:
        return kmeans(codes, n_clusters, generator=generator, n_init=10, quiet=True).centers
    means = cluster_means(codes, labels, n_clusters)
    return kmeans(codes, n_clusters, generator=generator, start=means, quiet=True).centers


@torch.no_grad()
def best_shares(seen: Seen, n_views: int, n_anchors: int) -> np.ndarray:
    """Return the share of each view that codes of this length could explain at best, (v,): its leading variance."""
    shares = []
    for rows in seen.rows[:n_views]:
        values = torch.linalg.eigvalsh(_gram(rows)).clamp(min=0)
        shares.append(float(values[-n_anchors:].sum() / values.sum().clamp(min=_LEAST)))
    return np.array(shares)


def _gram(rows: Rows) -> Tensor:
    """Return X' X, (f, f)."""
    if isinstance(rows, SparseRows):
        table = tied(rows.columns.cpu().numpy(), rows.values.cpu().numpy(), rows.width)
        return torch.from_numpy((table.T @ table).toarray())
    return rows.T @ rows


@torch.no_grad()
def encode(
    network: UnfoldedNetwork, data: Iterable[Seen], centers: Tensor
) -> Iterator[tuple[Seen, Layer, Tensor]]:
    """Yield pieces of the rows, what the last layer gives for them, and squared distances to the centres.

    The layers run in double precision: some processors round narrow products differently from line to line, and a
    row must get the same code wherever it stands.
    """
    exact, places = copy.deepcopy(network).double(), centers.double()
    for seen in data:
        n_rows = len(seen.present)
        whole = seen.padded(-n_rows % FORWARD_ROWS).double()
        last = exact(whole.rows, whole.present)[-1]
        distances = squared_distances(directions(last), places)
        yield seen, last.first(n_rows).single(), distances[:n_rows].float()


@dataclass(frozen=True)
class Assigned:
    """What one pass over all rows tells.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    weights : ndarray of shape (n, v)
        Of each row in each view; 0 where a view does not count.
    corrupt : ndarray of bool, shape (n, v)
    exemplars : ndarray of shape (c,)
        The rows nearest to the centres.
    inertia : float
    explained : ndarray of shape (v,)
        Share of each view that the codes explain.
    """

    labels: np.ndarray
    weights: np.ndarray
    corrupt: np.ndarray
    exemplars: np.ndarray
    inertia: float
    explained: np.ndarray


@torch.no_grad()
def assign_all(
    network: UnfoldedNetwork, data: Passes, centers: Tensor, collectives: Collectives = ALONE
) -> Assigned:
    """Label all rows, in one pass."""
    shape, first, inertia = (data.views.n_rows, data.views.n_views), data.first, 0.0
    # Filled in place: thousands of small arrays that stay would keep freed memory from going back.
    labels, weights, corrupt = (
        np.zeros(shape[0], np.int64),
        np.zeros(shape, np.float32),
        np.zeros(shape, bool),
    )
    left, whole = torch.zeros(2, len(network.widths), dtype=torch.float64, device=centers.device)
    nearest_sound, nearest_any = (NearestRows(len(centers), first) for _ in range(2))
    for seen, last, distances in encode(network, data, centers):
        own = distances.min(1)
        nearest_sound.add(distances.masked_fill(~_without_fault(seen, data.inputs)[:, None], torch.inf))
        nearest_any.add(distances)
        part = slice(first, first + len(distances))
        first = part.stop
        inertia += float(own.values.double().sum())
        labels[part] = own.indices.cpu().numpy()
        weights[part] = (last.weights * seen.present)[:, : shape[1]].cpu().numpy()
        corrupt[part] = seen.corrupt.cpu().numpy()
        lengths = network.lengths(seen.rows, last.codes, network.n_layers)
        left += (lengths.square() * seen.present).sum(0)
        whole += torch.stack([seen.present[:, v] @ squares(x) for v, x in enumerate(seen.rows)])
    left, whole = collectives.sum(torch.stack([left, whole]))
    explained = 1 - left / whole.clamp(min=_LEAST)
    return Assigned(
        collectives.sum(labels),
        collectives.sum(weights),
        collectives.sum(corrupt),
        np.where(
            nearest_sound.found(collectives), nearest_sound.over(collectives), nearest_any.over(collectives)
        ),
        collectives.sum(inertia),
        explained.clamp(min=0)[: shape[1]].float().cpu().numpy(),
    )


def _without_fault(seen: Seen, inputs: Inputs) -> Tensor:
    """Return which rows have every view that says something, none of them corrupt, (b,)."""
    present = seen.present[:, : len(inputs.idle)]
    complete: Tensor = (present[:, ~inputs.idle] > 0).all(1)
    return complete


def kmeans_start(rows: Tensor, n_anchors: int, *, generator: torch.Generator) -> Tensor:
    """Return k-means labels on the leading left singular vectors of the views side by side (spec 2.5)."""
    vectors = torch.linalg.svd(rows, full_matrices=False)[0][:, :n_anchors].contiguous()
    return nearest(vectors, kmeans(vectors, n_anchors, generator=generator, quiet=True).centers)[0]
