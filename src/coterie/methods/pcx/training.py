"""How PC-X is trained: a warm-up, a start of the centroids, then codes and slow exemplars together (Alg. 1)."""

# n rows, b rows of a batch, D features, d code features, k clusters

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.data.batches import Batch, Batches
from coterie.engine.adam import Adam
from coterie.engine.schedule import mixed_seed
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.pcx import objective
from coterie.methods.pcx.network import PCXNetwork
from coterie.methods.pcx.settings import Settings
from coterie.methods.pcx.student import correct
from coterie.nn.contrast import neighbour_contrast
from coterie.nn.forward import passes
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import cluster_centers, count_and_sum
from coterie.ops.distances import exact_distances, nearest
from coterie.ops.distributed_rows import agree, agreed, even_parts, gathered, joined, of_share
from coterie.ops.kmeans import kmeans
from coterie.ops.memberships import log_memberships
from coterie.store import below

_SCALE_MEMORY = 0.99
_KMEANS_ROWS = 100_000
_GATHERED = 0.99


@dataclass(frozen=True)
class Assigned:
    """The codes of a batch and the clusters they were given, for the step of the centroids."""

    codes: Tensor
    labels: Tensor


class PCXTask:
    """PC-X as a task of the training loop.

    Parameters
    ----------
    network : PCXNetwork
    settings : Settings
    batches : Batches
        The data, for the start and for `encode_all`.
    pairs : Pairs, optional
        The neighbours, which positives are drawn from.
    initial : ndarray of shape (n,), optional
        The partition to start from.
    seed : int
    collectives : Collectives

    Attributes
    ----------
    started : bool
        Whether the centroids have been placed.
    """

    def __init__(
        self,
        network: PCXNetwork,
        settings: Settings,
        batches: Batches,
        *,
        pairs: Pairs | None = None,
        initial: np.ndarray | None = None,
        seed: int,
        collectives: Collectives = ALONE,
    ) -> None:
        self.network, self.settings, self.batches, self.seed = network, settings, batches, seed
        self.options = settings.options
        self.pairs, self.initial = pairs, initial
        self.collectives = collectives
        self.device = network.centroids.device
        self.optimizer = Adam(network.parameters(), settings.learning_rate)
        self.started = False
        self._epoch = 0
        self._scale = torch.zeros(2, device=self.device)  # moving means: clustering loss, nearest distance
        self._held: Tensor | None = None
        self._idle = torch.zeros(settings.n_clusters, device=self.device)
        self._noise = torch.Generator(self.device)
        self._gathered = False
        self._probe_rows, self._probe = self._draw_probe()
        self._probe_labels: Tensor | None = None

    # The loop's steps

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's noise; place the centroids when the warm-up is over."""
        self._epoch = epoch
        self._noise.manual_seed(mixed_seed(self.seed, epoch))
        self.network.train()
        if not self.started and not self.settings.in_warmup(epoch):
            self.start()

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Assigned | None]:
        """Return the terms of Eq. 9, the neighbour contrast and the consistency on a batch."""
        mine = self._tensor(batch.views)
        own = self.network.encode(mine)
        codes, mates = joined(own, batch, self.collectives), self._partner_codes(batch)
        in_warmup, beside = self.settings.in_warmup(self._epoch), own
        if not in_warmup:
            distances = self.network.distances(codes)
            labels = self._labels(batch.rows, distances)
            beside = of_share(self.network.centroids[labels], batch)
        decoded = self.network.decode(own, beside, self._noise_like(codes, batch))
        terms = {"reconstruction": self._reconstruction(mine, decoded, batch)}
        if mates is not None:
            terms["contrast"] = neighbour_contrast(codes, mates, self.collectives)
        if in_warmup:
            return {"loss": self._weighted(terms), **terms}, None
        clustering = objective.clustering(distances, labels, self._size_weights())
        self._track(clustering, distances)
        log_lambda = log_memberships(distances, self._tau())
        alike = {"clustering": clustering}
        if self._entropy_is_on():
            alike["entropy"] = objective.entropy(log_lambda)
        if mates is not None and batch.partners is not None:
            theirs = self._labels(batch.partners.rows, self.network.distances(mates))
            alike["consistency"] = objective.consistency(log_lambda, theirs)
        elif self._has_settled() and self._holds_start() and not self._gathered:
            alike["consistency"] = objective.consistency(log_lambda, labels)
        terms |= even_parts(alike, self.collectives)
        return {"loss": self._weighted(terms), **terms}, Assigned(codes.detach(), labels)

    @torch.no_grad()
    def after_step(self, carried: Assigned | None) -> None:
        """Move the centroids (Eq. 6 and 7) and the sizes (Eq. 13)."""
        if carried is None:
            return
        network, options = self.network, self.options
        counts, sums = count_and_sum(carried.codes, carried.labels, self.settings.n_clusters)
        if not options.fixed_centroids:
            network.centroids.copy_(
                objective.centroid_step(network.centroids, counts, sums, self._memory(counts))
            )
        network.sizes.copy_(objective.size_step(network.sizes, counts, options.memory))
        self._idle = torch.where(counts > 0, 0, self._idle + 1)

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Look at the probe rows: clusters in use, certainty, labels that changed."""
        agree(self.network.buffers(), self.collectives)  # a BatchNorm saw the rows of its process only
        if not self.started:
            return {"phase": "warm-up"}
        distances = assign_rows(self.network, self._probe)[1]
        labels = distances.argmin(1)
        record: dict[str, float | str | int] = {
            "phase": "cluster",
            "used_clusters": int((self._idle < self.batches.per_epoch).sum()),
            "certainty": float(log_memberships(distances, self._tau()).exp().amax(1).mean()),
        }
        if self._probe_labels is not None and self.settings.past_burn_in(epoch):
            record["changed"] = float((labels != self._probe_labels).double().mean())
        self._probe_labels = labels
        if self._held is not None and not self._gathered:
            same = labels.cpu() == self._held[self._probe_rows]
            self._gathered = bool(self.collectives.min(float(same.float().mean())) >= _GATHERED)
        return record

    def state(self) -> dict[str, Tensor]:
        """Return the network, the scales and the counters."""
        state = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        state |= {"scale": self._scale, "idle": self._idle, "started": torch.tensor(self.started)}
        state |= {"gathered": torch.tensor(self._gathered)}
        optional = {"probe_labels": self._probe_labels, "held": self._held}
        return state | {name: tensor for name, tensor in optional.items() if tensor is not None}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.network.load_state_dict(below("network.", state))
        self._scale, self._idle = state["scale"].to(self.device), state["idle"].to(self.device)
        self.started, self._gathered = bool(state["started"]), bool(state["gathered"])
        if "probe_labels" in state:
            self._probe_labels = state["probe_labels"].to(self.device)
        self._held = state.get("held")

    # The start of the centroids

    @torch.no_grad()
    def start(self, in_haste: bool = False) -> None:
        """Place the centroids and the sizes; unless in haste, a student corrects the clusters."""
        settings, network = self.settings, self.network
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, -1))
        if self.options.init == "xavier":
            bound = math.sqrt(6 / sum(network.centroids.shape))
            network.centroids.copy_(
                torch.rand(network.centroids.shape, generator=generator) * 2 * bound - bound
            )
            network.sizes.fill_(settings.batch_size / settings.n_clusters)
        else:
            codes = self.encode_all()
            labels = self._initial_partition(codes, generator)
            if not in_haste:
                labels = self._correct(labels, generator)
            labels = agreed(labels, self.collectives)
            self._held = labels.to("cpu", torch.int32)
            # Two clusters drawn to one point would stay there: that of a ring must not be that of what it surrounds.
            network.centroids.copy_(cluster_centers(codes, labels, settings.n_clusters))
            counts = torch.bincount(labels, minlength=settings.n_clusters)
            network.sizes.copy_(counts * settings.batch_size / len(codes))
        self.started = True

    def _correct(self, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Return the clusters as a student corrects them, if neighbours share a cluster no less for it."""
        settings, network, pairs = self.settings, self.network, self.pairs
        n_epochs = math.ceil(self.options.student * settings.max_epochs)
        if pairs is None or n_epochs == 0:
            return labels
        found = correct(
            labels,
            lambda views: network.space(self._tensor(views)),
            self.batches,
            pairs,
            widths=[len(network.space.center), *settings.hidden, settings.n_clusters],
            n_epochs=n_epochs,
            generator=generator,
            collectives=self.collectives,
        )
        return max((found, labels), key=lambda partition: pairs.modularity(partition.cpu().numpy()))

    def _initial_partition(self, codes: Tensor, generator: torch.Generator) -> Tensor:
        """Return the partition of the rows' graph, or k-means of the codes (n, d) where there is none."""
        k = self.settings.n_clusters
        if self.initial is not None and len(np.unique(self.initial)) == k:
            return torch.from_numpy(self.initial).to(codes.device)
        some = torch.randperm(len(codes), generator=generator)[: max(_KMEANS_ROWS, k)].to(codes.device)
        centers = kmeans(codes[some], k, generator=generator, n_init=10, quiet=True).centers
        return nearest(codes, centers)[0]

    def encode_all(self) -> Tensor:
        """Return the codes of all rows, (n, d), in evaluation mode."""
        mine = ArrayBuilder.of(
            assign_rows(self.network, self._tensor(views))[0] for views in self.batches.in_order()
        )
        whole = gathered(mine.joined(), self.batches.views.n_rows, self.collectives)
        return torch.from_numpy(whole).to(self.device)

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

    def _partner_codes(self, batch: Batch) -> Tensor | None:
        """Return the codes of the partners of a batch's rows, (b, p); None where they pull no longer."""
        if self._has_settled() or batch.partners is None:
            return None
        mates = self.network.encode(self._tensor(batch.partners.views))
        return joined(mates, batch.partners, self.collectives)

    def _has_settled(self) -> bool:
        """Whether a student corrected the start: then neighbours, wrong ones among them, pull no longer."""
        return self._held is not None and self.pairs is not None and self.options.student > 0

    def _labels(self, rows: np.ndarray, distances: Tensor) -> Tensor:
        """Return k(n): the start's cluster while it is held, the nearest centroid afterwards."""
        if self._held is not None and self._holds_start():
            return self._held[rows].to(self.device, torch.long)
        return distances.detach().argmin(1)

    def _holds_start(self) -> bool:
        """Whether rows keep the clusters of the start: as long as asked, and until their codes have gathered."""
        if self.settings.holds_start(self._epoch):
            return True
        return self.options.hold > 0 and self._has_settled() and not self._gathered

    def _reconstruction(self, mine: Tensor, decoded: Tensor, batch: Batch) -> Tensor:
        """Return this process's part: how far its rows are from what they were decoded to."""
        error = objective.reconstruction(self.network.target(mine), decoded, self.options.reconstruction)
        return batch.part * error

    def _noise_like(self, codes: Tensor, batch: Batch) -> Tensor | None:
        """Return noise of `code_noise` standard deviations of the codes, for the rows of this process, or None."""
        if self.options.code_noise == 0:
            return None
        noise = torch.randn(codes.shape, generator=self._noise, device=self.device)
        size = self.options.code_noise * codes.detach().std(0, correction=0).mean()
        return of_share(noise * size, batch)

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
        return self.options.entropy_weight > 0 and self.settings.past_burn_in(self._epoch)

    def _size_weights(self) -> Tensor | None:
        if not (self.options.imbalance and self.settings.past_burn_in(self._epoch)):
            return None
        return objective.size_weights(self.network.sizes, self.options.smoothing)

    def _memory(self, counts: Tensor) -> float | Tensor:
        options = self.options
        if options.centroid_update == "fixed":
            return options.memory
        rho = objective.penalty_rho(options.centroid_weight, options.memory, self.settings.n_clusters)
        return objective.centroid_memory(counts, float(counts.sum()), rho=rho, weight=options.centroid_weight)

    # Rows as tensors

    def _draw_probe(self) -> tuple[np.ndarray, Tensor]:
        """Return the numbers of some rows, and the rows."""
        n_rows = self.batches.views.n_rows
        size = min(1024, max(64, n_rows // 32), n_rows)
        rows = np.sort(np.random.default_rng([self.seed, 2]).choice(n_rows, size, replace=False))
        return rows, self._tensor(self.batches.read(rows))

    def _tensor(self, views: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(views[0] if len(views) == 1 else np.hstack(views)).to(self.device)


@torch.no_grad()
def assign_rows(network: PCXNetwork, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the codes of rows and their squared distances to the centroids, in evaluation mode."""
    training = network.training
    network.eval()
    codes, distances = [], []
    for part, size in passes(rows):
        found = network.encode(part)
        codes.append(found[:size])
        distances.append(exact_distances(found[:size], network.centroids))
    network.train(training)
    return torch.cat(codes), torch.cat(distances)
