"""Features of a view: its scaled columns, or a row's weights on the nearest landmarks, few values per row."""

# n rows, b rows of a batch, d columns of a view, f features, p of them not zero, q landmarks, m anchors

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.graph.concatenation import Concatenation, row_size
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.anchors import nearest_anchors
from coterie.ops.kmeans import kmeans

LLOYD_STEPS = 5
_NEAREST = 5
_EPSILON = 1e-12


@dataclass(frozen=True)
class SparseRows:
    """Rows with p non-zero features each: `columns` (b, p), no column twice in a row, and `values` (b, p)."""

    columns: Tensor
    values: Tensor
    width: int

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> SparseRows:
        return SparseRows(self.columns[rows], self.values[rows], self.width)

    def __mul__(self, factors: Tensor) -> SparseRows:
        """Return each row times its factor, (b, 1)."""
        return SparseRows(self.columns, self.values * factors, self.width)

    def double(self) -> SparseRows:
        """Convert to double precision."""
        return SparseRows(self.columns, self.values.double(), self.width)


Rows = Tensor | SparseRows


def scores(rows: Rows, anchors: Tensor) -> Tensor:
    """Return x P' of each row, (b, m), for anchors P (m, f).

    Examples
    --------
    >>> scores(SparseRows(torch.tensor([[2, 0]]), torch.tensor([[10.0, 1.0]]), 3), torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[31.]])
    """
    if isinstance(rows, Tensor):
        return rows @ anchors.T
    return F.embedding_bag(rows.columns, anchors.T.contiguous(), per_sample_weights=rows.values, mode="sum")


def squares(rows: Rows) -> Tensor:
    """Return |x|^2 of each row, (b,)."""
    return (rows if isinstance(rows, Tensor) else rows.values).square().sum(1)


def sums(codes: Tensor, rows: Rows) -> Tensor:
    """Return H' X, (m, f), for codes H (b, m); sparse rows are summed in double precision.

    Examples
    --------
    >>> sums(torch.ones(2, 1), SparseRows(torch.tensor([[2], [2]]), torch.tensor([[10.0], [1.0]]), 3))
    tensor([[ 0.,  0., 11.]], dtype=torch.float64)
    """
    if isinstance(rows, Tensor):
        return codes.T @ rows
    exact = codes.double()
    total = exact.new_zeros(rows.width, codes.shape[1])
    for column, value in zip(rows.columns.T, rows.values.T, strict=True):
        total.index_add_(0, column, exact * value[:, None])
    return total.T


def dense(rows: Rows) -> Tensor:
    """Return the table of all features, (b, f)."""
    if isinstance(rows, Tensor):
        return rows
    return rows.values.new_zeros(len(rows), rows.width).scatter_(1, rows.columns.long(), rows.values)


def padded(rows: Rows, n_rows: int) -> Rows:
    """Append so many rows of zeros."""
    if isinstance(rows, Tensor):
        return F.pad(rows, (0, 0, 0, n_rows))
    return SparseRows(
        F.pad(rows.columns, (0, 0, 0, n_rows)), F.pad(rows.values, (0, 0, 0, n_rows)), rows.width
    )


class ColumnFeatures(nn.Module):
    """The columns, divided by one number so that all views have the same weight (spec largemvc 2.6), or as they are.

    Examples
    --------
    >>> features = ColumnFeatures(2).fit(torch.tensor([[3.0, 4.0], [0.0, 5.0]]))
    >>> features(torch.tensor([[3.0, 4.0]])).square().sum()
    tensor(1.)
    """

    spread: Tensor

    def __init__(self, n_columns: int, *, balanced: bool = True) -> None:
        super().__init__()
        self.width, self.balanced = n_columns, balanced
        self.register_buffer("spread", torch.ones(()))

    @torch.no_grad()
    def fit(self, rows: Tensor) -> ColumnFeatures:
        """Set the mean norm from a sample of present rows."""
        if self.balanced:
            self.spread.copy_(row_size(rows))
        return self

    def forward(self, rows: Tensor) -> Tensor:
        """Return the features of scaled rows, (b, d)."""
        return rows / self.spread

    def restore(self, features: Tensor) -> Tensor:
        """Return the scaled rows with these features, (b, d)."""
        return features * self.spread


class LandmarkFeatures(nn.Module):
    r"""The weights of an anchor graph on the landmarks of a view, with columns of equal total weight.

    The features of all rows are Z D^{-1/2} with the graph's weights Z (n, q) and its column sums D, divided by one
    number. On them J is spectral clustering of the anchor graph with non-negative codes. Curved clusters, which no
    anchor in the columns can follow, are flat in these features.

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
        """Place the landmarks by a few k-means steps from random rows of a sample, and set the column scales.

        `originals` are the same rows before scaling; their means are the landmarks in the user's units.
        """
        seeds = rows[torch.randperm(len(rows), generator=generator)[: self.width]]
        clustering = kmeans(
            rows, self.width, generator=generator, start=seeds, max_iter=LLOYD_STEPS, quiet=True
        )
        self.landmarks.copy_(clustering.centers)
        weights = self(rows)
        closest = weights.columns[:, 0]
        counts = torch.bincount(closest, minlength=self.width).clamp(min=1)
        self.originals.index_add_(0, closest, originals).div_(counts[:, None])
        degrees = torch.bincount(
            weights.columns.flatten(), weights.values.flatten().double(), minlength=self.width
        )
        self.scale.copy_(torch.where(degrees > _EPSILON, degrees.clamp(min=_EPSILON).rsqrt(), 0.0))
        self.scale.div_(row_size(weights.values * self.scale[weights.columns]))
        return self

    @torch.no_grad()
    def forward(self, rows: Tensor) -> SparseRows:
        """Return the features of scaled rows, that of the nearest landmark first."""
        if self.width == 1:
            only = torch.zeros(len(rows), 1, dtype=torch.long, device=rows.device)
            return SparseRows(only, self.scale[only], self.width)
        columns, weights = nearest_anchors(rows, self.landmarks, min(_NEAREST, self.width - 1), FORWARD_ROWS)
        return SparseRows(columns, weights.to(rows) * self.scale[columns], self.width)

    def restore(self, features: Tensor) -> Tensor:
        """Return approximate rows in the user's units, (b, d): weighted means of the landmarks."""
        inverse = torch.where(self.scale > 0, 1 / self.scale.clamp(min=_EPSILON), 0.0)
        weights = (features * inverse).clamp(min=0)
        total = weights.sum(1, keepdim=True)
        even = torch.full_like(weights, 1 / self.width)
        return torch.where(total > _EPSILON, weights / total.clamp(min=_EPSILON), even) @ self.originals


class ConcatenatedFeatures(Concatenation):
    """The landmark features of all views concatenated, as one more view."""

    def __init__(self, n_landmarks: int, n_columns: Sequence[int]) -> None:
        super().__init__(n_columns)
        self.landmarks = LandmarkFeatures(n_landmarks, sum(n_columns))

    @property
    def width(self) -> int:
        """Number of features."""
        return self.landmarks.width

    def forward(self, views: Sequence[Tensor]) -> SparseRows:
        """Return the features of the scaled views of rows."""
        features: SparseRows = self.landmarks(self.table(views))
        return features
