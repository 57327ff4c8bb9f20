"""The paper's router, trained from random weights by what its decisions do to the losses (Eqs. 18 to 22, 3.7.2)."""

# b rows

from __future__ import annotations

import torch
from torch import Tensor, nn

from coterie.methods.mvsib import routing
from coterie.nn.autoencoder import mlp


class TrainedRouter(nn.Module):
    """A perceptron of two layers from the evidence to the scores of both routes."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = mlp([3, 64, 2])

    def forward(self, evidence: routing.Evidence) -> Tensor:
        """Return the probability that rows are false negatives, (b,): a softmax of both scores (Eqs. 19 to 21)."""
        features = torch.stack([*evidence], dim=1).to(next(self.parameters()))
        return self.scores(features).softmax(1)[:, 1]


def decisions(share: Tensor, routes: Tensor) -> tuple[Tensor, Tensor]:
    """Return which rows are false negatives and which are hard, both (b,): 1 or 0, with the gradient of the share.

    The paper trains its router by the losses that take its decisions, and these have no gradient (M19): they get that
    of the probabilities. Rows that are not decided get none.

    Parameters
    ----------
    share : Tensor of shape (b,)
        Probability of a false negative.
    routes : Tensor of shape (b,)

    Examples
    --------
    >>> decisions(torch.tensor([0.9, 0.2, 0.6]), torch.tensor([1, 2, 0]))
    (tensor([1., 0., 0.]), tensor([0., 1., 0.]))
    """
    slope = torch.where(routes != routing.NO_ROUTE, share - share.detach(), 0.0)
    false, hard = (routes == kind for kind in (routing.FALSE_NEGATIVE, routing.HARD_NEGATIVE))
    return false.float() + slope, hard.float() - slope
