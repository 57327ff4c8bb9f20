"""Landmarks: their graph, its cut, the votes on other rows (P13 of spec sscnet, and section 2.8)."""

import numpy as np
import pytest
import torch

from coterie.methods.sscnet.landmarks import Landmarks


def groups(sizes: tuple[int, ...], width: int = 6, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    centers = 4 * torch.eye(width)[: len(sizes)]
    return centers[labels] + 0.4 * torch.randn(len(labels), width, generator=generator), labels


def started(by_code: bool = False, n_neighbors: int = 8) -> tuple[Landmarks, torch.Tensor, torch.Tensor]:
    rows, labels = groups((30, 40, 50))
    landmarks = Landmarks(120, 6, 9, 3, n_neighbors=n_neighbors)
    landmarks.by_code.fill_(by_code)
    landmarks.start(rows, torch.Generator().manual_seed(1))
    return landmarks, rows, labels


def same_partition(a: torch.Tensor, b: torch.Tensor) -> bool:
    return len({(int(x), int(y)) for x, y in zip(a, b, strict=True)}) == len(a.unique()) == len(b.unique())


@pytest.mark.parametrize("by_code", [False, True])
def test_separated_groups_are_cut_apart(by_code):
    landmarks, _, labels = started(by_code)
    assert same_partition(landmarks.labels, labels)
    gram = landmarks.columns.T @ landmarks.columns
    torch.testing.assert_close(gram, torch.eye(3), atol=1e-4, rtol=0)


def test_a_refresh_with_unchanged_codes_changes_no_label():
    landmarks, rows, _ = started()
    before = landmarks.labels.clone()
    found = landmarks.refresh(rows, 20, torch.Generator().manual_seed(5))
    assert torch.equal(landmarks.labels, before)
    assert found.changed == 0


def test_clusters_keep_their_numbers_when_codes_move_a_little():
    landmarks, rows, _ = started()
    before = landmarks.labels.clone()
    moved = rows + 0.1 * torch.randn(rows.shape, generator=torch.Generator().manual_seed(2))
    landmarks.refresh(moved, 20, torch.Generator().manual_seed(6))
    assert torch.equal(landmarks.labels, before)


def test_clusters_that_are_known_are_taken_with_their_centres():
    landmarks, _, labels = started()
    turned = (labels + 1) % 3
    landmarks.take(turned)
    assert torch.equal(landmarks.labels, turned)
    for cluster in range(3):
        mean = landmarks.places()[turned == cluster].mean(0)
        torch.testing.assert_close(landmarks.centers[cluster], mean, atol=1e-5, rtol=1e-4)


def test_a_few_landmarks_that_change_sides_change_their_cluster():
    landmarks, rows, labels = started()
    moved = rows.clone()
    moved[0] = rows[labels == 2].mean(0)
    found = landmarks.refresh(moved, 300, torch.Generator().manual_seed(4), move=True)
    assert landmarks.labels[0] == landmarks.labels[-1]
    assert found.changed == pytest.approx(1 / 120)


def test_labels_that_are_kept_tell_which_landmarks_went_astray():
    landmarks, rows, labels = started()
    before = landmarks.labels.clone()
    moved = rows.clone()
    moved[0] = rows[labels == 2].mean(0)
    found = landmarks.refresh(moved, 300, torch.Generator().manual_seed(4))
    assert torch.equal(landmarks.labels, before)
    assert found.changed == pytest.approx(1 / 120)


def test_more_islands_than_clusters_are_joined_by_more_neighbours():
    rows, labels = groups((30, 30, 30, 30, 30))
    landmarks = Landmarks(150, 6, 6, 3, n_neighbors=5)
    landmarks.compared.copy_(rows)
    graph = landmarks.graph()
    assert np.diff(graph.indptr).min() > 5
    found = landmarks.start(rows, torch.Generator().manual_seed(0))
    assert found.components <= 3
    assert len(landmarks.labels.unique()) == 3
    for island in range(5):
        assert len(landmarks.labels[labels == island].unique()) == 1


def test_votes_are_the_naive_weighted_mean():
    landmarks, rows, _ = started(n_neighbors=4)
    asked = rows[:5] + 0.05
    votes = landmarks.votes(asked)
    for row in range(5):
        squares = (rows - asked[row]).square().sum(1)
        nearest = squares.argsort()[:4]
        assert set(votes.numbers[row].tolist()) == set(nearest.tolist())
        weights = torch.exp(-squares[nearest] / squares[nearest].sort().values[1:3].mean())
        weights = weights / weights.sum()
        expected = sum(
            float(w) * landmarks.places()[j] for w, j in zip(weights, nearest.tolist(), strict=True)
        )
        torch.testing.assert_close(votes.mean(landmarks.places())[row], expected, atol=1e-5, rtol=1e-4)


def test_codes_are_compared_by_direction_and_embeddings_by_place():
    by_code, rows, _ = started(by_code=True)
    np.testing.assert_array_equal(
        by_code.votes(7 * rows).numbers.sort(1).values, by_code.votes(rows).numbers.sort(1).values
    )
    by_place, _, _ = started(by_code=False)
    assert not torch.equal(
        by_place.votes(7 * rows).numbers.sort(1).values, by_place.votes(rows).numbers.sort(1).values
    )


def test_duplicate_rows_do_no_harm():
    rows = torch.cat([torch.zeros(40, 6), torch.ones(40, 6)])
    landmarks = Landmarks(80, 6, 6, 2, n_neighbors=5)
    landmarks.start(rows, torch.Generator().manual_seed(0))
    assert torch.isfinite(landmarks.columns).all()
    assert same_partition(landmarks.labels, torch.repeat_interleave(torch.arange(2), 40))
