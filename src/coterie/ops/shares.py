"""Rows that several processes share: each computes its own, all of them see the whole.

Whatever mixes rows (a contrast, a graph, a mean) is computed by every process on the rows of all of them, of which
only its own have a gradient. So the sum of the processes' gradients is that of one process with all the rows.
"""

# n rows of the data, b of a batch, m of those of this process

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import Collectives, share_of
from coterie.data.batches import Batch

Rows = TypeVar("Rows", np.ndarray, Tensor)


def joined(mine: Tensor, batch: Batch, collectives: Collectives) -> Tensor:
    """Return what all processes made of the rows of a batch, (b, ...); of other processes' rows without gradient.

    Parameters
    ----------
    mine : Tensor of shape (m, ...)
        What this process made of its share.
    batch : Batch
    collectives : Collectives

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> joined(torch.tensor([[1.0], [2.0]]), Batch(np.array([5, 9]), []), ALONE)
    tensor([[1.],
            [2.]])
    """
    if collectives.size == 1:
        return mine
    places = torch.from_numpy(batch.own).to(mine.device)
    placed = mine.new_zeros(len(batch.rows), *mine.shape[1:]).index_copy_(0, places, mine.detach())
    return collectives.sum(placed).index_copy(0, places, mine)


def of_share(whole: Tensor, batch: Batch) -> Tensor:
    """Return the lines of the rows of a batch, (b, ...), that are this process's, (m, ...).

    Examples
    --------
    >>> of_share(torch.tensor([1.0, 2.0]), Batch(np.array([5, 9]), [], share=np.array([1])))
    tensor([2.])
    """
    return whole if batch.share is None else whole[torch.from_numpy(batch.share).to(whole.device)]


def added(mine: Tensor, collectives: Collectives) -> Tensor:
    """Return the sum over processes of what each of them has; only its own part has a gradient.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> added(torch.tensor(3.0), ALONE)
    tensor(3.)
    """
    if collectives.size == 1:
        return mine
    return mine + (collectives.sum(mine.detach()) - mine.detach())


def in_common(parameter: Tensor, collectives: Collectives) -> Tensor:
    """Return a parameter that every process applies to all rows: its value, with an even part of its gradient.

    Examples
    --------
    >>> from coterie.collectives import ALONE
    >>> in_common(torch.tensor(3.0), ALONE)
    tensor(3.)
    """
    if collectives.size == 1:
        return parameter
    part = parameter / collectives.size
    return part + (parameter - part).detach()


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
