import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.graph.planted import blobs, many

from coterie import GraphClustering, choose_k
from coterie.graph.count import CountFigures, _Tree, adjusted_rand, count_figures
from coterie.graph.initial import graph_of_rows
from coterie.metrics import accuracy


@pytest.mark.parametrize("k", [2, 5, 9, 30])
def test_the_planted_number_of_clusters_is_found(k):
    rows, truth = many(k)
    choice = choose_k(rows, random_state=0)
    assert choice.k == k
    assert choice.clear
    model = GraphClustering("auto", random_state=0).fit(rows)
    assert model.n_clusters_ == model.k_choice_.k == k
    assert accuracy(truth, model.labels_) > 0.95


def test_the_number_of_uneven_groups_is_found():
    assert choose_k(blobs([300, 100, 40, 40])[0], random_state=0).k == 4


def test_the_number_that_several_views_tell_is_found():
    rows, _ = blobs([50] * 5)
    rng = np.random.default_rng(1)
    views = [rows + rng.normal(size=rows.shape), rows @ rng.normal(size=(6, 9))]
    assert choose_k(views, random_state=0).k == 5


def test_rows_without_clusters_are_said_to_tell_no_number():
    cloud = np.random.default_rng(0).normal(size=(600, 6))
    assert not choose_k(cloud, random_state=0).clear
    with pytest.warns(UserWarning, match="The rows do not tell how many clusters there are"):
        GraphClustering("auto", random_state=0).fit(cloud)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=40))
def test_the_adjusted_rand_index_is_that_of_scikit_learn(pairs):
    one, other = np.array(pairs).T
    counts = np.zeros((4, 5))
    np.add.at(counts, (one, other), 1)
    assert adjusted_rand(counts) == pytest.approx(adjusted_rand_score(one, other))


def test_the_drop_is_the_median_over_trees_so_that_one_odd_tree_decides_nothing(monkeypatch):
    graph = graph_of_rows(blobs([40] * 4)[0], 8).matrix
    drops = iter([0.1, 0.2, 9.0] * 4)
    monkeypatch.setattr(_Tree, "drop", lambda self, k: next(drops))
    (only,) = count_figures(graph, [3], seed=0)
    assert only.drop == 0.2


def test_figures_of_clear_groups_speak_for_their_number():
    graph = graph_of_rows(blobs([40] * 4)[0], 8).matrix
    figures = count_figures(graph, range(2, 12), seed=0)
    assert [one.k for one in figures] == list(range(2, 12))
    best = figures[2]
    assert best.stability > 0.95
    assert best.stability == max(one.stability for one in figures)
    assert best.modularity == pytest.approx(0.75)  # of four even islands
    assert best.drop == max(one.drop for one in figures)


def test_the_same_seed_gives_the_same_figures():
    graph = graph_of_rows(np.random.default_rng(0).normal(size=(120, 3)), 8).matrix
    assert count_figures(graph, [2, 5, 9], seed=1) == count_figures(graph, [2, 5, 9], seed=1)


def test_numbers_beyond_the_tree_have_no_drop():
    graph = graph_of_rows(blobs([10, 10])[0], 4).matrix
    assert count_figures(graph, [2, 20], seed=0)[1].drop == 0


def test_the_score_is_the_product_of_drop_log_k_stability_and_modularity():
    assert CountFigures(5, 0.3, 0.8, 0.5).score == pytest.approx(0.3 * np.log(5) * 0.8 * 0.5)


@pytest.mark.parametrize("negative", range(3))
def test_the_score_is_zero_where_a_figure_is_negative(negative):
    figures = [0.3, 0.8, 0.5]
    figures[negative] *= -1
    assert CountFigures(5, *figures).score == 0
