"""The contrast of rows as the paper prints it: all rows of a cluster attract (Eqs. 24 and 44)."""

# b rows of a batch, d features

from __future__ import annotations

import torch
from torch import Tensor


def label_weights(labels: Tensor, false: Tensor, mask: float) -> Tensor:
    """Return y^pse, (b, b): 1 in one cluster, `mask` if one of both is a false negative, 0 elsewhere (Eq. 24).

    Parameters
    ----------
    labels : Tensor of shape (b,)
    false : Tensor of shape (b,)
        1 for rows routed as false negatives, else 0.

    Examples
    --------
    >>> label_weights(torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0]), 0.25)
    tensor([[1.0000, 0.2500, 0.0000],
            [0.2500, 0.2500, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    sound = 1 - false
    return (labels[:, None] == labels) * (mask + (1 - mask) * sound[:, None] * sound)


def label_contrast(view: Tensor, consensus: Tensor, weights: Tensor, tau: float) -> Tensor:
    r"""Return the printed contrast of the rows of a view with those of the consensus (Eq. 44), a mean over rows.

    .. math:: -\log \frac{\sum_j w_{ij} e^{z_i \bar z_j / \tau}}{\sum_r e^{z_i z_r / \tau}}

    The numerator compares with the consensus and the denominator with the view: it is no softmax, and the loss may be
    negative (M4).

    Parameters
    ----------
    view, consensus : Tensor of shape (b, d)
        Unit rows.
    weights : Tensor of shape (b, b)
        From `label_weights`.

    Examples
    --------
    >>> rows = torch.eye(2)
    >>> float(label_contrast(rows, rows, torch.eye(2), tau=0.05)) < 1e-6
    True
    """
    attract = (weights * (view @ consensus.T / tau).exp()).sum(1)
    return (torch.logsumexp(view @ view.T / tau, 1) - attract.log()).mean()
