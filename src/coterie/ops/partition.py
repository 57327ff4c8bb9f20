"""Partitions of rows into k clusters by the methods that a start of centroids may use."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from coterie.ops.anchors import anchor_partition
from coterie.ops.distances import nearest
from coterie.ops.kmeans import kmeans

PARTITIONS = ("graph", "kmeans")


def partition(
    rows: Tensor,
    n_clusters: int,
    how: str,
    *,
    generator: torch.Generator,
    score: Callable[[Tensor], float] | None = None,
    n_restarts: int = 10,
) -> Tensor:
    """Return labels of the rows by k-means or by spectral clustering on an anchor graph.

    Parameters
    ----------
    rows : Tensor of shape (n, d)
    n_clusters : int
    how : {"graph", "kmeans"}
    generator : torch.Generator
    score : callable, optional
        Rates labels without knowing the truth, higher is better. With it the anchor graph is drawn
        `n_restarts` times and the partition of highest score is kept: different anchors give very different
        partitions (measured: ACC 0.79 or 0.95 on USPS).
    n_restarts : int

    Returns
    -------
    Tensor of shape (n,)
        Clusters from 0; every cluster has a row where k-means' empty clusters can be filled.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = partition(rows, 2, "kmeans", generator=torch.Generator().manual_seed(0))
    >>> labels[0] == labels[1], labels[0] == labels[2]
    (tensor(True), tensor(False))
    """
    if how == "kmeans":
        return nearest(rows, kmeans(rows, n_clusters, generator=generator, quiet=True).centers)[0]
    best, highest = None, -torch.inf
    for _ in range(1 if score is None else n_restarts):
        labels = anchor_partition(rows, n_clusters, generator=generator)
        in_use = len(labels.unique()) / n_clusters
        value = in_use if score is None else in_use * score(labels)
        if best is None or value > highest:
            best, highest = labels, value
    assert best is not None
    return best
