"""Small clusters: which they are, pseudo-rows for them, and losses that keep those in place (ISM, Eqs. 30 to 38)."""

# n rows of a cluster, d features, k clusters, M small clusters, P pseudo-rows of each

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.ops.distances import squared_distances

_FLOOR = 1e-6
_INNER, _OUTER = 0.45, 0.55


def small_clusters(sizes: Tensor, ratio: float) -> Tensor:
    """Return which clusters have fewer rows than `ratio` times the mean, (k,); empty ones do not count.

    Examples
    --------
    >>> small_clusters(torch.tensor([10, 10, 1, 0]), 0.5)
    tensor([False, False,  True, False])
    """
    return (sizes > 0) & (sizes < ratio * sizes.double().mean())


def pseudo_rows(rows: Tensor, n_pseudo: int, spread: float, generator: torch.Generator) -> Tensor:
    r"""Draw pseudo-rows of a cluster, (P, d), around its mean with `spread` times its covariance (Eqs. 30 to 33).

    .. math:: \psi = \mu + \sqrt{\nu / (n - 1)} \sum_i \xi_i (z_i - \mu) + \sqrt\epsilon\, \zeta

    has exactly the law :math:`N(\mu, \nu \Sigma + \epsilon I)` and needs no d x d factor. A single row is its own
    pseudo-rows.

    Parameters
    ----------
    rows : Tensor of shape (n, d)
    spread : float
        nu; the paper's P / n shrinks the cloud as soon as there are more rows than pseudo-rows (M6).
    """
    n_rows, d = rows.shape
    mean = rows.mean(0)
    if n_rows == 1:
        return mean.detach().expand(n_pseudo, d)
    ways = torch.randn(n_pseudo, n_rows, generator=generator).to(rows)
    noise = torch.randn(n_pseudo, d, generator=generator).to(rows)
    return mean + math.sqrt(spread / (n_rows - 1)) * ways @ (rows - mean) + math.sqrt(_FLOOR) * noise


def merged_variance(rows: Tensor, n_pseudo: int, spread: float) -> Tensor:
    r"""Return the trace of the variance that pseudo-rows add to the mean of a cluster, given its rows: (scalar).

    .. math:: \frac{P}{(n + P)^2} \operatorname{tr}(\nu \Sigma + \epsilon I)

    This is what Theorem B gives: pseudo-rows drawn around the empirical mean carry no information and only add
    variance (M7).

    Examples
    --------
    >>> float(merged_variance(torch.zeros(4, 2), 4, 1.0)) < 1e-6
    True
    """
    n_rows, d = rows.shape
    if n_rows == 1:
        return rows.new_zeros(())
    total = rows.var(0).sum()
    return n_pseudo / (n_rows + n_pseudo) ** 2 * (spread * total + _FLOOR * d)


def mean_discrepancy(rows: Tensor, others: Tensor) -> Tensor:
    r"""Return the squared maximum mean discrepancy of two samples, an unbiased estimate (Eq. 35).

    The kernel is Gaussian with the median distance as its width. It may be negative.

    Examples
    --------
    >>> float(mean_discrepancy(torch.tensor([[0.0], [1.0]]), torch.tensor([[50.0], [51.0]]))) > 0.5
    True
    """
    both = torch.cat([rows, others])
    squares = squared_distances(both, both)
    off = ~torch.eye(len(both), dtype=torch.bool, device=both.device)
    width = squares.detach()[off].median().clamp(min=_FLOOR)
    kernel = (-squares / (2 * width)).exp()
    n = len(rows)
    own = _mean_off_diagonal(kernel[:n, :n])
    return own + _mean_off_diagonal(kernel[n:, n:]) - 2 * kernel[:n, n:].mean()


def _mean_off_diagonal(kernel: Tensor) -> Tensor:
    n = len(kernel)
    return (kernel.sum() - kernel.diagonal().sum()) / max(1, n * (n - 1))


def repulsion(pseudo: Tensor, width: float) -> Tensor:
    """Return how near pseudo-rows (M, P, d) of different clusters are, the mean over pairs (Eq. 36 with M10).

    Examples
    --------
    >>> float(repulsion(torch.zeros(2, 1, 3), 1.0)), float(repulsion(torch.zeros(1, 1, 3), 1.0))
    (1.0, 0.0)
    """
    n_clusters, n_pseudo, d = pseudo.shape
    if n_clusters < 2:
        return pseudo.sum() * 0
    flat = pseudo.reshape(-1, d)
    owner = torch.arange(n_clusters, device=pseudo.device).repeat_interleave(n_pseudo)
    nearness = (-squared_distances(flat, flat) / (2 * width**2)).exp()
    return nearness[owner[:, None] != owner].mean()


def out_of_bounds(pseudo: Tensor, clusters: Tensor, centers: Tensor) -> Tensor:
    r"""Return how far pseudo-rows leave their cluster, or come near another one (Eq. 37 with M8), a mean.

    The radii follow from gamma, the least distance of two centres: a row within 0.45 gamma of its centre and beyond
    0.55 gamma of all others costs nothing, and is nearest to its own.

    Parameters
    ----------
    pseudo : Tensor of shape (M, P, d)
    clusters : Tensor of shape (M,)
    centers : Tensor of shape (k, d)
    """
    gaps = squared_distances(centers, centers).fill_diagonal_(torch.inf)
    if len(centers) < 2:
        return pseudo.sum() * 0
    gamma = gaps.min().sqrt()
    flat = pseudo.reshape(-1, pseudo.shape[2])
    own = clusters.repeat_interleave(pseudo.shape[1])
    distances = squared_distances(flat, centers).clamp(min=_FLOOR**2).sqrt()
    mine = F.one_hot(own, len(centers)).bool()
    nearest = distances.masked_fill(mine, torch.inf).amin(1)
    return ((distances[mine] - _INNER * gamma).clamp(min=0) + (_OUTER * gamma - nearest).clamp(min=0)).mean()
