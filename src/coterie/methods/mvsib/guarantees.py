"""Theorem A as a measurement: whether a step takes a row from its own centre, and the weight that forbids it.

The theorem is corrected as the specification says (M5): the sign of A.10, means weighted as the softmax weighs them,
and the direction in which a step is safe.
"""

# b rows of a batch, k clusters

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_LEAST = 1e-12


class Safety(NamedTuple):
    """How safe rows are from their false negatives."""

    theta: Tensor  # (b,): share of the repulsion that comes from possible false negatives
    # (b,): Theta, the largest such share with which a step does not lead away from the own centre: infinite where any
    # share is safe, minus infinite where none is
    limit: Tensor

    @property
    def safe(self) -> Tensor:
        """Which rows are safe, (b,)."""
        return self.theta <= self.limit


class Pull(NamedTuple):
    """Where the parts of a contrastive loss pull a row along its way to the centre."""

    attracted: Tensor  # (b,): mu_+, of the positives, weighted as in the softmax
    false: Tensor  # (b,): mu_FN, of the possible false negatives
    others: Tensor  # (b,): mu_-, of all other rows of the denominator
    false_mass: Tensor  # (b,): sum of e^{s / tau} of the false negatives, before their weight
    other_mass: Tensor  # (b,): sum of e^{s / tau} of the others


def measure_pull(
    similarity: Tensor, to_center: Tensor, positive: Tensor, false: Tensor, others: Tensor, tau: float
) -> Pull:
    r"""Return the pulls of :math:`-\log \sum_+ w e^{s/\tau} + \log \sum \omega e^{s/\tau}`.

    The way of row i to its centre u meets that to row b with :math:`A_i(b) = \langle b, u \rangle - \langle z_i, u
    \rangle \langle z_i, b \rangle`.

    Parameters
    ----------
    similarity : Tensor of shape (b, n)
        Cosines s of the rows to all others in the loss.
    to_center : Tensor of shape (b, n + 1)
        Cosines of the others to the row's centre, and in the last column that of the row itself.
    positive : Tensor of shape (b, n)
        Weights w of the numerator.
    false, others : Tensor of shape (b, n)
        Weights in the denominator of the possible false negatives, before the controlled factor, and of the rest,
        which includes the positives.
    """
    along = to_center[:, :-1] - to_center[:, -1:] * similarity
    # relative to the largest that counts: a row's own, 1, does not, and at a small tau dwarfs the others
    counted = similarity.masked_fill(false + others == 0, -torch.inf)
    masses = ((counted - counted.amax(1, keepdim=True).clamp(min=-1)) / tau).exp()

    def mean(weights: Tensor) -> tuple[Tensor, Tensor]:
        weighed = weights * masses
        mass = weighed.sum(1)
        return (weighed * along).sum(1) / mass.clamp(min=torch.finfo(mass.dtype).tiny), mass

    attracted, _ = mean(positive)
    false_pull, false_mass = mean(false)
    other_pull, other_mass = mean(others)
    return Pull(attracted, false_pull, other_pull, false_mass, other_mass)


def safety(pull: Pull, weight: Tensor) -> Safety:
    r"""Return the share theta of false negatives at a weight, and its limit.

    .. math:: \theta = \frac{w}{w + \kappa},\quad \Theta = \frac{\mu_+ - \mu_-}{\mu_{FN} - \mu_-}

    with kappa the mass of the others over that of the false negatives. Theta is infinite where false negatives pull
    no further than others and these no further than positives do.

    Parameters
    ----------
    weight : Tensor of shape () or (b,)
        g pi.
    """
    false_mass = weight * pull.false_mass
    theta = false_mass / (false_mass + pull.other_mass).clamp(min=_LEAST)
    gap = pull.false - pull.others
    ratio = (pull.attracted - pull.others) / gap.clamp(min=_LEAST)
    always = torch.where(pull.others <= pull.attracted, torch.inf, -torch.inf)
    limit = torch.where(gap > 0, ratio, always)
    return Safety(theta, torch.where(pull.false_mass > 0, limit, always))


def controlled_weight(pull: Pull, weight: Tensor) -> Tensor:
    r"""Return the weight of false negatives that keeps rows safe, at most the given one, (b,).

    .. math:: w_i = \min\Big(g \pi, \kappa_i \frac{\Theta_i}{1 - \Theta_i}\Big),

    zero where Theta is not positive (M5 e).
    """
    # a hair below the limit: rounding must not carry the share over it
    limit = safety(pull, weight).limit.clamp(min=0) * (1 - 8 * torch.finfo(pull.false.dtype).eps)
    kappa = pull.other_mass / pull.false_mass.clamp(min=_LEAST)
    most = torch.where(limit < 1, kappa * limit / (1 - limit).clamp(min=_LEAST), torch.inf)
    return torch.minimum(weight.expand_as(most), most)


def projection(pull: Pull, weight: Tensor, tau: float, own: Tensor) -> Tensor:
    r"""Return how far a unit of gradient step leads from the own centre, (b,): :math:`\Xi / \tau D`.

    Parameters
    ----------
    weight : Tensor of shape () or (b,)
    own : Tensor of shape (b,)
        Cosine of the rows to their centre.
    """
    theta = safety(pull, weight).theta
    excess = pull.others + theta * (pull.false - pull.others) - pull.attracted
    return excess / (tau * (1 - own.square()).clamp(min=_LEAST).sqrt())
