"""Forward passes that give a row the same result alone and in a batch."""

from __future__ import annotations

from collections.abc import Iterator

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

# Every forward pass outside training has this many rows, the last one padded: matrix products of another size round
# differently.
FORWARD_ROWS = 256


def passes(rows: Tensor) -> Iterator[tuple[Tensor, int]]:
    """Yield rows in parts padded to `FORWARD_ROWS`, and how many rows of each part are not padding.

    Examples
    --------
    >>> import torch
    >>> [(tuple(part.shape), size) for part, size in passes(torch.ones(300, 2))]
    [((256, 2), 256), ((256, 2), 44)]
    """
    for part in rows.split(FORWARD_ROWS):
        missing = FORWARD_ROWS - len(part)
        yield F.pad(part, (0, 0, 0, missing)) if missing else part, len(part)
