"""Rows are read into memory where they fit, and stay on disk where they do not."""

import numpy as np
import pytest

from coterie.data import as_views, memory, read_views
from coterie.data.memory import fits, into_memory


@pytest.fixture
def on_disk(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    X[3] = np.nan
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", np.ones((50, 2), dtype=np.float32))
    return read_views(tmp_path)


def test_rows_read_into_memory_are_the_rows_on_disk(on_disk):
    held = into_memory(on_disk)
    assert held.in_memory
    assert not on_disk.in_memory
    assert held.names == on_disk.names
    for one, other in zip(held.read(slice(None)), on_disk.read(slice(None)), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(held.present_rows(slice(None)), on_disk.present_rows(slice(None)))


def test_rows_fit_up_to_the_share_of_the_memory(on_disk, monkeypatch):
    for available, expected in (
        (on_disk.nbytes / memory.SHARE, True),
        (on_disk.nbytes / memory.SHARE - 4, False),
    ):
        monkeypatch.setattr(memory, "available_bytes", lambda available=available: available)
        assert fits(on_disk) is expected
    assert fits(as_views(np.ones((10**4, 3))))


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    before = memory.available_bytes()
    (tmp_path / "memory.max").write_text("12345\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "memory.max")
    assert memory.available_bytes() == 12345
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_bytes() == pytest.approx(before, rel=0.5)
