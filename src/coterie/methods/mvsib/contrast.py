"""The contrastive losses: of clusters (Eqs. 39 to 43), of rows (Eq. 44), across rows of a cluster (Eqs. 48 to 50)."""

# b rows of a batch, d features of an embedding, k clusters, M small clusters, P pseudo-rows of each

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

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


class Pairs(NamedTuple):
    """Which rows of a batch attract and which repel each other.

    Attributes
    ----------
    positive : Tensor of shape (b, b)
        Weights of the attraction, a row's own included; 0 where a pair does not attract.
    negative : Tensor of shape (b, b)
        Weights omega of the repulsion; 0 where a pair does not repel.
    """

    positive: Tensor
    negative: Tensor


def row_pairs(
    labels: Tensor, near: Tensor, false: Tensor, weight: Tensor, mode: str, mask: float, with_labels: bool
) -> Pairs:
    """Return which rows attract: neighbours, in one cluster if asked; and which repel: those of other clusters.

    Parameters
    ----------
    labels : Tensor of shape (b,)
    near : Tensor of bool, shape (b, b)
        Whether two rows are neighbours in some view.
    false : Tensor of bool, shape (b,)
        Rows routed as false negatives.
    weight : Tensor of shape () or (b,)
        g pi, what the repulsion of a possible false negative counts, for all rows or for each.
    mode : {"denominator", "numerator", "both"}
        Where that weight acts: on the repulsion of neighbours in other clusters (Theorem A), on the attraction of
        neighbours of the same cluster by the factor `mask` (Eq. 24), or on both (M12). What a row is to itself keeps
        its weight: otherwise all weights of a doubtful row would shrink alike, to no effect.
    mask : float
        pi.
    with_labels : bool
        Whether neighbours attract only in one cluster, and only other clusters repel. Without labels all neighbours
        attract and all others repel.

    Examples
    --------
    >>> near = torch.tensor([[False, True], [True, False]])
    >>> nobody = torch.tensor([False, False])
    >>> pairs = row_pairs(torch.tensor([0, 1]), near, nobody, torch.tensor(0.1), "denominator", 0.1, True)
    >>> pairs.positive, pairs.negative
    (tensor([[1., 0.],
            [0., 1.]]), tensor([[0., 1.],
            [1., 0.]]))
    """
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    if not with_labels:
        attract = near | itself
        return Pairs(attract.float(), (~attract).float())
    same = labels[:, None] == labels
    doubtful = false[:, None] | false
    positive = ((near & same) | itself).float()
    negative = (~same).float()
    if mode in ("denominator", "both"):
        negative = torch.where(~same & near & doubtful, weight.expand(len(labels))[:, None], negative)
    if mode in ("numerator", "both"):
        positive = torch.where((positive > 0) & doubtful & ~itself, mask, positive)
    return Pairs(positive, negative)


def row_contrast(view: Tensor, consensus: Tensor, pairs: Pairs, tau: float) -> Tensor:
    r"""Return how badly a view's rows find their partners in the consensus (Eq. 44 in the form of the specification).

    .. math:: -\log \frac{\sum_+ w_{ij} e^{z_i \bar z_j / \tau}}
        {\sum_+ e^{z_i \bar z_j / \tau} + \sum_- \omega_{ir} (e^{z_i \bar z_r / \tau} + e^{z_i z_r / \tau})}

    The mean over rows, never negative unless a weight exceeds 1.

    Parameters
    ----------
    view, consensus : Tensor of shape (b, d)
        Unit rows.
    pairs : Pairs
    tau : float
        At least 0.025.

    Examples
    --------
    >>> rows = torch.eye(2)
    >>> pairs = Pairs(torch.eye(2), 1 - torch.eye(2))
    >>> float(row_contrast(rows, rows, pairs, tau=0.05)) < 1e-6
    True
    """
    # Of what cosines fall short of 1, exponentials neither overflow nor vanish for a tau of at least 1 / 40.
    with_all = ((view @ consensus.T - 1) / tau).exp()
    with_own = ((view @ view.T - 1) / tau).exp()
    attract = (pairs.positive * with_all).sum(1)
    linked = ((pairs.positive > 0) * with_all).sum(1)
    repel = (pairs.negative * (with_all + with_own)).sum(1)
    return ((linked + repel).log() - attract.log()).mean()


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
    weights = torch.minimum(certainty[:, None], certainty) * (labels[:, None] == labels)
    weights = weights.fill_diagonal_(0)
    return weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)


def cross_contrast(rows: Tensor, weights: Tensor, tau: float) -> Tensor:
    r"""Return the cross-entropy of whom unit rows (b, d) find near from whom they should (Eq. 49).

    .. math:: -\frac{1}{|J|} \sum_{i \in J} \sum_j \hat S_{ij}
        \log \frac{e^{z_i z_j / \tau}}{\sum_{r \ne i} e^{z_i z_r / \tau}}

    over the rows J that have a pair.

    Examples
    --------
    >>> rows = torch.eye(2)[[0, 0, 1, 1]]
    >>> float(cross_contrast(rows, pair_weights(torch.tensor([0, 0, 1, 1]), torch.ones(4)), tau=0.05)) < 1e-6
    True
    """
    paired = weights.sum(1) > 0
    if not paired.any():
        return rows.sum() * 0
    logits = (rows @ rows.T / tau).fill_diagonal_(-torch.inf).log_softmax(1)
    return -(weights * logits.masked_fill(weights == 0, 0)).sum(1)[paired].mean()
