import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data import Scaler, as_views
from coterie.data.batches import Batches
from coterie.graph import neighbours
from coterie.graph.agreement import shared_neighbours
from coterie.graph.duplicates import row_hashes
from coterie.graph.neighbour_pairs import NeighbourPairs, neighbours_beyond_duplicates
from coterie.graph.neighbours import MISSING, neighbours_of_each


def nearest_others(rows, k=5):
    return torch.from_numpy(neighbours_of_each(rows, k)[1].indices)


def beyond_duplicates(rows, k):
    return neighbours_beyond_duplicates(rows, row_hashes([rows], np.ones((len(rows), 1), dtype=bool)), k)


def whole_numbers(seed, n=60, d=3, most=4):
    return np.random.default_rng(seed).integers(0, most, (n, d)).astype(np.float32)


def pairs_of(rows, k=5, **options):
    views = as_views(rows)
    batches = Batches(views, Scaler("none").fit(views), batch_size=32, seed=0, **options)
    return batches, NeighbourPairs(batches, lambda x: x, k)


def test_partners_are_neighbours_drawn_in_proportion_to_what_they_share():
    rows = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    _, pairs = pairs_of(rows)
    table = nearest_others(rows)
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
        table = nearest_others(rows[numbers]).numpy()
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
    table = nearest_others(rows)
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
    table = nearest_others(rows)
    shares = shared_neighbours(table)
    labels = np.arange(60) % 4
    same = torch.from_numpy(labels)[table] == torch.from_numpy(labels)[:, None]
    np.testing.assert_allclose(
        pairs.agreement(labels), float((shares * same).sum() / shares.sum()), rtol=1e-5
    )
    assert pairs.agreement(np.zeros(60, dtype=int)) == 1.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 9))
def test_a_row_names_some_of_its_duplicates_and_then_the_nearest_other_places(seed, k):
    rows = whole_numbers(seed)
    first = [next(j for j in range(len(rows)) if (rows[i] == rows[j]).all()) for i in range(len(rows))]
    for i, named in enumerate(beyond_duplicates(rows, k).tolist()):
        duplicates = [j for j in range(len(rows)) if first[j] == first[i] and j != i][: k // 3]
        assert named[: len(duplicates)] == duplicates
        others = named[len(duplicates) :]
        assert len(named) == k
        assert all(first[j] == j != first[i] for j in others)
        distances = sorted(float(np.square(rows[j] - rows[i]).sum()) for j in set(first) - {first[i]})
        assert [float(np.square(rows[j] - rows[i]).sum()) for j in others] == pytest.approx(
            distances[: len(others)]
        )


def test_rows_without_duplicates_have_their_nearest_rows():
    rows = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    np.testing.assert_array_equal(beyond_duplicates(rows, 5), nearest_others(rows).numpy())


def test_duplicates_are_neighbours_like_others_where_different_rows_are_too_few():
    rows = whole_numbers(0, n=40, d=1, most=3)
    table = beyond_duplicates(rows, 5)
    assert (rows[table] == rows[:, None]).all()
    assert not (table == np.arange(40)[:, None]).any()


def test_crowds_of_duplicates_are_tied_to_other_rows():
    rows = np.repeat(np.arange(12, dtype=np.float32), 30)[:, None]
    assert ((rows[beyond_duplicates(rows, 9)] != rows[:, None]).sum(axis=1) == 6).all()


def test_a_neighbour_that_the_search_misses_is_never_drawn(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 100)
    monkeypatch.setattr(neighbours, "_PROBES", 1)
    rows = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    missing = neighbours_of_each(rows, 20)[1].indices == MISSING
    some = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    _, pairs = pairs_of(rows, k=20)
    assert len(some)
    for seed in range(20):
        assert (pairs.draw(0, some, np.random.default_rng(seed)) != some).all()
