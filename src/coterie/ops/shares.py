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


class Sent:
    """Tables of a batch's rows, of which every process has made its share, on their way to the others.

    What is computed between `Sent(...)` and `joined()` is computed while they travel; and its gradient while the
    gradients for them travel back, for backward takes the same steps in the opposite order. So a process that is late
    keeps the others waiting only for what it is late beyond that.

    Parameters
    ----------
    parts : sequence of Tensor of shape (m, d)
        What this process made of its rows; tables of any widths, which travel together.
    batch : Batch
    collectives : Collectives

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> sent = Sent([torch.tensor([[1.0]]), torch.tensor([[2.0]])], Batch(np.array([5]), []), ALONE)
    >>> sent.joined()
    (tensor([[1.]]), tensor([[2.]]))
    """

    def __init__(self, parts: Sequence[Tensor], batch: Batch, collectives: Collectives) -> None:
        self._parts, self._way = tuple(parts), None
        if collectives.size > 1:
            mine = torch.cat(self._parts, dim=1)
            self._way = _Way(torch.from_numpy(batch.own).to(mine.device), len(batch.rows), collectives)
            self._token = _Send.apply(mine, self._way)

    def joined(self) -> tuple[Tensor, ...]:
        """Return the tables of all rows, (b, d); the gradients that all processes find for them add up."""
        if self._way is None:
            return self._parts
        return _Arrive.apply(self._token, self._way).split([part.shape[1] for part in self._parts], dim=1)


def joined(mine: Tensor, batch: Batch, collectives: Collectives) -> Tensor:
    """Return what all processes made of the rows of a batch, (b, d), as `Sent` does, at once.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> joined(torch.tensor([[1.0], [2.0]]), Batch(np.array([5, 9]), []), ALONE)
    tensor([[1.],
            [2.]])
    """
    return Sent([mine], batch, collectives).joined()[0]


class _Way:
    """Where the rows of a process belong in the batch, and the sum that is on its way, there or back."""

    def __init__(self, places: Tensor, n_rows: int, collectives: Collectives) -> None:
        self.places, self.n_rows, self._collectives = places, n_rows, collectives

    def send(self, values: Tensor) -> None:
        self._arrival = self._collectives.begin_sum(values)

    def arrive(self) -> Tensor:
        return self._arrival()


class _Send(torch.autograd.Function):
    """Begins the way there and ends the way back; what `_Arrive` gets and returns for it is a token."""

    @staticmethod
    def forward(ctx: Any, mine: Tensor, way: _Way) -> Tensor:
        ctx.way = way
        way.send(mine.new_zeros(way.n_rows, *mine.shape[1:]).index_copy_(0, way.places, mine))
        return mine.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, token: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.way.arrive()[ctx.way.places], None


class _Arrive(torch.autograd.Function):
    """Ends the way there and begins the way back."""

    @staticmethod
    def forward(ctx: Any, token: Tensor, way: _Way) -> Tensor:
        ctx.way = way
        return way.arrive()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        ctx.way.send(gradient.clone())
        return gradient.new_zeros(()), None


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
