import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.graph.planted import islands

from coterie.graph import candidates
from coterie.graph.candidates import (
    LINKAGES,
    Merge,
    agglomerate,
    communities,
    fine_communities,
    merged_candidates,
    merged_labels,
    refine_labels,
    renumbered,
    search_communities,
    spectral_embedding,
    spectral_labels,
)
from coterie.graph.choose import mean_score
from coterie.graph.quality import Quality
from coterie.metrics import accuracy

SEEDS = st.integers(0, 2**16)


def random_graph(seed, n=24, k=3):
    """Return a graph that is denser inside k hidden groups, and random clusters, none of them empty."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, k, n)
    chance = np.where(hidden[:, None] == hidden, 0.6, 0.15)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < chance), 1)
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
    return sparse.csr_matrix(upper + upper.T), labels


def random_blocks(seed, m=7):
    rng = np.random.default_rng(seed)
    half = rng.random((m, m))
    return half + half.T + 3 * np.diag(rng.random(m))


def naive_merges(blocks, linkage, owner=None):
    """Merge sets of communities, every time the best of all pairs, from sums over their members."""
    whole = blocks.sum()
    clusters = {a: [a] for a in range(len(blocks))}
    owner = dict(enumerate([0] * len(blocks) if owner is None else owner))

    def gain(a, b):
        between = sum(blocks[i, j] for i in clusters[a] for j in clusters[b]) / whole
        chance = np.prod([sum(blocks[i].sum() for i in clusters[c]) / whole for c in (a, b)])
        return between - chance if linkage == "modularity" else between / chance

    merges = []
    while len(clusters) > 1:
        pairs = list(itertools.combinations(sorted(clusters), 2))
        inside = [pair for pair in pairs if owner[pair[0]] == owner[pair[1]]]
        a, b = max(inside or pairs, key=lambda pair: gain(*pair))
        merges.append((a, b))
        clusters[a] += clusters.pop(b)
    return merges


@pytest.mark.parametrize("linkage", LINKAGES)
@given(seed=SEEDS)
def test_the_pair_that_is_merged_is_the_best_of_all_pairs(linkage, seed):
    blocks = random_blocks(seed)
    assert [merge[:2] for merge in agglomerate(blocks, linkage)] == naive_merges(blocks, linkage)


@pytest.mark.parametrize("linkage", LINKAGES)
@given(seed=SEEDS)
def test_communities_of_one_owner_are_merged_before_those_of_different_owners(linkage, seed):
    blocks = random_blocks(seed)
    owner = np.random.default_rng(seed).integers(0, 3, len(blocks))
    merges = [merge[:2] for merge in agglomerate(blocks, linkage, owner)]
    assert merges == naive_merges(blocks, linkage, owner)
    n_owners = len(np.unique(owner))
    clusters = merged_labels([Merge(a, b, 0.0) for a, b in merges], len(blocks), n_owners)
    assert len(set(zip(clusters.tolist(), owner.tolist(), strict=True))) == n_owners


def test_average_linkage_is_reported_whatever_decides():
    blocks = np.array([[4.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.0, 1.0, 9.0]])
    for linkage in LINKAGES:
        first = agglomerate(blocks, linkage)[0]
        assert first[:2] == (0, 1)
        assert first.linkage == pytest.approx((2 / 23) / ((6 / 23) * (7 / 23)), rel=1e-6)


def test_an_edge_more_gives_islands_a_linkage():
    blocks = np.diag([6.0, 4.0])
    merge = agglomerate(blocks, "average", edge=1.0)[0]
    assert merge.linkage == pytest.approx(0.1 / (0.6 * 0.4))


def test_agglomeration_leaves_the_blocks_as_they_were():
    blocks = random_blocks(0)
    before = blocks.copy()
    agglomerate(blocks, "average")
    np.testing.assert_array_equal(blocks, before)


@given(SEEDS, st.integers(1, 7))
def test_merging_leaves_as_many_clusters_as_asked_for(seed, n_clusters):
    merges = agglomerate(random_blocks(seed), "average")
    labels = merged_labels(merges, 7, n_clusters)
    assert np.unique(labels).tolist() == list(range(n_clusters))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=20))
def test_renumbered_labels_count_up_in_the_order_of_their_appearance(labels):
    order = list(dict.fromkeys(labels))
    assert renumbered(np.array(labels)).tolist() == [order.index(label) for label in labels]


@given(SEEDS)
def test_refining_never_lowers_the_information_and_never_empties_a_cluster(seed):
    graph, labels = random_graph(seed)
    before = labels.copy()
    refined = refine_labels(graph, labels, 3, np.random.default_rng(seed))
    assert Quality.of(graph, refined, 3).information >= Quality.of(graph, labels, 3).information
    assert np.bincount(refined, minlength=3).min() > 0
    np.testing.assert_array_equal(labels, before)


def test_refining_moves_misplaced_rows_to_their_island():
    graph, truth = islands(12, 12, 12)
    wrong = truth.copy()
    wrong[[0, 1, 13, 30]] = [1, 2, 2, 0]
    np.testing.assert_array_equal(refine_labels(graph, wrong, 3, np.random.default_rng(0)), truth)


@given(SEEDS)
def test_moving_communities_never_lowers_the_mean_score_and_never_empties_a_cluster(seed):
    layers = [random_graph(seed)[0], random_graph(seed + 1)[0]]
    rng = np.random.default_rng(seed)
    fine = renumbered(rng.integers(0, 9, 24))
    cluster = rng.permutation(np.concatenate([np.arange(3), rng.integers(0, 3, 9)]))[: fine.max() + 1]
    labels = cluster[fine]
    if len(np.unique(labels)) < 3:
        labels = np.minimum(fine, 2)
    moved = search_communities(layers, fine, labels, 3)
    assert mean_score(layers, moved, 3) >= mean_score(layers, labels, 3) - 1e-12
    assert np.bincount(moved, minlength=3).min() > 0
    assert (
        len(set(zip(fine.tolist(), moved.tolist(), strict=True))) == fine.max() + 1
    )  # communities stay whole


@given(SEEDS)
def test_where_communities_have_been_moved_no_single_move_to_a_tied_cluster_is_better(seed):
    layers = [random_graph(seed)[0]]
    fine = renumbered(np.random.default_rng(seed).integers(0, 6, 24))
    moved = search_communities(layers, fine, np.minimum(fine, 2), 3)
    best = mean_score(layers, moved, 3)
    for community in range(fine.max() + 1):
        for cluster in range(3):
            other = np.where(fine == community, cluster, moved)
            if len(np.unique(other)) == 3:
                assert mean_score(layers, other, 3) <= best + 1e-8


def test_communities_of_islands_are_the_islands():
    graph, truth = islands(4, 7, 5)
    np.testing.assert_array_equal(communities(graph, 1.0, seed=0), truth)


def test_rows_without_edges_are_communities_of_their_own():
    graph = sparse.block_diag([np.ones((3, 3)) - np.eye(3), np.zeros((2, 2))], format="csr")
    assert communities(graph, 1.0, seed=0).tolist() == [0, 0, 0, 1, 2]
    assert communities(sparse.csr_matrix((3, 3)), 1.0, seed=0).tolist() == [0, 1, 2]


def test_communities_are_at_least_as_modular_as_those_of_a_greedy_search():
    graph, _ = random_graph(0, n=60)
    network = nx.from_scipy_sparse_array(graph)
    greedy = nx.community.modularity(network, nx.community.greedy_modularity_communities(network, "weight"))
    found = communities(graph, 1.0, seed=0)
    assert Quality.of(graph, found, found.max() + 1).modularity >= greedy - 1e-9


def test_a_higher_resolution_gives_more_communities():
    graph, _ = random_graph(0, n=60)
    counts = [communities(graph, resolution, seed=0).max() + 1 for resolution in (0.5, 2.0, 20.0)]
    assert counts[0] < counts[1] < counts[2]


def test_fine_communities_are_as_many_as_asked_for_or_more():
    graph, truth = islands(8, 8)
    assert fine_communities(graph, 2, 1.0, seed=0).tolist() == truth.tolist()
    for least in (3, 9, 16):
        labels = fine_communities(graph, least, 1.0, seed=0)
        assert labels.max() + 1 >= least
        assert np.unique(labels).tolist() == list(range(labels.max() + 1))


@pytest.mark.parametrize("dense_rows", [1000, 10])
def test_the_spectral_embedding_sets_islands_at_right_angles(monkeypatch, dense_rows):
    monkeypatch.setattr(candidates, "_DENSE_ROWS", dense_rows)
    graph, truth = islands(10, 14, 12)
    rows = spectral_embedding(graph, 3)
    same = truth[:, None] == truth
    np.testing.assert_allclose(rows @ rows.T, same, atol=1e-2)
    assert accuracy(truth, spectral_labels(rows, 3, seed=0)) == 1


def test_the_spectral_embedding_has_the_top_eigenvectors_of_the_normalised_graph():
    graph, _ = random_graph(3)
    dense = graph.toarray()
    root = np.sqrt(dense.sum(1))
    values, vectors = np.linalg.eigh(dense / np.outer(root, root))
    top = vectors[:, np.argsort(values)[-4:]]
    top /= np.linalg.norm(top, axis=1, keepdims=True)
    rows = spectral_embedding(graph, 4)
    np.testing.assert_allclose(rows @ rows.T, top @ top.T, atol=1e-5)


def test_every_candidate_has_as_many_clusters_as_asked_for():
    graph, _ = random_graph(0, n=60)
    found = list(merged_candidates(graph, 4, seed=0))
    assert len(found) >= len(candidates.RESOLUTIONS)
    for _, labels in found:
        assert np.unique(labels).tolist() == [0, 1, 2, 3]


def test_candidates_keep_the_islands_they_are_told_apart():
    # A third of a long chain is farther from its ends than two small islands are from each other.
    chain = sparse.diags([np.ones(199), np.ones(199)], [-1, 1])
    small, truth = islands(6, 5)
    graph = sparse.block_diag([chain, small], format="csr")
    truth = np.concatenate([np.zeros(200, dtype=int), 1 + truth])
    for origin, labels in merged_candidates(graph, 3, seed=0, islands=truth):
        assert accuracy(truth, labels) == 1, origin
