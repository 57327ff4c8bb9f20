"""Partitions of many rows, and of few into many clusters."""

import pytest
import torch

from coterie.metrics import accuracy
from coterie.ops import partition as module
from coterie.ops.communities import Rating, rating_among
from coterie.ops.partition import partition


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def rings(n_rows, seed=0):
    """Two rings, one inside the other, which no means tell apart."""
    kinds = torch.arange(n_rows) % 2
    angles = torch.rand(n_rows, generator=source(seed)) * 6.2832
    rows = (1 + 2 * kinds)[:, None] * torch.stack([angles.cos(), angles.sin()], 1)
    return rows + 0.05 * torch.randn(n_rows, 2, generator=source(seed + 1)), kinds


@pytest.fixture
def few(monkeypatch):
    """Only a few hundred rows are partitioned, the others follow."""
    monkeypatch.setattr(module, "_MOST_ROWS", 400)
    monkeypatch.setattr(module, "_PLACES", 60)


def test_rows_follow_those_of_their_place_through_curved_clusters(few):
    rows, kinds = rings(3000)
    labels = partition(rows, 2, "graph", generator=source())
    assert accuracy(kinds, labels) > 0.99


def test_with_kmeans_rows_follow_the_nearest_mean(few):
    kinds = torch.arange(3000) % 3
    rows = 8.0 * kinds[:, None] + torch.randn(3000, 1, generator=source())
    labels = partition(rows, 3, "kmeans", generator=source())
    assert accuracy(kinds, labels) > 0.99
    means = torch.stack([rows[labels == c].mean(0) for c in range(3)])
    nearest = (rows - means.T).abs().argmin(1)
    assert (nearest == labels).float().mean() > 0.999


def test_partitions_of_a_sample_are_rated_by_the_labels_of_all_rows(few):
    rows, kinds = rings(3000)
    seen = []

    def rate(labels):
        seen.append(labels)
        return Rating(accuracy(kinds, labels), 1.0)

    labels = partition(rows, 2, "graph", generator=source(), rate=rate, n_restarts=3)
    assert {len(one) for one in seen} == {3000}
    assert len(seen) == 4  # the last is that of k-means
    assert accuracy(kinds, labels) == max(accuracy(kinds, one) for one in seen)


def test_many_clusters_are_those_of_kmeans_and_no_large_graph_is_made(monkeypatch):
    monkeypatch.setattr(module, "anchor_partition", None)
    truth = torch.arange(4200) % 210
    rows = 20.0 * torch.randn(210, 6, generator=source())[truth] + torch.randn(4200, 6, generator=source(1))
    labels = partition(rows, 210, "graph", generator=source())
    assert len(labels.unique()) == 210
    assert accuracy(truth, labels) > 0.9


def test_small_groups_that_stand_apart_are_found_beside_a_large_one():
    truth = torch.tensor([0] * 900 + [1] * 60 + [2] * 40)
    rows = torch.rand(1000, 2, generator=source())
    rows[truth == 0] *= torch.tensor([40.0, 1.0])  # long enough to be cut with more modularity
    rows[truth > 0, 1] += 10.0
    rows[truth == 2, 0] += 40.0
    among = rating_among(rows, 10, generator=source())
    cut = torch.where(truth == 0, (rows[:, 0] > 20).long(), 2)
    assert among(cut.numpy()).modularity > among(truth.numpy()).modularity

    labels = partition(rows, 3, "graph", generator=source(), rate=lambda one: among(one.numpy()))
    assert accuracy(truth, labels) == 1.0


@pytest.mark.parametrize(
    ("modularity", "cut", "taken"),
    [(0.995, 0.45, True), (0.98, 0.45, False), (0.995, 0.55, False), (0.5, 0.3, True), (0.5, 0.4, False)],
)
def test_a_lower_cut_is_taken_where_it_is_far_lower_or_modularity_level(modularity, cut, taken, monkeypatch):
    rows = torch.rand(40, 2, generator=source())
    modular, low = torch.arange(40) % 2, torch.arange(40) // 20
    drawn = iter([modular, low])
    monkeypatch.setattr(module, "anchor_partition", lambda *_, **__: next(drawn))

    def rate(labels):
        if torch.equal(labels, modular):
            return Rating(1.0, 1.0)
        return Rating(modularity, cut) if torch.equal(labels, low) else Rating(0.0, 2.0)

    labels = partition(rows, 2, "graph", generator=source(), rate=rate, n_restarts=2)
    assert torch.equal(labels, low if taken else modular)


@pytest.mark.parametrize(
    ("modularity", "cut", "stable", "taken"),
    [
        (0.999, 1.0, True, True),
        (0.999, 1.0, False, False),
        (0.99, 1.0, True, False),
        (0.999, 12.0, True, False),
    ],
)
def test_kmeans_is_taken_where_it_is_level_comes_again_and_cuts_nothing_apart(
    modularity, cut, stable, taken, monkeypatch
):
    rows = torch.cat([torch.zeros(20, 2), 5 + torch.zeros(20, 2)]) + torch.rand(40, 2, generator=source())
    balls = torch.arange(40) // 20
    drawn = torch.arange(40) % 2
    monkeypatch.setattr(module, "anchor_partition", lambda *_, **__: drawn)
    monkeypatch.setattr(module, "comes_again", lambda *_, **__: stable)

    def rate(labels):
        return Rating(1.0, 1.0) if torch.equal(labels, drawn) else Rating(modularity, cut)

    def rated_apart(
        labels,
    ):  # the drawn one cuts next to nothing beside k-means, which has the highest modularity
        return Rating(0.9, 1.0) if torch.equal(labels, drawn) else Rating(modularity, cut)

    judge = rated_apart if cut > 10 else rate
    labels = partition(rows, 2, "graph", generator=source(), rate=judge, n_restarts=1)
    assert (accuracy(balls, labels) == 1.0) is taken
