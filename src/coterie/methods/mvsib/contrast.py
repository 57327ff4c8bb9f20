"""The contrastive losses: of clusters (Eqs. 39 to 43), of rows (Eq. 44), across rows of a cluster (Eqs. 48 to 50)."""

# b rows of a batch, d features of an embedding, k clusters, M small clusters, P pseudo-rows of each

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.methods.mvsib.attraction import Pairs, same_cluster
from coterie.ops.groups import count_and_sum


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


def contrasts(
    view: Tensor, consensus: Tensor, pairs: Pairs, tau: float, kin: Tensor | None = None
) -> Contrasts:
    r"""Return the contrast of rows (Eq. 44 in the form of the specification) and that across rows (Eq. 49).

    .. math:: -\log \frac{\sum_+ w_{ij} e^{z_i \bar z_j / \tau}}
        {\sum_+ e^{z_i \bar z_j / \tau} + \sum_- \omega_{ir} (e^{z_i \bar z_r / \tau} + e^{z_i z_r / \tau})}
        \quad\text{and}\quad
        -\sum_j \hat S_{ij} \log \frac{e^{z_i z_j / \tau}}{\sum_{r \ne i} e^{z_i z_r / \tau}}

    The first is a mean over rows, never negative unless a weight exceeds 1, the second over those that have a pair.

    Parameters
    ----------
    view, consensus : Tensor of shape (b, d)
        Unit rows; the same tensor twice is the consensus beside itself.
    pairs : Pairs
    tau : float
        At least 0.025.
    kin : Tensor of shape (b, b), optional
        The weights S of pairs, from `pair_weights`; they get no gradient.

    Examples
    --------
    >>> rows = torch.eye(2)
    >>> pairs = Pairs(torch.tensor([[0, 1], [0, 1]]), torch.ones(2), 1 - torch.eye(2))
    >>> float(contrasts(rows, rows, pairs, tau=0.05).rows) < 1e-6
    True
    """
    others, negative = view, 2 * pairs.negative
    if view is not consensus:
        others, negative = torch.cat([consensus, view]), pairs.negative
    return Contrasts(*_Contrasts.apply(view, others, pairs.places, pairs.weights, negative, kin, tau))


class _Contrasts(torch.autograd.Function):
    """The contrasts of rows (b, d) with one or two tables of b others, one below the other, the last their own view.

    Both need the same cosines, and their gradients are written out and taken at once, while the table of cosines is
    at hand: autograd would write a dozen such tables, and most of an epoch's time would go there. With e = exp(cosine
    / tau) and the sums A of the numerator and D of the denominator, the gradient for a cosine is (omega e / D + e / D
    - w e / A) / tau, the last two for the few pairs that attract; and 1 / D is taken by the products with rows.
    """

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        others: Tensor,
        places: Tensor,
        weights: Tensor,
        negative: Tensor,
        kin: Tensor | None,
        tau: float,
    ) -> tuple[Tensor, Tensor]:
        n_rows, (line, column) = len(rows), places
        table = rows / tau @ others.T
        own = table[:, -n_rows:]
        wanted = table.new_zeros(()) if kin is None else (kin * own).sum(1)
        # At most e^40 and at least e^-40 for a tau of at least 1 / 40: these neither overflow nor vanish.
        table.exp_()
        pulls = table[line, column]
        attract, linked = rows.new_zeros(2, n_rows)
        attract.index_add_(0, line, weights * pulls)
        linked.index_add_(0, line, pulls)
        across, step_across = rows.new_zeros(()), None
        if kin is not None:
            paired = kin.sum(1) > 0
            n_paired = paired.sum().clamp(min=1)
            reach = own.fill_diagonal_(0).sum(1)
            across = torch.where(paired, reach.log() - wanted, 0.0).sum() / n_paired
            steps = (own * (paired / reach)[:, None]).sub_(kin)
            step_across = (steps @ rows + steps.T @ rows) / (tau * n_paired)
        table.view(n_rows, -1, n_rows).mul_(negative[:, None])
        total = linked + table.sum(1)
        table.index_put_((line, column), pulls * (1 - weights * (total / attract)[line]), accumulate=True)
        factor = (1 / (tau * n_rows * total))[:, None]
        ctx.save_for_backward(factor * (table @ others), table.T @ (factor * rows), step_across)
        return (total.log() - attract.log()).mean(), across

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_rows: Tensor, by_across: Tensor) -> tuple[Tensor | None, ...]:
        step, step_others, step_across = ctx.saved_tensors
        step = by_rows * step if step_across is None else by_rows * step + by_across * step_across
        return step, by_rows * step_others, None, None, None, None, None


def pair_weights(labels: Tensor, certainty: Tensor) -> Tensor:
    """Return what pairs of one cluster count, rows that sum to one or are empty, (b, b) (Eq. 48).

    Parameters
    ----------
    labels : Tensor of shape (b,)
    certainty : Tensor of shape (b,)
        Membership of each row in its own cluster; the lesser of two counts.

    Examples
    --------
    >>> pair_weights(torch.tensor([0, 0, 1]), torch.tensor([1.0, 0.5, 1.0]))
    tensor([[0., 1., 0.],
            [1., 0., 0.],
            [0., 0., 0.]])
    """
    weights = torch.minimum(certainty[:, None], certainty) * same_cluster(labels)
    return summing_to_one(weights.fill_diagonal_(0))


def summing_to_one(weights: Tensor) -> Tensor:
    """Return weights whose rows sum to one; empty rows stay empty.

    Examples
    --------
    >>> summing_to_one(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    return weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
