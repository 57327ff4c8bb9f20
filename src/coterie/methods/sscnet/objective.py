"""What SSCNet minimises: one loss a module, all of them means over rows (spec sscnet E22).

Equation numbers are those of the paper; tags such as "spec E7" name the erratum that a correction answers.
"""

# b rows of a batch, d features, m atoms, k clusters

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.ops.stiefel import Product

_CLIP = 0.9
_SMOOTHING = 0.01


def row_weights(errors: Tensor) -> Tensor:
    r"""Return the weights of rows that are hard to write in the dictionary: larger, but bounded.

    .. math:: w_i = \frac{1 + T(\epsilon_i)}{\frac1b \sum_j 1 + T(\epsilon_j)},
              \qquad T(\epsilon) = \min(\epsilon, q_{90})

    Eq. 13 in a form that re-weights: the printed one gives every row 1 - O(1/b) (spec E9). No gradient.

    Parameters
    ----------
    errors : Tensor of shape (b,)
        Lengths of the residuals.

    Examples
    --------
    >>> row_weights(torch.tensor([0.0, 1.0]))
    tensor([0.6897, 1.3103])
    """
    errors = errors.detach()
    clipped = 1 + errors.minimum(errors.quantile(_CLIP))
    return clipped / clipped.mean()


def coding_figures(x: Tensor, decoded: Tensor, codes: Tensor) -> Tensor:
    """Return what L_DSSC needs to know of each row, (b, 3): the lengths of residual and row, and |z|_1.

    Parameters
    ----------
    x, decoded : Tensor of shape (b, d)
    codes : Tensor of shape (b, m)

    Examples
    --------
    >>> coding_figures(torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, 3.0]]), torch.tensor([[2.0]]))
    tensor([[1., 5., 2.]])
    """
    lengths = [torch.linalg.vector_norm(rows, dim=1) for rows in (x - decoded, x)]
    return torch.stack([*lengths, codes.abs().sum(1)], dim=1)


def coding_weights(figures: Tensor, sparsity: float) -> Tensor:
    """Return what the residual and |z|_1 of each row count in L_DSSC, (b, 2); no gradient.

    Parameters
    ----------
    figures : Tensor of shape (b, 3)
        From `coding_figures`, of all rows of the batch.
    sparsity : float
        lambda.

    Examples
    --------
    >>> coding_weights(torch.tensor([[1.0, 5.0, 2.0]]), 0.1)
    tensor([[0.2000, 0.0200]])
    """
    errors, lengths, _ = figures.detach().unbind(1)
    size = lengths.mean().clamp(min=torch.finfo(lengths.dtype).tiny)
    return torch.stack([row_weights(errors), torch.full_like(errors, sparsity)], dim=1) / size


def coding_loss(figures: Tensor, weights: Tensor) -> Tensor:
    r"""Return L_DSSC, relative to the length of the rows.

    .. math:: \frac{1}{\sum_i \lVert x_i \rVert_2} \sum_i w_i \lVert x_i - dec(z_i) \rVert_2
              + \lambda \lVert z_i \rVert_1

    Eq. 12 with the residual that is left instead of the network's own E, which would be free to be zero (spec E7).
    Both terms grow with the rows alike, so that dividing by their mean length makes the loss a pure number and
    leaves its minimiser where it was.

    Parameters
    ----------
    figures : Tensor of shape (b, 3)
        From `coding_figures`.
    weights : Tensor of shape (b, 2)
        From `coding_weights`.

    Examples
    --------
    >>> figures = coding_figures(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2), torch.zeros(1, 5))
    >>> coding_loss(figures, coding_weights(figures, 0.1))
    tensor(1.)
    """
    return (weights * figures[:, [0, 2]]).sum(1).mean()


def spectral_loss(product: Product, columns: Tensor) -> Tensor:
    """Return L_e = tr(Y' L Y) / k of orthonormal columns Y (n, k), Eq. 28.

    Examples
    --------
    >>> spectral_loss(lambda Y: 2 * Y, torch.eye(3)[:, :2])
    tensor(2.)
    """
    return (columns * product(columns)).sum() / columns.shape[1]


def assignment_loss(logits: Tensor, memberships: Tensor) -> Tensor:
    """Return L_K, the mean cross-entropy of the classifier against hard or soft pseudo-labels (b, k), Eq. 29.

    A hundredth of each membership is spread over all clusters: without it logits grow until gradients are denormal
    numbers, with which a step takes six times as long.

    Examples
    --------
    >>> assignment_loss(torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 0.0, 0.0]])).exp().round()
    tensor(4.)
    """
    memberships = (1 - _SMOOTHING) * memberships + _SMOOTHING / memberships.shape[1]
    return -(memberships * F.log_softmax(logits, dim=1)).sum(1).mean()
