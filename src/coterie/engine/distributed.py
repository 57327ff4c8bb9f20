"""Collectives of torch.distributed, and the choice between them and none."""

from __future__ import annotations

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from coterie.collectives import ALONE, Collectives, Numbers


class ProcessGroup:
    """Reductions over the processes of the default group of torch.distributed."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def sum(self, values: Numbers) -> Numbers:
        """Return the element-wise sum over all processes."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def min(self, values: Numbers) -> Numbers:
        """Return the element-wise minimum over all processes."""
        return self._reduce(values, dist.ReduceOp.MIN)

    def max(self, values: Numbers) -> Numbers:
        """Return the element-wise maximum over all processes."""
        return self._reduce(values, dist.ReduceOp.MAX)

    def _reduce(self, values: Numbers, operation: dist.ReduceOp.RedOpType) -> Numbers:
        tensor = torch.as_tensor(values).clone()
        dist.all_reduce(tensor, operation)
        if isinstance(values, Tensor):
            return tensor  # type: ignore[return-value]
        array = tensor.numpy()
        return array if isinstance(values, np.ndarray) else type(values)(array)  # type: ignore[call-arg, return-value]


def current_collectives() -> Collectives:
    """Return the process group's collectives where there is one, and none on a single process.

    Examples
    --------
    >>> current_collectives().size
    1
    """
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        return ProcessGroup()
    return ALONE
