import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.graph.planted import blobs, islands

from coterie.graph.choose import partition
from coterie.graph.confidence import (
    Calibration,
    calibrate,
    matched,
    memberships,
    resampled_agreement,
    share_of_own,
)
from coterie.graph.initial import graph_of_rows
from coterie.graph.quality import row_ties
from coterie.graph.resampling import resampled_partitions

SEEDS = st.integers(0, 2**16)


@pytest.fixture(scope="module")
def bridged():
    """Two groups with some rows between them: the graph, its clusters, and how far a row is from the border."""
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.normal(-3, 1, 120), rng.normal(3, 1, 120), rng.uniform(-1.5, 1.5, 40)])
    rows = np.column_stack([places, rng.normal(size=280)])
    graph = graph_of_rows(rows, 10).matrix
    return graph, partition(graph, 2, seed=0).labels, np.abs(places)


def test_the_share_of_the_own_cluster_is_a_quotient_of_votes():
    votes = np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 5.0]])
    np.testing.assert_allclose(share_of_own(votes, np.array([0, 1, 1])), [3 / 4, 1 / 3, 2 / 8])


def test_memberships_share_what_confidence_leaves_by_the_votes_for_the_others():
    votes = np.array([[6.0, 1.0, 3.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = memberships(votes, np.array([0, 0, 2]), np.array([0.8, 0.9, 0.5]))
    np.testing.assert_allclose(found, [[0.8, 0.05, 0.15], [0.9, 0.05, 0.05], [0.25, 0.25, 0.5]])


@given(SEEDS, st.integers(1, 5))
def test_memberships_of_a_row_sum_to_one_and_the_largest_is_that_of_its_label(seed, k):
    rng = np.random.default_rng(seed)
    votes = rng.random((30, k)) * (rng.random((30, k)) < 0.6)
    labels = rng.integers(0, k, 30)
    confidence = 1 / k + (1 - 1 / k) * rng.random(30) * rng.integers(0, 2, 30)
    found = memberships(votes, labels, confidence).astype(np.float32)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
    assert (found >= 0).all()
    np.testing.assert_array_equal(found.argmax(axis=1), labels)


@given(SEEDS)
def test_the_membership_in_the_own_cluster_is_the_confidence(seed):
    rng = np.random.default_rng(seed)
    votes, labels = rng.random((30, 4)), rng.integers(0, 4, 30)
    confidence = rng.uniform(0.25, 1, 30)
    found = memberships(votes, labels, confidence)
    np.testing.assert_allclose(found[np.arange(30), labels], confidence)


@given(SEEDS)
def test_matched_labels_agree_with_as_many_rows_as_any_renaming_does(seed):
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(0, 4, (2, 15))
    most = max((np.array(names)[others] == labels).sum() for names in itertools.permutations(range(4)))
    assert (matched(labels, others, 4) == labels).sum() == most


def test_matched_labels_are_the_same_clusters():
    others = np.array([2, 2, 0, 1, 1])
    renamed = matched(np.array([0, 0, 1, 2, 2]), others, 3)
    assert renamed.tolist() == [0, 0, 1, 2, 2]


def resamples_of(graph, n_clusters, n_resamples, seed=0):
    return resampled_partitions(graph, n_clusters, n_resamples=n_resamples, seed=seed)


def test_islands_stay_what_they_are_in_every_resampled_graph():
    graph, truth = islands(12, 15, 10)
    np.testing.assert_array_equal(resampled_agreement(truth, resamples_of(graph, 3, 6), 3), 1)


def test_rows_at_a_blurred_border_agree_less_than_rows_inside(bridged):
    graph, labels, depth = bridged
    agreement = resampled_agreement(labels, resamples_of(graph, 2, 20, seed=0), 2)
    assert agreement[depth > 3].mean() > 0.99
    assert agreement[depth < 0.7].mean() < agreement[depth > 3].mean() - 0.03


def test_agreement_is_the_share_of_resampled_graphs_in_which_a_row_stays(bridged):
    graph, labels, _ = bridged
    naive = np.zeros(len(labels))
    for again in resamples_of(graph, 2, 4, seed=5):
        same = again == labels
        naive += same if same.mean() > 0.5 else ~same
    np.testing.assert_allclose(resampled_agreement(labels, resamples_of(graph, 2, 4, seed=5), 2), naive / 4)


def test_confidence_is_higher_inside_than_at_the_border_and_matches_the_agreement_on_average(bridged):
    graph, labels, depth = bridged
    calibration = calibrate(graph, labels, 2, n_resamples=20, seed=0)
    confidence = calibration.confidence(row_ties(graph, labels, 2), labels)
    agreement = resampled_agreement(labels, resamples_of(graph, 2, 20, seed=0), 2)
    assert confidence[depth > 3].mean() > confidence[depth < 0.7].mean() + 0.03
    assert confidence.mean() == pytest.approx(agreement.mean(), abs=0.02)
    assert ((confidence >= 0.5) & (confidence <= 1)).all()
    assert (np.diff(calibration.values) >= 0).all()


def test_stability_is_the_mean_agreement_of_a_cluster(bridged):
    graph, labels, _ = bridged
    agreement = resampled_agreement(labels, resamples_of(graph, 2, 5, seed=0), 2)
    calibration = calibrate(graph, labels, 2, n_resamples=5, seed=0)
    np.testing.assert_allclose(calibration.stability, [agreement[labels == c].mean() for c in range(2)])


def test_confidence_is_stability_times_the_map_of_the_share_but_never_below_chance():
    calibration = Calibration(np.array([0.0, 1.0]), np.array([0.2, 1.0]), np.array([0.9, 0.5]))
    votes = np.array([[3.0, 1.0], [1.0, 3.0], [1.0, 0.0]])
    found = calibration.confidence(votes, np.array([0, 1, 1]))
    np.testing.assert_allclose(
        found, [0.9 * (0.2 + 0.75 * 0.8), 0.5, 0.5], rtol=1e-4
    )  # 0.5 * 0.8 is below chance


@pytest.mark.parametrize(("k", "n_resamples"), [(1, 5), (3, 0), (12, 5)])
def test_without_resamples_or_choice_the_confidence_is_the_share_of_votes(k, n_resamples):
    graph = graph_of_rows(blobs([4, 4, 4])[0], 3).matrix
    labels = np.arange(12) % k
    votes = row_ties(graph, labels, k)
    found = calibrate(graph, labels, k, n_resamples=n_resamples, seed=0).confidence(votes, labels)
    np.testing.assert_allclose(found, np.maximum(share_of_own(votes, labels), 1 / k), rtol=1e-4)
