"""Tables of nearest neighbours: exact in blocks, approximate by cells where rows are many."""

# n rows, d features, k neighbours, q queries

from __future__ import annotations

import math

import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives, share_of
from coterie.errors import InputError
from coterie.ops.distances import nearest, top_columns
from coterie.ops.distributed_rows import gathered
from coterie.ops.kmeans import kmeans

EXACT_ROWS = 100_000
_QUERIES = 1024
_BLOCK = 128
_COMPARED = 2**24


def neighbour_table(
    rows: Tensor,
    n_neighbors: int,
    *,
    generator: torch.Generator,
    exact_rows: int = EXACT_ROWS,
    probes: int = 8,
    collectives: Collectives = ALONE,
) -> Tensor:
    """Return the (n, k) numbers of each row's nearest other rows, nearest first, in Euclidean distance.

    Exact up to `exact_rows` rows, at the cost of n^2 d products. Beyond that the rows
    are put into about sqrt(n) cells by k-means and each row is compared with the rows of the `probes` cells
    nearest to its own: about n^1.5 d products. Processes that have the same rows share the search.

    Examples
    --------
    >>> neighbour_table(torch.tensor([[0.0], [1.0], [5.0]]), 1, generator=torch.Generator())
    tensor([[1],
            [0],
            [1]])
    """
    n_rows = len(rows)
    if n_neighbors >= n_rows:
        raise InputError(
            f"n_neighbors={n_neighbors} needs more than the {n_rows} rows there are; ask for fewer."
        )
    if n_rows <= exact_rows:
        everyone = torch.arange(n_rows, device=rows.device)
        mine = everyone[share_of(n_rows, collectives)]
        return gathered(_Pool(rows, everyone).search(mine, n_neighbors), n_rows, collectives)
    return _search_cells(rows, n_neighbors, probes, generator, collectives)


def shared_neighbours(table: Tensor) -> Tensor:
    """Return the (n, k) share of neighbours that a row has in common with each of its neighbours.

    Two rows of one group tend to have the same neighbours, so a high share marks a trustworthy pair.

    Examples
    --------
    >>> shared_neighbours(torch.tensor([[1, 2], [0, 2], [0, 1], [0, 1]]))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000],
            [0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    k = table.shape[1]
    # Filled in place: small tensors that stay, between large ones that go, would keep memory from going back.
    shares = torch.empty(table.shape, device=table.device)
    for part, found in zip(table.split(_QUERIES), shares.split(_QUERIES), strict=True):
        found.copy_((table[part][:, :, :, None] == part[:, None, None, :]).sum((2, 3)) / k)
    return shares


class _Pool:
    """Rows to be searched, padded to whole blocks with rows that are never near.

    |q - x|^2 orders rows as q x - |x|^2 / 2 does.
    """

    def __init__(self, rows: Tensor, among: Tensor) -> None:
        self.rows, self.among = rows, among
        pool = rows if len(among) == len(rows) else rows[among]
        padding = -len(among) % _BLOCK
        self.pool = torch.nn.functional.pad(pool, (0, 0, 0, padding))
        self.bias = torch.nn.functional.pad(pool.square().sum(1).mul_(-0.5), (0, padding), value=-math.inf)

    def search(self, queries: Tensor, k: int) -> Tensor:
        """Return the numbers of the k nearest rows of each query, which is left out of its own list.

        As many queries at a time as keep the block of comparisons at 64 MB or a few lines.
        """
        together = min(_QUERIES, max(_BLOCK, _COMPARED // len(self.pool)))
        table = queries.new_empty(len(queries), k)
        for part, found in zip(queries.split(together), table.split(together), strict=True):
            found.copy_(self._search(part, k))
        return table

    def _search(self, queries: Tensor, k: int) -> Tensor:
        closeness = torch.addmm(self.bias, self.rows[queries], self.pool.T)
        found = self.among[top_columns(closeness, k + 1, _BLOCK)[1]]
        # Among duplicates a row may miss itself; then the last of the k + 1 goes instead.
        own = found == queries[:, None]
        own[:, -1] |= ~own.any(1)
        return found[~own].view(len(queries), k)


def _search_cells(
    rows: Tensor, k: int, probes: int, generator: torch.Generator, collectives: Collectives
) -> Tensor:
    n_cells = int(math.sqrt(len(rows)))
    centers = kmeans(rows, n_cells, generator=generator, n_init=1, max_iter=5, quiet=True).centers
    cells = nearest(rows, centers)[0]
    order = cells.argsort(stable=True)
    members = order.split(torch.bincount(cells, minlength=n_cells).tolist())
    near = _nearest_cells(centers, members, probes, least=k + 1)
    table = torch.zeros(len(rows), k, dtype=torch.long, device=rows.device)
    for cell in range(n_cells)[share_of(n_cells, collectives)]:
        own = members[cell]
        if len(own):
            among = torch.cat([members[other] for other in near[cell]])
            table[own] = _Pool(rows, among).search(own, k)
    return collectives.sum(table)


def _nearest_cells(centers: Tensor, members: tuple[Tensor, ...], probes: int, least: int) -> list[list[int]]:
    """Return for each cell the `probes` nearest cells, more where those hold fewer than `least` rows."""
    sizes = [len(own) for own in members]
    order = torch.cat([nearest_first(part, centers) for part in centers.split(_QUERIES)]).tolist()
    chosen = []
    for line in order:
        count, held = 0, 0
        while count < len(line) and (count < probes or held < least):
            held += sizes[line[count]]
            count += 1
        chosen.append(line[:count])
    return chosen


def nearest_first(rows: Tensor, centers: Tensor, most: int = 64) -> Tensor:
    """Return for each row the numbers of its `most` nearest centres, nearest first."""
    closeness = torch.addmm(centers.square().sum(1).mul_(-0.5), rows, centers.T)
    return closeness.topk(min(most, len(centers))).indices
