import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from tests.graph.planted import blobs

from coterie.graph.initial import graph_of_rows
from coterie.graph.quality import Quality
from coterie.graph.resampling import Resamples, resampled, resampled_candidates


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


def test_candidates_have_all_clusters_and_the_quality_of_their_labels(graph):
    for labels, quality in resampled_candidates(graph, 3, seed=1):
        assert np.unique(labels).tolist() == [0, 1, 2]
        assert quality == Quality.of(graph, labels, 3)


def test_the_best_partition_of_a_resample_has_the_highest_score_there(graph):
    resamples = Resamples(graph, 3, n_resamples=4, seed=2)
    for b, best in enumerate(resamples.best(0.75)):
        again = resampled(graph, 2 + b)
        scores = [
            Quality.of(again, one.labels, 3).score(0.75) for one in resampled_candidates(again, 3, 2 + b)
        ]
        assert Quality.of(again, best, 3).score(0.75) == pytest.approx(max(scores))


def test_recurrence_is_the_rand_index_of_the_most_similar_candidate(graph):
    labels = np.arange(graph.shape[0]) * 3 // graph.shape[0]
    resamples = Resamples(graph, 3, n_resamples=3, seed=0)
    naive = [
        max(
            adjusted_rand_score(labels, one.labels) for one in resampled_candidates(resampled(graph, b), 3, b)
        )
        for b in range(3)
    ]
    np.testing.assert_allclose(resamples.recurrence(labels), naive)


def test_nothing_is_partitioned_before_it_is_asked_for(graph, monkeypatch):
    monkeypatch.setattr("coterie.graph.resampling.merged_candidates", None)
    resamples = Resamples(graph, 3, n_resamples=2, seed=0)
    assert len(resamples) == 2
    with pytest.raises(TypeError, match="not callable"):
        resamples.best(0.5)


def test_a_graph_with_too_many_communities_still_has_a_candidate(monkeypatch):
    monkeypatch.setattr("coterie.graph.candidates.MOST_COMMUNITIES", 2)
    pairs = sparse.csr_matrix(np.kron(np.eye(6), [[0.0, 1.0], [1.0, 0.0]]))
    (only,) = resampled_candidates(pairs, 4, seed=0)
    assert np.unique(only.labels).tolist() == [0, 1, 2, 3]
