import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.ops.communities import Rating, modularity, weight_between
from coterie.ops.partition import partition


@given(st.integers(0, 1000))
def test_weight_between_clusters_equals_the_naive_sum(seed):
    rng = np.random.default_rng(seed)
    table, weights, labels = rng.integers(0, 12, (12, 3)), rng.random((12, 3)), rng.integers(0, 4, 12)
    naive = np.zeros((4, 4))
    for i in range(12):
        for j in range(3):
            naive[labels[i], labels[table[i, j]]] += weights[i, j]
    np.testing.assert_allclose(weight_between(table, weights, labels, 4), naive)


def test_modularity_of_separate_equal_groups_is_one_less_their_share_and_of_one_group_zero():
    assert modularity(np.diag([3.0] * 5)) == pytest.approx(1 - 1 / 5)
    assert modularity(np.array([[7.0]])) == pytest.approx(0)
    assert modularity(np.ones((4, 4))) == pytest.approx(0)


@given(st.integers(0, 1000), st.permutations(range(4)))
def test_modularity_does_not_see_the_numbers_of_the_clusters(seed, order):
    between = np.random.default_rng(seed).random((4, 4))
    assert modularity(between[np.ix_(order, order)]) == pytest.approx(modularity(between))


@given(st.integers(0, 1000))
def test_the_cut_is_the_share_of_a_clusters_weight_that_leaves_it_summed(seed):
    between = np.random.default_rng(seed).random((4, 4))
    naive = 0.0
    for c in range(4):
        out = sum((between[c, j] + between[j, c]) / 2 for j in range(4) if j != c)
        naive += out / (out + between[c, c])
    assert Rating.of(between).cut == pytest.approx(naive)
    assert Rating.of(between).modularity == modularity(between)


def test_ratings_add_up():
    assert Rating(0.5, 1.0) + Rating(0.25, 2.0) == Rating(0.75, 3.0)


def test_the_partition_of_highest_modularity_is_kept():
    rows = torch.randn(120, 2, generator=torch.Generator().manual_seed(0))
    seen = []

    def rate(labels):
        seen.append(labels)
        return Rating(float(labels.bincount(minlength=4).max()), 1.0)

    kept = partition(rows, 4, "graph", generator=torch.Generator().manual_seed(0), rate=rate, n_restarts=5)
    largest = [int(labels.bincount(minlength=4).max()) for labels in seen]
    *by_graph, by_kmeans = largest
    assert len(set(by_graph)) > 1
    assert len(by_graph) == 5
    assert by_kmeans > max(by_graph), "k-means is rated highest, but of one cloud it does not come again"
    assert int(kept.bincount().max()) == max(by_graph)


@pytest.mark.parametrize(("cut", "taken"), [(0.3, True), (0.4, False)])
def test_a_partition_that_cuts_less_than_a_third_is_taken_before_it(cut, taken):
    rows = torch.randn(120, 2, generator=torch.Generator().manual_seed(0))
    seen = []

    def rate(labels):
        seen.append(labels)
        return Rating(5.0 - len(seen), cut if len(seen) == 3 else 1.0)

    kept = partition(rows, 4, "graph", generator=torch.Generator().manual_seed(0), rate=rate, n_restarts=5)
    assert torch.equal(kept, seen[2 if taken else 0])


def test_a_few_odd_rows_are_no_cluster_however_little_it_cuts():
    rows = torch.cat(
        [torch.randn(300, 2, generator=torch.Generator().manual_seed(0)), torch.full((1, 2), 40.0)]
    )
    odd = torch.arange(301) // 300

    def rate(labels):
        same = torch.equal(labels, odd) or torch.equal(labels, 1 - odd)
        return Rating(0.0, 0.0) if same else Rating(1.0, 1.0)

    kept = partition(rows, 2, "graph", generator=torch.Generator().manual_seed(0), rate=rate, n_restarts=5)
    found = partition(rows, 2, "kmeans", generator=torch.Generator().manual_seed(0))
    assert sorted(found.bincount().tolist()) == [1, 300], "k-means finds the odd row"
    assert kept.bincount().min() > 1


def test_a_graph_that_leaves_a_cluster_empty_gives_way_to_k_means():
    rows = torch.tensor([[0.0], [0.0], [0.0], [9.0]])
    labels = partition(rows, 2, "graph", generator=torch.Generator().manual_seed(0))
    assert labels[0] == labels[1] == labels[2] != labels[3]
