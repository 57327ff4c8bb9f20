"""Forward passes that give a row the same answer alone and in company."""

from __future__ import annotations

from collections.abc import Iterator

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

# Every forward pass outside training has this many rows, the last one padded: matrix products round
# differently for other sizes, and a row must get the same label alone and in company.
FORWARD_ROWS = 256


def passes(rows: Tensor) -> Iterator[tuple[Tensor, int]]:
    """Yield rows in parts of `FORWARD_ROWS`, and how many of each part are rows and not padding.

    Examples
    --------
    >>> import torch
    >>> [(tuple(part.shape), size) for part, size in passes(torch.ones(300, 2))]
    [((256, 2), 256), ((256, 2), 44)]
    """
    for part in rows.split(FORWARD_ROWS):
        missing = FORWARD_ROWS - len(part)
        yield F.pad(part, (0, 0, 0, missing)) if missing else part, len(part)
