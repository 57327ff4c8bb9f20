"""Sums and means of the rows of each cluster."""

# n rows, d features, k clusters

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import Collectives
from coterie.ops.distances import nearest

_LEAST_KEPT = 2 / 3


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


def standing_points(rows: Tensor, labels: Tensor, n_clusters: int) -> Tensor:
    """Return a point for each cluster, (k, d): the mean of its rows, or the row nearest to it.

    The mean stands for a cluster if at least two thirds of its rows have no other mean nearer. A ring around another
    cluster has the mean of what it surrounds.

    Examples
    --------
    >>> rows = torch.tensor([[-0.2], [-0.1], [-4.0], [-3.0], [3.0], [4.5]])
    >>> standing_points(rows, torch.tensor([0, 0, 1, 1, 1, 1]), 2)
    tensor([[-0.1500],
            [ 3.0000]])
    """
    means = cluster_means(rows, labels, n_clusters)
    found = nearest(rows, means)[0]
    counts = torch.bincount(labels, minlength=n_clusters)
    kept = torch.bincount(labels[found == labels], minlength=n_clusters)
    apart = (rows - means[labels]).square().sum(1)
    for cluster in ((kept < _LEAST_KEPT * counts) & (counts > 0)).nonzero().squeeze(1):
        own = (labels == cluster).nonzero().squeeze(1)
        means[cluster] = rows[own[apart[own].argmin()]]
    return means


class NearestRows:
    """Finds the row that each cluster costs least, over rows that come in pieces.

    Parameters
    ----------
    n_clusters : int
    first : int
        Number of the first row that will come.

    Attributes
    ----------
    numbers : ndarray of shape (k,)
        Of the rows found so far.

    Examples
    --------
    >>> found = NearestRows(2)
    >>> found.add(torch.tensor([[3.0, 9.0]]))
    >>> found.add(torch.tensor([[1.0, 8.0], [4.0, 9.5]]))
    >>> found.numbers.tolist()
    [1, 1]
    """

    def __init__(self, n_clusters: int, first: int = 0) -> None:
        self.numbers = np.zeros(n_clusters, dtype=np.int64)
        self._costs = np.full(n_clusters, np.inf)
        self._seen = first

    def add(self, costs: Tensor) -> None:
        """Look at more rows, with what the clusters cost them, (b, k)."""
        least = costs.min(0)
        values = least.values.cpu().numpy()
        nearer = values < self._costs
        self._costs[nearer] = values[nearer]
        self.numbers[nearer] = self._seen + least.indices.cpu().numpy()[nearer]
        self._seen += len(costs)

    def found(self, collectives: Collectives) -> np.ndarray:
        """Say for which clusters a row of finite cost was seen by any process, (k,)."""
        return np.isfinite(collectives.min(self._costs))

    def over(self, collectives: Collectives) -> np.ndarray:
        """Return the numbers over the rows of all processes, (k,); of rows that cost the same the first."""
        least = collectives.min(self._costs)
        return collectives.min(np.where(self._costs == least, self.numbers, np.iinfo(np.int64).max))
