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
    n_restarts: int = 20,
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
        Clusters from 0. A graph whose partitions all leave a cluster empty gives way to k-means.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = partition(rows, 2, "kmeans", generator=torch.Generator().manual_seed(0))
    >>> labels[0] == labels[1], labels[0] == labels[2]
    (tensor(True), tensor(False))
    """
    if how == "graph":
        drawn = [
            anchor_partition(rows, n_clusters, generator=generator)
            for _ in range(1 if score is None else n_restarts)
        ]
        whole = [labels for labels in drawn if len(labels.unique()) == n_clusters]
        if whole:
            return whole[0] if score is None else max(whole, key=score)
    return nearest(rows, kmeans(rows, n_clusters, generator=generator, quiet=True).centers)[0]
