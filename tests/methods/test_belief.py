"""Views that cannot tell two groups apart, and what is believed of the neighbours they name."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie import MVSIB, LargeMvCNet
from coterie.methods.several.belief import believed_graph, explained
from coterie.methods.several.first import first_partition
from coterie.methods.several.joined import JoinedViews, join_views
from coterie.metrics import accuracy
from coterie.ops.communities import information, weight_in_graph
from coterie.ops.graphs import joined_graph
from coterie.ops.swaps import best_partition


def with_blind_view(seed=0):
    """Return a view that tells five groups, one that takes two of them for one, and the groups.

    One of the others has two halves, which cutting would suit the joined graph better.
    """
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(5), 60))
    half = rng.integers(0, 2, len(truth)) * (truth == 0)
    views = []
    for seen in (truth, np.minimum(truth, 3)):
        centers, apart = 3 * rng.normal(size=(5, 8)), 1.5 * rng.normal(size=(5, 8))[0]
        views.append(centers[seen] + half[:, None] * apart + rng.normal(size=(len(truth), 8)))
    return [view.astype(np.float32) for view in views], truth


def join(views, complete=None):
    rows = [torch.from_numpy(view) for view in views]
    complete = np.ones(len(rows[0]), dtype=bool) if complete is None else complete
    return join_views(
        rows,
        np.stack([np.ones_like(complete), complete], axis=1),
        together=torch.hstack([row / row.std() for row in rows]),
        complete=complete,
        n_neighbors=10,
        generator=torch.Generator().manual_seed(0),
    )


def test_a_view_that_takes_two_groups_for_one_does_not_hide_them():
    views, truth = with_blind_view()
    joined = join(views)
    assert accuracy(truth, best_partition(joined.graph, 5, generator=torch.Generator().manual_seed(0))) < 0.8
    found, labels = first_partition(joined, 5, generator=torch.Generator().manual_seed(0))
    assert found is joined
    assert accuracy(truth, labels) > 0.98


@pytest.mark.parametrize("model", [MVSIB(5, max_epochs=100, random_state=0), LargeMvCNet(5, random_state=0)])
def test_the_methods_for_several_views_find_groups_that_one_view_cannot_tell(model):
    views, truth = with_blind_view()
    assert accuracy(truth, model.fit(views).labels_) > 0.95


def test_the_true_groups_explain_more_of_the_views_than_a_cut_half():
    views, truth = with_blind_view()
    joined = join(views)
    taken = best_partition(joined.graph, 5, generator=torch.Generator().manual_seed(0))
    assert explained(joined, truth, 5) > explained(joined, taken, 5)


def test_pairs_across_groups_that_one_view_tells_are_believed_least():
    views, truth = with_blind_view()
    joined = join(views)
    ratio = believed_graph(joined, 5).toarray()[joined.graph.nonzero()] / joined.graph.data
    one, other = (truth[ends] for ends in joined.graph.nonzero())
    assert ratio[one == other].mean() > 0.9
    assert ratio[(one != other) & (np.minimum(one, other) == 3)].mean() < 0.3
    assert ratio.min() >= 0.1 - 1e-6
    assert ratio.max() <= 1.1 + 1e-6


def test_pairs_of_rows_without_all_views_are_believed_as_the_others_on_average():
    views, _ = with_blind_view()
    complete = np.arange(300) % 4 > 0
    joined = join(views, complete)
    ratio = believed_graph(joined, 5).toarray()[joined.graph.nonzero()] / joined.graph.data
    one, other = joined.graph.nonzero()
    known = complete[one] & complete[other]
    np.testing.assert_allclose(ratio[~known], ratio[known].mean())


@pytest.mark.parametrize("n_named", [0, 1])
def test_without_any_complete_row_all_pairs_are_believed_alike(n_named):
    table = np.array([[1], [0], [3], [2]])
    joined = JoinedViews(joined_graph([table]), np.eye(1), [table], beside=np.full((4, n_named), -1))
    np.testing.assert_array_equal(believed_graph(joined, 2).toarray(), joined.graph.toarray())
    assert explained(joined, np.array([0, 0, 1, 1]), 2) == pytest.approx(np.log(2) ** 0.5)


def test_rows_of_which_none_has_all_views_are_cut_as_the_views_join_them():
    views, _ = with_blind_view()
    joined = join(views, np.zeros(300, dtype=bool))
    _, labels = first_partition(joined, 5, generator=torch.Generator().manual_seed(0))
    usual = best_partition(joined.graph, 5, generator=torch.Generator().manual_seed(0))
    np.testing.assert_array_equal(labels, usual)


@given(st.integers(0, 1000))
def test_information_equals_the_naive_sum(seed):
    drawn = np.random.default_rng(seed).integers(0, 5, (4, 4)) + np.eye(4)
    between = drawn + drawn.T
    shares = between / between.sum()
    volumes = [sum(shares[a]) for a in range(4)]
    told = sum(
        shares[a, b] * np.log(shares[a, b] / (volumes[a] * volumes[b]))
        for a in range(4)
        for b in range(4)
        if shares[a, b] > 0
    )
    entropy = -sum(volume * np.log(volume) for volume in volumes)
    assert information(between) == pytest.approx(told / entropy**0.5)


def test_one_cluster_says_nothing():
    assert information(np.array([[3.0]])) == 0
    assert information(np.diag([3.0, 0.0])) == 0
    assert information(np.zeros((2, 2))) == 0


@given(st.integers(0, 1000))
def test_weight_in_a_graph_equals_the_naive_sum(seed):
    rng = np.random.default_rng(seed)
    graph, labels = joined_graph([rng.integers(0, 12, (12, 3))]), rng.integers(0, 4, 12)
    naive = np.zeros((4, 4))
    for i, j in zip(*graph.nonzero(), strict=True):
        naive[labels[i], labels[j]] += graph[i, j]
    np.testing.assert_allclose(weight_in_graph(graph, labels, 4), naive)
