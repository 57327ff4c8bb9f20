import numpy as np
import torch

from coterie.data import Scaler, as_views
from coterie.data.batches import Batches
from coterie.engine.pairs import NeighbourPairs
from coterie.ops.neighbours import neighbour_table, shared_neighbours


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def pairs_of(rows, k=5, **options):
    views = as_views(rows)
    batches = Batches(views, Scaler("none").fit(views), batch_size=32, seed=0, **options)
    return batches, NeighbourPairs(batches, lambda x: x, k, seeded())


def test_partners_are_neighbours_drawn_in_proportion_to_what_they_share():
    rows = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    _, pairs = pairs_of(rows)
    table = neighbour_table(torch.from_numpy(rows), 5, generator=seeded())
    shares = shared_neighbours(table)
    draws = np.stack([pairs.draw(0, np.arange(80), np.random.default_rng(i)) for i in range(4000)])
    for row in range(0, 80, 9):
        found = np.array([(draws[:, row] == mate).mean() for mate in table[row].numpy()])
        expected = (shares[row] / shares[row].sum()).numpy()
        np.testing.assert_allclose(found, expected, atol=0.04)
        assert found.sum() == 1


def test_a_row_that_shares_no_neighbour_draws_evenly():
    rows = np.array([[0.0], [10.0], [10.2], [20.0], [20.2]], dtype=np.float32)
    _, pairs = pairs_of(rows, k=1)
    assert {int(pairs.draw(0, np.array([0]), np.random.default_rng(i))[0]) for i in range(20)} == {1}


def test_chambers_have_their_own_tables(tmp_path):
    rows = np.random.default_rng(1).normal(size=(600, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", rows)
    batches, pairs = pairs_of(tmp_path / "x.npy", chamber_bytes=600 * 16 // 3)
    assert len(batches.chambers) == 3
    for chamber, numbers in enumerate(batches.chambers):
        local = np.arange(len(numbers))
        mates = pairs.draw(chamber, local, np.random.default_rng(0))
        table = neighbour_table(torch.from_numpy(rows[numbers]), 5, generator=seeded()).numpy()
        assert (table == mates[:, None]).any(axis=1).all()


def test_fewer_rows_than_neighbours_still_gives_partners():
    _, pairs = pairs_of(np.array([[0.0], [1.0], [2.0]], dtype=np.float32), k=10)
    mates = pairs.draw(0, np.arange(3), np.random.default_rng(0))
    assert (mates != np.arange(3)).all()
