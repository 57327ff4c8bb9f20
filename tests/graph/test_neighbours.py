import numpy as np
import pytest
from tests.graph.planted import many
from tests.together import in_threads

from coterie.graph import neighbours
from coterie.graph.neighbours import MISSING, NeighbourIndex, neighbours_of_each


def random_rows(n=120, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def nearest_one_by_one(rows, queries, k, without=None):
    """Return the numbers and distances of the k nearest rows, by comparing each query with each row."""
    indices, distances = [], []
    for q, query in enumerate(queries):
        found = [
            (float(np.sqrt(((query.astype(float) - row) ** 2).sum())), r)
            for r, row in enumerate(rows.astype(float))
            if without is None or r != without[q]
        ]
        nearest = sorted(found)[:k]
        indices.append([r for _, r in nearest])
        distances.append([d for d, _ in nearest])
    return np.array(indices), np.array(distances)


def test_exact_search_finds_what_comparing_every_pair_finds():
    rows, queries = random_rows(), random_rows(30, seed=1)
    found = NeighbourIndex(rows).search(queries, 7)
    indices, distances = nearest_one_by_one(rows, queries, 7)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


def test_neighbours_of_each_row_are_the_nearest_others():
    rows = random_rows()
    found = neighbours_of_each(rows, 6)[1]
    indices, distances = nearest_one_by_one(rows, rows, 6, without=range(len(rows)))
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


def test_equal_distances_are_ordered_by_row_number():
    rows = np.array([[1.0], [-1.0], [1.0], [3.0]], dtype=np.float32)
    assert NeighbourIndex(rows).search(np.zeros((1, 1), dtype=np.float32), 3).indices.tolist() == [[0, 1, 2]]


def test_the_inverted_file_index_finds_nearly_all_neighbours_of_clustered_rows(monkeypatch):
    rows = many(20, rows=100)[0].astype(np.float32)
    exact = neighbours_of_each(rows, 10)[1]
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 500)
    index, found = neighbours_of_each(rows, 10)
    assert type(index._index).__name__ == "IndexIVFFlat"
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact.indices, found.indices, strict=True)])
    assert recall > 0.9
    same = found.indices == exact.indices
    np.testing.assert_allclose(found.distances[same], exact.distances[same], rtol=1e-12)


@pytest.mark.parametrize("exact_rows", [20_000, 200])
def test_a_query_alone_has_the_neighbours_it_has_in_a_batch_bit_for_bit(monkeypatch, exact_rows):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", exact_rows)
    rows = 100 + random_rows(600, 40)  # far from zero, where the search itself rounds most
    index = NeighbourIndex(rows)
    queries = 100 + random_rows(300, 40, seed=1)
    whole = index.search(queries, 8)
    for q in range(0, 300, 23):
        alone = index.search(queries[q : q + 1], 8)
        np.testing.assert_array_equal(alone.indices[0], whole.indices[q])
        np.testing.assert_array_equal(alone.distances[0], whole.distances[q])


def test_a_query_in_the_next_batch_of_a_long_search_has_the_same_neighbours(monkeypatch):
    index, queries = NeighbourIndex(random_rows()), random_rows(50, seed=1)
    whole = index.search(queries, 4)
    monkeypatch.setattr(neighbours, "_QUERIES", 7)
    monkeypatch.setattr(neighbours, "_BLOCK_VALUES", 1)
    parts = index.search(queries, 4)
    np.testing.assert_array_equal(parts.indices, whole.indices)
    np.testing.assert_array_equal(parts.distances, whole.distances)


def test_a_row_among_many_duplicates_is_never_its_own_neighbour():
    rows = np.repeat(random_rows(4), 40, axis=0)
    found = neighbours_of_each(rows, 5)[1]
    assert found.indices.shape == (160, 5)
    assert (found.indices != np.arange(160)[:, None]).all()
    assert (found.distances == 0).all()
    assert (found.indices // 40 == np.arange(160)[:, None] // 40).all()


def test_neighbours_are_all_others_where_there_are_fewer_rows_than_neighbours():
    rows = random_rows(4)
    found = neighbours_of_each(rows, 10)[1]
    assert [sorted(line) for line in found.indices.tolist()] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert NeighbourIndex(rows).search(rows, 10).indices.shape == (4, 4)


def test_a_single_row_has_no_neighbours():
    found = neighbours_of_each(random_rows(1), 3)[1]
    assert found.indices.shape == found.distances.shape == (1, 0)


def test_a_neighbour_that_the_probed_lists_do_not_have_is_missing_and_infinitely_far(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 100)
    monkeypatch.setattr(neighbours, "_PROBES", 1)
    rows = many(30, rows=4)[0].astype(np.float32)
    found = NeighbourIndex(rows).search(rows, 60)
    missing = found.indices == MISSING
    assert missing.any()
    np.testing.assert_array_equal(missing, np.isinf(found.distances))
    assert (np.diff(missing.astype(int), axis=1) >= 0).all()  # all of them last


@pytest.mark.parametrize("exact_rows", [20_000, 10])
def test_processes_that_share_the_search_find_what_one_finds(monkeypatch, exact_rows):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", exact_rows)
    rows = random_rows(101)
    alone = neighbours_of_each(rows, 6)[1]
    for found in in_threads(3, lambda collectives: neighbours_of_each(rows, 6, collectives=collectives)[1]):
        np.testing.assert_array_equal(found.indices, alone.indices)
        np.testing.assert_array_equal(found.distances, alone.distances)
