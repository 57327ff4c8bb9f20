import json
import warnings

import numpy as np
import pytest
from tests.graph.planted import answers, blobs, of_parts
from tests.together import in_threads

from coterie import as_views
from coterie.graph.choose import partition
from coterie.graph.confidence import calibrate
from coterie.graph.model import (
    GraphIndex,
    build_graph,
    comparable,
    medoids,
    node_outlier_scores,
    outlier_ratio,
    pieces,
)
from coterie.graph.neighbours import neighbour_count
from coterie.metrics import accuracy


def index_of(rows, n_clusters):
    """Return the index of a partition of rows, the data and the graph."""
    data = as_views(rows)
    graph = build_graph(data, seed=0)
    chosen = partition(graph.joined.matrix, n_clusters, seed=0, layers=graph.joined.layer_matrices())
    calibration = calibrate(graph.joined.matrix, chosen.labels, n_clusters, n_resamples=3, seed=0)
    return GraphIndex.build(graph, chosen.labels, calibration), data, graph


def assigned(index, rows):
    data = as_views(rows)
    return index.assign(comparable(index.comparison, data, np.arange(data.n_rows)))


def test_nodes_are_the_first_of_equal_rows_and_every_row_knows_its_node():
    rows, _ = answers()
    graph = build_graph(as_views(rows), seed=0)
    np.testing.assert_array_equal(rows[graph.nodes][graph.groups], rows)
    assert len(graph.nodes) == len(np.unique(rows, axis=0)) == graph.joined.matrix.shape[0]
    assert (np.diff(graph.nodes) > 0).all()


def test_of_more_rows_than_allowed_a_sample_is_taken():
    graph = build_graph(as_views(blobs([100, 100])[0]), max_rows=50, seed=0)
    assert len(graph.sample) == len(np.unique(graph.sample)) == 50
    assert graph.joined.matrix.shape == (50, 50)


def test_pieces_are_all_row_numbers_in_order(monkeypatch):
    data = as_views(np.zeros((100, 5)))
    monkeypatch.setattr("coterie.graph.model._CHUNK_BYTES", 4 * 5 * 30)
    parts = list(pieces(np.arange(100), data))
    assert [len(part) for part in parts] == [30, 30, 30, 10]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(100))


def test_rows_of_the_graph_get_their_own_labels_also_where_the_vote_of_neighbours_is_another():
    rows, _ = blobs([60, 60], distance=2.0)  # groups that overlap
    index, _, graph = index_of(rows, 2)
    found = assigned(index, rows)
    np.testing.assert_array_equal(found.labels, index.labels[graph.groups])
    np.testing.assert_array_equal(found.nodes, graph.groups)


def test_new_rows_get_the_labels_of_the_groups_they_were_drawn_from():
    rows, truth = blobs([90, 60, 40])
    new = np.arange(190) % 3 == 0
    index, _, _ = index_of(rows[~new], 3)
    found = assigned(index, rows[new])
    assert accuracy(truth[new], found.labels) == 1
    assert (index.labels[found.nodes] == found.labels).all()


@pytest.mark.parametrize("several", [False, True])
def test_a_row_alone_is_what_it_is_in_a_batch(several):
    rows = of_parts([30] * 6)[0] if several else blobs([60, 60], distance=2.0)[0]
    views = rows if several else [rows]
    index, _, _ = index_of([view[::2] for view in views] if several else rows[::2], 4)
    whole = assigned(index, rows)
    for row in (1, 50, 101):
        alone = assigned(index, [view[row : row + 1] for view in views] if several else rows[row : row + 1])
        for one, all_rows in zip(alone, whole, strict=True):
            np.testing.assert_array_equal(one[0], all_rows[row])


def test_an_index_that_was_saved_says_the_same():
    views, _ = of_parts([30] * 6)
    views = [view.copy() for view in views]
    views[1][::6] = np.nan
    index, data, _ = index_of(views, 6)
    values, arrays = index.state()
    again = GraphIndex.from_state(json.loads(json.dumps(values)), arrays, data.dims)
    new = [view + 0.1 for view in views]
    for one, other in zip(assigned(index, new), assigned(again, new), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_outlier_ratio_compares_a_row_with_its_neighbours():
    distances = np.array([[2.0, 4.0, np.inf], [0.0, 0.0, 0.0]])
    spread = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(outlier_ratio(distances, spread), [3 / 2, 1])


def test_a_row_whose_neighbours_are_all_equal_is_an_outlier_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = outlier_ratio(np.array([[5.0, 5.0]]), np.zeros((1, 2)))
    assert np.isfinite(found[0])
    assert found[0] > 1e6


def test_outlier_scores_of_nodes_equal_their_naive_form():
    rows, _ = blobs([30, 20], distance=5.0)
    joined = build_graph(as_views(rows), seed=0).joined
    near = joined.layers[0].neighbours
    scores = node_outlier_scores(joined)
    for i in range(50):
        theirs = np.mean([near.distances[j].mean() for j in near.indices[i]])
        assert scores[i] == pytest.approx(near.distances[i].mean() / theirs)


def test_medoids_are_the_rows_nearest_to_the_mean_among_the_surer_half():
    rng = np.random.default_rng(0)
    table, labels, confidence = rng.normal(size=(40, 3)), np.arange(40) % 3, rng.random(40)
    for cluster, found in enumerate(medoids(table, labels, confidence, 3)):
        own = np.flatnonzero(labels == cluster)
        sure = [i for i in own if confidence[i] >= np.median(confidence[own])]
        center = table[own].mean(axis=0)
        assert found == min(sure, key=lambda i: ((table[i] - center) ** 2).sum())


def test_processes_build_the_graph_of_one():
    views, _ = of_parts([20] * 6)
    data = as_views(views)
    alone = build_graph(data, seed=0)
    for graph in in_threads(2, lambda collectives: build_graph(data, seed=0, collectives=collectives)):
        np.testing.assert_array_equal(graph.joined.matrix.toarray(), alone.joined.matrix.toarray())


def test_a_graph_has_as_many_neighbours_as_its_rows_need_or_as_asked_for():
    rows = blobs([700, 700, 700])[0]
    assert build_graph(as_views(rows), seed=0).n_neighbors == neighbour_count(2100) == 11
    assert build_graph(as_views(rows), seed=0, max_rows=100).n_neighbors == 10
    asked = build_graph(as_views(rows), n_neighbors=4, seed=0)
    assert asked.n_neighbors == asked.joined.layers[0].neighbours.indices.shape[1] == 4
