"""Fits that are measured beside each other take turns: one works, the others sleep."""

import fcntl
import itertools
import time

import pytest
import torch.distributed as dist
from benchmarks.turns import Turns
from tests.together import in_threads


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    return path


def test_of_two_runs_one_works_at_a_time_and_then_the_other(lock):
    seen = []

    def work(collectives):
        turns = Turns(lock, None, 0, 1, lambda: None)
        for _ in range(4):
            with turns.turn():
                seen.append((collectives.rank, "begins"))
                time.sleep(0.02)
                seen.append((collectives.rank, "ends"))

    in_threads(2, work)
    turns = list(zip(seen[::2], seen[1::2], strict=True))
    assert all(first == (last[0], "begins") and last[1] == "ends" for first, last in turns)
    workers = [first[0] for first, _ in turns]
    assert sorted(workers) == [0] * 4 + [1] * 4
    assert sum(one != other for one, other in itertools.pairwise(workers)) >= 3


def test_a_turn_within_a_turn_is_none(lock):
    turns, other = Turns(lock, None, 0, 1, lambda: None), lock.open()
    with turns.turn():
        with turns.turn():
            pass
        with pytest.raises(BlockingIOError):
            _take(other)
    _take(other)


def test_the_processes_of_a_run_begin_and_end_a_turn_together(lock):
    store, seen = dist.HashStore(), []

    def work(collectives):
        turns = Turns(lock, store, collectives.rank, collectives.size, lambda: None)
        for number in range(3):
            time.sleep(0.02 * collectives.rank)
            seen.append(f"{number} comes")
            with turns.turn():
                seen.append(f"{number} works")
            seen.append(f"{number} leaves")

    in_threads(3, work)
    for number in range(3):
        assert _last(seen, f"{number} comes") < seen.index(f"{number} works")
        assert _last(seen, f"{number} works") < seen.index(f"{number} leaves")


def _last(items, wanted):
    return max(place for place, item in enumerate(items) if item == wanted)


def _take(file):
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
