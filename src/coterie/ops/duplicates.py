"""Rows that are copies of each other, and neighbours beyond them."""

# n rows, d features, k neighbours

from __future__ import annotations

import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.ops.neighbours import neighbour_table

_COMPARED = 1024
_ROUNDING = 4  # in units of the last place of the largest value
_PART = 3


def table_beyond_copies(
    rows: Tensor, n_neighbors: int, *, generator: torch.Generator, collectives: Collectives = ALONE
) -> Tensor:
    """Return the (n, k) numbers of each row's nearest other rows, of which a third at most are copies of the row.

    Of the copies of another row only the first is named. In whole numbers and answers many rows are alike, and rows
    that named nothing but their copies would be islands that nothing ties to anything (measured on answers from 1 to
    10, a third of them copies: ACC of PCX .75, and .97 so). With as many neighbours asked for as there are different
    rows, copies are neighbours like others.

    Several views do without it: another view ties what are islands in one, and copies are the surest neighbours there
    (cora: .58 with it, .65 without).

    Parameters
    ----------
    rows : Tensor of shape (n, d)
    n_neighbors : int
    generator, collectives
        As `neighbour_table` has them.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.0], [0.0], [0.0], [1.0], [3.0], [9.0]])
    >>> table_beyond_copies(rows, 3, generator=torch.Generator())[:3]
    tensor([[1, 4, 5],
            [0, 4, 5],
            [0, 4, 5]])
    """
    different, places = first_copies(rows).unique(return_inverse=True)
    if len(different) in range(n_neighbors + 1, len(rows)):
        among = neighbour_table(rows[different], n_neighbors, generator=generator, collectives=collectives)
        return _with_copies(different[among][places], places, n_neighbors // _PART)
    return neighbour_table(rows, n_neighbors, generator=generator, collectives=collectives)


def first_copies(rows: Tensor) -> Tensor:
    """Return for each row the number of the first row that is equal but for rounding, (n,).

    Copies lie next to each other in the order along a random direction.

    Examples
    --------
    >>> first_copies(torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    tensor([0, 1, 0])
    """
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(rows.shape[1], generator=generator, dtype=torch.float64).to(rows.device)
    along = torch.cat([part.double() @ direction for part in rows.split(_COMPARED)])
    order = along.argsort(stable=True)
    least = _ROUNDING * torch.finfo(rows.dtype).eps * rows.abs().max()
    new = torch.ones_like(order, dtype=torch.bool)
    pieces = (some.split(_COMPARED) for some in (order[1:], order[:-1], new[1:]))
    for mine, before, found in zip(*pieces, strict=True):
        found.copy_((rows[mine] - rows[before]).abs().amax(1) > least)
    groups = torch.empty_like(order).index_copy_(0, order, new.cumsum(0) - 1)
    first = torch.full_like(order, len(rows)).scatter_reduce_(0, groups, _count(order), "amin")
    return first[groups]


def _with_copies(table: Tensor, places: Tensor, most: int) -> Tensor:
    """Put up to `most` copies of each row before its neighbours (n, k) elsewhere; copies share their place (n,)."""
    order = places.argsort(stable=True)
    sizes = torch.bincount(places)
    starts = (sizes.cumsum(0) - sizes)[places]
    rank = torch.empty_like(order).index_copy_(0, order, _count(order)) - starts
    wanted = torch.arange(most, device=order.device).expand(len(order), most)
    wanted = wanted + (wanted >= rank[:, None])  # a row passes over itself
    absent = wanted >= sizes[places][:, None]
    copies = order[(starts[:, None] + wanted).clamp(max=len(order) - 1)]
    found = torch.cat([copies, table], dim=1)
    last = torch.cat([absent, torch.zeros_like(table, dtype=torch.bool)], dim=1)
    kept = last.to(torch.int8).argsort(dim=1, stable=True)[:, : table.shape[1]]
    return found.gather(1, kept)


def _count(numbers: Tensor) -> Tensor:
    return torch.arange(len(numbers), device=numbers.device)
