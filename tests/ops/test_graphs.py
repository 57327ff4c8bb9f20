"""Neighbour graphs of several views."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.datasets import make_blobs

from coterie.ops.communities import cluster_cuts, modularity
from coterie.ops.graphs import NOBODY, agreement, joined_graph, spectral_rows, table_of_present


def tables(seed=0, n=40, k=4):
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(np.delete(np.arange(n), row), k, replace=False) for row in range(n)])


def test_missing_rows_have_no_line_and_are_nobodys_neighbour():
    rows, present = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)), np.arange(30) % 3 != 0
    table = table_of_present(rows, present, 5, generator=torch.Generator())
    assert (table[~present] == NOBODY).all()
    assert present[table[present]].all()
    own = torch.cdist(rows, rows).fill_diagonal_(torch.inf)[:, ~torch.from_numpy(present)]
    distances = torch.cdist(rows, rows).fill_diagonal_(torch.inf)
    distances[:, ~torch.from_numpy(present)] = torch.inf
    assert own.numel()
    np.testing.assert_array_equal(table[present][:, 0], distances.argmin(1).numpy()[present])


def test_agreement_is_one_with_itself_but_for_chance_and_zero_for_strangers():
    one = tables(0, n=400)
    assert agreement(one, one) == pytest.approx(1 - 4 / 400, abs=0.01)
    assert agreement(one, tables(1, n=400)) == pytest.approx(0, abs=0.01)


def test_hubs_do_not_pass_for_agreement():
    rng = np.random.default_rng(0)
    hubs = [np.column_stack([np.zeros(200, int), rng.integers(1, 200, 200)]) for _ in range(2)]
    assert abs(agreement(*hubs)) < 0.05


def test_agreement_counts_only_rows_that_both_have():
    one, other = tables(0), tables(0)
    other[:20] = NOBODY
    naive_same = sum(len(set(one[i]) & set(other[i])) for i in range(20, 40))
    found = np.bincount(one[20:].ravel(), minlength=40) * np.bincount(other[20:].ravel(), minlength=40)
    possible = min((one[20:] >= 20).sum(), (other[20:] >= 20).sum())
    assert agreement(one, other) == pytest.approx((naive_same - found.sum() / 20) / possible)


def test_the_joined_graph_counts_each_pair_both_ways():
    first, second = tables(0), tables(1)
    second[5] = NOBODY
    naive = np.zeros((40, 40))
    for table in (first, second):
        for row, line in enumerate(table):
            for other in line[line != NOBODY]:
                naive[row, other] += 1
                naive[other, row] += 1
    np.testing.assert_array_equal(joined_graph([first, second]).toarray(), naive)


@pytest.mark.parametrize("n", [300, 2000])
def test_spectral_rows_tell_islands_apart_by_either_solver(n):
    X, y = make_blobs(n, n_features=8, centers=10, center_box=(-40, 40), random_state=0)
    table = table_of_present(
        torch.from_numpy(X).float(), np.ones(n, bool), 10, generator=torch.Generator().manual_seed(0)
    )
    rows = spectral_rows(joined_graph([table]), 10)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    within = [np.abs(rows[y == c] @ rows[y == c][0]).min() for c in range(10)]
    between = [np.abs(rows[y == c] @ rows[y != c].T).max() for c in range(10)]
    assert min(within) > 0.99
    assert max(between) < 0.01


def test_cuts_agree_with_modularity_of_the_same_graph():
    graph = joined_graph([tables(0)])
    labels = np.random.default_rng(0).integers(3, size=40)
    ties, inside, volume = cluster_cuts(graph, labels, 3)
    dense = graph.toarray()
    between = np.array([[dense[np.ix_(labels == a, labels == b)].sum() for b in range(3)] for a in range(3)])
    np.testing.assert_allclose(inside, np.diag(between))
    np.testing.assert_allclose(volume, between.sum(1))
    np.testing.assert_allclose(ties, dense @ np.eye(3)[labels])
    whole = volume.sum()
    assert (inside / whole - (volume / whole) ** 2).sum() == pytest.approx(modularity(between))


def test_an_isolated_row_does_no_harm():
    graph = sparse.csr_matrix(np.pad(np.ones((4, 4)) - np.eye(4), (0, 1)))
    assert np.isfinite(spectral_rows(graph, 2)).all()
