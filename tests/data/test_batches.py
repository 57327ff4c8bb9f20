import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data import Scaler, as_views
from coterie.data.batches import Batches


def batches_of(n: int, batch_size: int, seed: int = 0) -> Batches:
    views = as_views(np.arange(2.0 * n).reshape(n, 2))
    return Batches(views, Scaler("none").fit(views), batch_size=batch_size, seed=seed)


@pytest.fixture
def on_disk(tmp_path):
    rows = np.arange(5000, dtype=np.float32)[:, None] * np.ones(8, dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    views = as_views(tmp_path / "rows.npy")
    assert not views.in_memory
    return Batches(views, Scaler("none").fit(views), batch_size=64, seed=1, shard_bytes=32 * 1000)


@given(st.integers(1, 200), st.integers(1, 50), st.integers(0, 5))
def test_an_epoch_shows_every_row_once_with_its_own_values(n, batch_size, epoch):
    seen = []
    batches = batches_of(n, batch_size)
    for batch in batches.epoch(epoch):
        np.testing.assert_array_equal(batch.views[0][:, 0], 2.0 * batch.rows)
        assert len(batch.rows) <= batch_size
        seen.extend(batch.rows)
    assert sorted(seen) == list(range(n))


@given(st.integers(1, 200), st.integers(1, 50))
def test_batches_of_an_epoch_differ_by_at_most_one_row(n, batch_size):
    sizes = [len(batch.rows) for batch in batches_of(n, batch_size).epoch(0)]
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == batches_of(n, batch_size).per_epoch


def orders(batches: Batches, epoch: int) -> list[int]:
    return [int(row) for batch in batches.epoch(epoch) for row in batch.rows]


def test_the_order_follows_from_seed_and_epoch_alone():
    assert orders(batches_of(100, 10), 3) == orders(batches_of(100, 10), 3)
    assert orders(batches_of(100, 10), 3) != orders(batches_of(100, 10), 4)
    assert orders(batches_of(100, 10, seed=1), 3) != orders(batches_of(100, 10, seed=2), 3)


def test_a_file_is_read_in_shards_of_bounded_size_made_of_runs_from_all_over(on_disk):
    assert len(on_disk.shards) == 5
    assert sorted(np.concatenate(on_disk.shards)) == list(range(5000))
    for rows in on_disk.shards:
        assert len(rows) * 8 * 4 <= 32 * 1000 * 1.2
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        assert len(runs) <= 9
        assert rows.max() - rows.min() > 2500


def test_an_epoch_from_disk_shows_every_row_once_in_mixed_order(on_disk):
    seen = []
    for batch in on_disk.epoch(0):
        np.testing.assert_array_equal(batch.views[0][:, 3], batch.rows)
        seen.extend(batch.rows)
    assert sorted(seen) == list(range(5000))
    assert np.mean(np.abs(np.diff(seen)) == 1) < 0.05


def test_leaving_an_epoch_early_leaves_no_thread_behind(on_disk):
    import threading

    before = threading.active_count()
    stream = on_disk.epoch(0)
    next(stream)
    stream.close()
    assert threading.active_count() == before


class NextRow:
    """A partner scheme that can be checked: the row that follows in the shard."""

    def __init__(self, batches: Batches) -> None:
        self.sizes = [len(rows) for rows in batches.shards]

    def draw(self, shard, rows, rng):
        return (rows + 1) % self.sizes[shard]


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_partners_are_read_from_the_same_shard(where, on_disk):
    batches = on_disk if where == "disk" else batches_of(90, 16)
    followers = {}
    for rows in batches.shards:
        followers |= dict(zip(rows.tolist(), np.roll(rows, -1).tolist(), strict=True))
    values = 1.0 if where == "disk" else 2.0
    for batch in batches.epoch(2, NextRow(batches)):
        np.testing.assert_array_equal(batch.partners.rows, [followers[row] for row in batch.rows.tolist()])
        np.testing.assert_array_equal(batch.partners.views[0][:, 0], values * batch.partners.rows)


@settings(max_examples=20)
@given(st.integers(1, 40))
def test_rows_in_order_are_scaled_and_complete(size):
    views = as_views(np.random.default_rng(0).normal(5, 2, (50, 3)))
    scaler = Scaler("feature").fit(views)
    batches = Batches(views, scaler, batch_size=8, seed=0)
    joined = np.concatenate([part[0] for part in batches.in_order(size=size)])
    np.testing.assert_allclose(joined.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(joined, scaler.transform(views.read(slice(None)))[0])
