"""Sums through the memory of a host: those that messages would give, and a sentence when a process is gone."""

import mmap
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from tests.together import in_threads

from coterie.engine import hostwide
from coterie.engine.hostwide import Board, HostSums, shared_board
from coterie.errors import InputError


def boards(pids, room=4096):
    """Return the boards of several processes, all of them in this one."""
    memory = mmap.mmap(-1, hostwide._head(len(pids)) + 2 * len(pids) * room)
    return [Board(memory, room, rank, pids) for rank in range(len(pids))]


def beside(size):
    return boards([os.getpid()] * size)


def gone():
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64, torch.uint8])
def test_sums_have_the_shape_and_the_kind_of_what_is_added(kind):
    rows = torch.arange(12).view(4, 3)
    together = [board.begin_sum((rows * (rank + 1)).to(kind)) for rank, board in enumerate(beside(3))]
    for arrived in together:
        found = arrived()
        assert found.dtype == kind
        assert torch.equal(found, (6 * rows).to(kind))


def test_many_sums_of_processes_that_run_freely_are_right():
    shown = beside(3)

    def work(collectives):
        rng, board = np.random.default_rng(collectives.rank), shown[collectives.rank]
        found = []
        for number in range(300):
            if rng.random() < 0.05:
                time.sleep(0.002)
            found.append(board.begin_sum(torch.full((500,), float(number + collectives.rank)))())
        return torch.stack(found)

    for found in in_threads(3, work):
        assert torch.equal(found, (3 * torch.arange(300.0) + 3)[:, None].expand(300, 500))


def test_two_sums_may_be_under_way_and_a_third_goes_another_way():
    one, other = beside(2)
    first, second = one.begin_sum(torch.ones(5)), one.begin_sum(2 * torch.ones(5))
    assert one.begin_sum(torch.ones(5)) is None
    theirs = [other.begin_sum(torch.ones(5)) for _ in range(2)]
    assert torch.equal(second(), torch.full((5,), 3.0))
    assert torch.equal(first(), torch.full((5,), 2.0))
    assert [float(arrived()[0]) for arrived in theirs] == [2.0, 3.0]
    assert one.begin_sum(torch.ones(5)) is not None


def test_numbers_stay_until_the_slowest_process_has_added_them_up():
    one, other = beside(2)
    late = [other.begin_sum(torch.ones(5)), other.begin_sum(torch.ones(5))]
    for _ in range(2):
        one.begin_sum(torch.ones(5))()
    writer = threading.Thread(target=lambda: one.begin_sum(torch.full((5,), 100.0)))
    writer.start()
    writer.join(0.2)
    assert writer.is_alive()
    assert torch.equal(late[0](), torch.full((5,), 2.0))
    writer.join(10)
    assert not writer.is_alive()


def test_a_process_that_is_gone_ends_the_wait_with_a_sentence(monkeypatch):
    monkeypatch.setattr(hostwide, "_LOOK", 0.05)
    board = boards([os.getpid(), gone()])[0]
    with pytest.raises(InputError, match=r"lost \(process 1 has ended\): start the same command again"):
        board.begin_sum(torch.ones(5))()


def test_a_process_that_never_comes_ends_the_wait_too(monkeypatch):
    monkeypatch.setattr(hostwide, "_LOOK", 0.05)
    monkeypatch.setattr(hostwide, "_PATIENCE", 0.2)
    with pytest.raises(InputError, match="process 1 has not been heard of"):
        beside(2)[0].begin_sum(torch.ones(5))()


def test_processes_of_a_host_share_memory_for_each_size_and_leave_no_file_open():
    before = len(os.listdir("/proc/self/fd"))

    def work(collectives):
        sums = HostSums(collectives)
        sizes = (1, 2000, 2, 3000)
        found = [sums.begin_sum(torch.full((size,), 1.0 + collectives.rank))() for size in sizes]
        assert len(sums._boards) == 3
        return [(len(one), float(one.sum())) for one in found]

    for found in in_threads(3, work):
        assert found == [(1, 6.0), (2000, 12000.0), (2, 12.0), (3000, 18000.0)]
    assert len(os.listdir("/proc/self/fd")) == before


def test_too_much_or_nothing_goes_another_way(monkeypatch):
    monkeypatch.setattr(hostwide, "MOST_BYTES", 4096)

    def work(collectives):
        sums = HostSums(collectives)
        return [sums.begin_sum(torch.ones(size)) is None for size in (0, 1024, 1025)]

    assert in_threads(2, work) == [[True, False, True]] * 2


def test_without_common_memory_all_processes_go_another_way(monkeypatch):
    def nothing(name):
        raise OSError("no such thing here")

    monkeypatch.setattr(os, "memfd_create", nothing)
    assert in_threads(2, lambda one: HostSums(one).begin_sum(torch.ones(3))) == [None, None]


def test_processes_in_different_networks_are_different_hosts(monkeypatch):
    networks = iter(range(100))
    monkeypatch.setattr(hostwide, "_network", lambda pid: next(networks))
    assert in_threads(2, lambda one: shared_board(4096, one)) == [None, None]


def test_memory_of_another_run_is_not_taken_for_this_ones(monkeypatch):
    tokens = iter([1, 2])
    monkeypatch.setattr(hostwide.secrets, "randbits", lambda bits: next(tokens))
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, token, at: write(file, bytes(8), at))
    assert in_threads(2, lambda one: shared_board(4096, one)) == [None, None]


def test_many_processes_go_another_way(monkeypatch):
    monkeypatch.setattr(hostwide, "MOST_PROCESSES", 2)
    assert in_threads(3, lambda one: HostSums(one).begin_sum(torch.ones(3))) == [None] * 3
