"""The contrastive losses: of clusters (Eqs. 39 to 43), of rows (Eq. 44), across rows of a cluster (Eqs. 48 to 50)."""

# b rows of a batch, l of them whose lines of a table are asked for, d features of an embedding, k clusters,
# M small clusters, P pseudo-rows of each

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.collectives import ALONE, Collectives
from coterie.methods.mvsib.attraction import Pairs, same_cluster
from coterie.ops.groups import count_and_sum

_LINES = 512  # of a table of cosines at a time: what stays in the processor's cache


class Pseudo(NamedTuple):
    """Pseudo-rows of small clusters.

    Attributes
    ----------
    clusters : Tensor of shape (M,)
    rows : Tensor of shape (M, P, d)
        Of unit length.
    """

    clusters: Tensor
    rows: Tensor


def cluster_contrast(
    consensus: Tensor, view: Tensor, labels: Tensor, n_clusters: int, tau: float, pseudo: Pseudo | None = None
) -> Tensor:
    r"""Return how badly a view's clusters are found by those of the consensus (Eqs. 39 to 43, with M11).

    .. math:: -\frac{1}{|C|} \sum_c \log \frac{P_c}{P_c + N_c},\quad
        P_c = e^{q_c k_c / \tau} + \overline{e^{q_c \psi_c / \tau}},\quad
        N_c = \sum_{j \ne c} e^{q_c q_j / \tau} + \overline{e^{q_c \psi_j / \tau}}

    over the clusters in the batch, whose mean directions are q in the consensus and k in the view; pseudo-rows count
    for small clusters, averaged.

    Parameters
    ----------
    consensus, view : Tensor of shape (b, d)
        Unit rows.
    labels : Tensor of shape (b,)
    n_clusters : int
    tau : float
    pseudo : Pseudo, optional
        Of clusters in the batch.

    Examples
    --------
    >>> rows = torch.eye(2)
    >>> float(cluster_contrast(rows, rows, torch.tensor([0, 1]), 2, tau=0.05)) < 1e-6
    True
    """
    counts, sums = count_and_sum(consensus, labels, n_clusters)
    there = counts > 0
    asked = F.normalize(sums[there], dim=1)
    found = F.normalize(count_and_sum(view, labels, n_clusters)[1][there], dim=1)
    own = (asked * found).sum(1) / tau
    others = (asked @ asked.T / tau).fill_diagonal_(-torch.inf)
    if pseudo is None:
        return (torch.logsumexp(torch.cat([own[:, None], others], 1), 1) - own).mean()
    size = pseudo.rows.shape[1]
    theirs = (torch.einsum("cd,mpd->cmp", asked, pseudo.rows) / tau).logsumexp(2) - math.log(size)
    mine = torch.arange(n_clusters, device=labels.device)[there][:, None] == pseudo.clusters
    attract = torch.cat([own[:, None], theirs.masked_fill(~mine, -torch.inf)], 1).logsumexp(1)
    everything = torch.cat([own[:, None], others, theirs], 1).logsumexp(1)
    return (everything - attract).mean()


class Contrasts(NamedTuple):
    """Two losses of the cosines of a view, means over rows.

    Attributes
    ----------
    rows : Tensor of shape ()
        How badly rows find their partners in the consensus (Eq. 44).
    across : Tensor of shape ()
        How badly they find the rows of their cluster in the view (Eq. 49); 0 where it is not asked for.
    """

    rows: Tensor
    across: Tensor


class Asked(NamedTuple):
    """A view whose contrasts are asked for.

    Attributes
    ----------
    view, consensus : Tensor of shape (b, d)
        Unit rows; the same tensor twice is the consensus beside itself.
    pairs : Pairs
        Of all rows, or of this process's part of them.
    kin : Tensor of shape (l, b), optional
        The weights S of pairs, from `pair_weights`; they get no gradient.
    """

    view: Tensor
    consensus: Tensor
    pairs: Pairs
    kin: Tensor | None = None


def contrasts(asked: Sequence[Asked], tau: float, collectives: Collectives = ALONE) -> list[Contrasts]:
    r"""Return the contrast of rows (Eq. 44 in the form of the specification) and that across rows (Eq. 49).

    .. math:: -\log \frac{\sum_+ w_{ij} e^{z_i \bar z_j / \tau}}
        {\sum_+ e^{z_i \bar z_j / \tau} + \sum_- \omega_{ir} (e^{z_i \bar z_r / \tau} + e^{z_i z_r / \tau})}
        \quad\text{and}\quad
        -\sum_j \hat S_{ij} \log \frac{e^{z_i z_j / \tau}}{\sum_{r \ne i} e^{z_i z_r / \tau}}

    The first is a mean over rows, never negative unless a weight exceeds 1, the second over those that have a pair.

    Parameters
    ----------
    asked : sequence of Asked
    tau : float
        At least 0.025.
    collectives : Collectives
        Processes that all have these rows, and share the sums over i.

    Examples
    --------
    >>> rows = torch.eye(2)
    >>> pairs = Pairs(torch.tensor([[0, 1], [0, 1]]), torch.ones(2), 1 - torch.eye(2))
    >>> float(contrasts([Asked(rows, rows, pairs)], tau=0.05)[0].rows) < 1e-6
    True
    """
    others = [
        one.view if one.view is one.consensus else torch.cat([one.consensus, one.view]) for one in asked
    ]
    losses = _Contrasts.apply(asked, tau, collectives, *others)
    return [Contrasts(*pair) for pair in zip(losses[::2], losses[1::2], strict=True)]


class _Contrasts(torch.autograd.Function):
    """The contrasts of rows with one or two tables of b others, one below the other, the last their own view.

    Both need the same cosines, and their gradients are written out and taken at once, while a few lines of the table
    of cosines are at hand: autograd would write a dozen such tables, and most of an epoch's time would go there.
    With e = exp(cosine / tau) and the sums A of the numerator and D of the denominator, the gradient for a cosine is
    (omega e / D + e / D - w e / A) / tau, the last two for the few pairs that attract; and 1 / D is taken by the
    products with rows. What processes add up travels once, for all views together.
    """

    @staticmethod
    def forward(
        ctx: Any, asked: Sequence[Asked], tau: float, collectives: Collectives, *others: Tensor
    ) -> tuple[Tensor, ...]:
        sizes = []
        for one, table in zip(asked, others, strict=True):
            sizes += [table.numel(), 0 if one.kin is None else one.view.numel(), 3]
        found = others[0].new_zeros(sum(sizes))
        parts = found.split(sizes)
        for i, (one, table) in enumerate(zip(asked, others, strict=True)):
            by_rows, across, sums = parts[3 * i : 3 * i + 3]
            steps = Steps(by_rows.view_as(table), across.view(-1, table.shape[1]))
            for start in range(0, len(one.pairs.negative), _LINES):
                lines = slice(start, min(start + _LINES, len(one.pairs.negative)))
                some_kin = None if one.kin is None else one.kin[lines]
                sums += _add_lines(table, len(one.view), one.pairs.of_lines(lines), some_kin, tau, steps)
        parts = collectives.sum(found).split(sizes)
        steps_of, losses = [], []
        for i, (one, table) in enumerate(zip(asked, others, strict=True)):
            by_rows, across, sums = parts[3 * i : 3 * i + 3]
            n_rows, n_paired = len(one.view), sums[2].clamp(min=1)
            steps_of += [by_rows.view_as(table) / (tau * n_rows)]
            steps_of += [across.view(-1, table.shape[1]) / (tau * n_paired)]
            losses += [sums[0] / n_rows, sums[1] / n_paired]
        ctx.save_for_backward(*steps_of)
        return tuple(losses)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *by_losses: Tensor) -> tuple[Tensor | None, ...]:
        found, saved = [], ctx.saved_tensors
        for i in range(0, len(saved), 2):
            step = by_losses[i] * saved[i]
            if len(saved[i + 1]):
                step[-len(saved[i + 1]) :] += by_losses[i + 1] * saved[i + 1]
            found.append(step)
        return None, None, None, *found


class Steps(NamedTuple):
    """Gradients of both contrasts before they are divided by tau and the number of rows or of paired rows.

    Attributes
    ----------
    rows : Tensor of shape (b or 2 b, d)
        Of the contrast of rows, for all that rows are compared with.
    across : Tensor of shape (b, d)
        Of that across rows, for the rows of the view; empty where it is not asked for.
    """

    rows: Tensor
    across: Tensor


def _add_lines(
    others: Tensor, n_rows: int, pairs: Pairs, kin: Tensor | None, tau: float, steps: Steps
) -> Tensor:
    """Add the gradients of some lines, and return the sums of both losses and the number of paired rows, (3,)."""
    rows, n_lines, (line, column) = others[-n_rows:], len(pairs.negative), pairs.places
    lines = slice(pairs.start, pairs.start + n_lines)
    asked = rows[lines]
    table = asked / tau @ others.T
    own = table[:, -n_rows:]
    wanted = None if kin is None else (kin * own).sum(1)
    # At most e^40 and at least e^-40 for a tau of at least 1 / 40: these neither overflow nor vanish.
    table.exp_()
    pulls = table[line, column]
    attract, linked = rows.new_zeros(2, n_lines)
    attract.index_add_(0, line, pairs.weights * pulls)
    linked.index_add_(0, line, pulls)
    across, n_paired = rows.new_zeros(2)
    if kin is not None and wanted is not None:
        paired = kin.sum(1) > 0
        n_paired = paired.sum()
        own.diagonal(pairs.start).zero_()
        reach = own.sum(1)
        across = torch.where(paired, reach.log() - wanted, 0.0).sum()
        step = (own * (paired / reach)[:, None]).sub_(kin)
        steps.across[lines] += step @ rows
        steps.across.add_(step.T @ asked)
    table.view(n_lines, -1, n_rows).mul_(pairs.negative[:, None])
    if len(others) == n_rows:
        table.mul_(2)
    total = linked + table.sum(1)
    table.index_put_((line, column), pulls * (1 - pairs.weights * (total / attract)[line]), accumulate=True)
    factor = 1 / total[:, None]
    steps.rows[-n_rows:][lines] += factor * (table @ others)
    steps.rows.add_(table.T @ (factor * asked))
    return torch.stack([(total.log() - attract.log()).sum(), across, n_paired])


def pair_weights(labels: Tensor, certainty: Tensor, lines: slice = slice(None)) -> Tensor:
    """Return what pairs of one cluster count, rows that sum to one or are empty, (l, b) (Eq. 48).

    Parameters
    ----------
    labels : Tensor of shape (b,)
    certainty : Tensor of shape (b,)
        Membership of each row in its own cluster; the lesser of two counts.
    lines : slice
        The rows whose pairs are asked for.

    Examples
    --------
    >>> pair_weights(torch.tensor([0, 0, 1]), torch.tensor([1.0, 0.5, 1.0]))
    tensor([[0., 1., 0.],
            [1., 0., 0.],
            [0., 0., 0.]])
    """
    weights = torch.minimum(certainty[lines, None], certainty) * same_cluster(labels, lines)
    weights.diagonal(lines.start or 0).zero_()
    return summing_to_one(weights)


def summing_to_one(weights: Tensor) -> Tensor:
    """Return weights whose rows sum to one; empty rows stay empty.

    Examples
    --------
    >>> summing_to_one(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    return weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
