import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.graph.planted import islands

from coterie.graph.quality import SIZE_EXPONENT, Quality, block_likelihood, block_weights, row_ties

SEEDS = st.integers(0, 2**16)


def random_graph(seed, n=10, k=3):
    """Return a weighted graph and a partition of it in k clusters, none empty."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    upper[0, 1] = 1.0  # never without an edge
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
    return sparse.csr_matrix(upper + upper.T), labels


def naive_blocks(graph, labels, k):
    blocks, dense = np.zeros((k, k)), graph.toarray()
    for i in range(len(labels)):
        for j in range(len(labels)):
            blocks[labels[i], labels[j]] += dense[i, j]
    return blocks


@given(SEEDS)
def test_ties_and_blocks_are_sums_over_edges(seed):
    graph, labels = random_graph(seed)
    dense = graph.toarray()
    ties = np.zeros((len(labels), 3))
    for i in range(len(labels)):
        for j in range(len(labels)):
            ties[i, labels[j]] += dense[i, j]
    np.testing.assert_allclose(row_ties(graph, labels, 3), ties)
    np.testing.assert_allclose(block_weights(graph, labels, 3), naive_blocks(graph, labels, 3))


@given(SEEDS)
def test_modularity_is_that_of_networkx(seed):
    graph, labels = random_graph(seed)
    groups = [set(np.flatnonzero(labels == c).tolist()) for c in range(3)]
    expected = nx.community.modularity(nx.from_scipy_sparse_array(graph), groups)
    assert Quality.of(graph, labels, 3).modularity == pytest.approx(expected)


@given(SEEDS)
def test_the_normalised_cut_is_that_of_networkx(seed):
    graph, labels = random_graph(seed)
    network = nx.from_scipy_sparse_array(graph)
    cut = 0.0
    for c in range(3):
        inside = np.flatnonzero(labels == c).tolist()
        volume = nx.volume(network, inside, weight="weight")
        if volume > 0:
            cut += nx.cut_size(network, inside, weight="weight") / volume
    assert Quality.of(graph, labels, 3).normalised_cut == pytest.approx(cut)


@given(SEEDS)
def test_information_and_entropy_equal_their_naive_sums(seed):
    graph, labels = random_graph(seed)
    shares = naive_blocks(graph, labels, 3) / graph.sum()
    volumes = [sum(line) for line in shares]
    information = sum(
        shares[a, b] * math.log(shares[a, b] / (volumes[a] * volumes[b]))
        for a in range(3)
        for b in range(3)
        if shares[a, b] > 0
    )
    entropy = -sum(p * math.log(p) for p in volumes if p > 0)
    quality = Quality.of(graph, labels, 3)
    assert quality.information == pytest.approx(information, abs=1e-12)
    assert quality.entropy == pytest.approx(entropy)
    naive = information / entropy**SIZE_EXPONENT if entropy > 0 else 0
    assert quality.score == pytest.approx(naive, abs=1e-12)


@given(SEEDS)
def test_information_is_never_negative_and_never_more_than_the_entropy(seed):
    quality = Quality.of(*random_graph(seed), 3)
    assert -1e-12 <= quality.information <= quality.entropy + 1e-12


@given(SEEDS, st.permutations(range(3)))
def test_quality_does_not_depend_on_the_numbers_of_clusters(seed, names):
    graph, labels = random_graph(seed)
    one, other = Quality.of(graph, labels, 3), Quality.of(graph, np.array(names)[labels], 3)
    for name in ("modularity", "normalised_cut", "information", "entropy"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_even_islands_have_the_values_of_their_closed_form(k):
    quality = Quality.of(*islands(*[4] * k), k)
    assert quality.modularity == pytest.approx(1 - 1 / k)
    assert quality.normalised_cut == pytest.approx(0, abs=1e-12)
    assert quality.information == pytest.approx(math.log(k))
    assert quality.entropy == pytest.approx(math.log(k))
    assert quality.score == pytest.approx(math.log(k) ** (1 - SIZE_EXPONENT))


def test_j_of_uneven_islands_is_a_root_of_the_entropy_of_their_volumes():
    sizes = [3, 5, 8]
    volumes = np.array([s * (s - 1) for s in sizes]) / sum(s * (s - 1) for s in sizes)
    quality = Quality.of(*islands(*sizes), 3)
    assert quality.score == pytest.approx((-(volumes * np.log(volumes)).sum()) ** (1 - SIZE_EXPONENT))


def test_j_is_higher_for_islands_than_for_any_partition_that_cuts_or_mixes_them():
    graph, truth = islands(5, 5, 5)
    best = Quality.of(graph, truth, 3).score
    rng = np.random.default_rng(0)
    for _ in range(50):
        moved = truth.copy()
        moved[rng.integers(15)] = rng.integers(3)
        if (moved != truth).any():
            assert Quality.of(graph, moved, 3).score < best


def test_a_single_cluster_scores_zero():
    graph, labels = random_graph(0)
    assert Quality.of(graph, np.zeros_like(labels), 1).score == 0


def test_a_graph_without_edges_scores_zero():
    quality = Quality.of(sparse.csr_matrix((4, 4)), np.array([0, 0, 1, 1]), 2)
    assert (quality.modularity, quality.information, quality.score) == (0, 0, 0)


def test_the_likelihood_is_the_log_of_weight_over_volumes():
    blocks = np.array([[8.0, 2.0], [2.0, 6.0]])
    expected = [[math.log(8 / 100), math.log(2 / 80)], [math.log(2 / 80), math.log(6 / 64)]]
    np.testing.assert_allclose(block_likelihood(blocks), expected, rtol=1e-6)


def test_the_likelihood_of_clusters_that_nothing_connects_is_low_but_finite():
    likelihood = block_likelihood(np.array([[4.0, 0.0], [0.0, 4.0]]))
    assert np.isfinite(likelihood).all()
    assert likelihood[0, 1] < likelihood[0, 0] - 15
    assert np.isfinite(block_likelihood(np.zeros((2, 2)))).all()


def test_the_likelihood_gives_a_row_to_the_cluster_that_its_ties_are_typical_of():
    # Rows of the first cluster have half of their ties with the second, rows of the second one in ten.
    likelihood = block_likelihood(np.array([[10.0, 10.0], [10.0, 90.0]]))
    assert (np.array([0.5, 0.5]) @ likelihood).argmax() == 0
    assert (np.array([0.1, 0.9]) @ likelihood).argmax() == 1
