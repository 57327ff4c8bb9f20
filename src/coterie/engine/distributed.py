"""Collectives of torch.distributed, and the choice between them and none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from coterie.collectives import ALONE, Collectives, Numbers
from coterie.errors import InputError, lost_process
from coterie.store import versions

_PATIENCE = 1800
"""Seconds after which a process that does not answer counts as lost, but for COTERIE_TIMEOUT."""


class ProcessGroup:
    """Reductions over the processes of the default group of torch.distributed."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._device = torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")

    def sum(self, values: Numbers) -> Numbers:
        """Return the element-wise sum over all processes."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def min(self, values: Numbers) -> Numbers:
        """Return the element-wise minimum over all processes."""
        return self._reduced(values, dist.ReduceOp.MIN)

    def max(self, values: Numbers) -> Numbers:
        """Return the element-wise maximum over all processes."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def _reduced(self, values: Numbers, operation: dist.ReduceOp.RedOpType) -> Numbers:
        """Return numbers reduced over all processes, in the type that they were given."""
        tensor = torch.as_tensor(values, dtype=torch.float64 if isinstance(values, float) else None)
        kind = torch.uint8 if tensor.dtype == torch.bool else tensor.dtype  # truths are added as 0 and 1
        shared = tensor.detach().to(self._device, kind, copy=True).contiguous()
        with _losing():
            dist.all_reduce(shared, operation)
        reduced = shared.to(tensor.dtype)
        if isinstance(values, Tensor):
            return reduced.to(tensor.device)  # type: ignore[return-value]
        array = reduced.cpu().numpy()
        return array if isinstance(values, np.ndarray) else type(values)(array)  # type: ignore[call-arg, return-value]


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
    store, rank, size = next(iter(dist.rendezvous("env://", timeout=_patience())))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"attempt {attempt}", store), rank, size


def check_same_versions(store: dist.Store, rank: int, size: int) -> None:
    """Raise an `InputError` in every process where one has another version of a package than the first.

    Examples
    --------
    >>> check_same_versions(dist.HashStore(), 0, 1)
    """
    store.set(f"versions of {rank}", json.dumps(versions()))
    first = json.loads(store.get("versions of 0"))
    for other in range(1, size):
        theirs = json.loads(store.get(f"versions of {other}"))
        for package in sorted(first | theirs):
            if first.get(package) != theirs.get(package):
                raise InputError(
                    f"Process 0 has {package} {first.get(package)} and process {other} has {theirs.get(package)}: "
                    "install the same versions for all processes of a run."
                )


def _patience() -> timedelta:
    """Return how long to wait for another process."""
    text = os.environ.get("COTERIE_TIMEOUT", str(_PATIENCE))
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**7):
        raise InputError(f"COTERIE_TIMEOUT={text} is no number of seconds: give a whole number from 1 on.")
    return timedelta(seconds=int(text))


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
        dist.init_process_group(
            "nccl" if on_gpu else "gloo", store=store, rank=rank, world_size=size, timeout=_patience()
        )
    try:
        with _losing():
            check_same_versions(store, rank, size)
        yield current_collectives()
    finally:
        dist.destroy_process_group()
