import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.graph.planted import blobs, of_parts

from coterie import as_views
from coterie.graph.model import build_graph
from coterie.graph.neighbours import MISSING
from coterie.graph.views import directed_weights, fill
from coterie.graph.weights import fuzzy_weights


@pytest.fixture(scope="module")
def views_with_missing():
    views, truth = of_parts([30] * 6)
    views = [view.copy() for view in views]
    views[0][::5], views[1][2::5] = np.nan, np.nan
    return views, truth


@pytest.fixture(scope="module")
def joined(views_with_missing):
    return build_graph(as_views(views_with_missing[0]), seed=0).joined


@given(st.integers(0, 2**16))
def test_a_missing_row_becomes_the_weighted_mean_of_neighbours_that_have_it(seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((10, 10)) * (rng.random((10, 10)) < 0.4), 1)
    graph = upper + upper.T
    rows = rng.normal(size=(10, 3)).astype(np.float32)
    there = rng.random(10) < 0.6
    naive = rows.copy()
    for i in np.flatnonzero(~there):
        weights = [graph[i, j] if there[j] else 0.0 for j in range(10)]
        total = sum(weights)
        naive[i] = sum(w * row.astype(float) for w, row in zip(weights, rows, strict=True)) / (total or 1.0)
    filled = fill(rows, there, sparse.csr_matrix(graph))
    np.testing.assert_allclose(filled, naive, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(filled[there], rows[there])


def test_filling_changes_nothing_in_place_and_nothing_where_no_view_is_missing():
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    before = rows.copy()
    graph = sparse.csr_matrix(np.ones((3, 3)) - np.eye(3))
    assert fill(rows, np.ones(3, dtype=bool), graph) is rows
    fill(rows, np.array([True, False, True]), graph)
    np.testing.assert_array_equal(rows, before)


def test_layers_sum_to_the_matrix(joined):
    layers = joined.layer_matrices()
    assert len(layers) == 3
    np.testing.assert_allclose(sum(layer.toarray() for layer in layers), joined.matrix.toarray(), atol=1e-12)


def test_the_only_layer_of_one_view_is_the_matrix():
    graph = build_graph(as_views(blobs([30, 30])[0]), seed=0).joined
    (layer,) = graph.layer_matrices()
    np.testing.assert_array_equal(layer.toarray(), graph.matrix.toarray())


def test_a_row_that_lacks_a_view_names_its_neighbours_with_the_weight_of_a_complete_row():
    # A wide kernel does not change sums of ones: every row has neighbours at one distance only.
    corners = np.kron(np.eye(6), np.ones((5, 1)))  # six groups of five equal rows
    views = [corners + 1e-3 * np.arange(30)[:, None] % 5, corners[::-1].copy()]
    views[1][3] = np.nan
    graph = build_graph(as_views(views), seed=0, n_neighbors=4).joined
    weights = np.array([layer.weight for layer in graph.layers])
    indices, edges = directed_weights(graph.layers, graph.counted, weights, 1e9)
    counts = (indices != MISSING).sum(axis=1)
    totals = edges.sum(axis=1)
    assert counts[3] < counts[4]
    assert totals[3] == pytest.approx(totals[4])


def test_directed_weights_equal_their_naive_form(joined):
    layer_weights = np.array([layer.weight for layer in joined.layers])
    indices, edges = directed_weights(joined.layers, joined.counted, layer_weights, joined.bandwidth)
    start = 0
    for layer in joined.layers:
        k = layer.neighbours.indices.shape[1]
        fuzzy = fuzzy_weights(layer.neighbours.distances)
        for i in range(0, len(joined.counted), 7):
            has = sum(a for a, there in zip(layer_weights, joined.counted[i], strict=True) if there)
            for j in range(k):
                naive = layer_weights.sum() / has * layer.weight * fuzzy[i, j] ** (1 / joined.bandwidth)
                assert edges[i, start + j] == pytest.approx(naive)
        np.testing.assert_array_equal(indices[:, start : start + k], layer.neighbours.indices)
        start += k


def test_rows_are_neighbours_only_in_layers_that_both_have(joined, views_with_missing):
    for v, layer in enumerate(joined.layers[:2]):
        lacking = np.isnan(views_with_missing[0][v]).all(axis=1)
        assert (layer.neighbours.indices[lacking] == MISSING).all()
        assert np.isinf(layer.neighbours.distances[lacking]).all()
        named = layer.neighbours.indices[~lacking]
        assert not lacking[named].any()
        np.testing.assert_array_equal(layer.numbers, np.flatnonzero(~lacking))


def test_a_missing_view_is_filled_from_views_that_tell_the_same_groups():
    rows, truth = blobs([40] * 3)
    rng = np.random.default_rng(1)
    views = [rows + rng.normal(size=rows.shape), rows + rng.normal(size=rows.shape)]
    lacking = np.arange(120) % 4 == 0
    views[0][lacking] = np.nan
    filled = build_graph(as_views(views), seed=0).joined.scaled[0]
    centers = np.stack([filled[~lacking & (truth == c)].mean(0) for c in range(3)])
    guess = np.square(filled[lacking, None] - centers).sum(-1).argmin(1)
    np.testing.assert_array_equal(guess, truth[lacking])


def test_the_graph_is_symmetric_without_loops_and_without_negative_weights(joined):
    dense = joined.matrix.toarray()
    np.testing.assert_allclose(dense, dense.T)
    assert (np.diagonal(dense) == 0).all()
    assert (joined.matrix.data > 0).all()
