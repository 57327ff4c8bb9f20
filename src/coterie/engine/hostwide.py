"""Sums over the processes of one host, through memory that all of them map.

Messages through sockets take several times as long, and a process that sleeps until one arrives is woken up late:
on our virtual machine ten numbers took 6 ms and a million 8 to 20; here they take .3 and 4. Each process writes its
numbers where the others can see them, and adds up all of them when it needs the sum; who is early looks again and
again.
"""

# P processes

from __future__ import annotations

import math
import mmap
import os
import platform
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from coterie.collectives import Collectives
from coterie.errors import lost_process
from coterie.ops.shares import agreed, gathered

MOST_PROCESSES = 8  # each one reads what all have written
MOST_BYTES = 16 * 2**20
_LEAST_BYTES = 2**12
_SLOTS = 2
_LINE = 8  # whole numbers in a line of the processor's cache
_PATIENCE = 1800.0
_EAGER, _LOOK = 0.1, 1.0


class HostSums:
    """Sums of tensors on the CPU over processes that share a host; None where they do not, or may not.

    Parameters
    ----------
    collectives : Collectives
        What the processes agree by before they share memory.
    """

    def __init__(self, collectives: Collectives) -> None:
        self._collectives = collectives
        self._boards: dict[int, Board] = {}
        # Elsewhere a number may be seen before what was written ahead of it.
        ordered = platform.machine().lower() in ("x86_64", "amd64")
        self._possible = ordered and hasattr(os, "memfd_create") and 1 < collectives.size <= MOST_PROCESSES

    def begin_sum(self, values: Tensor) -> Callable[[], Tensor] | None:
        """Show the values to the others, and return what waits for theirs and adds them up; None for another way."""
        size = values.numel() * values.element_size()
        if not self._possible or not 0 < size <= MOST_BYTES:
            return None
        room = max(_LEAST_BYTES, 2 ** math.ceil(math.log2(size)))
        if room not in self._boards:
            board = shared_board(room, self._collectives)
            if board is None:
                self._possible = False
                return None
            self._boards[room] = board
        return self._boards[room].begin_sum(values)


class Board:
    """Memory in which each of P processes has room for two sums that are under way.

    Parameters
    ----------
    memory : mmap
    room : int
        Bytes of one process's numbers.
    rank : int
    pids : list of int
        Of all processes.
    """

    def __init__(self, memory: mmap.mmap, room: int, rank: int, pids: list[int]) -> None:
        self._rank, self._pids = rank, pids
        counters = np.frombuffer(memory, np.int64, _head(len(pids)) // 8).reshape(1 + 2 * _SLOTS, -1, _LINE)
        # Of each slot and process: the number of the last sum that it wrote there, and of the last that it added up.
        self._written, self._read = counters[1 : 1 + _SLOTS, :, 0], counters[1 + _SLOTS :, :, 0]
        self._numbers = torch.frombuffer(memory, dtype=torch.uint8, offset=_head(len(pids))).view(
            _SLOTS, len(pids), room
        )
        self._begun = 0

    def begin_sum(self, values: Tensor) -> Callable[[], Tensor] | None:
        """Write the values, and return what waits for those of all and adds them up; None while both slots wait."""
        number, slot = self._begun + 1, self._begun % _SLOTS
        if self._read[slot, self._rank] < number - _SLOTS:
            return None
        self._begun = number
        self._wait(self._read[slot], number - _SLOTS)
        kind, shape, size = values.dtype, values.shape, values.numel() * values.element_size()
        room = self._numbers[slot, :, :size].view(kind)
        room[self._rank].copy_(values.flatten())
        self._written[slot, self._rank] = number

        def arrived() -> Tensor:
            self._wait(self._written[slot], number)
            total = room[0].clone()
            for theirs in room[1:]:
                total += theirs
            self._read[slot, self._rank] = number
            return total.view(shape)

        return arrived

    def _wait(self, counters: np.ndarray, number: int) -> None:
        """Wait until the counters of all processes have come to a number."""
        if counters.min() >= number:
            return
        began = looked = time.monotonic()
        while counters.min() < number:
            now = time.monotonic()
            if now - began < _EAGER:
                os.sched_yield()
                time.sleep(0)  # lets the other threads of this process go on
                continue
            time.sleep(min(0.002, (now - began) / 50))
            if now - looked > _LOOK:
                looked = now
                self._look_for(np.flatnonzero(counters < number), now - began)

    def _look_for(self, late: np.ndarray, waited: float) -> None:
        for rank in late:
            if not _lives(self._pids[rank]):
                raise lost_process(f"process {rank} has ended")
        if waited > _PATIENCE:
            raise lost_process(f"process {late[0]} has not been heard of for {waited / 60:.0f} minutes")


def shared_board(room: int, collectives: Collectives) -> Board | None:
    """Return a board that all processes map, or None if one of them cannot.

    The first process makes memory without a name, which the others open by its place among the first one's files;
    so nothing is left behind, however they end. Processes that are in different networks count as different hosts.
    """
    first, size = collectives.rank == 0, _head(collectives.size) + _SLOTS * collectives.size * room
    pids = gathered(np.array([os.getpid()]), collectives.size, collectives).tolist()
    token, file = secrets.randbits(62) + 1, -1
    with suppress(OSError):
        if first:
            file = os.memfd_create("coterie")
            os.posix_fallocate(file, 0, size)
            os.pwrite(file, token.to_bytes(8, "little"), 0)
    theirs, token = agreed(np.array([file, token]), collectives).tolist()
    memory = None
    with suppress(OSError, ValueError):
        if not first:
            file = os.open(f"/proc/{pids[0]}/fd/{theirs}", os.O_RDWR)
        memory = mmap.mmap(file, size)
    fits = memory is not None and int.from_bytes(memory[:8], "little") == token
    everywhere = collectives.min(int(fits and _network(pids[0]) == _network(os.getpid())))
    if file >= 0:
        os.close(file)
    return Board(memory, room, collectives.rank, pids) if memory is not None and everywhere else None


def _head(n_processes: int) -> int:
    """Return how many bytes come before the numbers: a token and the counters, a line of the cache each."""
    return (1 + 2 * _SLOTS) * n_processes * _LINE * 8


def _network(pid: int) -> int:
    """Return the number of the network that a process is in, or 0 where that is not told."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return 0


def _lives(pid: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
