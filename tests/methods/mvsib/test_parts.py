"""Joined neighbours, the clusters between epochs, and the curriculum."""

import numpy as np
import pytest
import torch
from benchmarks.making import make
from scipy import sparse

from coterie import MVSIB
from coterie.data import Scaler, as_views
from coterie.data.batches import Batches
from coterie.methods.mvsib.clusters import Embeddings, describe, evidence_of_all, moved_labels
from coterie.methods.mvsib.graph import JoinedPairs, NodeGraph, heaviest
from coterie.methods.mvsib.options import Curriculum, MVSIBSettings


def a_graph(n=60, seed=0) -> sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    half = sparse.random(n, n, density=0.1, random_state=rng, data_rvs=lambda m: rng.integers(1, 4, m))
    half.setdiag(0)
    graph = sparse.csr_matrix(half + half.T)
    graph.eliminate_zeros()
    return graph


def joined_pairs(n=60, k=5) -> tuple[JoinedPairs, sparse.csr_matrix, Batches]:
    views = as_views(np.random.default_rng(0).normal(size=(n, 3)))
    batches = Batches(views, Scaler("none").fit(views), batch_size=16, seed=0)
    graph = a_graph(n)
    everyone = np.arange(n)
    return JoinedPairs(batches, lambda numbers: NodeGraph(graph, everyone, everyone), k), graph, batches


def test_the_heaviest_neighbours_are_those_of_a_plain_loop():
    graph = a_graph()
    table, weights = heaviest(graph, 4)
    W = graph.toarray()
    for row in range(len(W)):
        common = np.array([((W[row] > 0) & (W[other] > 0)).sum() for other in range(len(W))])
        scores = W[row] * common + 1e-3 * W[row]
        degree = (W[row] > 0).sum()
        wanted = np.sort(scores)[::-1][: min(4, degree)]
        np.testing.assert_allclose(np.sort(scores[table[row, : len(wanted)]])[::-1], wanted)
        assert (weights[row, : len(wanted)] >= 1).all()
        assert (weights[row, max(1, len(wanted)) :] == 0).all()


def test_chunks_do_not_change_the_heaviest_neighbours(monkeypatch):
    whole = heaviest(a_graph(), 4)
    monkeypatch.setattr("coterie.methods.mvsib.graph._CHUNK", 7)
    for one, other in zip(whole, heaviest(a_graph(), 4), strict=True):
        np.testing.assert_array_equal(one, other)


def test_who_is_near_in_a_batch_is_who_the_tables_name():
    pairs, _, _ = joined_pairs()
    rows = np.random.default_rng(1).permutation(60)[:25]
    names = {int(row): pairs.neighbours(np.array([row])) for row in rows}
    said = {
        (i, j)
        for i, one in enumerate(rows)
        for j, other in enumerate(rows)
        for mine, theirs in ((one, other), (other, one))
        if i != j and theirs in names[int(mine)][0][0][names[int(mine)][1][0] > 0]
    }
    for lines in (slice(None), slice(None), slice(7, 19)):
        found, asked = pairs.among(rows, lines).T.tolist(), range(25)[lines]
        assert len({tuple(pair) for pair in found}) == len(found)
        assert {tuple(pair) for pair in found} == {(i, j) for i, j in said if i in asked}


def test_rows_without_a_label_take_that_of_most_of_their_neighbours():
    pairs, _, _ = joined_pairs()
    labels = np.arange(60) % 3
    partial = labels.copy()
    partial[[4, 40]] = -1
    found = pairs.spread(partial, 3)
    for row in (4, 40):
        numbers, weights = pairs.neighbours(np.array([row]))
        known = partial[numbers[0]] >= 0
        votes = np.bincount(partial[numbers[0]][known], weights[0][known], 3)
        assert votes[found[row]] == votes.max()
    rest = np.delete(np.arange(60), [4, 40])
    np.testing.assert_array_equal(found[rest], labels[rest])


def a_table(n=90, seed=0) -> tuple[Embeddings, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    spots = torch.eye(3, 4)[labels]
    views = [
        torch.nn.functional.normalize(spots + 0.2 * torch.randn(n, 4, generator=generator), dim=1)
        for _ in range(2)
    ]
    present = torch.rand(n, 2, generator=generator) > 0.2
    present[:, 0] |= ~present.any(1)
    consensus = torch.nn.functional.normalize(sum(views), dim=1)
    return Embeddings(consensus, torch.arange(len(labels)), views, present), labels


def test_centres_and_widths_are_those_of_plain_loops():
    table, labels = a_table()
    found = describe(table, labels, 3)
    for c in range(3):
        own = table.consensus[labels == c]
        torch.testing.assert_close(found.centers[c], own.mean(0))
        torch.testing.assert_close(found.consensus_widths[c], (own - own.mean(0)).norm(dim=1).median())
        for v in range(2):
            there = table.views[v][(labels == c) & table.present[:, v]]
            torch.testing.assert_close(found.view_centers[v][c], there.mean(0))
    assert found.sizes.tolist() == [30, 30, 30]


def test_clusters_keep_their_numbers_whatever_order_k_means_starts_in():
    """P13: centres in another order give the same clusters under their new numbers; nothing moved, nothing flips."""
    table, labels = a_table()
    centers = describe(table, labels, 3).centers
    first = moved_labels(table, centers, torch.Generator().manual_seed(0))
    again = describe(table, first, 3)
    assert (moved_labels(table, again.centers, torch.Generator().manual_seed(1)) == first).all()
    order = torch.tensor([2, 0, 1])
    turned = moved_labels(table, centers[order], torch.Generator().manual_seed(0))
    assert (order[turned] == first).all()


def test_evidence_of_all_rows_is_that_of_a_plain_loop():
    table, labels = a_table()
    labels = labels.clone()
    labels[:10] = (labels[:10] + 1) % 3
    clusters = describe(table, labels, 3)
    rng = np.random.default_rng(0)
    numbers = np.stack([rng.choice(np.delete(np.arange(90), row), 4, replace=False) for row in range(90)])
    weights = rng.integers(1, 4, size=(90, 4)).astype(np.float32)
    found = evidence_of_all(table, clusters, [(np.arange(90), numbers, weights)])
    for row in range(90):
        same = (labels[numbers[row]] == labels[row]).numpy()
        plus, minus = weights[row][same].sum(), weights[row][~same].sum()
        assert float(found.votes[row]) == pytest.approx((plus - minus) / (plus + minus), abs=1e-5)
        center = clusters.centers[labels[row]]
        cosine = torch.nn.functional.cosine_similarity(table.consensus[row], center, dim=0)
        assert float(found.similarity[row]) == pytest.approx(float(cosine), abs=1e-5)
        if plus and minus:
            far = (table.consensus[numbers[row]] - table.consensus[row]).norm(dim=1).numpy()
            near = (weights[row] * far)[same].sum() / plus
            away = (weights[row] * far)[~same].sum() / minus
            assert float(found.nearness[row]) == pytest.approx((away - near) / (away + near), abs=1e-4)


def test_the_stages_follow_the_curriculum():
    settings = MVSIBSettings.of(
        make(MVSIB, 3, max_epochs=20, warmup=0.5, hold=0.5, curriculum=(0.2, 0.6))._resolved()
    )
    curriculum = Curriculum(settings.epochs(3), settings.options)
    assert [curriculum.stage(epoch) for epoch in (0, 9, 10, 11, 12, 15, 16, 19)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [curriculum.keeps_initial(epoch) for epoch in (10, 14, 15, 19)] == [True, True, False, False]
    assert curriculum.cross_gate(16) == pytest.approx(0.25)
    assert curriculum.cross_gate(19) == 1.0
    free = Curriculum(curriculum.epochs, settings.options.set_params(curriculum=None))
    assert free.stage(9) == 0
    assert free.stage(10) == 3
    assert free.cross_gate(10) == pytest.approx(0.1)
