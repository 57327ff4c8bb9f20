"""Rows of features: a dense table, or a few non-zero values per row with their column indices."""

# b rows, f features, p features of a row that are not zero, m anchors

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F  # noqa: N812
from torch import Tensor


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
    >>> import torch
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
    >>> import torch
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
    """Return the table of all features, (b, f).

    Examples
    --------
    >>> import torch
    >>> dense(SparseRows(torch.tensor([[2, 0]]), torch.tensor([[10.0, 1.0]]), 3))
    tensor([[ 1.,  0., 10.]])
    """
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
