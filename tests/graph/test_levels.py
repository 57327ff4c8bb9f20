import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.graph.planted import blobs

from coterie import InputError
from coterie.graph.candidates import LINKAGES
from coterie.graph.choose import partition
from coterie.graph.initial import graph_of_rows
from coterie.graph.levels import Levels, build_levels
from coterie.graph.quality import row_ties
from coterie.metrics import accuracy


def assert_nested(levels):
    """Each cluster of a level lies inside one cluster of the next coarser level."""
    for k in range(2, levels.most + 1):
        fine, coarse = levels.labels_at(k), levels.labels_at(k - 1)
        assert np.unique(fine).tolist() == list(range(k))
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == k


@pytest.mark.parametrize("linkage", LINKAGES)
def test_every_level_refines_the_next_and_one_of_them_is_the_partition(linkage):
    graph = graph_of_rows(blobs([50, 40, 30, 30], distance=4.0)[0], 8).matrix
    labels = partition(graph, 4, seed=0).labels
    levels = build_levels(graph, labels, 4, linkage=linkage)
    assert levels.most > 8
    np.testing.assert_array_equal(levels.labels_at(4), labels)
    assert_nested(levels)


@given(st.integers(0, 2**16), st.integers(1, 5))
def test_a_tree_passes_through_any_partition_also_one_that_does_not_fit_the_graph(seed, n_clusters):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((20, 20)) * (rng.random((20, 20)) < 0.3), 1)
    labels = np.concatenate([np.arange(n_clusters), rng.integers(0, n_clusters, 20 - n_clusters)])
    levels = build_levels(sparse.csr_matrix(upper + upper.T), labels, n_clusters)
    assert levels.most >= n_clusters
    assert accuracy(labels, levels.labels_at(n_clusters)) == 1
    assert_nested(levels)


def test_the_first_and_the_last_level_are_all_rows_and_the_leaves():
    graph = graph_of_rows(blobs([20, 20])[0], 5).matrix
    levels = build_levels(graph, partition(graph, 2, seed=0).labels, 2)
    assert set(levels.labels_at(1)) == {0}
    assert accuracy(levels.leaves, levels.labels_at(levels.most)) == 1


def test_planted_groups_of_groups_are_levels_of_one_tree():
    rows, group = blobs([60] * 4, distance=3.5)
    rows[:, 5] += 40.0 * (group > 1)
    graph = graph_of_rows(rows, 10).matrix
    for k in (2, 4):
        levels = build_levels(graph, partition(graph, k, seed=0).labels, k, linkage="average")
        assert accuracy(group // 2, levels.labels_at(2)) > 0.95
        assert accuracy(group, levels.labels_at(4)) > 0.9


@pytest.mark.parametrize("wrong", [0, 4, -1])
def test_a_number_beyond_the_tree_is_one_sentence(wrong):
    levels = Levels(np.array([0, 1, 2, 2]), np.array([[0, 1], [0, 2]]))
    with pytest.raises(
        InputError, match=f"n_clusters={wrong} is no level of this tree: it has 1 to 3 clusters"
    ):
        levels.labels_at(wrong)


def test_a_partition_into_single_rows_is_the_only_level_below_which_nothing_is():
    graph = graph_of_rows(blobs([6, 6])[0], 3).matrix
    levels = build_levels(graph, np.arange(12), 12)
    assert levels.most == 12
    assert levels.labels_at(12).tolist() == list(range(12))


def test_ties_of_some_rows_are_those_of_all():
    graph = graph_of_rows(blobs([20, 20])[0], 5).matrix
    labels, rows = np.arange(40) % 3, np.array([3, 17, 4])
    np.testing.assert_allclose(row_ties(graph[rows], labels, 3), row_ties(graph, labels, 3)[rows])
