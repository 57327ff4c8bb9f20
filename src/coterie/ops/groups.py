"""Sums and means of the rows of each cluster."""

# n rows, d features, k clusters

from __future__ import annotations

import torch
from torch import Tensor


def count_and_sum(rows: Tensor, labels: Tensor, n_clusters: int) -> tuple[Tensor, Tensor]:
    """Return the number (k,) and the sum (k, d) of the rows of each cluster.

    Examples
    --------
    >>> count_and_sum(torch.tensor([[1.0], [2.0]]), torch.tensor([1, 1]), 2)
    (tensor([0., 2.]), tensor([[0.],
            [3.]]))
    """
    counts = torch.bincount(labels, minlength=n_clusters).to(rows.dtype)
    return counts, rows.new_zeros(n_clusters, rows.shape[1]).index_add_(0, labels, rows)


def cluster_means(rows: Tensor, labels: Tensor, n_clusters: int) -> Tensor:
    """Return the mean of the rows of each cluster, (k, d); zeros for a cluster without rows.

    Examples
    --------
    >>> cluster_means(torch.tensor([[1.0], [2.0]]), torch.tensor([1, 1]), 2)
    tensor([[0.0000],
            [1.5000]])
    """
    counts, sums = count_and_sum(rows, labels, n_clusters)
    return sums / counts.clamp(min=1)[:, None]
