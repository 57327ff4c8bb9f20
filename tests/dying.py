"""Disks that fill up and processes that are killed, at the n-th thing that reaches the disk."""

import builtins
import errno
import io
import os
from contextlib import contextmanager

import torch

from coterie.engine.adam import Adam


class Disk:
    """Lets something happen at one of the points at which bytes, or a name, reach the disk.

    Half of the bytes of that write get there.
    """

    def __init__(self, at, happen):
        self.at, self.happen, self.points = at, happen, 0

    def point(self):
        self.points += 1
        return self.points == self.at

    @contextmanager
    def watched(self):
        """Take the place of open, fsync, replace and chmod inside the block."""
        real = {name: getattr(os, name) for name in ("fsync", "replace", "chmod")}
        opened = io.open
        io.open = builtins.open = self._open(opened)
        for name, call in real.items():
            setattr(os, name, self._call(call))
        try:
            yield self
        finally:
            io.open = builtins.open = opened
            for name, call in real.items():
                setattr(os, name, call)

    def _call(self, real):
        def call(*given, **options):
            if self.point():
                self.happen()
            return real(*given, **options)

        return call

    def _open(self, real):
        disk = self

        class File(io.FileIO):
            def write(self, data):
                if disk.point():
                    super().write(bytes(data)[: len(data) // 2])
                    disk.happen()
                return super().write(data)

        def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **options):
            if not set(mode) & set("wax+"):
                return real(file, mode, buffering, encoding, errors, newline, **options)
            raw = File(file, mode.replace("b", ""))
            if buffering == 0:
                return raw
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return (
                buffered if "b" in mode else io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline)
            )

        return opened


def full():
    """Be a disk without room."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed_at(at, work):
    """Do some work in a process that dies at the n-th point; return whether it did die."""
    child = os.fork()
    if child == 0:
        try:
            with Disk(at, lambda: os._exit(9)).watched():
                work()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


class Still:
    """A task whose state is one number, and which learns nothing."""

    def __init__(self, number):
        self.tensor = torch.full((500,), float(number), requires_grad=True)
        self.optimizer = Adam([self.tensor], 1e-3)

    def state(self):
        return {"tensor": self.tensor}
