"""The contrastive losses: of clusters (Eqs. 39 to 43), of rows (Eq. 44), across rows of a cluster (Eqs. 48 to 50)."""

# b rows of a batch, l lines of a table of pairs, d features of an embedding, k clusters,
# M small clusters, P pseudo-rows of each

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.methods.mvsib.attraction import Pairs, same_cluster
from coterie.ops.cluster_statistics import count_and_sum

_LINES = 512  # of a table of cosines at a time: what stays in the processor's cache


class Pseudo(NamedTuple):
    """Pseudo-rows of small clusters."""

    clusters: Tensor  # (M,)
    rows: Tensor  # (M, P, d): of unit length


def cluster_contrast(
    consensus: Tensor, view: Tensor, labels: Tensor, n_clusters: int, tau: float, pseudo: Pseudo | None = None
) -> Tensor:
    r"""Return the contrast of a view's clusters with those of the consensus (Eqs. 39 to 43, with M11).

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
    queries = F.normalize(sums[there], dim=1)
    keys = F.normalize(count_and_sum(view, labels, n_clusters)[1][there], dim=1)
    own = (queries * keys).sum(1) / tau
    others = (queries @ queries.T / tau).fill_diagonal_(-torch.inf)
    if pseudo is None:
        return (torch.logsumexp(torch.cat([own[:, None], others], 1), 1) - own).mean()
    size = pseudo.rows.shape[1]
    theirs = (torch.einsum("cd,mpd->cmp", queries, pseudo.rows) / tau).logsumexp(2) - math.log(size)
    mine = torch.arange(n_clusters, device=labels.device)[there][:, None] == pseudo.clusters
    attract = torch.cat([own[:, None], theirs.masked_fill(~mine, -torch.inf)], 1).logsumexp(1)
    everything = torch.cat([own[:, None], others, theirs], 1).logsumexp(1)
    return (everything - attract).mean()


class Contrasts(NamedTuple):
    """Two losses of the cosines of a view, means over rows."""

    rows: Tensor  # (): contrast of rows with their positives in the consensus (Eq. 44)
    # (): contrast with the rows of their cluster in the view (Eq. 49); 0 where it is off
    across: Tensor


class Kin(NamedTuple):
    """Positives of the contrast across rows: the other rows of a cluster."""

    # (l, b): the weights S of pairs, lines that sum to one or are empty; they get no gradient
    weights: Tensor
    n_paired: Tensor  # (): how many of all b rows have a pair


class Members(NamedTuple):
    """The clusters of rows."""

    labels: Tensor  # (b,)
    certainty: Tensor  # (b,): membership of each row in its own cluster

    def among(self, rows: Tensor) -> Members:
        """Return those of some rows."""
        return Members(self.labels[rows], self.certainty[rows])

    def kin(self, lines: slice = slice(None)) -> Kin:
        """Return the positives of the rows of some lines.

        Examples
        --------
        >>> Members(torch.tensor([0, 0, 1]), torch.ones(3)).kin(slice(2, 3))
        Kin(weights=tensor([[0., 0., 0.]]), n_paired=tensor(2))
        """
        sizes = torch.bincount(self.labels[self.certainty > 0])
        return Kin(pair_weights(self.labels, self.certainty, lines), sizes[sizes > 1].sum())


class Asked(NamedTuple):
    """The terms of the contrasts of a view."""

    view: Tensor  # (b, d): unit rows
    consensus: Tensor  # (b, d): unit rows; the same tensor as `view` for the consensus itself
    pairs: Pairs  # of all rows, or of this process's part of them
    kin: Kin | None = None


def contrasts(asked: Sequence[Asked], tau: float) -> list[Contrasts]:
    r"""Return the contrast of rows (Eq. 44 in the form of the specification) and that across rows (Eq. 49).

    .. math:: -\log \frac{\sum_+ w_{ij} e^{z_i \bar z_j / \tau}}
        {\sum_+ e^{z_i \bar z_j / \tau} + \sum_- \omega_{ir} (e^{z_i \bar z_r / \tau} + e^{z_i z_r / \tau})}
        \quad\text{and}\quad
        -\sum_j \hat S_{ij} \log \frac{e^{z_i z_j / \tau}}{\sum_{r \ne i} e^{z_i z_r / \tau}}

    The first is a mean over rows, never negative unless a weight exceeds 1, the second over those that have a pair.
    Where pairs are those of some lines only, each is the part of these lines.

    Parameters
    ----------
    tau : float
        At least 0.025.

    Examples
    --------
    >>> rows = torch.eye(2)
    >>> pairs = Pairs(torch.tensor([[0, 1], [0, 1]]), torch.ones(2), 1 - torch.eye(2))
    >>> float(contrasts([Asked(rows, rows, pairs)], tau=0.05)[0].rows) < 1e-6
    True
    """
    others = [
        term.view if term.view is term.consensus else torch.cat([term.consensus, term.view]) for term in asked
    ]
    losses = _Contrasts.apply(asked, tau, *others)
    return [Contrasts(*pair) for pair in zip(losses[::2], losses[1::2], strict=True)]


class _Contrasts(torch.autograd.Function):
    """The contrasts of rows with one or two tables of b others, one below the other, the last their own view.

    Both need the same cosines, and their gradients are written out and taken at once, while a few lines of the table
    of cosines are at hand: autograd would write a dozen such tables, and most of an epoch's time would go there.
    With e = exp(cosine / tau) and the sums A of the numerator and D of the denominator, the gradient for a cosine is
    (omega e / D + e / D - w e / A) / tau, the last two for the few pairs that attract; and 1 / D is taken by the
    products with rows.
    """

    @staticmethod
    def forward(ctx: Any, asked: Sequence[Asked], tau: float, *others: Tensor) -> tuple[Tensor, ...]:
        steps_of, losses = [], []
        for term, table in zip(asked, others, strict=True):
            n_rows = len(term.view)
            compared = term.view[: 0 if term.kin is None else n_rows]
            steps = Steps(torch.zeros_like(table), torch.zeros_like(compared))
            sums = table.new_zeros(2)
            for start in range(0, len(term.pairs.negative), _LINES):
                lines = slice(start, min(start + _LINES, len(term.pairs.negative)))
                some_kin = None if term.kin is None else term.kin.weights[lines]
                sums += _add_lines(table, n_rows, term.pairs.of_lines(lines), some_kin, tau, steps)
            n_paired = 1 if term.kin is None else term.kin.n_paired.clamp(min=1)
            steps_of += [steps.rows.div_(tau * n_rows), steps.across.div_(tau * n_paired)]
            losses += [sums[0] / n_rows, sums[1] / n_paired]
        ctx.save_for_backward(*steps_of)
        return tuple(losses)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *by_losses: Tensor) -> tuple[Tensor | None, ...]:
        gradients, saved = [], ctx.saved_tensors
        for i in range(0, len(saved), 2):
            step = by_losses[i] * saved[i]
            if len(saved[i + 1]):
                step[-len(saved[i + 1]) :] += by_losses[i + 1] * saved[i + 1]
            gradients.append(step)
        return None, None, *gradients


class Steps(NamedTuple):
    """Gradients of both contrasts before they are divided by tau and the number of rows or of paired rows."""

    rows: Tensor  # (b or 2 b, d): of the contrast of rows, for all that rows are compared with
    across: Tensor  # (b, d): of that across rows, for the rows of the view; empty where it is off


def _add_lines(
    others: Tensor, n_rows: int, pairs: Pairs, kin: Tensor | None, tau: float, steps: Steps
) -> Tensor:
    """Add the gradients of some lines, and return the sums of both losses, (2,)."""
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
    across = rows.new_zeros(())
    if kin is not None and wanted is not None:
        paired = kin.sum(1) > 0
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
    return torch.stack([(total.log() - attract.log()).sum(), across])


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
    return weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
