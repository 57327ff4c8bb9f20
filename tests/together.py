"""Processes that work together, played by threads: the collectives wait for each other as those of torch do."""

import threading

import numpy as np
import torch

_PATIENCE = 600  # seconds; a thread that failed breaks the barrier at once


class ThreadCollectives:
    """The collectives of one of several threads."""

    def __init__(self, rank: int, size: int, shared: dict) -> None:
        self.rank, self.size, self._shared = rank, size, shared

    def sum(self, values):
        return self._reduce(values, lambda stacked: stacked.sum(0))

    def min(self, values):
        return self._reduce(values, lambda stacked: stacked.amin(0))

    def max(self, values):
        return self._reduce(values, lambda stacked: stacked.amax(0))

    def _reduce(self, values, reduce):
        tensor = torch.as_tensor(values)
        self._shared["values"][self.rank] = tensor.detach()
        self._shared["barrier"].wait(_PATIENCE)
        found = reduce(torch.stack(self._shared["values"])).to(tensor.dtype)
        self._shared["barrier"].wait(_PATIENCE)
        if isinstance(values, torch.Tensor):
            return found
        return found.numpy() if isinstance(values, np.ndarray) else type(values)(found)


def in_threads(size: int, work) -> list:
    """Return what `work` returns for the collectives of each of several threads."""
    shared = {"values": [None] * size, "barrier": threading.Barrier(size)}
    results: list = [None] * size
    errors: list = []

    def one(rank: int) -> None:
        try:
            results[rank] = work(ThreadCollectives(rank, size, shared))
        except BaseException as error:
            errors.append(error)
            shared["barrier"].abort()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
