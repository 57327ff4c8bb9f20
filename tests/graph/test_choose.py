import itertools

import numpy as np
import pytest
from scipy import sparse
from tests.graph.planted import (
    answers,
    blobs,
    long_group_beside_small_ones,
    of_parts,
    rings,
    with_blind_view,
    with_noise_view,
)

from coterie import as_views
from coterie.errors import InterruptedWarning
from coterie.graph import choose
from coterie.graph.candidates import with_layers
from coterie.graph.choose import (
    Tried,
    best_first,
    joins_islands,
    large_islands,
    mean_score,
    partition,
)
from coterie.graph.initial import graph_of_rows
from coterie.graph.model import build_graph
from coterie.graph.quality import Quality
from coterie.metrics import accuracy


def partition_of(rows, n_clusters, seed=0):
    """Return the partition of the different rows of some data, and the labels of all rows."""
    graph = build_graph(as_views(rows), seed=0)
    layers = graph.joined.layer_matrices()
    chosen = partition(graph.joined.matrix, n_clusters, seed=seed, layers=layers)
    return chosen, chosen.labels[graph.groups]


PLANTED = {
    "even blobs": (blobs, ([60] * 4,), 4, 0.95),
    "uneven blobs": (blobs, ([300, 80, 30, 20],), 4, 0.95),
    "a large blob and small ones nearby": (blobs, ([1500, 100, 100, 60, 40], 6, 1.0, 4.5), 5, 0.95),
    "rings": (rings, (400,), 2, 0.95),
    "a long group beside small ones": (long_group_beside_small_ones, (), 3, 0.95),
    "duplicates": (answers, (), 3, 0.95),
    "complementary views": (of_parts, ([50] * 6,), 6, 0.95),
    "complementary views of uneven groups": (of_parts, ([100, 80, 60, 40, 30, 20],), 6, 0.95),
    "a blind view": (with_blind_view, (), 5, 0.95),
    "a noise view": (with_noise_view, (1,), 6, 0.9),
    "two noise views": (with_noise_view, (2,), 6, 0.9),
}


@pytest.mark.parametrize("case", PLANTED)
def test_planted_groups_are_found(case):
    plant, params, n_clusters, least = PLANTED[case]
    rows, truth = plant(*params)
    chosen, labels = partition_of(rows, n_clusters)
    assert accuracy(truth, labels) > least
    assert np.unique(chosen.labels).tolist() == list(range(n_clusters))


def test_the_chosen_partition_has_the_highest_score_of_all_that_were_tried():
    sets = (blobs([60, 50, 40], distance=3.0), of_parts([30] * 6), blobs([900, 60, 50, 40], distance=4.5))
    for rows, truth in sets:
        chosen, _ = partition_of(rows, truth.max() + 1)
        assert len(chosen.tried) > 1
        best = max(one.score for one in chosen.tried)
        winner = next(one for one in chosen.tried if one.quality == chosen.quality)
        assert chosen.origin == winner.origin
        assert winner.score >= best - 1e-6 * abs(best)


@pytest.mark.parametrize("sign", [-1, 1])
def test_candidates_that_differ_by_rounding_only_keep_the_order_in_which_they_were_proposed(sign):
    rng = np.random.default_rng(0)
    scores = sign * np.repeat([0.9, 0.7, 0.9, 0.5], 3)
    plain = [Tried(str(i), score, None, None) for i, score in enumerate(scores)]
    wanted = [one.origin for one in best_first(plain)]
    assert sorted(wanted[:6]) == sorted(
        map(str, (*range(3), *range(6, 9)) if sign > 0 else (9, 10, 11, 3, 4, 5))
    )
    for _ in range(20):
        rounded = [one._replace(score=one.score * (1 + 1e-8 * rng.normal())) for one in plain]
        assert [one.origin for one in best_first(rounded)] == wanted


def test_the_quality_is_that_of_the_labels():
    graph = build_graph(as_views(blobs([60, 50, 40], distance=3.0)[0]), seed=0).joined.matrix
    chosen = partition(graph, 3, seed=0)
    assert chosen.quality == Quality.of(graph, chosen.labels, 3)


def test_with_several_layers_the_score_is_the_mean_over_layers():
    graph = build_graph(as_views(of_parts([30] * 6)[0]), seed=0).joined
    layers = graph.layer_matrices()
    chosen = partition(graph.matrix, 6, seed=0, layers=layers)
    highest = max(one.score for one in chosen.tried)
    assert highest == pytest.approx(mean_score(layers, chosen.labels, 6))


def test_block_information_alone_cuts_a_large_cluster_and_the_score_does_not():
    rows, truth = blobs([900, 60, 50, 40], distance=4.5)
    graph = build_graph(as_views(rows), seed=0)
    chosen = partition(graph.joined.matrix, 4, seed=0)
    informative = max(chosen.tried, key=lambda one: one.quality.information)
    assert accuracy(truth, informative.labels[graph.groups]) < 0.6
    assert accuracy(truth, chosen.labels[graph.groups]) > 0.95


def test_rows_that_lack_a_view_do_not_become_communities_of_the_concatenated_layer():
    rows, truth = of_parts([40] * 6)
    rows[1][::2] = np.nan
    graph = build_graph(as_views(rows), seed=0).joined
    layers = graph.layer_matrices()
    few = [layers[0], layers[1], sparse.csr_matrix(layers[2].multiply(np.outer(*[np.arange(240) % 2] * 2)))]
    proposed = list(
        with_layers(
            graph.matrix,
            [("concatenated", few[-1])],
            6,
            None,
            lambda one, own: choose.propose(one, 6, 0, own),
        )
    )
    concatenated = [labels for origin, labels in proposed if origin.startswith("concatenated")]
    assert len(concatenated) > 6
    for labels in concatenated:
        assert len(np.unique(labels)) == 6
    assert max(accuracy(truth[1::2], labels[1::2]) for labels in concatenated) > 0.9


def test_the_mean_score_weighs_layers_by_their_weight():
    rng = np.random.default_rng(0)
    halves = [rng.random((8, 8)) * size for size in (1.0, 5.0)]
    layers = [sparse.csr_matrix(half + half.T) for half in halves]
    labels = np.arange(8) % 3
    weight = sum(layer.sum() for layer in layers)
    naive = sum(layer.sum() * Quality.of(layer, labels, 3).score for layer in layers)
    assert mean_score(layers, labels, 3) == pytest.approx(naive / weight)


@pytest.mark.parametrize(("distance", "seed"), [(2.5, 2), (3.5, 2), (5.0, 4)])
def test_no_partition_of_a_small_graph_scores_higher(distance, seed):
    rows = blobs([4, 3, 3], d=3, distance=distance, seed=seed)[0]
    graph = graph_of_rows(rows, 3).matrix
    best = max(
        Quality.of(graph, np.array(labels), 3).score
        for labels in itertools.product(range(3), repeat=10)
        if len(set(labels)) == 3
    )
    assert max(one.score for one in partition(graph, 3, seed=0).tried) == pytest.approx(best)


def test_the_same_seed_gives_the_same_labels():
    rows = np.random.default_rng(0).normal(size=(150, 4))  # no groups: much depends on the search
    graph = build_graph(as_views(rows), seed=0).joined.matrix
    first, again = (partition(graph, 5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.labels, again.labels)
    assert [one[:3] for one in first.tried] == [one[:3] for one in again.tried]


def test_rows_in_another_order_get_the_same_clusters():
    rows, _ = blobs([80, 50, 30, 40])
    order = np.random.default_rng(1).permutation(len(rows))
    _, labels = partition_of(rows, 4)
    _, permuted = partition_of(rows[order], 4)
    assert accuracy(labels[order], permuted) == 1


def test_clusters_are_numbered_in_the_order_of_their_first_rows():
    labels = partition_of(blobs([40] * 5)[0], 5)[1]
    assert list(dict.fromkeys(labels.tolist())) == [0, 1, 2, 3, 4]


def test_one_cluster_has_all_rows_and_n_clusters_have_one_each():
    graph = graph_of_rows(blobs([10, 10])[0], 4).matrix
    assert partition(graph, 1, seed=0).labels.tolist() == [0] * 20
    assert partition(graph, 20, seed=0).labels.tolist() == list(range(20))


@pytest.mark.parametrize("n_clusters", [3, 17, 39])
def test_more_clusters_than_communities_are_found_inside_them(n_clusters):
    rows, truth = blobs([20, 20], distance=30.0)
    labels = partition(graph_of_rows(rows, 5).matrix, n_clusters, seed=0).labels
    assert np.unique(labels).tolist() == list(range(n_clusters))
    assert not joins_islands(labels, truth)


def test_nearly_as_many_clusters_as_rows_are_found_where_spectral_clustering_is_too_slow(monkeypatch):
    # Up to 5,000 rows there is spectral clustering, and up to 4,000 communities are merged: here smaller limits.
    monkeypatch.setattr(choose, "_SPECTRAL_ROWS", 50)
    monkeypatch.setattr("coterie.graph.candidates.MOST_COMMUNITIES", 40)
    graph = graph_of_rows(np.random.default_rng(0).normal(size=(60, 3)), 5).matrix
    labels = partition(graph, 45, seed=0).labels
    assert np.unique(labels).tolist() == list(range(45))


def test_large_islands_are_the_components_of_a_graph():
    graph = graph_of_rows(blobs([20, 30, 25], distance=40.0)[0], 5).matrix
    truth = blobs([20, 30, 25], distance=40.0)[1]
    found = large_islands(graph, 4)
    assert accuracy(truth, found) == 1
    assert large_islands(graph, 2) is None  # more islands than clusters
    assert large_islands(graph_of_rows(np.random.default_rng(0).normal(size=(50, 2)), 8).matrix, 3) is None


def test_a_tiny_island_counts_to_the_largest():
    graph = sparse.block_diag([np.ones((60, 60)), np.ones((50, 50)), np.ones((1, 1))], format="csr")
    assert large_islands(graph, 2).tolist() == [0] * 60 + [1] * 50 + [0]
    labels = partition(graph, 2, seed=0).labels
    assert len(set(labels[:60])) == len(set(labels[60:110])) == 1
    assert labels[0] != labels[60]


def test_an_interrupt_takes_the_best_candidate_so_far(monkeypatch):
    graph = build_graph(as_views(blobs([60, 50, 40], distance=3.0)[0]), seed=0).joined.matrix
    whole = partition(graph, 3, seed=0)
    real, done = choose.refine_labels, []

    def interrupted(*given):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(real(*given))
        return done[-1]

    monkeypatch.setattr(choose, "refine_labels", interrupted)
    with pytest.warns(
        InterruptedWarning, match="^Interrupted after 3 candidate partitions, of which the best"
    ):
        chosen = partition(graph, 3, seed=0, interruptible=True)
    best = max(whole.tried[:3], key=lambda one: one.score)
    assert chosen.quality == best.quality
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        partition(graph, 3, seed=0)
