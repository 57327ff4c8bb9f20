"""Collectives of torch.distributed, and the choice between them and none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from coterie.collectives import ALONE, Collectives, Numbers
from coterie.engine.hostwide import HostSums
from coterie.errors import lost_process


class Messages:
    """Reductions over the processes of the default group of torch.distributed, by messages between them."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._device = torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")

    def sum(self, values: Numbers) -> Numbers:
        """Return the element-wise sum over all processes."""
        return self._over(values, lambda tensor: self.begin_sum(tensor)())

    def begin_sum(self, values: Tensor) -> Callable[[], Tensor]:
        """Begin to add up a tensor, whose memory may be used, and return what waits for the sum and returns it."""
        shared = values.to(self._device).contiguous()
        with _losing():
            work = dist.all_reduce(shared, async_op=True)

        def arrived() -> Tensor:
            with _losing():
                work.wait()
            return shared.to(values.device)

        return arrived

    def min(self, values: Numbers) -> Numbers:
        """Return the element-wise minimum over all processes."""
        return self._over(values, lambda tensor: _reduced(tensor, dist.ReduceOp.MIN))

    def max(self, values: Numbers) -> Numbers:
        """Return the element-wise maximum over all processes."""
        return self._over(values, lambda tensor: _reduced(tensor, dist.ReduceOp.MAX))

    def _over(self, values: Numbers, reduce: Callable[[Tensor], Tensor]) -> Numbers:
        """Return what a reduction of tensors makes of numbers, in the type that these have."""
        tensor = torch.as_tensor(values, dtype=torch.float64 if isinstance(values, float) else None)
        kind = torch.uint8 if tensor.dtype == torch.bool else tensor.dtype  # truths are added as 0 and 1
        found = reduce(tensor.to(self._device, kind, copy=True)).to(tensor.dtype)
        if isinstance(values, Tensor):
            return found.to(tensor.device)  # type: ignore[return-value]
        array = found.cpu().numpy()
        return array if isinstance(values, np.ndarray) else type(values)(array)  # type: ignore[call-arg, return-value]


class ProcessGroup(Messages):
    """Reductions over the processes of the default group; sums on one host go through its memory."""

    def __init__(self) -> None:
        super().__init__()
        self._beside = HostSums(Messages()) if self._device.type == "cpu" else None

    def begin_sum(self, values: Tensor) -> Callable[[], Tensor]:
        """Begin to add up a tensor, whose memory may be used, and return what waits for the sum and returns it."""
        begun = None
        if self._beside is not None and values.device == self._device:
            begun = self._beside.begin_sum(values)
        return super().begin_sum(values) if begun is None else begun


def _reduced(tensor: Tensor, operation: dist.ReduceOp.RedOpType) -> Tensor:
    with _losing():
        dist.all_reduce(tensor, operation)
    return tensor


@contextmanager
def _losing() -> Iterator[None]:
    """Say in a sentence that another process is gone: gloo and NCCL raise a RuntimeError then."""
    try:
        yield
    except RuntimeError as error:
        raise lost_process((str(error).splitlines() or [type(error).__name__])[0]) from error


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


def meeting_place() -> tuple[dist.Store, int, int]:
    """Return the store in which processes find each other, the number of this one, and how many there are.

    torchrun keeps one store for all its restarts. Without a part of its own for each, a process that is started again
    may find where another one was before, and wait for it in vain.
    """
    store, rank, size = next(iter(dist.rendezvous("env://")))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"attempt {attempt}", store), rank, size


@contextmanager
def process_group() -> Iterator[Collectives]:
    """Join the processes that torchrun started, inside the block; one process where it started none.

    Examples
    --------
    >>> with process_group() as together:
    ...     together.size
    1
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    with _losing():
        store, rank, size = meeting_place()
        dist.init_process_group("nccl" if on_gpu else "gloo", store=store, rank=rank, world_size=size)
    try:
        yield current_collectives()
    finally:
        dist.destroy_process_group()
