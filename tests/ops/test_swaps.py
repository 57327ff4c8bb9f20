"""Swaps: gains are those of modularity, small groups get clusters of their own, right partitions stay."""

import numpy as np
import pytest
import torch
from scipy import sparse

from coterie.metrics import accuracy
from coterie.ops import swaps
from coterie.ops.cuts import Found, find_partitions, modularity_of, normalised_cut
from coterie.ops.graphs import joined_graph, table_of_present


def blobs(sizes, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centers = 10 * np.eye(len(sizes))
    rows = centers[truth] + spread * rng.standard_normal((len(truth), len(sizes)))
    table = table_of_present(
        torch.from_numpy(rows.astype(np.float32)), np.ones(len(rows), bool), 8, generator=torch.Generator()
    )
    return joined_graph([table]), truth


def seeded():
    return torch.Generator().manual_seed(0)


def test_a_small_group_that_was_absorbed_gets_a_cluster_of_its_own():
    graph, truth = blobs([200, 200, 200, 40])
    absorbed = np.where(truth == 3, 2, truth)
    absorbed[:100] = 3
    found = swaps.swap_clusters(graph, absorbed, 4, generator=seeded())
    assert accuracy(truth, absorbed) < 0.8
    assert accuracy(truth, found) == 1.0


@pytest.mark.parametrize("sizes", [[40] * 40, [100, 100, 100]])
def test_a_right_partition_is_left_as_it_is(sizes):
    graph, truth = blobs(sizes)
    np.testing.assert_array_equal(swaps.swap_clusters(graph, truth, len(sizes), generator=seeded()), truth)


def test_both_readings_of_modularity_rise_and_no_cluster_becomes_tiny():
    rng = np.random.default_rng(1)
    graph, truth = blobs([90, 60, 60, 30, 20], spread=4.0)
    spoilt = np.where(rng.random(len(truth)) < 0.3, rng.integers(5, size=len(truth)), truth)
    gamma = swaps.likely_resolution(graph, spoilt, 5)
    found = swaps.swap_clusters(graph, spoilt, 5, generator=seeded())
    assert (found != spoilt).any()
    for resolution in (1.0, gamma):
        assert modularity_of(graph, found, 5, resolution) > modularity_of(graph, spoilt, 5, resolution)
    assert np.bincount(found, minlength=5).min() >= 5


@pytest.mark.parametrize("gamma", [1.0, 1.7])
def test_the_gain_of_a_split_and_of_a_swap_is_that_of_modularity(gamma):
    graph, truth = blobs([30, 30, 30, 30], spread=3.0)
    rows = np.flatnonzero(truth == 1)
    split = swaps._best_split(graph, rows, gamma)
    apart = truth.copy()
    apart[split.part] = 4
    before = modularity_of(graph, truth, 4, gamma)
    np.testing.assert_allclose(modularity_of(graph, apart, 5, gamma) - before, split.gain, atol=1e-12)
    assert set(split.part) < set(rows)
    for swap in swaps._promising(graph, truth, 4, gamma, {1: split}):
        moved = np.where(truth == swap.freed, swap.taker, truth)
        moved[swap.part] = swap.freed
        np.testing.assert_allclose(modularity_of(graph, moved, 4, gamma) - before, swap.gain, atol=1e-12)


def test_the_likely_resolution_makes_modularity_the_likelihood_of_planted_groups():
    graph, truth = blobs([40, 60, 20], spread=4.0)
    other = np.where(np.arange(120) % 7 == 0, (truth + 1) % 3, truth)
    gamma = swaps.likely_resolution(graph, truth, 3)
    dense, whole = graph.toarray(), graph.sum()
    chance = np.outer(dense.sum(1), dense.sum(1)) / whole
    same = truth[:, None] == truth[None]
    within = dense[same].sum() / chance[same].sum()
    between = dense[~same].sum() / chance[~same].sum()

    def likelihood(labels):
        rate = np.where(labels[:, None] == labels[None], within, between)
        return (dense * np.log(rate) - chance * rate).sum()

    gained = [modularity_of(graph, labels, 3, gamma) for labels in (truth, other)]
    np.testing.assert_allclose(
        likelihood(truth) - likelihood(other),
        whole * np.log(within / between) * (gained[0] - gained[1]),
        rtol=1e-9,
    )


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_with_fewer_than_three_clusters_there_is_nothing_to_swap(n_clusters):
    graph = sparse.csr_matrix(np.ones((20, 20)))
    labels = np.arange(20) % n_clusters
    np.testing.assert_array_equal(swaps.swap_clusters(graph, labels, n_clusters, generator=seeded()), labels)


def uneven(sizes, spread=6.0):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = (spread * rng.normal(size=(len(sizes), 10)))[y] + rng.normal(size=(len(y), 10))
    rows = torch.from_numpy(X.astype(np.float32))
    return joined_graph([table_of_present(rows, np.ones(len(y), bool), 10, generator=torch.Generator())]), y


@pytest.mark.parametrize("sizes", [(900, 100), (800, 150, 50), (900, 60, 40), (600, 200, 100, 60, 40)])
@pytest.mark.parametrize("spread", [2.5, 6.0])
def test_a_small_group_that_stands_apart_is_found_beside_a_large_one(sizes, spread):
    graph, y = uneven(sizes, spread)
    assert accuracy(y, swaps.best_partition(graph, len(sizes), generator=seeded())) > 0.99


def test_plain_modularity_would_cut_the_large_group_instead():
    graph, y = uneven((900, 100))
    halves = find_partitions(graph, 2, generator=seeded()).modular
    assert modularity_of(graph, halves, 2) > modularity_of(graph, y, 2)
    assert normalised_cut(graph, halves, 2) > normalised_cut(graph, y, 2)


def test_a_few_odd_rows_do_not_decide_how_the_others_are_parted():
    graph, y = uneven((300, 300, 12))
    assert accuracy(y[:600], swaps.best_partition(graph, 2, generator=seeded())[:600]) > 0.99


def test_small_groups_are_sought_unless_nobody_asks(monkeypatch):
    graph, y = blobs([60, 60], spread=3.0)
    monkeypatch.setattr(swaps, "find_partitions", lambda *_, **__: Found(y, None))
    monkeypatch.setattr(swaps, "swap_clusters", lambda graph, labels, n_clusters, generator: 1 - labels)
    np.testing.assert_array_equal(swaps.best_partition(graph, 2, generator=seeded()), 1 - y)
    np.testing.assert_array_equal(swaps.best_partition(graph, 2, seek_small=False, generator=seeded()), y)
