"""Data parallelism over rows: each process computes its share, and all gather the whole.

A process has its part of every loss, and the parts add up to the loss: that of its own rows or pairs of rows, or an
even part of what all compute alike. `joined` returns the gradients of a row to the process that has it. So the sum of
the gradients over processes is that of one process with all rows.
"""

# n rows of the data, b of a batch, m of those of this process

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.collectives import Collectives, share_of
from coterie.data import Views
from coterie.data.batches import Batch
from coterie.errors import InputError

Rows = TypeVar("Rows", np.ndarray, Tensor)
_COMPARED_ROWS = 1000


def joined(local: Tensor, batch: Batch, collectives: Collectives) -> Tensor:
    """Gather the rows of a batch, (b, d), of which this process computed (m, d).

    Backward sums the gradients of all processes for a row, and returns them to the process that computed it.
    """
    return local if collectives.size == 1 else _Joined.apply(local, batch, collectives)


def joined_tables(local: Sequence[Tensor], batch: Batch, collectives: Collectives) -> Sequence[Tensor]:
    """Return `joined` of several tables of any widths in one all-reduce."""
    if collectives.size == 1:
        return local
    widths = [table.shape[1] for table in local]
    return joined(torch.cat(list(local), dim=1), batch, collectives).split(widths, dim=1)


class _Joined(torch.autograd.Function):
    """A sum over processes of tables that are zero except for the rows of each; its gradient is a sum as well."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, batch: Batch, collectives: Collectives) -> Tensor:
        ctx.places, ctx.collectives = torch.from_numpy(batch.own).to(local.device), collectives
        placed = local.new_zeros(len(batch.rows), *local.shape[1:]).index_copy_(0, ctx.places, local)
        return collectives.sum(placed)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.collectives.sum(gradient)[ctx.places], None, None


def of_share(whole: Tensor, batch: Batch) -> Tensor:
    """Return the rows of this process, (m, ...), out of those of a batch, (b, ...)."""
    return whole if batch.share is None else whole[torch.from_numpy(batch.share).to(whole.device)]


def even_parts(losses: Mapping[str, Tensor], collectives: Collectives) -> dict[str, Tensor]:
    """Return this process's even part of losses that all processes compute alike."""
    return {name: loss / collectives.size for name, loss in losses.items()}


def gathered(local: Rows, n_rows: int, collectives: Collectives) -> Rows:
    """Gather the shares of n rows, as `share_of` gives them, of all processes, in order."""
    if collectives.size == 1:
        return local
    shape = (n_rows, *local.shape[1:])
    placed = np.zeros(shape, local.dtype) if isinstance(local, np.ndarray) else local.new_zeros(shape)
    placed[share_of(n_rows, collectives)] = local
    return collectives.sum(placed)


def agreed(values: Rows, collectives: Collectives) -> Rows:
    """Broadcast the values of the first process, so that machines that round differently stay in step."""
    if collectives.size == 1:
        return values
    zeros = np.zeros_like(values) if isinstance(values, np.ndarray) else torch.zeros_like(values)
    return collectives.sum(values if collectives.rank == 0 else zeros)


def check_same_data(data: Views, collectives: Collectives) -> None:
    """Raise an `InputError` in every process where one has data of another shape, or other values in some rows."""
    if collectives.size == 1:
        return
    checksum = zlib.crc32(repr((data.n_rows, data.dims)).encode())
    for block in data.read(np.linspace(0, data.n_rows - 1, min(data.n_rows, _COMPARED_ROWS)).astype(int)):
        checksum = zlib.crc32(block.tobytes(), checksum)
    if collectives.min(checksum) != collectives.max(checksum):
        raise InputError(
            f"The processes of this run have different data (this one {data.n_rows:,} rows, "
            f"{' + '.join(map(str, data.dims))} columns): give every process the same rows in the same order."
        )


@torch.no_grad()
def agree(tensors: Iterable[Tensor], collectives: Collectives) -> None:
    """Set tensors to those of the first process."""
    if collectives.size > 1:
        for tensor in tensors:
            tensor.copy_(agreed(tensor, collectives))
