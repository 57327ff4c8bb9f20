"""The clusters of all rows between two epochs: labels, centres, widths, sizes, evidence."""

# n rows, s of them embedded in each view, V views, d features, k clusters, p neighbours

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from coterie.methods.mvsib.routing import Evidence, gather_evidence
from coterie.ops.cluster_statistics import cluster_means
from coterie.ops.distances import nearest
from coterie.ops.kmeans import kmeans, match_centers

_LEAST_WIDTH = 1e-3
_CHUNK = 512
_PIECE = 65_536


@dataclass(frozen=True)
class Embeddings:
    """The embeddings of all rows, on the CPU."""

    consensus: Tensor  # (n, d)
    rows: Tensor  # (s,): the rows whose views are kept: all of them, where they are not too many
    views: list[Tensor]  # (s, d)
    present: Tensor  # (s, V)


@dataclass(frozen=True)
class Clusters:
    """A partition of all rows, with the statistics that the losses need."""

    labels: Tensor  # (n,)
    centers: Tensor  # (k, d): means of the consensus
    view_centers: list[Tensor]  # (k, d): means of each view over the rows that have it
    widths: list[Tensor]  # (k,): median distance to the centre in each view
    consensus_widths: Tensor  # (k,)
    sizes: Tensor  # (k,)

    def to(self, device: torch.device) -> Clusters:
        """Move everything but the labels of all rows."""
        return Clusters(
            self.labels,
            self.centers.to(device),
            [centers.to(device) for centers in self.view_centers],
            [widths.to(device) for widths in self.widths],
            self.consensus_widths.to(device),
            self.sizes.to(device),
        )


def first_labels(embeddings: Embeddings, n_clusters: int, generator: torch.Generator) -> Tensor:
    """Return the labels of k-means on the consensus, the best of ten starts, (n,)."""
    return nearest(
        embeddings.consensus,
        kmeans(embeddings.consensus, n_clusters, generator=generator, quiet=True).centers,
    )[0]


def moved_labels(embeddings: Embeddings, centers: Tensor, generator: torch.Generator) -> Tensor:
    """Return the labels of k-means on the consensus from given centres, with the numbers of those (spec 2.3)."""
    moved = kmeans(embeddings.consensus, len(centers), generator=generator, start=centers, quiet=True).centers
    return nearest(embeddings.consensus, match_centers(centers, moved))[0]


def describe(
    embeddings: Embeddings, labels: Tensor, n_clusters: int, generator: torch.Generator | None = None
) -> Clusters:
    """Return the centres, widths and sizes of a partition.

    With a generator the centres of a view are those of a k-means of its own, which begins at the means (3.3).
    """
    view_centers, widths, known = [], [], labels[embeddings.rows]
    for v, rows in enumerate(embeddings.views):
        own = embeddings.present[:, v]
        centers = cluster_means(rows[own], known[own], n_clusters)
        if generator is not None and own.any():
            centers = kmeans(rows[own], n_clusters, generator=generator, start=centers, quiet=True).centers
        view_centers.append(centers)
        widths.append(_widths(rows[own], known[own], centers))
    centers = cluster_means(embeddings.consensus, labels, n_clusters)
    return Clusters(
        labels,
        centers,
        view_centers,
        widths,
        _widths(embeddings.consensus, labels, centers),
        torch.bincount(labels, minlength=n_clusters),
    )


def _widths(rows: Tensor, labels: Tensor, centers: Tensor) -> Tensor:
    """Return the median distance to its centre inside each cluster, (k,); that of all rows for an empty one."""
    pieces = zip(rows.split(_PIECE), labels.split(_PIECE), strict=True)
    distances = torch.cat([(part - centers[kind]).norm(dim=1) for part, kind in pieces])
    order = torch.argsort(labels, stable=True)
    parts = distances[order].split(torch.bincount(labels, minlength=len(centers)).tolist())
    usual = distances.median() if len(distances) else torch.ones(())
    return torch.stack([part.median() if len(part) else usual for part in parts]).clamp(min=_LEAST_WIDTH)


def own_similarity(consensus: Tensor, clusters: Clusters) -> Tensor:
    """Return the cosine of all rows to the centre of their cluster, (n,) (Eq. 16)."""
    centers = F.normalize(clusters.centers, dim=1)
    pieces = zip(consensus.split(_PIECE), clusters.labels.split(_PIECE), strict=True)
    return torch.cat([(part * centers[kind]).sum(1) for part, kind in pieces])


def evidence_of_all(
    embeddings: Embeddings,
    clusters: Clusters,
    neighbours: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> Evidence:
    """Return the evidence for the label of each row (Eqs. 15 to 17), over all rows.

    The neighbours are those of the joined graph; distances are those of the consensus.

    Parameters
    ----------
    neighbours : iterable of (rows, numbers, weights)
        Some rows (m,) with the numbers (m, p) and weights (m, p) of their neighbours; together all rows.
    """
    n_rows = len(clusters.labels)
    votes, nearness = torch.zeros(n_rows), torch.zeros(n_rows)
    similarity = own_similarity(embeddings.consensus, clusters)
    for rows, numbers, weights in neighbours:
        for first in range(0, len(rows), _CHUNK):
            part = slice(first, first + _CHUNK)
            mine, theirs = torch.from_numpy(rows[part]), torch.from_numpy(numbers[part])
            same = clusters.labels[mine][:, None] == clusters.labels[theirs]
            cosines = torch.bmm(embeddings.consensus[theirs], embeddings.consensus[mine][:, :, None])[:, :, 0]
            distances = (2 - 2 * cosines).clamp(min=0).sqrt()
            evidence = gather_evidence(torch.from_numpy(weights[part]), same, distances, similarity[mine])
            votes[mine], nearness[mine] = evidence.votes, evidence.nearness
    return Evidence(votes, similarity, nearness)
