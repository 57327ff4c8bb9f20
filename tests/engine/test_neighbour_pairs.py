import numpy as np
import torch

from coterie.data import Scaler, as_views
from coterie.data.batches import Batches
from coterie.engine.neighbour_pairs import NeighbourPairs
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


def test_a_row_among_many_copies_has_partners_that_are_others():
    rows = np.repeat(np.arange(8, dtype=np.float32), 20)[:, None]
    _, pairs = pairs_of(rows, k=6)
    drawn = [pairs.draw(0, np.arange(160), np.random.default_rng(i)) for i in range(50)]
    others = np.mean([rows[one] != rows for one in drawn])
    assert 0.3 < others < 0.9


def test_shards_have_their_own_tables(tmp_path):
    rows = np.random.default_rng(1).normal(size=(600, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", rows)
    batches, pairs = pairs_of(tmp_path / "x.npy", shard_bytes=600 * 16 // 3)
    assert len(batches.shards) == 3
    for shard, numbers in enumerate(batches.shards):
        local = np.arange(len(numbers))
        mates = pairs.draw(shard, local, np.random.default_rng(0))
        table = neighbour_table(torch.from_numpy(rows[numbers]), 5, generator=seeded()).numpy()
        assert (table == mates[:, None]).any(axis=1).all()


def test_fewer_rows_than_neighbours_still_gives_partners():
    _, pairs = pairs_of(np.array([[0.0], [1.0], [2.0]], dtype=np.float32), k=10)
    mates = pairs.draw(0, np.arange(3), np.random.default_rng(0))
    assert (mates != np.arange(3)).all()


def naive_modularity(labels, table, shares):
    n, k = table.shape
    edges = [(i, int(table[i, j]), float(shares[i, j])) for i in range(n) for j in range(k)]
    total = sum(w for _, _, w in edges)
    value = 0.0
    for c in set(labels.tolist()):
        inside = sum(w for i, j, w in edges if labels[i] == c and labels[j] == c)
        touching = sum(w * (int(labels[i] == c) + int(labels[j] == c)) / 2 for i, j, w in edges)
        value += inside / total - (touching / total) ** 2
    return value


def test_modularity_equals_the_naive_sum_and_prefers_the_true_groups():
    rng = np.random.default_rng(3)
    truth = np.arange(90) % 3
    rows = (10 * rng.normal(size=(3, 4))[truth] + rng.normal(size=(90, 4))).astype(np.float32)
    _, pairs = pairs_of(rows)
    table = neighbour_table(torch.from_numpy(rows), 5, generator=seeded())
    shares = shared_neighbours(table)
    split = np.where((truth == 0) & (np.arange(90) % 2 == 0), 3, truth)
    merged = np.where(truth == 2, 1, truth)
    for labels in (truth, split, merged, rng.integers(0, 3, 90)):
        np.testing.assert_allclose(
            pairs.modularity(labels), naive_modularity(labels, table, shares), atol=1e-9
        )
    kept = [pairs.modularity(labels) for labels in (truth, split, merged)]
    assert kept[0] > max(kept[1:])


def test_agreement_is_the_weight_of_pairs_inside_clusters():
    rows = np.random.default_rng(5).normal(size=(60, 3)).astype(np.float32)
    _, pairs = pairs_of(rows)
    table = neighbour_table(torch.from_numpy(rows), 5, generator=seeded())
    shares = shared_neighbours(table)
    labels = np.arange(60) % 4
    same = torch.from_numpy(labels)[table] == torch.from_numpy(labels)[:, None]
    np.testing.assert_allclose(
        pairs.agreement(labels), float((shares * same).sum() / shares.sum()), rtol=1e-5
    )
    assert pairs.agreement(np.zeros(60, dtype=int)) == 1.0
