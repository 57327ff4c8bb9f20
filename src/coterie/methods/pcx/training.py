"""How PC-X is trained: initial clusters, corrected by self-training, then codes and centroids together (Alg. 1)."""

# n rows, b rows of a batch, D features, r axes of them that are seen, d code features, k clusters

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from coterie.data.batches import Batch, Batches
from coterie.data.subsets import some_rows
from coterie.engine.adam import Adam
from coterie.engine.loop import Callback, Record
from coterie.engine.schedule import mixed_seed
from coterie.engine.stopping import Settling
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.pcx import objective
from coterie.methods.pcx.network import PCXNetwork, encode_batches, encode_rows
from coterie.methods.pcx.options import PCXSettings
from coterie.methods.run_setup import make_loop, see_all
from coterie.methods.self_training import SelfTrained, correct_partition
from coterie.nn.contrast import neighbour_contrast
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import cluster_centers, count_and_sum
from coterie.ops.distances import nearest
from coterie.ops.distributed_rows import agree, agreed, even_parts, gathered, joined, of_share
from coterie.ops.kmeans import kmeans
from coterie.ops.memberships import entropy, log_memberships
from coterie.ops.pca import principal_axes
from coterie.store import below

_SCALE_MEMORY = 0.99
_KMEANS_ROWS = 100_000
_CODE_ROWS = 5000
_PROBE_ROWS = 1024
_TINY = 1e-12


def train(task: PCXTask, initial: np.ndarray | None, callbacks: Sequence[Callback] = ()) -> list[Record]:
    """Start the clusters, then train codes and centroids together until nothing moves; return the history."""
    settling = None
    if task.options.settle:
        settling = Settling(task.epochs.total, task.batches.per_epoch, watched=("reconstruction",))
    loop = make_loop(task, callbacks, settling=settling)
    with loop:
        if not task.started:
            start_clusters(task, initial)
        loop.train()
    if not task.started:  # interrupted in self-training
        start_clusters(task, initial, self_training=False)
    return loop.history


def start_clusters(task: PCXTask, initial: np.ndarray | None, *, self_training: bool = True) -> None:
    """Place the centroids by the initial partition (n,), which self-training corrects."""
    if task.options.init == "xavier":
        task.draw_centroids(torch.Generator().manual_seed(mixed_seed(task.seed, -1)))
        return
    labels = initial_partition(task, initial)
    trained = task.self_train(labels) if self_training else None
    task.place_centroids(labels if trained is None else trained.labels)


def initial_partition(task: PCXTask, initial: np.ndarray | None) -> np.ndarray:
    """Return the partition of the kNN graph, (n,), or k-means of the compared rows where there is none."""
    k, collectives = task.settings.n_clusters, task.collectives
    if initial is not None and len(np.unique(initial)) == k:
        return agreed(initial, collectives)
    generator = torch.Generator().manual_seed(mixed_seed(task.seed, -1))
    numbers = some_rows(task.batches.views.n_rows, max(_KMEANS_ROWS, k), task.seed)
    seen = task.network.projection(task.tensor(task.batches.read(numbers)))
    centers = kmeans(seen, k, generator=generator, n_init=10, quiet=True).centers
    mine = ArrayBuilder.of(
        nearest(task.network.projection(task.tensor(views)), centers)[0] for views in task.batches.in_order()
    )
    return agreed(gathered(mine.joined(), task.batches.views.n_rows, collectives), collectives)


@torch.no_grad()
def start_encoder(encoder: nn.Sequential, classifier: nn.Sequential, seen: Tensor) -> None:
    """Give an encoder the hidden layers of a classifier, and a code along the principal axes of its features."""
    hidden, last = encoder[:-1], cast(nn.Linear, encoder[-1])
    hidden.load_state_dict(classifier[:-1].state_dict())
    features = hidden(seen[:_CODE_ROWS])
    axes = principal_axes(features, len(last.weight), generator=torch.Generator().manual_seed(0))
    axes = axes / (features @ axes).std(0).mean().clamp(min=_TINY)
    weights = torch.zeros_like(last.weight)
    weights[: axes.shape[1]] = axes.T
    last.load_state_dict({"weight": weights, "bias": -weights @ features.mean(0)})


@dataclass(frozen=True)
class Assigned:
    """The codes of a batch and their labels, for the step of the centroids."""

    codes: Tensor
    labels: Tensor


class PCXTask:
    """PC-X as a task of the training loop.

    Parameters
    ----------
    graph : Pairs, optional
        Neighbours, from which positives are drawn.

    Attributes
    ----------
    started : bool
        Whether the centroids have been placed.
    seen : Tensor of shape (n, r) or None
        What the encoder sees of all rows, where there are neighbours and it takes up to 256 MB: no batch is
        projected again.
    """

    def __init__(
        self,
        network: PCXNetwork,
        settings: PCXSettings,
        batches: Batches,
        *,
        graph: Pairs | None = None,
        seed: int,
    ) -> None:
        self.network, self.settings, self.batches, self.graph, self.seed = (
            network,
            settings,
            batches,
            graph,
            seed,
        )
        self.options, self.epochs = settings.options, settings.epochs(batches.per_epoch)
        self.collectives, self.device = batches.collectives, network.centroids.device
        self.optimizer = Adam(network.parameters(), settings.learning_rate)
        self.started = False
        self.seen = None if graph is None else see_all(network.projection, batches, self.device)
        self._epoch = 0
        self._scale = torch.zeros(2, device=self.device)  # moving means: clustering loss, nearest distance
        self._initial: Tensor | None = None  # labels that rows keep at first
        self._idle = torch.zeros(settings.n_clusters, device=self.device)  # batches since a cluster had rows
        self._noise = torch.Generator(self.device)
        self._converged = False  # whether the nearest centroids give the initial labels
        self._probe_rows, self._probe = self._draw_probe()
        self._probe_labels: Tensor | None = None

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's noise."""
        self._epoch = epoch
        self._noise.manual_seed(mixed_seed(self.seed, epoch))
        self.network.train()

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Assigned]:
        """Return the terms of Eq. 9, the neighbour contrast and the consistency on a batch."""
        own = self._codes(batch)
        codes, positives = joined(own, batch, self.collectives), self._positive_codes(batch)
        distances = self.network.distances(codes)
        labels, holds = self._labels(batch.rows, distances), self._keeps_initial()
        centroids = of_share(self.network.centroids[labels], batch)
        if self.options.straight_through:
            centroids = own + (centroids - own).detach()
        decoded = self.network.decode(own, centroids, self._noise_like(codes, batch))
        terms = {"reconstruction": self._reconstruction(self.tensor(batch.views), decoded, batch)}
        if positives is not None:
            terms["contrast"] = neighbour_contrast(codes, positives, self.collectives)
        clustering = objective.clustering(distances, labels, self._size_weights())
        self._track(clustering, distances)
        log_lambda = log_memberships(distances, self._tau())
        alike = {"clustering": clustering}  # terms that every process computes on the whole batch
        if self._entropy_is_on():
            alike["entropy"] = entropy(log_lambda)
        if holds:
            alike["consistency"] = objective.consistency(log_lambda, labels)
        elif positives is not None:
            theirs = self.network.distances(positives).detach().argmin(1)
            alike["consistency"] = objective.consistency(log_lambda, theirs)
        terms |= even_parts(alike, self.collectives)
        return {"loss": self._weighted(terms), **terms}, Assigned(codes.detach(), labels)

    @torch.no_grad()
    def after_step(self, carried: Assigned) -> None:
        """Move the centroids (Eq. 6 and 7) and the sizes (Eq. 13)."""
        network, options = self.network, self.options
        counts, sums = count_and_sum(carried.codes, carried.labels, self.settings.n_clusters)
        if options.centroid_update == "sums":
            centroids, sizes = objective.average_of_sums(
                network.centroids,
                network.sizes,
                counts,
                sums,
                memory=options.memory,
                epsilon=options.smoothing,
            )
        else:
            centroids = objective.centroid_step(network.centroids, counts, sums, self._memory(counts))
            sizes = objective.size_step(network.sizes, counts, options.memory)
        if not options.fixed_centroids:
            network.centroids.copy_(centroids)
        network.sizes.copy_(sizes)
        self._idle = torch.where(counts > 0, 0, self._idle + 1)

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Measure on the probe rows: clusters in use, certainty, labels that changed."""
        agree(self.network.buffers(), self.collectives)  # a BatchNorm saw the rows of its process only
        distances = encode_rows(self.network, self._probe)[1]
        labels = distances.argmin(1)
        record: dict[str, float | str | int] = {
            "used_clusters": int((self._idle < self.batches.per_epoch).sum()),
            "certainty": float(log_memberships(distances, self._tau()).exp().amax(1).mean()),
        }
        if self._probe_labels is not None:
            record["changed"] = float((labels != self._probe_labels).double().mean())
        self._probe_labels = labels
        if self._initial is not None and not self._converged and self.options.hold < 1:
            same = labels.cpu() == self._initial[self._probe_rows]
            self._converged = bool(self.collectives.min(float(same.float().mean())) >= self.options.hold)
        return record

    def state(self) -> dict[str, Tensor]:
        """Return the network, the scales and the counters."""
        state = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        state |= {"scale": self._scale, "idle": self._idle, "started": torch.tensor(self.started)}
        state |= {"converged": torch.tensor(self._converged)}
        optional = {"probe_labels": self._probe_labels, "initial": self._initial}
        return state | {name: tensor for name, tensor in optional.items() if tensor is not None}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.network.load_state_dict(below("network.", state))
        self._scale, self._idle = state["scale"].to(self.device), state["idle"].to(self.device)
        self.started, self._converged = bool(state["started"]), bool(state["converged"])
        if "probe_labels" in state:
            self._probe_labels = state["probe_labels"].to(self.device)
        self._initial = state.get("initial")

    # The start of the clusters

    def self_train(self, labels: np.ndarray) -> SelfTrained | None:
        """Correct initial labels (n,) by self-training, whose hidden layers the encoder then starts from."""
        trained = correct_partition(
            labels,
            self.seen,
            self.graph,
            self.batches,
            n_clusters=self.settings.n_clusters,
            hidden=self.settings.hidden,
            seed=self.seed,
            length=self.options.self_training,
        )
        encoder = self.network.encoder
        if trained is not None and self.settings.encoder == "mlp" and isinstance(encoder, nn.Sequential):
            start_encoder(encoder, trained.network, cast(Tensor, self.seen))
        return trained

    @torch.no_grad()
    def place_centroids(self, partition: np.ndarray) -> None:
        """Place the centroids and sizes by a partition of all rows (n,), whose labels rows keep at first."""
        labels, codes = torch.from_numpy(partition).to(self.device, torch.long), self.encode_all()
        self._initial = labels.to("cpu", torch.int32)
        # Two clusters drawn to one point would stay there: that of a ring must not be that of what it surrounds.
        self.network.centroids.copy_(cluster_centers(codes, labels, self.settings.n_clusters))
        counts = torch.bincount(labels, minlength=self.settings.n_clusters)
        self.network.sizes.copy_(counts * self.settings.batch_size / len(codes))
        self.started = True

    @torch.no_grad()
    def draw_centroids(self, generator: torch.Generator) -> None:
        """Draw the centroids by Xavier's rule, as the paper does."""
        centroids = self.network.centroids
        bound = math.sqrt(6 / sum(centroids.shape))
        centroids.copy_(torch.rand(centroids.shape, generator=generator) * 2 * bound - bound)
        apart = self.options.centroid_update == "sums"  # counts of the authors' code start at zero
        self.network.sizes.fill_(0 if apart else self.settings.batch_size / self.settings.n_clusters)
        self.started = True

    def encode_all(self) -> Tensor:
        """Return the codes of all rows, (n, d), in evaluation mode."""
        mine = ArrayBuilder.of(codes for codes, _ in encode_batches(self.network, self.batches)).joined()
        return torch.from_numpy(gathered(mine, self.batches.views.n_rows, self.collectives)).to(self.device)

    # Terms and weights

    def _weighted(self, terms: dict[str, Tensor]) -> Tensor:
        """Return the weighted sum of the terms."""
        options = self.options
        weights: dict[str, float | Tensor] = {
            "reconstruction": options.reconstruction_weight,
            "contrast": options.neighbor_weight,
            "clustering": options.centroid_weight,
            "entropy": options.entropy_weight,
            "consistency": options.consistency_weight,
        }
        if options.relative_weights:
            weights["clustering"] = options.centroid_weight / self._scale[0].clamp(min=1e-12)
        return torch.stack([weights[name] * term for name, term in terms.items()]).sum()

    def _positive_codes(self, batch: Batch) -> Tensor | None:
        """Return the codes of the positives of a batch's rows, if it has any."""
        if batch.partners is None:
            return None
        return joined(self._codes(batch.partners), batch.partners, self.collectives)

    def _labels(self, rows: np.ndarray, distances: Tensor) -> Tensor:
        """Return k(n): at first the initial label, then the nearest centroid."""
        if self._initial is not None and self._keeps_initial():
            return self._initial[rows].to(self.device, torch.long)
        return distances.detach().argmin(1)

    def _keeps_initial(self) -> bool:
        """Whether rows keep their initial labels: until these are the labels of the nearest centroids."""
        return self._initial is not None and self.options.hold > 0 and not self._converged

    def _reconstruction(self, mine: Tensor, decoded: Tensor, batch: Batch) -> Tensor:
        """Return this process's part of the reconstruction error."""
        error = objective.reconstruction(self.network.target(mine), decoded, self.options.reconstruction)
        return batch.part * error

    def _noise_like(self, codes: Tensor, batch: Batch) -> Tensor | None:
        """Return noise of size `code_noise`, relative to the codes or not, for the rows of this process, or None."""
        if self.options.code_noise == 0:
            return None
        noise = torch.randn(codes.shape, generator=self._noise, device=self.device)
        if self.options.relative_weights:
            noise = noise * codes.detach().std(0, correction=0).mean()
        return of_share(self.options.code_noise * noise, batch)

    @torch.no_grad()
    def _track(self, clustering: Tensor, distances: Tensor) -> None:
        """Follow the scales that relative weights and tau refer to (spec 3.3)."""
        now = torch.stack([clustering, distances.amin(1).mean()]).detach()
        self._scale = torch.where(
            self._scale > 0, _SCALE_MEMORY * self._scale + (1 - _SCALE_MEMORY) * now, now
        )

    def _tau(self) -> float | Tensor:
        """Return the sharpness of Eq. 2: relative to the mean distance to the nearest centroid, or as given."""
        if not self.options.relative_weights:
            return self.options.tau
        return self.options.tau / self._scale[1].clamp(min=1e-12)

    def _entropy_is_on(self) -> bool:
        return self.options.entropy_weight > 0 and not self._keeps_initial() and self._is_burnt_in()

    def _is_burnt_in(self) -> bool:
        return not self.epochs.within(self.options.burn_in, self._epoch)

    def _size_weights(self) -> Tensor | None:
        if not (self.options.imbalance and self._is_burnt_in()):
            return None
        return objective.size_weights(self.network.sizes, self.options.smoothing)

    def _memory(self, counts: Tensor) -> float | Tensor:
        options = self.options
        if options.centroid_update == "fixed":
            return options.memory
        rho = objective.penalty_rho(options.centroid_weight, options.memory, self.settings.n_clusters)
        return objective.centroid_memory(counts, float(counts.sum()), rho=rho, weight=options.centroid_weight)

    # Rows as tensors

    @property
    def pairs(self) -> Pairs | None:
        """The neighbours from which positives of a batch are drawn; none where their contrast has no weight."""
        return self.graph if self.options.neighbor_weight > 0 else None

    def _draw_probe(self) -> tuple[np.ndarray, Tensor]:
        """Return the numbers of some rows, and the rows."""
        numbers = some_rows(self.batches.views.n_rows, _PROBE_ROWS, self.seed)
        return numbers, self.tensor(self.batches.read(numbers))

    def _codes(self, batch: Batch) -> Tensor:
        """Return the codes of this process's rows of a batch."""
        if self.seen is None:
            return self.network.encode(self.tensor(batch.views))
        return self.network.encoder(self.seen[torch.from_numpy(batch.rows[batch.own]).to(self.device)])

    def tensor(self, views: list[np.ndarray]) -> Tensor:
        """Return the concatenated views of rows, (b, D), on the device."""
        return torch.from_numpy(views[0] if len(views) == 1 else np.hstack(views)).to(self.device)
