"""Sums, means, centres and medoids of clusters."""

# n rows, d features, k clusters

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import Collectives
from coterie.ops.distances import nearest

_LEAST_KEPT = 2 / 3


def count_and_sum(rows: Tensor, labels: Tensor, n_clusters: int) -> tuple[Tensor, Tensor]:
    """Return the number (k,) and the sum (k, d) of the rows of each cluster."""
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


def cluster_centers(rows: Tensor, labels: Tensor, n_clusters: int) -> Tensor:
    """Return the centre of each cluster, (k, d): the mean of its rows, or the row nearest to the mean.

    The mean is a centre if it is the nearest mean of at least two thirds of the rows. A ring around another cluster
    has the mean of what it surrounds, so its centre must be one of its rows.

    Examples
    --------
    >>> rows = torch.tensor([[-0.2], [-0.1], [-4.0], [-3.0], [3.0], [4.5]])
    >>> cluster_centers(rows, torch.tensor([0, 0, 1, 1, 1, 1]), 2)
    tensor([[-0.1500],
            [ 3.0000]])
    """
    means = cluster_means(rows, labels, n_clusters)
    counts = torch.bincount(labels, minlength=n_clusters)
    kept = torch.bincount(labels[nearest(rows, means)[0] == labels], minlength=n_clusters)
    distances = (rows - means[labels]).square().sum(1)
    for cluster in ((kept < _LEAST_KEPT * counts) & (counts > 0)).nonzero().squeeze(1):
        own = (labels == cluster).nonzero().squeeze(1)
        means[cluster] = rows[own[distances[own].argmin()]]
    return means


class NearestRows:
    """The row of lowest cost for each cluster (its exemplar), over rows that come in pieces.

    Parameters
    ----------
    n_clusters : int
    first : int
        Number of the first row.

    Attributes
    ----------
    numbers : ndarray of shape (k,)
        Of the best rows so far.

    Examples
    --------
    >>> exemplars = NearestRows(2)
    >>> exemplars.add(torch.tensor([[3.0, 9.0]]))
    >>> exemplars.add(torch.tensor([[1.0, 8.0], [4.0, 9.5]]))
    >>> exemplars.numbers.tolist()
    [1, 1]
    """

    def __init__(self, n_clusters: int, first: int = 0) -> None:
        self.numbers = np.zeros(n_clusters, dtype=np.int64)
        self._costs = np.full(n_clusters, np.inf)
        self._next = first

    def add(self, costs: Tensor) -> None:
        """Add rows with their costs, (b, k)."""
        least = costs.min(0)
        values = least.values.cpu().numpy()
        nearer = values < self._costs
        self._costs[nearer] = values[nearer]
        self.numbers[nearer] = self._next + least.indices.cpu().numpy()[nearer]
        self._next += len(costs)

    def has_row(self, collectives: Collectives) -> np.ndarray:
        """Return which clusters have a row of finite cost in any process, (k,)."""
        return np.isfinite(collectives.min(self._costs))

    def over(self, collectives: Collectives) -> np.ndarray:
        """Return the numbers over the rows of all processes, (k,); at equal cost the lowest number."""
        least = collectives.min(self._costs)
        return collectives.min(np.where(self._costs == least, self.numbers, np.iinfo(np.int64).max))
