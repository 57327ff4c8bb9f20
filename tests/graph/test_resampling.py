import numpy as np
import pytest
from scipy import sparse
from tests.graph.planted import blobs

from coterie.graph.candidates import merged_candidates
from coterie.graph.initial import graph_of_rows
from coterie.graph.quality import Quality
from coterie.graph.resampling import partition_once, resampled, resampled_partitions


@pytest.fixture(scope="module")
def graph():
    return graph_of_rows(blobs([90, 40, 30], distance=3.0)[0], 8).matrix


def test_a_resampled_graph_has_the_same_edges_symmetric_and_other_weights_of_the_same_mean():
    graph = graph_of_rows(blobs([200, 200])[0], 10).matrix
    again = resampled(graph, seed=0)
    np.testing.assert_allclose(again.toarray(), again.toarray().T)
    np.testing.assert_array_equal(again.toarray() > 0, graph.toarray() > 0)
    ratio = again.toarray()[graph.toarray() > 0] / graph.toarray()[graph.toarray() > 0]
    assert ratio.mean() == pytest.approx(1, abs=0.1)
    assert ratio.std() == pytest.approx(1, abs=0.15)  # an exponential variable's
    assert abs(again - resampled(graph, seed=1)).max() > 0.1
    assert abs(again - resampled(graph, seed=0)).max() == 0


def test_a_partition_is_refined_and_has_all_clusters(graph):
    labels = partition_once(graph, 3, seed=1)
    assert np.unique(labels).tolist() == [0, 1, 2]
    scores = []
    for _, proposed in merged_candidates(graph, 3, 1, (4.0,)):
        scores.append(Quality.of(graph, proposed, 3).score)
    assert Quality.of(graph, labels, 3).score >= max(scores)


def test_each_resampled_graph_is_partitioned_by_its_own_edges(graph):
    partitions = resampled_partitions(graph, 3, n_resamples=3, seed=2)
    for b, labels in enumerate(partitions):
        np.testing.assert_array_equal(labels, partition_once(resampled(graph, 2 + b), 3, 2 + b))
    assert any((partitions[0] != other).any() for other in partitions[1:])


def test_a_graph_with_too_many_communities_still_has_a_partition(monkeypatch):
    monkeypatch.setattr("coterie.graph.candidates.MOST_COMMUNITIES", 2)
    pairs = sparse.csr_matrix(np.kron(np.eye(6), [[0.0, 1.0], [1.0, 0.0]]))
    assert np.unique(partition_once(pairs, 4, seed=0)).tolist() == [0, 1, 2, 3]
