import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.graph.neighbours import MISSING, Neighbours, neighbours_of_each
from coterie.graph.weights import fit_kernel, fuzzy_weights, knn_graph, symmetric_graph

# Different whole numbers: no ties, for which no sigma reaches the sum.
DISTANCES = st.lists(st.integers(1, 60), min_size=3, max_size=20, unique=True).map(sorted)


@given(DISTANCES, st.floats(1e-3, 1e3))
def test_weights_of_a_row_sum_to_the_logarithm_of_its_neighbours(distances, unit):
    weights = fuzzy_weights(unit * np.array([distances], dtype=float))
    assert weights.sum() == pytest.approx(np.log2(len(distances)), rel=1e-5)


@given(DISTANCES)
def test_weights_fall_from_one_at_the_nearest(distances):
    weights = fuzzy_weights(np.array([distances], dtype=float))[0]
    assert weights[0] == 1
    assert (np.diff(weights) <= 0).all()
    assert (weights >= 0).all()


@given(DISTANCES, st.floats(1e-3, 1e3))
def test_weights_do_not_depend_on_the_unit_of_distance(distances, unit):
    row = np.array([distances], dtype=float)
    np.testing.assert_allclose(fuzzy_weights(unit * row), fuzzy_weights(row), atol=1e-6)


def test_weights_are_the_exponential_of_the_distance_beyond_the_nearest():
    distances = np.array([[1.0, 2.0, 4.0, 7.0], [0.5, 0.6, 0.9, 3.0]])
    nearest, scale, reach = fit_kernel(distances)
    for i, row in enumerate(distances):
        naive = [np.exp(-max(0, d - row[0]) / scale[i]) for d in row]
        np.testing.assert_allclose(fuzzy_weights(distances)[i], naive)
    np.testing.assert_array_equal(nearest, [1.0, 0.5])
    np.testing.assert_array_equal(reach, [7.0, 3.0])


def test_duplicates_and_the_nearest_other_row_all_have_weight_one():
    weights = fuzzy_weights(np.array([[0.0, 0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.5, 9.9]]))
    np.testing.assert_array_equal(weights[0, :3], 1)
    assert weights[0, 3] < 1


def test_a_missing_neighbour_has_no_weight_and_takes_none_from_the_others():
    distances = np.array([[1.0, 2.0, 3.0, 4.0, np.inf, np.inf]])
    weights = fuzzy_weights(distances)
    np.testing.assert_array_equal(weights[0, 4:], 0)
    np.testing.assert_allclose(weights[:, :4], fuzzy_weights(distances[:, :4]), rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 3.0, np.inf])
def test_rows_of_equal_distances_have_weights_of_one_or_none(value):
    weights = fuzzy_weights(np.full((3, 5), value))
    np.testing.assert_array_equal(weights, np.isfinite(value) * np.ones((3, 5)))


def test_a_row_without_neighbours_has_a_kernel_that_is_finite():
    kernel = fit_kernel(np.empty((2, 0)))
    assert np.isfinite(np.stack(kernel)).all()
    assert (kernel.scale > 0).all()


def directed(indices, weights, n):
    """Return W, (n, n), by a loop."""
    table = np.zeros((n, n))
    for i, (line, values) in enumerate(zip(indices, weights, strict=True)):
        for j, w in zip(line, values, strict=True):
            if j != MISSING:
                table[i, j] += w
    return table


@given(st.integers(0, 2**16))
def test_the_graph_is_half_of_the_weights_there_and_back(seed):
    rng = np.random.default_rng(seed)
    n, k = 9, 4
    indices = np.array([rng.permutation([j for j in range(n) if j != i])[:k] for i in range(n)])
    indices[rng.random((n, k)) < 0.2] = MISSING
    weights = rng.random((n, k))
    table = directed(indices, weights, n)
    graph = symmetric_graph(indices, weights, n).toarray()
    for i in range(n):
        for j in range(n):
            assert graph[i, j] == pytest.approx((table[i, j] + table[j, i]) / 2)


def test_a_neighbour_named_twice_counts_twice():
    graph = symmetric_graph(np.array([[1, 1], [MISSING, MISSING]]), np.array([[0.5, 0.25], [0, 0]]), 2)
    np.testing.assert_allclose(graph.toarray(), [[0, 0.375], [0.375, 0]])


def test_missing_neighbours_get_no_edge():
    near = Neighbours(np.array([[1, MISSING], [0, MISSING], [MISSING, MISSING]]), np.array([[1, np.inf]] * 3))
    near.distances[2] = np.inf
    graph = knn_graph(near)
    assert graph.nnz == 2
    np.testing.assert_array_equal(graph.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_rows_that_are_all_equal_give_a_graph_of_finite_weights():
    graph = knn_graph(neighbours_of_each(np.ones((12, 3), dtype=np.float32), 4)[1])
    assert np.isfinite(graph.data).all()
    assert (graph.data > 0).all()
    assert (np.asarray(graph.sum(axis=1)) > 0).all()


def test_a_wider_kernel_takes_the_root_of_the_weights():
    rows = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    near = neighbours_of_each(rows, 5)[1]
    wide = directed(near.indices, np.sqrt(fuzzy_weights(near.distances)), 30)
    np.testing.assert_allclose(knn_graph(near, bandwidth=2.0).toarray(), (wide + wide.T) / 2)


def test_weights_of_a_kernel_at_other_distances_are_those_of_its_row():
    distances = np.array([[1.0, 2.0, 4.0], [2.0, 3.0, 9.0]])
    kernel = fit_kernel(distances)
    rows = np.array([[1, 0]])
    found = kernel.of(rows).weights(np.array([[3.0, 4.0]]))
    weights = fuzzy_weights(distances)
    np.testing.assert_allclose(found, [[weights[1, 1], weights[0, 2]]])
