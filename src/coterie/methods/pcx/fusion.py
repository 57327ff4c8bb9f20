"""What the CI-Unit does to codes: how much of a cluster lies along one direction before it and after it (A.6)."""

# b rows of a batch, d code features, k clusters

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from coterie.methods.pcx.estimator import PCX


class SingularShares(NamedTuple):
    """Shares of the largest among all singular values of each cluster's codes.

    Attributes
    ----------
    before : ndarray of shape (k,)
        Of the codes z.
    after : ndarray of shape (k,)
        Of what the decoder gets, h(z, mu).
    """

    before: np.ndarray
    after: np.ndarray


@torch.no_grad()
def singular_shares(model: PCX, X: Any) -> SingularShares:
    """Return the paper's Table 7 for a fitted model and rows, in one pass; nan for a cluster without rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0] * 8, [5.0] * 8], 40, axis=0) + rng.normal(size=(80, 8))
    >>> model = PCX(n_clusters=2, hidden=(32,), max_epochs=20, random_state=0).fit(X)
    >>> singular_shares(model, X).before.shape
    (2,)
    """
    network = model.network_
    k, d = network.centroids.shape
    grams = torch.zeros(2, k, d, d, dtype=torch.float64, device=network.centroids.device)
    for codes, distances in model._codes_and_distances(X):
        labels = distances.argmin(1)
        fused = network.fuse(codes, network.centroids[labels])
        for gram, seen in zip(grams, (codes, fused), strict=True):
            products = seen.double()[:, :, None] * seen.double()[:, None, :]
            gram.index_add_(0, labels, products)
    return SingularShares(*(largest_shares(gram).cpu().numpy() for gram in grams))


def largest_shares(grams: Tensor) -> Tensor:
    """Return sigma_1 / sum_i sigma_i, (k,), of tables of which these are the Gram matrices, (k, d, d).

    Examples
    --------
    >>> table = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    >>> largest_shares((table.T @ table)[None])
    tensor([0.7500])
    """
    values = torch.linalg.eigvalsh(grams).clamp(min=0).sqrt()
    return values[:, -1] / values.sum(1)
