"""A student of the start: it learns the clusters that were found and corrects them where they are not smooth.

The start follows the neighbours, and some neighbours are wrong. A classifier that is trained afresh on the start's
clusters does not learn all of its mistakes; made smooth around every row, certain, and true to the sizes of the
clusters, it moves its boundaries to where rows are few. Not in the paper; the terms are those of IMSAT (Hu et al.
2017: virtual adversarial training and mutual information), with the neighbours of PC-X beside them.
"""

# n rows, b rows of a batch, D features, k clusters

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.collectives import Collectives
from coterie.data.batches import Batch, Batches
from coterie.engine.adam import Adam
from coterie.engine.loop import Loop
from coterie.graph.neighbour_pairs import Pairs
from coterie.methods.pcx import objective
from coterie.nn.autoencoder import initialise, mlp
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.distributed_rows import even_parts, gathered, joined, of_share

_LEARNING_RATE = 2e-3
_TAUGHT = 0.2  # share of the epochs in which the start's clusters are taught
_REACH = 0.25  # length of the worst step, in distances to the partner
_PROBE = 0.05  # length of the step that finds its direction
_CERTAINTY, _SIZES, _AGREEMENT = 0.3, 1.0, 0.5  # weights


def size_divergence(log_lambda: Tensor, sizes: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence of the batch's mean memberships from the clusters' shares.

    Examples
    --------
    >>> size_divergence(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([1.0, 1.0]))
    tensor(0.)
    """
    mean, shares = log_lambda.exp().mean(0), sizes / sizes.sum()
    return (torch.special.xlogy(mean, mean) - mean * shares.clamp(min=1e-6).log()).sum()


def disagreement(log_lambda: Tensor, partners: Tensor) -> Tensor:
    """Return the mean -log of the probability that a row and its partner are of one cluster.

    Examples
    --------
    >>> disagreement(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]).log())
    tensor(0.6931)
    """
    return -(log_lambda + partners).logsumexp(1).mean()


def worst_step(
    log_lambda: Callable[[Tensor], Tensor],
    rows: Tensor,
    now: Tensor,
    reach: Tensor,
    noise: Tensor,
) -> Tensor:
    """Return the step of the given length that changes the memberships of each row most, to first order.

    One power iteration from a random direction (Miyato et al. 2018): the gradient of the divergence of the
    memberships after a small random step, which the Hessian of the divergence has turned to its main direction.

    Parameters
    ----------
    log_lambda : callable
        Maps rows (b, D) to log memberships (b, k).
    rows : Tensor of shape (b, D)
    now : Tensor of shape (b, k)
        The log memberships of the rows.
    reach : Tensor of shape (b, 1)
        Lengths of the steps.
    noise : Tensor of shape (b, D)
        The random direction.

    Returns
    -------
    Tensor of shape (b, D)
    """
    step = (_PROBE / _REACH * reach * F.normalize(noise, dim=1)).requires_grad_()
    change = divergence(now.detach(), log_lambda(rows + step))
    (gradient,) = torch.autograd.grad(change, step)
    return reach * F.normalize(gradient, dim=1, eps=1e-30)


def divergence(now: Tensor, after: Tensor) -> Tensor:
    """Return the mean Kullback-Leibler divergence of log memberships from what they were.

    Examples
    --------
    >>> divergence(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.5, 0.5]]).log())
    tensor(0.)
    """
    return F.kl_div(after, now, reduction="batchmean", log_target=True)


class StudentTask:
    """The student as a task of the training loop.

    Parameters
    ----------
    model : Module
        Maps rows as they are compared, (b, D), to (b, k) logits.
    look : callable
        Maps the scaled views of rows to the (b, D) rows as they are compared.
    labels : Tensor of shape (n,)
        The clusters of the start.
    n_clusters : int
    taught : int
        Epochs in which those are taught.
    generator : torch.Generator
        Decides the directions that are tried.
    collectives : Collectives
    """

    def __init__(
        self,
        model: nn.Module,
        look: Callable[[list[np.ndarray]], Tensor],
        labels: Tensor,
        *,
        n_clusters: int,
        taught: int,
        generator: torch.Generator,
        collectives: Collectives,
    ) -> None:
        self.model, self.look, self.labels, self.taught = model, look, labels, taught
        self.collectives = collectives
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
        """Return the terms on a batch: at first the start's clusters, then what corrects them."""
        assert batch.partners is not None
        rows, positives = self.look(batch.views), self.look(batch.partners.views)
        now, theirs = self.memberships(torch.cat([rows, positives])).chunk(2)
        reach = _REACH * (rows - positives).norm(dim=1, keepdim=True)
        worst = worst_step(self.memberships, rows, now, reach, self._noise(rows, batch))
        found = torch.cat([now, theirs, self.memberships(rows + worst)], dim=1)
        now, theirs, after = joined(found, batch, self.collectives).chunk(3, dim=1)
        terms = {
            "smoothness": divergence(now.detach(), after),
            "agreement": _AGREEMENT * disagreement(now, theirs),
        }
        if self._epoch < self.taught:
            terms["teaching"] = F.nll_loss(now, self.labels[batch.rows])
        else:
            terms["entropy"] = _CERTAINTY * objective.entropy(now)
            terms["sizes"] = _SIZES * size_divergence(now, self.sizes)
        parts = even_parts(terms, self.collectives)
        return {"loss": torch.stack(list(parts.values())).sum(), **parts}, None

    def _noise(self, mine: Tensor, batch: Batch) -> Tensor:
        """Return noise of the shape of this process's rows, its part of the noise of all."""
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


def correct(
    labels: Tensor,
    look: Callable[[list[np.ndarray]], Tensor],
    batches: Batches,
    pairs: Pairs,
    *,
    widths: Sequence[int],
    n_epochs: int,
    generator: torch.Generator,
    collectives: Collectives,
) -> Tensor:
    """Return the clusters of all rows after a student has learned and corrected them.

    Parameters
    ----------
    labels : Tensor of shape (n,)
        The clusters of the start.
    look : callable
        Maps the scaled views of rows to the (b, D) rows as they are compared.
    batches : Batches
    pairs : Pairs
    widths : sequence of int
        Of the student's layers, from D to k.
    n_epochs : int
        A fifth of them teach the start's clusters, the others correct them.
    generator : torch.Generator
    collectives : Collectives

    Returns
    -------
    Tensor of shape (n,)
    """
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        model = mlp(widths)
    initialise(model, generator)
    model.to(labels.device)
    noise = torch.Generator(labels.device).manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
    task = StudentTask(
        model,
        look,
        labels,
        n_clusters=widths[-1],
        taught=math.ceil(_TAUGHT * n_epochs),
        generator=noise,
        collectives=collectives,
    )
    loop = Loop(
        task,
        lambda epoch: batches.epoch(epoch, pairs),
        per_epoch=batches.per_epoch,
        max_epochs=n_epochs,
        schedule=lambda done: (1 + math.cos(math.pi * done)) / 2,
        collectives=collectives,
    )
    with torch.enable_grad():
        loop.run()
    if loop.interrupted:
        raise KeyboardInterrupt
    with torch.no_grad():
        found = ArrayBuilder.of(model(look(views)).argmax(1) for views in batches.in_order()).joined()
        return torch.from_numpy(gathered(found, batches.views.n_rows, collectives)).to(labels.device)
