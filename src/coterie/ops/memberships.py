"""Soft memberships from squared distances to cluster centres, and the calibration of their temperature."""

# n rows, k clusters

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def log_memberships(distances: Tensor, tau: float | Tensor) -> Tensor:
    """Return the log-softmax over clusters of -tau ||z_n - mu_k||^2, in float32 (PC-X, Eq. 2)."""
    return F.log_softmax(-tau * distances.float(), dim=1)


def entropy(log_lambda: Tensor) -> Tensor:
    """Return the mean entropy of the memberships, between 0 and log k (PC-X, Eq. 8).

    Examples
    --------
    >>> import torch
    >>> entropy(torch.tensor([[0.5, 0.5]]).log())
    tensor(0.6931)
    """
    return -(log_lambda.exp() * log_lambda).sum(1).mean()


def calibrated_tau(distances: Tensor, certainty: float) -> float:
    """Return the inverse temperature tau for which the mean largest membership is `certainty`.

    The mean grows with tau from 1 / k to 1, so bisection finds tau. However certain n rows are, the mean stays at
    (n + 1) / (n + 2), Laplace's rule of succession: at 1 all rows would be equally sure.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[0.0, 1.0], [0.5, 0.7]])
    >>> means = [log_memberships(distances, calibrated_tau(distances, p)).exp().amax(1).mean() for p in (0.7, 1.0)]
    >>> [round(float(mean), 4) for mean in means]
    [0.7, 0.75]
    """
    excess = (distances - distances.amin(1, keepdim=True)).double()
    scale = float(excess.sum(1).mean())
    if scale == 0:
        return 1.0
    most = (len(distances) + 1) / (len(distances) + 2)
    low, high = -12.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = float((-(10**middle) / scale * excess).softmax(1).amax(1).mean())
        low, high = (middle, high) if mean < min(certainty, most) else (low, middle)
    return 10**middle / scale
