"""The scores agree with naive loops, with closed forms, and with what any score must obey."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import silhouette_samples, silhouette_score

from coterie import metrics
from coterie.errors import InputError
from coterie.metrics import separation

SCORES = ["accuracy", "nmi", "ari", "purity", "pairwise_f", "fowlkes_mallows"]
OURS = ["accuracy", "purity", "pairwise_f"]


def score(name, truth, labels):
    return metrics.score_all(truth, labels)[name]


def naive_accuracy(truth, labels):
    """Try every way to give clusters distinct classes, with None for clusters left over."""
    classes, clusters = sorted(set(truth)), sorted(set(labels))
    names = classes + [None] * len(clusters)
    best = 0
    for choice in set(permutations(names, len(clusters))):
        to_class = dict(zip(clusters, choice, strict=True))
        best = max(best, sum(to_class[label] == true for true, label in zip(truth, labels, strict=True)))
    return best / len(truth)


def naive_nmi(truth, labels):
    n = len(truth)

    def entropy(column):
        return -sum(column.count(v) / n * np.log(column.count(v) / n) for v in set(column))

    joint = list(zip(truth, labels, strict=True))
    total = entropy(truth) + entropy(labels)
    return 1.0 if total == 0 else 2 * (total - entropy(joint)) / total


def naive_pairs(truth, labels):
    both = in_truth = in_labels = total = 0
    for i, j in combinations(range(len(truth)), 2):
        same_class, same_cluster = truth[i] == truth[j], labels[i] == labels[j]
        both += same_class and same_cluster
        in_truth += same_class
        in_labels += same_cluster
        total += 1
    return both, in_truth, in_labels, total


def naive_ari(truth, labels):
    both, in_truth, in_labels, total = naive_pairs(truth, labels)
    if both == in_truth == in_labels:
        return 1.0
    chance = in_truth * in_labels / total
    return (both - chance) / ((in_truth + in_labels) / 2 - chance)


def naive_purity(truth, labels):
    right = 0
    for cluster in set(labels):
        members = [true for true, label in zip(truth, labels, strict=True) if label == cluster]
        right += max(members.count(value) for value in set(members))
    return right / len(truth)


def naive_pairwise_f(truth, labels):
    both, in_truth, in_labels, _ = naive_pairs(truth, labels)
    if in_truth + in_labels == 0:
        return 1.0
    precision = both / in_labels if in_labels else 0.0
    recall = both / in_truth if in_truth else 0.0
    return 2 * precision * recall / (precision + recall) if both else 0.0


def naive_fowlkes_mallows(truth, labels):
    both, in_truth, in_labels, _ = naive_pairs(truth, labels)
    if in_truth == in_labels == 0:
        return 1.0
    return ((both / in_truth) * (both / in_labels)) ** 0.5 if both else 0.0


def naive_silhouette(X, labels):
    values = []
    for i in range(len(X)):
        apart = {}
        for j in range(len(X)):
            if i != j:
                apart.setdefault(labels[j], []).append(np.linalg.norm(X[i] - X[j]))
        own = apart.pop(labels[i], None)
        other = min(np.mean(distances) for distances in apart.values())
        widest = max(np.mean(own), other) if own else 0
        values.append((other - np.mean(own)) / widest if widest else 0.0)
    return np.mean(values)


@st.composite
def two_groupings(draw, most=4):
    n = draw(st.integers(1, 14))
    column = st.lists(st.integers(0, most - 1), min_size=n, max_size=n)
    return draw(column), draw(column)


@pytest.mark.parametrize("name", SCORES)
@given(pair=two_groupings())
@settings(max_examples=60, deadline=None)
def test_a_score_equals_its_naive_loop(name, pair):
    assert score(name, *pair) == pytest.approx(globals()[f"naive_{name}"](*pair), abs=1e-12)


@pytest.mark.parametrize("name", OURS)
@given(pair=two_groupings())
@settings(max_examples=20, deadline=None)
def test_a_score_alone_is_that_of_all(name, pair):
    assert getattr(metrics, name)(*pair) == score(name, *pair)


@pytest.mark.parametrize("name", SCORES)
@given(pair=two_groupings(), seed=st.integers(0, 2**16))
@settings(max_examples=40, deadline=None)
def test_a_score_ignores_the_order_of_rows_and_the_names_of_groups(name, pair, seed):
    truth, labels = (np.array(column) for column in pair)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(truth))
    renamed = rng.permutation(4)[labels]
    assert score(name, truth[order], renamed[order]) == pytest.approx(score(name, truth, labels), abs=1e-12)


@pytest.mark.parametrize("name", SCORES)
@given(pair=two_groupings())
@settings(max_examples=40, deadline=None)
def test_a_score_stays_in_its_range(name, pair):
    low = -1.0 if name == "ari" else 0.0
    assert low <= score(name, *pair) <= 1.0 + 1e-12


@pytest.mark.parametrize("name", SCORES)
@given(pair=two_groupings(), shift=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_the_same_groups_under_other_names_score_one(name, pair, shift):
    truth = pair[0]
    renamed = [f"group {value * shift}" for value in truth]
    assert score(name, truth, renamed) == pytest.approx(1.0, abs=1e-12)


def test_every_row_alone_in_both_groupings_is_perfect_agreement():
    assert set(metrics.score_all([0, 1, 2], [5, 6, 7]).values()) == {1.0}


def test_crossed_halves_have_the_closed_forms():
    truth, labels = [0, 0, 1, 1], [0, 1, 0, 1]
    expected = {
        "accuracy": 0.5,
        "nmi": 0.0,
        "ari": -0.5,
        "purity": 0.5,
        "pairwise_f": 0.0,
        "fowlkes_mallows": 0.0,
    }
    assert metrics.score_all(truth, labels) == pytest.approx(expected, abs=1e-12)


def test_accuracy_counts_surplus_clusters_and_surplus_classes_as_wrong():
    assert metrics.accuracy([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]) == pytest.approx(4 / 6)
    assert metrics.accuracy([0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]) == pytest.approx(4 / 6)


def test_accuracy_pairs_for_the_most_rows_and_not_greedily():
    # Greedy takes the 3 first and ends at 3 + 0; the best pairing is 2 + 2.
    truth = [0, 0, 0, 0, 0, 1, 1]
    labels = [0, 0, 0, 1, 1, 0, 0]
    assert metrics.accuracy(truth, labels) == pytest.approx(4 / 7)
    assert metrics.matching(truth, labels) == {1: 0, 0: 1}


def test_matching_leaves_out_the_clusters_without_a_class():
    assert metrics.matching(["a", "a", "b", "b", "b"], [0, 0, 1, 1, 2]) == {0: "a", 1: "b"}


def test_values_of_several_types_stay_different_groups():
    assert metrics.matching([1, "1", 1, "1"], [0, 1, 0, 1]) == {0: 1, 1: "1"}
    assert metrics.purity([1, "1", 1, "1"], [0, 0, 0, 0]) == 0.5


def test_unlabelled_rows_are_left_out_and_a_cluster_may_be_called_minus_one():
    assert metrics.accuracy([0, 1, -1, -1], [0, 1, 0, 1]) == 1.0
    assert metrics.score_all([0, 1, -1, -1], [0, 1, 0, 1])["ari"] == 1.0
    assert metrics.matching([0, 1], [-1, 1]) == {-1: 0, 1: 1}


def test_as_many_classes_as_rows_need_no_square_table_of_pairs_and_no_warning(recwarn):
    n = 200_000
    assert metrics.purity(np.arange(n), np.zeros(n, dtype=int)) == 1 / n
    assert metrics.score_all(np.arange(n), np.zeros(n, dtype=int))["ari"] == 0.0
    assert [str(one.message) for one in recwarn] == []


@pytest.mark.parametrize("name", [*OURS, "matching", "score_all"])
def test_different_lengths_are_refused_with_both_lengths(name):
    with pytest.raises(InputError, match=r"truth has 3 entries but labels has 2"):
        getattr(metrics, name)([0, 1, 1], [0, 1])


def test_a_truth_without_labelled_rows_is_refused():
    with pytest.raises(InputError, match="no labelled row"):
        metrics.purity([-1, -1], [0, 1])
    with pytest.raises(InputError, match="no labelled row"):
        metrics.purity([], [])


def test_a_table_or_nan_in_place_of_labels_is_refused():
    with pytest.raises(InputError, match="labels must be one value per row, but it has 2 dimensions"):
        metrics.purity([0, 1], [[0], [1]])
    with pytest.raises(InputError, match="truth is NaN at row 1"):
        metrics.purity([0.0, np.nan], [0, 1])


def blobs(n=300, k=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    return rng.normal(size=(k, 5))[labels] * 2 + rng.normal(size=(n, 5)), labels


@given(st.integers(0, 10_000), st.integers(4, 14), st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_the_silhouette_of_all_rows_equals_its_naive_loop(seed, n, k):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(n, 2)), np.concatenate([np.arange(k), rng.integers(0, k, n)])[:n]
    assert metrics.silhouette(X, labels, sample_size=None) == pytest.approx(
        naive_silhouette(X, labels), abs=1e-9
    )


def test_the_silhouette_is_the_same_in_many_chunks_and_for_sparse_rows(monkeypatch):
    X, labels = blobs()
    whole = metrics.silhouette(X, labels, sample_size=None)
    assert metrics.silhouette(sparse.csr_array(X), labels, sample_size=None) == pytest.approx(whole)
    monkeypatch.setattr(separation, "_CHUNK_BYTES", 8 * 310 * 7)
    assert metrics.silhouette(X, labels, sample_size=None) == pytest.approx(whole)


def test_the_silhouette_keeps_its_digits_far_from_the_origin():
    X, labels = blobs()
    assert metrics.silhouette(X + 1e6, labels, sample_size=None) == pytest.approx(
        silhouette_score(X, labels), abs=1e-6
    )


def test_sampled_silhouettes_average_to_the_full_one():
    X, labels = blobs()
    full = silhouette_score(X, labels)
    draws = [metrics.silhouette(X, labels, sample_size=30, random_state=seed) for seed in range(200)]
    assert np.std(draws) > 0
    # Four standard errors of the mean of the draws.
    assert abs(np.mean(draws) - full) < 4 * np.std(draws) / np.sqrt(len(draws))


def test_a_sampled_silhouette_is_exact_for_its_rows():
    X, labels = blobs(n=60)
    rows = np.sort(np.random.RandomState(5).choice(60, 1, replace=False))
    assert metrics.silhouette(X, labels, sample_size=1, random_state=5) == pytest.approx(
        silhouette_samples(X, labels)[rows[0]]
    )


def test_silhouettes_of_chosen_rows_come_in_their_order():
    X, labels = blobs(n=60)
    rows = [41, 3, 17]
    every = silhouette_samples(X, labels)
    np.testing.assert_allclose(metrics.silhouettes(X, labels, rows), every[rows])
    np.testing.assert_allclose(metrics.silhouettes(X, labels), every)


def test_a_sampled_silhouette_repeats_with_its_seed():
    X, labels = blobs()
    one, two, other = (metrics.silhouette(X, labels, sample_size=20, random_state=s) for s in (1, 1, 2))
    assert one == two != other


def test_a_silhouette_without_clusters_to_compare_is_refused():
    X = np.zeros((3, 2))
    with pytest.raises(InputError, match="fewer than two clusters"):
        metrics.silhouette(X, [0, 0, 0])
    with pytest.raises(InputError, match="X has 3 rows but labels has 2 entries"):
        metrics.silhouette(X, [0, 1])
    with pytest.raises(InputError, match="sample_size must be at least 1"):
        metrics.silhouette(X, [0, 1, 1], sample_size=0)
    with pytest.raises(InputError, match="X must be a table"):
        metrics.silhouette(X[0], [0, 1])
    with pytest.raises(InputError, match="NaN or infinite"):
        metrics.silhouette(X + np.nan, [0, 1, 1])


def test_coincident_rows_have_silhouette_zero():
    assert metrics.silhouette(np.ones((4, 2)), [0, 0, 1, 1]) == 0.0
