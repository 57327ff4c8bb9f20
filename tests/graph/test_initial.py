import numpy as np
import pytest
from scipy import sparse
from tests.graph.planted import answers, blobs, of_parts
from tests.together import in_threads

from coterie import as_views
from coterie.graph.compare import fit_comparison
from coterie.graph.initial import (
    graph_of_rows,
    initial_labels,
    partition_views,
    share_inside,
    view_agreement,
)
from coterie.graph.model import build_graph
from coterie.metrics import accuracy


def labels_of(rows, n_clusters, **options):
    table = rows.astype(np.float32)
    return initial_labels(lambda numbers: table[numbers], len(table), n_clusters, seed=0, **options)


def test_rows_beyond_the_sample_follow_clear_groups():
    rows, truth = blobs([150, 100, 80])
    labels = labels_of(rows, 3, max_rows=90)
    assert len(labels) == 330
    assert accuracy(truth, labels) == 1


def test_with_all_rows_in_the_sample_the_labels_are_those_of_the_graph():
    rows, _ = blobs([60, 50], distance=3.0)
    np.testing.assert_array_equal(labels_of(rows, 2), graph_of_rows(rows, 10).partition(2, seed=0))


@pytest.mark.parametrize("max_rows", [60, 1000])
def test_processes_that_share_the_search_get_the_labels_of_one(max_rows):
    rows, _ = blobs([60, 50, 40], distance=3.0)
    alone = labels_of(rows, 3, max_rows=max_rows)
    for labels in in_threads(
        2, lambda collectives: labels_of(rows, 3, max_rows=max_rows, collectives=collectives)
    ):
        np.testing.assert_array_equal(labels, alone)


def test_equal_rows_are_one_node_of_the_graph():
    rows, truth = answers()
    graph = graph_of_rows(rows, 10)
    assert graph.matrix.shape[0] == len(np.unique(rows, axis=0)) < 600
    for i in range(0, 600, 29):
        equal = (rows == rows[i]).all(axis=1)
        np.testing.assert_array_equal(graph.nodes == graph.nodes[i], equal)
    labels = graph.partition(3, seed=0)
    assert accuracy(truth, labels) > 0.95


def test_fewer_different_rows_than_clusters_give_fewer_clusters():
    rows = np.repeat(np.eye(3), 20, axis=0)
    assert graph_of_rows(rows, 5).partition(7, seed=0).tolist() == np.repeat([0, 1, 2], 20).tolist()
    assert graph_of_rows(np.ones((9, 2)), 5).partition(4, seed=0).tolist() == [0] * 9


def test_the_quality_of_labels_of_rows_is_that_of_their_nodes():
    rows, _ = blobs([20, 20])
    twice = np.concatenate([rows, rows])
    labels = np.arange(40) % 2
    once = graph_of_rows(rows, 5).quality(labels, 2)
    assert graph_of_rows(twice, 5).quality(np.tile(labels, 2), 2) == once


def test_views_agree_most_with_themselves_and_more_with_one_of_the_same_groups_than_with_noise():
    rows, _ = blobs([40] * 3)
    rng = np.random.default_rng(1)
    data = as_views([rows, rows + 0.1 * rng.normal(size=rows.shape), rng.normal(size=(120, 5))])
    comparison = fit_comparison(data, n_neighbors=10, seed=0)
    agree = view_agreement(comparison, build_graph(data, seed=0).joined)
    assert agree.argmax(axis=1).tolist() == [0, 1, 2]
    np.testing.assert_allclose(agree, agree.T)
    assert agree[0, 1] > agree[0, 2] + 0.3


def test_a_joined_graph_is_partitioned_by_groups_that_no_view_tells_alone():
    views, truth = of_parts([40] * 6)
    joined = build_graph(as_views(views), seed=0).joined
    assert accuracy(truth, partition_views(joined, 6, seed=0)) > 0.95


def test_the_share_inside_counts_the_weight_of_edges_that_are_not_cut():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((8, 8)), 1)
    labels = np.arange(8) % 3
    inside = sum(upper[i, j] for i in range(8) for j in range(8) if labels[i] == labels[j])
    found = share_inside(sparse.csr_matrix(upper + upper.T), labels, 3)
    assert found == pytest.approx(inside / upper.sum())
    assert share_inside(sparse.csr_matrix((3, 3)), np.zeros(3, dtype=int), 1) == 1
