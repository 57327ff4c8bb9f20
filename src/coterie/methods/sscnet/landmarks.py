"""Landmarks: the rows whose graph is embedded and cut, and that pass their clusters on to all others (spec 2.8)."""

# n landmarks, b rows of a batch, D features, f numbers compared, k clusters, N neighbours

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F  # noqa: N812
from scipy import sparse
from torch import Tensor, nn

from coterie.methods.sscnet.affinity import fixed_laplacian, islands, knn_affinity, width_weights
from coterie.ops.cluster_statistics import cluster_means
from coterie.ops.distances import closest, nearest
from coterie.ops.kmeans import kmeans, match_centers
from coterie.ops.stiefel import bottom_space, nearest_orthonormal, random_start

_FIRST_LAYERS = 300
_SETTLED = 1e-4


@dataclass(frozen=True)
class Refresh:
    """Figures of a refresh of the landmarks."""

    trace: float  # tr(Y' L Y)
    components: int  # connected components of the graph
    changed: float = 1.0  # share of the landmarks whose cluster changed


@dataclass(frozen=True)
class Votes:
    """The nearest landmarks of rows and their weights (Nyström's extension, spec 2.8)."""

    numbers: Tensor  # (b, N): the nearest landmarks
    weights: Tensor  # (b, N): rows sum to one

    def mean(self, values: Tensor) -> Tensor:
        """Return the weighted mean of the landmarks' values (n, c), (b, c)."""
        return torch.bmm(self.weights[:, None], values[self.numbers])[:, 0]


class Landmarks(nn.Module):
    """A fixed set of rows, the spectral embedding of their graph, and their clusters.

    Parameters
    ----------
    n_landmarks, n_features, n_compared, n_clusters : int
        `n_compared` is f, the larger of the widths of codes and embeddings.
    n_neighbors : int
        N, of the graph of landmarks and of the votes.

    Attributes
    ----------
    rows : Tensor of shape (n, D)
        Scaled rows.
    by_code : Tensor of shape ()
        Whether the graph compares sparse codes, by cosine, or embeddings, by Euclidean distance.
    compared : Tensor of shape (n, f)
        Features of the graph at the last refresh; a narrower embedding is padded with zeros.
    columns : Tensor of shape (n, k)
        Y, orthonormal: the bottom of the graph's Laplacian.
    centers : Tensor of shape (k, k)
        Of the clusters, among the places.
    labels : Tensor of shape (n,)
    """

    rows: Tensor
    by_code: Tensor
    compared: Tensor
    columns: Tensor
    centers: Tensor
    labels: Tensor

    def __init__(
        self, n_landmarks: int, n_features: int, n_compared: int, n_clusters: int, *, n_neighbors: int
    ) -> None:
        super().__init__()
        self.n_neighbors = min(n_neighbors, n_landmarks - 1)
        self.register_buffer("rows", torch.zeros(n_landmarks, n_features))
        self.register_buffer("by_code", torch.zeros((), dtype=torch.bool))
        self.register_buffer("compared", torch.zeros(n_landmarks, n_compared))
        self.register_buffer("columns", torch.zeros(n_landmarks, n_clusters))
        self.register_buffer("centers", torch.zeros(n_clusters, n_clusters))
        self.register_buffer("labels", torch.zeros(n_landmarks, dtype=torch.long))

    @property
    def started(self) -> bool:
        """Whether there are clusters."""
        return bool(self.columns.any())

    def places(self) -> Tensor:
        """Return the rows of Y, of unit length, (n, k)."""
        return F.normalize(self.columns, dim=1)

    def memberships(self) -> Tensor:
        """Return the labels one-hot, (n, k)."""
        return F.one_hot(self.labels, len(self.centers)).to(self.columns.dtype)

    def graph(self) -> sparse.csr_matrix:
        """Return the (n, n) kNN graph, with more neighbours where it has more components than clusters.

        Each component has an eigenvector of eigenvalue zero, so k of them would be arbitrary (spec E10).
        """
        n_neighbors, most = self.n_neighbors, len(self.compared) - 1
        unit = bool(self.by_code)
        graph = knn_affinity(self.compared, n_neighbors, unit=unit).matrix()
        while islands(graph) > len(self.centers) and n_neighbors < most:
            n_neighbors = min(2 * n_neighbors, most)
            graph = knn_affinity(self.compared, n_neighbors, unit=unit).matrix()
        return graph

    @torch.no_grad()
    def start(self, compared: Tensor, generator: torch.Generator, labels: Tensor | None = None) -> Refresh:
        """Embed the graph of features (n, f) from a random start, and find the clusters.

        With labels (n,) those are the clusters, and `changed` is the share of landmarks that are nearer to the centre
        of another one; without, k-means of the places finds them.
        """
        n_landmarks, k = self.columns.shape
        refresh = self._embed(compared, random_start(n_landmarks, k, generator).to(compared), _FIRST_LAYERS)
        if labels is None:
            self.cut(kmeans(self.places(), k, generator=generator, quiet=True).centers)
            return refresh
        self.take(labels)
        return replace(refresh, changed=self._astray())

    @torch.no_grad()
    def refresh(
        self, compared: Tensor, n_layers: int, generator: torch.Generator, *, move: bool = False
    ) -> Refresh:
        """Embed the graph of features (n, f) from the last columns.

        The labels stay, and `changed` is as in `start`; or k-means moves them, and clusters keep their numbers.
        """
        refresh = self._embed(compared, self.columns, n_layers)
        if not move:
            self.take(self.labels)
            return replace(refresh, changed=self._astray())
        moved = kmeans(
            self.places(), len(self.centers), generator=generator, start=self.centers, quiet=True
        ).centers
        before = self.labels.clone()
        self.cut(match_centers(self.centers, moved))
        return replace(refresh, changed=float((self.labels != before).double().mean()))

    def _astray(self) -> float:
        """Return the share of landmarks that are nearer to the centre of another cluster."""
        return float((nearest(self.places(), self.centers)[0] != self.labels).double().mean())

    @torch.no_grad()
    def cut(self, centers: Tensor) -> None:
        """Assign every landmark to the centre nearest to its place."""
        self.centers.copy_(centers)
        self.labels.copy_(nearest(self.places(), centers)[0])

    @torch.no_grad()
    def take(self, labels: Tensor) -> None:
        """Take known labels, and the means of their places as centres."""
        self.centers.copy_(cluster_means(self.places(), labels, len(self.centers)))
        self.labels.copy_(labels)

    @torch.no_grad()
    def turn(self, places: Tensor) -> None:
        """Rotate the columns so that the landmarks come nearest to other places (n, k).

        A graph has its bottom eigenvectors up to a rotation (spec sscnet E14).
        """
        self.columns.copy_(self.columns @ nearest_orthonormal(self.columns.T @ places))
        self.take(self.labels)

    @torch.no_grad()
    def votes(self, compared: Tensor) -> Votes:
        """Return the landmarks nearest to rows with features (b, f), and their weights."""
        known = self.compared[:, : compared.shape[1]]
        if self.by_code:
            compared, known = F.normalize(compared, dim=1), F.normalize(known, dim=1)
        squares, numbers = closest(compared, known, self.n_neighbors)
        weights = width_weights(squares)
        return Votes(numbers, weights / weights.sum(1, keepdim=True))

    def _embed(self, compared: Tensor, start: Tensor, n_layers: int) -> Refresh:
        self.compared.zero_()
        self.compared[:, : compared.shape[1]] = compared
        graph = self.graph()
        product = fixed_laplacian(graph, compared)
        self.columns.copy_(bottom_space(product, start, n_layers=n_layers, tol=_SETTLED))
        return Refresh(float((self.columns * product(self.columns)).sum()), islands(graph))
