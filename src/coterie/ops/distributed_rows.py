"""Rows that several processes share: each computes its own, all of them see the whole.

A process has its part of every loss, and the parts add up to the loss: that of its own rows or pairs of rows, or
an even part of what all of them compute alike. Gradients of a row that other processes found come back to the one
that has it (`joined`). So the sum of the processes' gradients is that of one process with all the rows.
"""

# n rows of the data, b of a batch, m of those of this process

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.collectives import Collectives, share_of
from coterie.data.batches import Batch

Rows = TypeVar("Rows", np.ndarray, Tensor)


def joined(mine: Tensor, batch: Batch, collectives: Collectives) -> Tensor:
    """Return what all processes made of the rows of a batch, (b, d), of which this one made (m, d).

    Backward adds up the gradients that all processes found for a row, and returns them to the one that made it.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> joined(torch.tensor([[1.0], [2.0]]), Batch(np.array([5, 9]), []), ALONE)
    tensor([[1.],
            [2.]])
    """
    return mine if collectives.size == 1 else _Joined.apply(mine, batch, collectives)


def joined_tables(mine: Sequence[Tensor], batch: Batch, collectives: Collectives) -> Sequence[Tensor]:
    """Return `joined` of several tables of a batch's rows, of any widths, in one message."""
    if collectives.size == 1:
        return mine
    return joined(torch.cat(list(mine), dim=1), batch, collectives).split(
        [one.shape[1] for one in mine], dim=1
    )


class _Joined(torch.autograd.Function):
    """A sum over processes of tables that are zero but for the rows of each; its gradient is a sum as well."""

    @staticmethod
    def forward(ctx: Any, mine: Tensor, batch: Batch, collectives: Collectives) -> Tensor:
        ctx.places, ctx.collectives = torch.from_numpy(batch.own).to(mine.device), collectives
        placed = mine.new_zeros(len(batch.rows), *mine.shape[1:]).index_copy_(0, ctx.places, mine)
        return collectives.sum(placed)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.collectives.sum(gradient)[ctx.places], None, None


def of_share(whole: Tensor, batch: Batch) -> Tensor:
    """Return the lines of the rows of a batch, (b, ...), that are this process's, (m, ...).

    Examples
    --------
    >>> of_share(torch.tensor([1.0, 2.0]), Batch(np.array([5, 9]), [], share=np.array([1])))
    tensor([2.])
    """
    return whole if batch.share is None else whole[torch.from_numpy(batch.share).to(whole.device)]


def even_parts(losses: Mapping[str, Tensor], collectives: Collectives) -> dict[str, Tensor]:
    """Return this process's part of losses that all processes compute alike.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> even_parts({"entropy": torch.tensor(3.0)}, ALONE)
    {'entropy': tensor(3.)}
    """
    return {name: loss / collectives.size for name, loss in losses.items()}


def gathered(mine: Rows, n_rows: int, collectives: Collectives) -> Rows:
    """Return what all processes found for their shares of n rows, as `share_of` gives them, in order.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> gathered(np.array([3, 1]), 2, ALONE)
    array([3, 1])
    """
    if collectives.size == 1:
        return mine
    shape = (n_rows, *mine.shape[1:])
    placed = np.zeros(shape, mine.dtype) if isinstance(mine, np.ndarray) else mine.new_zeros(shape)
    placed[share_of(n_rows, collectives)] = mine
    return collectives.sum(placed)


def agreed(values: Rows, collectives: Collectives) -> Rows:
    """Return what the first process has, so that machines that round differently go on alike.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> agreed(np.array([2, 0]), ALONE)
    array([2, 0])
    """
    if collectives.size == 1:
        return values
    nothing = np.zeros_like(values) if isinstance(values, np.ndarray) else torch.zeros_like(values)
    return collectives.sum(values if collectives.rank == 0 else nothing)


@torch.no_grad()
def agree(tensors: Iterable[Tensor], collectives: Collectives) -> None:
    """Set tensors to what the first process has."""
    if collectives.size > 1:
        for tensor in tensors:
            tensor.copy_(agreed(tensor, collectives))
