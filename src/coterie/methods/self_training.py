"""Self-training: a classifier learns the initial labels, and its features correct them.

The initial labels follow the kNN graph of the rows along a few axes, and some neighbours are wrong. A classifier with
entropy minimisation, a size prior, neighbour agreement and virtual adversarial training moves its decision boundaries
to where rows are sparse (the terms of IMSAT, Hu et al. 2017, and the agreement of neighbours). Its last hidden layer
brings rows of a class together: in the kNN graph of these features each row then follows its neighbours.
"""

# n rows, b rows of a batch, r columns, k clusters, h features of the last hidden layer

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.data.batches import Batches
from coterie.engine.adam import Adam
from coterie.engine.loop import Loop
from coterie.engine.schedule import mixed_seed
from coterie.graph.candidates import refine_labels
from coterie.graph.initial import graph_of_rows
from coterie.graph.neighbour_pairs import Pairs
from coterie.nn.autoencoder import initialise, mlp
from coterie.ops.distributed_rows import agreed
from coterie.ops.memberships import entropy
from coterie.ops.pca import principal_axes

LEAST_ROWS = 256
"""Rows a cluster, in the mean, that self-training needs: of fewer the classifier learns the mistakes by heart."""

_STEPS, _EPOCHS = 300, 5  # the longer of the two
_LEARNING_RATE = 4e-3
_RISE = 0.1  # share of the steps over which the rate rises; then it falls as a cosine
_SUPERVISED = 0.5  # share of the steps that fit the initial labels
_RADIUS = 0.25  # length of the adversarial step, relative to the distance to the positive
_PROBE = 0.05  # length of the step that finds its direction
_ENTROPY, _SIZES, _AGREEMENT = 0.3, 1.0, 0.5  # weights
_FEATURE_AXES = 32
_PASS_ROWS = 4096
_LOST_PAIRS = 0.01

PairBatches = Callable[[int], Iterable[tuple[np.ndarray, np.ndarray]]]
"""Maps the number of an epoch to its batches: numbers of rows, and of a neighbour of each."""


class SelfTrained(NamedTuple):
    """The corrected labels (n,), and the classifier, an MLP from rows to logits."""

    labels: np.ndarray
    network: nn.Sequential


def correct_partition(
    labels: np.ndarray,
    rows: Tensor | None,
    graph: Pairs | None,
    batches: Batches,
    *,
    n_clusters: int,
    hidden: Sequence[int],
    seed: int,
    length: float,
) -> SelfTrained | None:
    """Self-train on the initial labels of rows (n, r), or return None where these are to be kept.

    They are where rows are not held in memory or a cluster has too few of them, where neighbours come apart more
    often by the new labels, by more than a hundredth of all pairs, and where a cluster loses all its rows.
    """
    if graph is None or length == 0 or rows is None or len(labels) < LEAST_ROWS * n_clusters:
        return None
    trained = self_train(
        rows,
        labels,
        lambda epoch: batches.pairs(epoch, graph),
        per_epoch=batches.per_epoch,
        hidden=hidden,
        seed=seed,
        length=length,
    )
    corrected = agreed(trained.labels, batches.collectives)
    if len(np.unique(corrected)) < n_clusters:
        return None
    if graph.agreement(corrected) < graph.agreement(labels) - _LOST_PAIRS:
        return None
    return SelfTrained(corrected, trained.network)


def self_train(
    rows: Tensor,
    labels: np.ndarray,
    pairs: PairBatches,
    *,
    per_epoch: int,
    hidden: Sequence[int],
    seed: int,
    length: float = 1.0,
) -> SelfTrained:
    """Train a classifier on the initial labels of rows, and correct the labels by the kNN graph of its features.

    Parameters
    ----------
    rows : Tensor of shape (n, r)
        As they are compared.
    labels : ndarray of shape (n,)
        Initial labels, from 0 to k - 1.
    pairs : callable
        Batches of rows and neighbours.
    per_epoch : int
        How many of them an epoch has.
    hidden : sequence of int
        Widths of the hidden layers.
    seed : int
    length : float
        Factor of the 300 steps, or 5 epochs where those are more.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 100)
    >>> rows = torch.from_numpy(rng.normal(size=(200, 4)) + 6 * truth[:, None]).float()
    >>> wrong = np.where(rng.random(200) < 0.1, 1 - truth, truth)
    >>> def batches(epoch):
    ...     yield np.arange(0, 200, 2), np.arange(1, 200, 2)
    >>> trained = self_train(rows, wrong, batches, per_epoch=1, hidden=(16,), seed=0)
    >>> int((wrong != truth).sum()), int((trained.labels != truth).sum())
    (23, 0)
    """
    k, generator = int(labels.max()) + 1, torch.Generator().manual_seed(mixed_seed(seed, -3))
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        network = mlp([rows.shape[1], *hidden, k])
    initialise(network, generator)
    network.to(rows.device)
    n_epochs = math.ceil(length * max(_STEPS / per_epoch, _EPOCHS))
    task = SelfTrainingTask(network, rows, labels, n_supervised=math.ceil(_SUPERVISED * n_epochs), seed=seed)
    Loop(task, pairs, per_epoch=per_epoch, max_epochs=n_epochs, schedule=_one_cycle).train()
    return SelfTrained(correct_labels(network, rows, k, seed), network)


def _one_cycle(done: float) -> float:
    return done / _RISE + 0.01 if done < _RISE else (1 + math.cos(math.pi * (done - _RISE) / (1 - _RISE))) / 2


@torch.no_grad()
def correct_labels(network: nn.Sequential, rows: Tensor, n_clusters: int, seed: int) -> np.ndarray:
    """Return the labels (n,) of a classifier, refined row by row in the kNN graph of its last hidden layer."""
    features = torch.cat([network[:-1](part) for part in rows.split(_PASS_ROWS)])
    labels = torch.cat([network[-1](part).argmax(1) for part in features.split(_PASS_ROWS)]).cpu().numpy()
    axes = principal_axes(features, _FEATURE_AXES, generator=torch.Generator().manual_seed(seed))
    graph = graph_of_rows((features @ axes).cpu().numpy())
    own = np.zeros(graph.matrix.shape[0], dtype=np.int64)
    own[graph.nodes] = labels
    return refine_labels(graph.matrix, own, n_clusters, np.random.default_rng(seed))[graph.nodes]


def size_divergence(log_lambda: Tensor, sizes: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence of the batch's mean memberships from the clusters' shares.

    Examples
    --------
    >>> size_divergence(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([1.0, 1.0]))
    tensor(0.)
    """
    mean, shares = log_lambda.exp().mean(0), sizes / sizes.sum()
    return (torch.special.xlogy(mean, mean) - mean * shares.clamp(min=1e-6).log()).sum()


def disagreement(log_lambda: Tensor, positives: Tensor) -> Tensor:
    """Return the mean -log of the probability that a row and its positive share a cluster.

    Examples
    --------
    >>> disagreement(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]).log())
    tensor(0.6931)
    """
    return -(log_lambda + positives).logsumexp(1).mean()


def adversarial_step(
    log_lambda: Callable[[Tensor], Tensor],
    rows: Tensor,
    now: Tensor,
    radius: Tensor,
    noise: Tensor,
) -> Tensor:
    """Return the step (b, r) of the given lengths that changes the memberships most, to first order.

    One power iteration from a random direction (virtual adversarial training, Miyato et al. 2018): the gradient of
    the divergence after a small random step approximates the main direction of the divergence's Hessian.

    Parameters
    ----------
    log_lambda : callable
        Maps rows (b, r) to log memberships (b, k).
    rows : Tensor of shape (b, r)
    now : Tensor of shape (b, k)
        Log memberships of the rows.
    radius : Tensor of shape (b, 1)
        Lengths of the steps.
    noise : Tensor of shape (b, r)
        The random direction.
    """
    step = (_PROBE / _RADIUS * radius * F.normalize(noise, dim=1)).requires_grad_()
    change = divergence(now.detach(), log_lambda(rows + step))
    (gradient,) = torch.autograd.grad(change, step)
    return radius * F.normalize(gradient, dim=1, eps=1e-30)


def divergence(now: Tensor, after: Tensor) -> Tensor:
    """Return the mean Kullback-Leibler divergence between log memberships before and after a step.

    Examples
    --------
    >>> divergence(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.5, 0.5]]).log())
    tensor(0.)
    """
    return F.kl_div(after, now, reduction="batchmean", log_target=True)


class SelfTrainingTask:
    """Self-training as a task of the training loop.

    Parameters
    ----------
    network : Module
        Maps rows (b, r) to logits (b, k).
    rows : Tensor of shape (n, r)
    labels : ndarray of shape (n,)
        Initial labels.
    n_supervised : int
        Epochs that fit the initial labels.
    seed : int
    """

    def __init__(
        self, network: nn.Module, rows: Tensor, labels: np.ndarray, *, n_supervised: int, seed: int
    ) -> None:
        self.network, self.rows, self.n_supervised, self.seed = network, rows, n_supervised, seed
        self.labels = torch.from_numpy(labels).to(rows.device, torch.long)
        self.sizes = torch.bincount(self.labels).float()
        self.optimizer = Adam(network.parameters(), _LEARNING_RATE)
        self._noise = torch.Generator(rows.device)
        self._epoch = 0

    def begin_epoch(self, epoch: int) -> None:
        """Seed the epoch's random directions."""
        self._epoch = epoch
        self._noise.manual_seed(mixed_seed(self.seed, epoch))

    def memberships(self, rows: Tensor) -> Tensor:
        """Return the log memberships of rows."""
        return self.network(rows).log_softmax(1)

    def losses(self, batch: tuple[np.ndarray, np.ndarray]) -> tuple[dict[str, Tensor], None]:
        """Return the terms on a batch: supervised at first, then entropy and sizes."""
        numbers, positive_numbers = batch
        rows, positives = self.rows[numbers], self.rows[positive_numbers]
        now, theirs = self.memberships(torch.cat([rows, positives])).chunk(2)
        radius = _RADIUS * (rows - positives).norm(dim=1, keepdim=True)
        noise = torch.randn(rows.shape, generator=self._noise, device=rows.device)
        step = adversarial_step(self.memberships, rows, now, radius, noise)
        terms = {
            "adversarial": divergence(now.detach(), self.memberships(rows + step)),
            "agreement": _AGREEMENT * disagreement(now, theirs),
        }
        if self._epoch < self.n_supervised:
            terms["supervised"] = F.nll_loss(now, self.labels[numbers])
        else:
            terms["entropy"] = _ENTROPY * entropy(now)
            terms["sizes"] = _SIZES * size_divergence(now, self.sizes)
        return {"loss": torch.stack(list(terms.values())).sum(), **terms}, None

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Add nothing to the record."""
        return {}

    def state(self) -> dict[str, Tensor]:
        """Return the weights."""
        return self.network.state_dict()

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.network.load_state_dict(state)
