"""Partitions of rows into k clusters by the methods that a start of centroids may use."""

from __future__ import annotations

import torch
from torch import Tensor

from coterie.ops.anchors import anchor_partition
from coterie.ops.distances import nearest
from coterie.ops.kmeans import kmeans

PARTITIONS = ("graph", "kmeans")


def partition(rows: Tensor, n_clusters: int, how: str, *, generator: torch.Generator) -> Tensor:
    """Return labels of the rows by k-means or by spectral clustering on an anchor graph.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = partition(rows, 2, "kmeans", generator=torch.Generator().manual_seed(0))
    >>> labels[0] == labels[1], labels[0] == labels[2]
    (tensor(True), tensor(False))
    """
    if how == "graph":
        return anchor_partition(rows, n_clusters, generator=generator)
    return nearest(rows, kmeans(rows, n_clusters, generator=generator, quiet=True).centers)[0]
