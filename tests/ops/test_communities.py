import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.ops.communities import modularity, weight_between
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


def test_the_partition_of_highest_score_is_kept():
    rows = torch.randn(120, 2, generator=torch.Generator().manual_seed(0))
    seen = []

    def score(labels):
        seen.append(labels)
        return float(labels.bincount(minlength=4).max())

    kept = partition(rows, 4, "graph", generator=torch.Generator().manual_seed(0), score=score, n_restarts=5)
    largest = [int(labels.bincount(minlength=4).max()) for labels in seen]
    *by_graph, by_kmeans = largest
    assert len(set(by_graph)) > 1
    assert len(by_graph) == 5
    assert by_kmeans > max(by_graph), "k-means scores highest, but of one cloud it does not come again"
    assert int(kept.bincount().max()) == max(by_graph)


def test_a_graph_that_leaves_a_cluster_empty_gives_way_to_k_means():
    rows = torch.tensor([[0.0], [0.0], [0.0], [9.0]])
    labels = partition(rows, 2, "graph", generator=torch.Generator().manual_seed(0))
    assert labels[0] == labels[1] == labels[2] != labels[3]
