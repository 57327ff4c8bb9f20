"""How certain rows are of their clusters (the paper's SCE, Eqs. 5 to 14 and 29, as corrected in M4, M14 to M17)."""

# b rows of a batch, k clusters, V views

from __future__ import annotations

import torch
from torch import Tensor

_LEAST = 1e-12
_WINDOW = 0.1


def memberships(squares: Tensor, widths: Tensor) -> Tensor:
    r"""Return how much rows belong to clusters, (b, k): :math:`m_{ic} \propto e^{-d_{ic}^2 / 2 \sigma_c^2}`.

    Parameters
    ----------
    squares : Tensor of shape (b, k)
        Squared distances to the centres.
    widths : Tensor of shape (k,)
        sigma_c, the usual distance to the centre inside a cluster.

    Examples
    --------
    >>> memberships(torch.tensor([[1.0, 1.0]]), torch.tensor([1.0, 1.0]))
    tensor([[0.5000, 0.5000]])
    """
    return (-squares / (2 * widths.square())).softmax(-1)


def doubt(shares: Tensor, present: Tensor, balance: float) -> Tensor:
    r"""Return how uncertain one view is of its rows, (b,), from 0 to 1; 0 for rows without the view.

    .. math:: u_i = \alpha\, h_i + (1 - \alpha)(1 - \delta_i)

    where h is the entropy of the memberships and delta the gap between the two largest, both stretched to [0, 1]
    over the batch. So u compares rows of one batch: one of them is always near 1 (M17).

    Parameters
    ----------
    shares : Tensor of shape (..., b, k)
        From `memberships`; of several views one after another.
    present : Tensor of bool, shape (..., b)
        Which rows have the view.
    balance : float
        alpha, the one of Eq. 11 (M15).

    Examples
    --------
    >>> doubt(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([True, True]), 0.5)
    tensor([0., 1.])
    """
    entropy = -torch.special.xlogy(shares, shares).sum(-1)
    if shares.shape[-1] == 1:
        return torch.zeros_like(entropy)
    largest = shares.topk(2, dim=-1).values
    gap = largest[..., 0] - largest[..., 1]
    uncertainty = balance * _stretched(entropy, present) + (1 - balance) * (1 - _stretched(gap, present))
    return torch.where(present, uncertainty, 0.0)


def _stretched(values: Tensor, present: Tensor) -> Tensor:
    """Return values with the least of the present ones at 0 and the largest at 1; zeros where all are equal."""
    low = torch.where(present, values, torch.inf).amin(-1, keepdim=True)
    high = torch.where(present, values, -torch.inf).amax(-1, keepdim=True)
    return ((values - low) / (high - low).clamp(min=_LEAST)).clamp(0, 1)


def uncertain_share(epoch: int, n_epochs: int, first: float) -> float:
    """Return the share of rows that count as uncertain in an epoch from 0 on: from `first` down to nothing (Eq. 13).

    Examples
    --------
    >>> [round(uncertain_share(epoch, 3, 0.3), 2) for epoch in range(3)], uncertain_share(0, 1, 0.3)
    ([0.3, 0.15, 0.0], 0.3)
    """
    return first * (1 - epoch / max(n_epochs - 1, 1))


def most_uncertain(predicted: Tensor, share: float) -> Tensor:
    """Return which rows of a batch are among the share that is most uncertain, at least one (Eq. 14 with M14), (b,).

    Examples
    --------
    >>> most_uncertain(torch.tensor([0.1, 0.9, 0.5]), 0.4)
    tensor([False,  True, False])
    """
    n_chosen = max(1, int(len(predicted) * share))
    chosen = torch.zeros(len(predicted), dtype=torch.bool, device=predicted.device)
    chosen[predicted.topk(n_chosen).indices] = True
    return chosen


def gate(mean_doubt: Tensor, start: float, end: float, window: bool = False) -> Tensor:
    """Return how far the gate is open at a mean uncertainty: 0 below `start`, 1 above `end` (Eq. 29).

    Parameters
    ----------
    mean_doubt : Tensor of shape ()
    window : bool
        Whether it closes again over the next tenth, as the text after Eq. 29 asks (M4).

    Examples
    --------
    >>> [round(float(gate(torch.tensor(u), 0.3, 0.7)), 2) for u in (0.2, 0.5, 0.9)]
    [0.0, 0.5, 1.0]
    """
    opened = ((mean_doubt - start) / (end - start)).clamp(0, 1)
    if not window:
        return opened
    return opened * ((end + _WINDOW - mean_doubt) / _WINDOW).clamp(0, 1)
