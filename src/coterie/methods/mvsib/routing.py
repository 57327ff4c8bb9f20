"""Which uncertain rows are false negatives and which are hard ones (the paper's CSD, Eqs. 15 to 23, M18 to M20)."""

# b rows, p neighbours of a row

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from coterie.engine.adam import Adam
from coterie.nn.autoencoder import mlp

_SHARPNESS = 2.0
_UNDECIDED = 0.1
_LEAST = 1e-12
_IMITATION_STEPS = 300

NO_ROUTE, FALSE_NEGATIVE, HARD_NEGATIVE = 0, 1, 2
"""Routes of a row: certain or undecided, spared as a negative, pushed to its centre."""


class Evidence(NamedTuple):
    """Evidence for the label of a row."""

    # (b,): neighbours in the same cluster less those in others, by weight, from -1 to 1 (Eq. 15)
    votes: Tensor
    similarity: Tensor  # (b,): cosine to the centre of the row's cluster (Eq. 16)
    # (b,): how much nearer neighbours of the same cluster are than those of others, from -1 to 1 (Eq. 17)
    nearness: Tensor


def gather_evidence(weights: Tensor, same: Tensor, distances: Tensor, similarity: Tensor) -> Evidence:
    """Weigh the neighbours of rows.

    A row without a neighbour in another cluster is as near to its own as can be, 1, and one without any in its own
    as far, -1; the printed formula would call the safest rows hard (M18). One without any neighbour is in between.

    Parameters
    ----------
    weights : Tensor of shape (b, p)
        Of the neighbours: how many views name them.
    same : Tensor of bool, shape (b, p)
        Whether a neighbour is in the row's cluster.
    distances : Tensor of shape (b, p)
    similarity : Tensor of shape (b,)

    Examples
    --------
    >>> evidence = gather_evidence(
    ...     torch.ones(1, 4), torch.tensor([[True, True, True, False]]), torch.tensor([[1.0, 1, 1, 3]]), torch.ones(1)
    ... )
    >>> evidence.votes, evidence.nearness
    (tensor([0.5000]), tensor([0.5000]))
    """
    inside, outside = weights * same, weights * ~same
    own, other = inside.sum(1), outside.sum(1)
    votes = (own - other) / (own + other).clamp(min=_LEAST)
    near = (inside * distances).sum(1) / own.clamp(min=_LEAST)
    far = (outside * distances).sum(1) / other.clamp(min=_LEAST)
    nearness = (far - near) / (far + near).clamp(min=_LEAST)
    nearness = torch.where(other == 0, 1.0, torch.where(own == 0, -1.0, nearness))
    nearness = torch.where(own + other == 0, 0.0, nearness)
    return Evidence(votes, similarity, nearness)


def false_negative_share(evidence: Evidence) -> Tensor:
    r"""Return the probability that rows are false negatives, (b,), by a rule that rises with each evidence (M19).

    .. math:: p = \mathrm{sigmoid}\big(2\,(\Delta d + (s - \bar s) / \mathrm{std}(s) + a)\big)

    Examples
    --------
    >>> votes, similarity = torch.tensor([1.0, -1.0]), torch.tensor([0.9, 0.1])
    >>> false_negative_share(Evidence(votes, similarity, votes)).round()
    tensor([1., 0.])
    """
    return torch.sigmoid(_SHARPNESS * (evidence.votes + _standard(evidence.similarity) + evidence.nearness))


def _standard(similarity: Tensor) -> Tensor:
    """Return cosines from their mean in units of their spread; zeros where they differ by rounding alone."""
    apart = similarity - similarity.mean()
    spread = apart.square().mean().sqrt()
    least = 8 * torch.finfo(similarity.dtype).eps
    return torch.where(spread > least, apart / spread.clamp(min=least), 0.0)


class Router(nn.Module):
    """The paper's network from the evidence to two scores (Eqs. 18 to 21), begun as an imitation of the rule.

    Its decisions pass no gradient, and softened ones teach it to avoid penalties, not to recognise anything (M19): so
    it is an option, and stays what it was taught. It sees similarities as the rule does, from their mean in units of
    their spread: raw ones crowd near 1, where it would call nearly all rows false negatives.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
            self.scores = mlp([3, 64, 2])
        self._imitate(generator)

    def forward(self, evidence: Evidence) -> Tensor:
        """Return the probability that rows are false negatives, (b,)."""
        features = torch.stack([evidence.votes, _standard(evidence.similarity), evidence.nearness], dim=1)
        hard, false = self.scores(features).unbind(1)
        return torch.sigmoid(false - hard)

    @torch.enable_grad()
    def _imitate(self, generator: torch.Generator) -> None:
        for parameter in self.parameters():
            bound = parameter.shape[-1] ** -0.5
            with torch.no_grad():
                parameter.copy_((2 * torch.rand(parameter.shape, generator=generator) - 1) * bound)
        optimizer = Adam(self.parameters(), rate=1e-2)
        for _ in range(_IMITATION_STEPS):
            evidence = Evidence(*(2 * torch.rand(3, 256, generator=generator) - 1))
            loss = nn.functional.binary_cross_entropy(self(evidence), false_negative_share(evidence))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.requires_grad_(False)


def routes(share: Tensor, uncertain: Tensor, keep_all: bool) -> Tensor:
    """Return the route of each row, (b,): `NO_ROUTE`, `FALSE_NEGATIVE` or `HARD_NEGATIVE` (Eq. 22; ties are hard).

    Parameters
    ----------
    share : Tensor of shape (b,)
        Probability of a false negative.
    uncertain : Tensor of bool, shape (b,)
    keep_all : bool
        Whether the tenth of the uncertain rows with the least confidence is decided too (Eq. 23 and after).

    Examples
    --------
    >>> routes(torch.tensor([0.9, 0.2, 0.9]), torch.tensor([True, True, False]), keep_all=True)
    tensor([1, 2, 0])
    """
    decided = uncertain
    if not keep_all:
        confidence = torch.maximum(share, 1 - share).masked_fill(~uncertain, torch.inf)
        n_dropped = int(uncertain.sum() * _UNDECIDED)
        decided = uncertain.clone()
        decided[confidence.topk(n_dropped, largest=False).indices] = False
    named = torch.where(share > 0.5, FALSE_NEGATIVE, HARD_NEGATIVE)
    return torch.where(decided, named, NO_ROUTE)


def consistency(before: Tensor, now: Tensor) -> float:
    """Return the share of rows routed in two epochs that kept their route; NaN where none was routed twice.

    Examples
    --------
    >>> consistency(torch.tensor([1, 2, 0]), torch.tensor([1, 1, 1]))
    0.5
    """
    both = (before != NO_ROUTE) & (now != NO_ROUTE)
    return float((before == now)[both].double().mean()) if both.any() else float("nan")


def hard_share(assigned: Tensor) -> float:
    """Return the share of the routed rows that are hard negatives; NaN where none is routed.

    Examples
    --------
    >>> hard_share(torch.tensor([0, 1, 2, 1, 1]))
    0.25
    """
    routed = assigned != NO_ROUTE
    return float((assigned == HARD_NEGATIVE)[routed].double().mean()) if routed.any() else float("nan")
