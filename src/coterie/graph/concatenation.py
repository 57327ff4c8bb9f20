"""All views side by side as one table."""

# n rows, b rows of a batch, v views, D columns of all views

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

_LEAST = 1e-12


class Concatenation(nn.Module):
    """All views as one table, each centred and divided by the size of its rows.

    Parameters
    ----------
    n_columns : sequence of int
        Of the views.

    Examples
    --------
    >>> views = [torch.tensor([[1.0], [3.0]]), torch.tensor([[10.0], [30.0]])]
    >>> Concatenation([1, 1]).fit(views, torch.ones(2, 2, dtype=torch.bool)).table(views)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    """

    shift: Tensor
    size: Tensor

    def __init__(self, n_columns: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(sum(n_columns)))
        self.register_buffer("size", torch.ones(sum(n_columns)))

    @torch.no_grad()
    def fit(self, views: Sequence[Tensor], present: Tensor) -> Self:
        """Learn the centre and the size of each view from a sample of scaled rows."""
        shifts, sizes = [], []
        for v, view in enumerate(views):
            own = view[present[:, v]]
            shift = own.mean(0) if len(own) else own.new_zeros(own.shape[1])
            shifts.append(shift)
            sizes.append(row_size(own - shift).expand(len(shift)))
        self.shift.copy_(torch.cat(shifts))
        self.size.copy_(torch.cat(sizes))
        return self

    def table(self, views: Sequence[Tensor]) -> Tensor:
        """Return scaled rows of all views side by side, (b, D)."""
        return (torch.hstack(list(views)) - self.shift) / self.size


def row_size(rows: Tensor) -> Tensor:
    """Return the root of the mean squared length of rows; 1 where there are none or all are zeros."""
    size = rows.square().sum(1).mean().sqrt() if len(rows) else rows.new_zeros(())
    return torch.where(size > _LEAST, size, torch.ones_like(size))
