"""Which views of a row count: those that are there, say something, and are not corrupt."""

# b rows, v views, d columns of a view

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from coterie.data import Scaler
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.distances import squared_distances

_CORRUPT = 3.0


class Guard(nn.Module):
    """Finds rows of a view that are far from everything: corrupt, whatever their direction.

    A row is judged by its distance, before any scaling, to the third nearest of a few hundred rows drawn at
    random: the first may be the row itself, the second another corrupt one. It is corrupt when that distance is
    more than three times the median.

    Parameters
    ----------
    n_prototypes, n_columns : int

    Examples
    --------
    >>> rows = torch.linspace(0, 1, 20)[:, None]
    >>> guard = Guard(10, 1).fit(rows, generator=torch.Generator().manual_seed(0))
    >>> guard(torch.tensor([[0.4], [7.0]]))
    tensor([False,  True])
    """

    prototypes: Tensor
    limit: Tensor

    def __init__(self, n_prototypes: int, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("prototypes", torch.zeros(n_prototypes, n_columns))
        self.register_buffer("limit", torch.full((), torch.inf))

    @torch.no_grad()
    def fit(self, rows: Tensor, *, generator: torch.Generator) -> Guard:
        """Draw the prototypes from a sample of present rows and learn the usual distance."""
        drawn = torch.randperm(len(rows), generator=generator)[: len(self.prototypes)]
        self.prototypes.copy_(rows[drawn])
        self.limit.copy_(_CORRUPT * self.distance(rows).median())
        return self

    def distance(self, rows: Tensor) -> Tensor:
        """Return the distance of each row to its third nearest prototype, (b,)."""
        third = min(3, len(self.prototypes))
        return squared_distances(rows, self.prototypes).topk(third, largest=False).values[:, -1].sqrt()

    @torch.no_grad()
    def forward(self, rows: Tensor) -> Tensor:
        """Return which rows are corrupt, (b,)."""
        return torch.cat([self.distance(part) for part in rows.split(FORWARD_ROWS)]) > self.limit


def scaled_rows(scaler: Scaler, blocks: Sequence[np.ndarray], counts: np.ndarray) -> list[Tensor]:
    """Return the scaled rows of each view, (b, d); zeros where a view does not count."""
    # Copies that torch allocates: products of arrays that lie elsewhere in memory may round differently.
    return [torch.tensor(rows) for rows in scaler.transform(blocks, counts)]


def usable(
    blocks: Sequence[np.ndarray], there: np.ndarray | None, guards: Sequence[Guard], idle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where a view counts and where it was judged corrupt, both bool (b, v).

    An empty row (all zeros, as of a text without words) and a view that never changes say nothing, and a corrupt
    row misleads: none of them counts as long as the row has another view to go by.
    """
    shape = len(blocks[0]), len(blocks)
    there = np.ones(shape, dtype=bool) if there is None else there
    filled = np.column_stack([block.any(axis=1) for block in blocks]) & there & ~idle
    filled = np.where(filled.any(axis=1, keepdims=True), filled, there)
    corrupt = np.zeros(shape, dtype=bool)
    for v, guard in enumerate(guards):
        found = guard(torch.from_numpy(blocks[v]).to(guard.prototypes.device)).cpu().numpy()
        corrupt[:, v] = found & filled[:, v]
    sound = filled & ~corrupt
    lost = np.logical_not(sound.any(axis=1))
    corrupt[lost] = False
    return np.where(lost[:, None], filled, sound), corrupt
