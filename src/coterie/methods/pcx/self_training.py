"""Self-training: a classifier learns the initial labels and corrects them.

The initial labels follow the kNN graph, and some neighbours are wrong. A classifier trained on them does not learn
all mistakes. Entropy minimisation, a size prior, neighbour agreement and virtual adversarial training then move its
decision boundaries to where rows are sparse. Not in the paper; the terms are those of IMSAT (Hu et al. 2017) and the
agreement of neighbours.
"""

# n rows, b rows of a batch, D features, k clusters

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.data.batches import Batch, Batches
from coterie.engine.adam import Adam
from coterie.engine.loop import Loop
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.pcx import objective
from coterie.nn.autoencoder import initialise, mlp
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.distributed_rows import even_parts, gathered, joined, of_share

_LEARNING_RATE = 2e-3
_SUPERVISED = 0.2  # share of the epochs that fit the initial labels
_RADIUS = 0.25  # length of the adversarial step, relative to the distance to the positive
_PROBE = 0.05  # length of the step that finds its direction
_ENTROPY, _SIZES, _AGREEMENT = 0.3, 1.0, 0.5  # weights


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
    """Return the step (b, D) of the given lengths that changes the memberships most, to first order.

    One power iteration from a random direction (virtual adversarial training, Miyato et al. 2018): the gradient of
    the divergence after a small random step approximates the main direction of the divergence's Hessian.

    Parameters
    ----------
    log_lambda : callable
        Maps rows (b, D) to log memberships (b, k).
    rows : Tensor of shape (b, D)
    now : Tensor of shape (b, k)
        Log memberships of the rows.
    radius : Tensor of shape (b, 1)
        Lengths of the steps.
    noise : Tensor of shape (b, D)
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
    model : Module
        Maps inputs (b, D) to logits (b, k).
    inputs : callable
        Maps the scaled views of rows to the model's inputs (b, D).
    labels : Tensor of shape (n,)
        Initial labels.
    n_supervised : int
        Epochs that fit the initial labels.
    generator : torch.Generator
        Draws the random directions.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Callable[[list[np.ndarray]], Tensor],
        labels: Tensor,
        *,
        n_clusters: int,
        n_supervised: int,
        batches: Batches,
        generator: torch.Generator,
    ) -> None:
        self.model, self.inputs, self.labels, self.n_supervised = model, inputs, labels, n_supervised
        self.collectives = batches.collectives
        self.sizes = torch.bincount(labels, minlength=n_clusters).float()
        self.optimizer = Adam(model.parameters(), _LEARNING_RATE)
        self._generator = generator
        self._epoch = 0

    def begin_epoch(self, epoch: int) -> None:
        """Take note of the epoch."""
        self._epoch = epoch

    def memberships(self, rows: Tensor) -> Tensor:
        """Return the log memberships of rows."""
        return self.model(rows).log_softmax(1)

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the terms on a batch: supervised at first, then entropy and sizes."""
        assert batch.partners is not None
        rows, positives = self.inputs(batch.views), self.inputs(batch.partners.views)
        now, theirs = self.memberships(torch.cat([rows, positives])).chunk(2)
        radius = _RADIUS * (rows - positives).norm(dim=1, keepdim=True)
        step = adversarial_step(self.memberships, rows, now, radius, self._noise(rows, batch))
        mine = torch.cat([now, theirs, self.memberships(rows + step)], dim=1)
        now, theirs, after = joined(mine, batch, self.collectives).chunk(3, dim=1)
        terms = {
            "adversarial": divergence(now.detach(), after),
            "agreement": _AGREEMENT * disagreement(now, theirs),
        }
        if self._epoch < self.n_supervised:
            terms["supervised"] = F.nll_loss(now, self.labels[batch.rows])
        else:
            terms["entropy"] = _ENTROPY * objective.entropy(now)
            terms["sizes"] = _SIZES * size_divergence(now, self.sizes)
        parts = even_parts(terms, self.collectives)
        return {"loss": torch.stack(list(parts.values())).sum(), **parts}, None

    def _noise(self, mine: Tensor, batch: Batch) -> Tensor:
        """Return this process's part of a batch of Gaussian noise."""
        shape = (len(batch.rows), mine.shape[1])
        return of_share(torch.randn(shape, generator=self._generator, device=mine.device), batch)

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Add nothing to the record."""
        return {}

    def state(self) -> dict[str, Tensor]:
        """Return the model's weights."""
        return self.model.state_dict()

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.model.load_state_dict(state)


def self_train(
    labels: Tensor,
    inputs: Callable[[list[np.ndarray]], Tensor],
    batches: Batches,
    pairs: Pairs,
    *,
    widths: Sequence[int],
    n_epochs: int,
    generator: torch.Generator,
) -> Tensor:
    """Train a classifier on initial labels (n,) and return its labels (n,).

    Parameters
    ----------
    labels : Tensor of shape (n,)
    inputs : callable
        Maps the scaled views of rows to the classifier's inputs (b, D).
    pairs : Pairs
        Neighbours, from which positives are drawn.
    widths : sequence of int
        Of the classifier's layers, from D to k.
    """
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        model = mlp(widths)
    initialise(model, generator)
    model.to(labels.device)
    noise = torch.Generator(labels.device).manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
    task = SelfTrainingTask(
        model,
        inputs,
        labels,
        n_clusters=widths[-1],
        n_supervised=math.ceil(_SUPERVISED * n_epochs),
        batches=batches,
        generator=noise,
    )
    Loop(
        task,
        lambda epoch: batches.epoch(epoch, pairs),
        per_epoch=batches.per_epoch,
        max_epochs=n_epochs,
        schedule=lambda done: (1 + math.cos(math.pi * done)) / 2,
        collectives=batches.collectives,
    ).train()
    with torch.no_grad():
        mine = ArrayBuilder.of(model(inputs(views)).argmax(1) for views in batches.in_order()).joined()
    return torch.from_numpy(gathered(mine, batches.views.n_rows, batches.collectives)).to(labels.device)
