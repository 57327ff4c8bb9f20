"""What the layers see of each view: its scaled columns, or how near a row is to the view's landmarks."""

# n rows, b rows of a batch, v views, d columns of a view, q landmarks

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from coterie.graph.concatenation import Concatenation, row_size
from coterie.methods.largemvc.rows import SparseRows
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.anchors import nearest_anchors
from coterie.ops.kmeans import kmeans

_NEAREST = 5
LLOYD_STEPS = 5
_LEAST = 1e-12


class ColumnFeatures(nn.Module):
    """The columns themselves, divided by one number so that all views weigh the same (spec largemvc 2.6).

    Parameters
    ----------
    n_columns : int

    Examples
    --------
    >>> features = ColumnFeatures(2).fit(torch.tensor([[3.0, 4.0], [0.0, 5.0]]))
    >>> features(torch.tensor([[3.0, 4.0]])).square().sum()
    tensor(1.)
    """

    spread: Tensor

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.width = n_columns
        self.register_buffer("spread", torch.ones(()))

    @torch.no_grad()
    def fit(self, rows: Tensor) -> ColumnFeatures:
        """Learn the size of a row from a sample of present rows."""
        self.spread.copy_(row_size(rows))
        return self

    def forward(self, rows: Tensor) -> Tensor:
        """Return the features of scaled rows."""
        return rows / self.spread

    def back(self, features: Tensor) -> Tensor:
        """Return the scaled rows that have these features."""
        return features * self.spread


class LandmarkFeatures(nn.Module):
    r"""How near a row is to landmarks of its view: the weights of an anchor graph, columns made equally heavy.

    The features of all rows are Z D^{-1/2} with the graph's weights Z (n, q) and its column sums D, divided by one
    number. J on them asks for a non-negative code that tells which landmarks a row shares with others: spectral
    clustering of the anchor graph with the constraint kept. Curved groups, which no anchor in the columns can
    follow, are flat in these features.

    Parameters
    ----------
    n_landmarks, n_columns : int

    Examples
    --------
    >>> generator = torch.Generator().manual_seed(0)
    >>> rows = torch.rand(40, 3, generator=generator)
    >>> LandmarkFeatures(8, 3).fit(rows, 10 * rows, generator=generator)(rows).values.shape
    torch.Size([40, 5])
    """

    landmarks: Tensor
    originals: Tensor
    scale: Tensor

    def __init__(self, n_landmarks: int, n_columns: int) -> None:
        super().__init__()
        self.width = n_landmarks
        self.register_buffer("landmarks", torch.zeros(n_landmarks, n_columns))
        self.register_buffer("originals", torch.zeros(n_landmarks, n_columns))
        self.register_buffer("scale", torch.ones(n_landmarks))

    @torch.no_grad()
    def fit(self, rows: Tensor, originals: Tensor, *, generator: torch.Generator) -> LandmarkFeatures:
        """Place the landmarks by a few steps of k-means from random rows of a sample, and weigh the columns.

        `originals` are the same rows before scaling: their means say what a landmark is in the user's units.
        """
        drawn = rows[torch.randperm(len(rows), generator=generator)[: self.width]]
        found = kmeans(rows, self.width, generator=generator, start=drawn, max_iter=LLOYD_STEPS, quiet=True)
        self.landmarks.copy_(found.centers)
        near = self(rows)
        owner = near.columns[:, 0]
        counts = torch.bincount(owner, minlength=self.width).clamp(min=1)
        self.originals.index_add_(0, owner, originals).div_(counts[:, None])
        sums = torch.bincount(near.columns.flatten(), near.values.flatten().double(), minlength=self.width)
        self.scale.copy_(torch.where(sums > _LEAST, sums.clamp(min=_LEAST).rsqrt(), 0.0))
        self.scale.div_(row_size(near.values * self.scale[near.columns]))
        return self

    @torch.no_grad()
    def forward(self, rows: Tensor) -> SparseRows:
        """Return the features of scaled rows, that of the nearest landmark first."""
        if self.width == 1:
            alone = torch.zeros(len(rows), 1, dtype=torch.long, device=rows.device)
            return SparseRows(alone, self.scale[alone], self.width)
        columns, weights = nearest_anchors(rows, self.landmarks, min(_NEAREST, self.width - 1), FORWARD_ROWS)
        return SparseRows(columns, weights.to(rows) * self.scale[columns], self.width)

    def back(self, features: Tensor) -> Tensor:
        """Return rows in the user's units that have about these features: weighted means of the landmarks."""
        weights = (features * torch.where(self.scale > 0, 1 / self.scale.clamp(min=_LEAST), 0.0)).clamp(min=0)
        total = weights.sum(1, keepdim=True)
        even = torch.full_like(weights, 1 / self.width)
        return torch.where(total > _LEAST, weights / total.clamp(min=_LEAST), even) @ self.originals


class SideBySide(Concatenation):
    """All views side by side as one view more: its landmarks.

    Parameters
    ----------
    n_landmarks : int
    n_columns : sequence of int
        Of the views.
    """

    def __init__(self, n_landmarks: int, n_columns: Sequence[int]) -> None:
        super().__init__(n_columns)
        self.landmarks = LandmarkFeatures(n_landmarks, sum(n_columns))

    @property
    def width(self) -> int:
        """How many features a row gets."""
        return self.landmarks.width

    def forward(self, views: Sequence[Tensor]) -> SparseRows:
        """Return how near rows are to the landmarks of the whole table."""
        features: SparseRows = self.landmarks(self.table(views))
        return features
