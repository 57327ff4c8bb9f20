import numpy as np
import pytest

from coterie.explore.model_sample import ClusterMeans


def naive_differences(rows, labels, weights, cluster):
    """Weighted means inside and outside the cluster over the weighted standard deviation, by loops."""
    found = []
    for column in rows.T:
        mean = sum(w * v for w, v in zip(weights, column, strict=True)) / sum(weights)
        spread = sum(w * (v - mean) ** 2 for w, v in zip(weights, column, strict=True)) / sum(weights)
        means = []
        for inside in (True, False):
            chosen = [
                (w, v) for w, v, c in zip(weights, column, labels, strict=True) if (c == cluster) == inside
            ]
            means.append(sum(w * v for w, v in chosen) / sum(w for w, _ in chosen))
        found.append((means[0] - means[1]) / np.sqrt(spread))
    return found


def combine(rows, labels, weights, k, chunk):
    means = ClusterMeans(k, rows.shape[1])
    for start in range(0, len(rows), chunk):
        at = slice(start, start + chunk)
        means.add(rows[at], labels[at], weights[at])
    return means


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_differences_equal_the_naive_loops_in_any_chunks(offset):
    rng = np.random.default_rng(0)
    rows, labels, weights = rng.normal(size=(50, 4)) + offset, rng.integers(0, 3, 50), rng.uniform(1, 9, 50)
    names = ["a", "b", "c", "d"]
    for chunk in (7, 50):
        tops = combine(rows, labels, weights, 3, chunk).top(names, view="v", count=4)
        for cluster in range(3):
            by_name = {feature.name: feature.difference for feature in tops[cluster]}
            expected = naive_differences(rows, labels, weights, cluster)
            assert [by_name[name] for name in names] == pytest.approx(expected, rel=1e-6)
            sizes = [abs(feature.difference) for feature in tops[cluster]]
            assert sizes == sorted(sizes, reverse=True)


def test_a_constant_column_sets_nothing_apart():
    rows = np.column_stack([np.full(6, 1e5 + 0.1), np.arange(6.0)])
    top = combine(rows, np.array([0, 0, 0, 1, 1, 1]), np.ones(6), 2, 2).top(
        ["flat", "rising"], view="v", count=2
    )
    assert [[feature.name for feature in features] for features in top] == [["rising"], ["rising"]]


def test_empty_clusters_a_single_cluster_and_an_absent_view_have_no_features():
    one = combine(np.arange(4.0)[:, None], np.zeros(4, dtype=int), np.ones(4), 2, 4)
    assert one.top(["a"], view="v", count=1) == [[], []]
    assert ClusterMeans(2, 1).top(["a"], view="v", count=1) == [[], []]
