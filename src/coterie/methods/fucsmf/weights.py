"""How the distances of a row to its nearest anchors become its weights on them, Eqs. 25 and 28."""

# b rows of a batch, p anchors of a row

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from coterie.ops.anchors import project_simplex, simplex_weights

BANDWIDTH = 0.3
"""sigma^2 as a share of the median squared distance to the (p + 1)-th anchor."""


@dataclass(frozen=True)
class WeightRule:
    """The number of a row's anchors, the width of the distance and the spread of the weights.

    Attributes
    ----------
    n_nearest : int
    sigma : float, "rows" or "auto"
        "rows" gives each row a width of its own, as the authors' code does: 2 sigma^2 is the mean squared distance to
        its anchors. "auto" is one for the view, from its rows.
    gamma : float or "auto"
        "auto" gives each row the smallest gamma with which all of its anchors have a weight.
    """

    n_nearest: int
    sigma: float | str = "auto"
    gamma: float | str = "auto"

    def width(self, last: Tensor) -> float:
        """Return sigma^2 of a view, given the squared distances of rows to their (p + 1)-th anchors, (n,)."""
        if not isinstance(self.sigma, str):
            return self.sigma**2
        median = float(last.median())
        return BANDWIDTH * median if median > 0 else 1.0

    def distances(self, squares: Tensor, width: Tensor) -> Tensor:
        r"""Return the correntropy-induced distances :math:`1 - \exp(-\|x - a\|^2 / 2 \sigma^2)`, (b, p + 1)."""
        doubled = 2 * width
        if self.sigma == "rows":
            doubled = squares[:, :-1].mean(1, keepdim=True).clamp(min=torch.finfo(squares.dtype).tiny)
        return -torch.expm1(-squares / doubled)

    def weights(self, distances: Tensor) -> Tensor:
        r"""Return the projections of :math:`-d_i / 2 \gamma` onto the simplex, (b, p), from distances (b, p + 1)."""
        if isinstance(self.gamma, str):
            return simplex_weights(distances)
        return torch.from_numpy(project_simplex(-distances[:, :-1].cpu().numpy() / (2 * self.gamma)))
