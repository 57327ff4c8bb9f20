"""Hard rows are pushed from the nearest other centre to their own (Eqs. 26 to 28, with the sign of M1), Theorem C."""

# h hard rows, d features, k clusters

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


class Separation(NamedTuple):
    """Cosines of rows to two centres."""

    own: Tensor  # (h,): to the own centre
    other: Tensor  # (h,): to the nearest other centre
    own_center: Tensor  # (h, d)
    other_center: Tensor  # (h, d)


def separation(rows: Tensor, labels: Tensor, centers: Tensor) -> Separation:
    """Return how near unit rows (h, d) are to their own of the unit centres (k, d), and to the nearest other."""
    cosines = rows @ centers.T
    own = cosines.gather(1, labels[:, None])[:, 0]
    nearest = cosines.masked_fill(F.one_hot(labels, len(centers)).bool(), -torch.inf).argmax(1)
    other = cosines.gather(1, nearest[:, None])[:, 0]
    return Separation(own, other, centers[labels], centers[nearest])


def push_pull(
    rows: Tensor,
    labels: Tensor,
    centers: Tensor,
    margin: float,
    *,
    weights: Tensor | None = None,
    printed: bool = False,
) -> tuple[Tensor, Tensor]:
    r"""Return the push and the pull on hard rows; zeros where there are none, or one cluster only.

    .. math:: \max(0, s^- - s^+ + m) \quad\text{and}\quad 1 - s^+

    The paper prints the push with the opposite sign, which drives rows from their own centre (M1).

    Parameters
    ----------
    weights : Tensor of shape (h,), optional
        What the rows count, 0 or 1; all by default.
    printed : bool
        Whether the push has the paper's sign.

    Examples
    --------
    >>> push, pull = push_pull(torch.tensor([[1.0, 0.0]]), torch.tensor([0]), torch.eye(2), 0.2)
    >>> float(push), float(pull)
    (0.0, 0.0)
    """
    if len(rows) == 0 or len(centers) < 2:
        nothing = rows.sum() * 0
        return nothing, nothing
    cosines = separation(rows, labels, centers)
    gap = cosines.own - cosines.other if printed else cosines.other - cosines.own
    counted = torch.ones_like(gap) if weights is None else weights
    push, pull = (gap + margin).clamp(min=0), 1 - cosines.own
    total = counted.detach().sum().clamp(min=1)
    return (counted * push).sum() / total, (counted * pull).sum() / total


@torch.no_grad()
def separation_gain(rows: Tensor, labels: Tensor, centers: Tensor, margin: float) -> Tensor:
    r"""Return how fast :math:`s^+ - s^-` grows along minus the gradient of push + pull on the sphere, (h,).

    The corrected Theorem C (M2): where the push is active the gain is
    :math:`\|\nabla s^+ - \nabla s^-\|^2 + \langle \nabla s^+ - \nabla s^-, \nabla s^+ \rangle`; the first is never
    negative, the second is the pull's, which may oppose.

    Examples
    --------
    >>> centers = torch.eye(2)
    >>> row = torch.nn.functional.normalize(torch.tensor([[1.0, 1.0]]), dim=1)
    >>> float(separation_gain(row, torch.tensor([0]), centers, 0.2)) > 0
    True
    """
    cosines = separation(rows, labels, centers)
    to_own = cosines.own_center - cosines.own[:, None] * rows
    to_other = cosines.other_center - cosines.other[:, None] * rows
    apart = to_own - to_other
    active = (cosines.other - cosines.own + margin > 0).to(rows.dtype)
    return active * apart.square().sum(1) + (apart * to_own).sum(1)
