"""Self-training: its terms beside naive loops, and the labels that it corrects."""

import math

import numpy as np
import pytest
import torch
from benchmarks.making import make

from coterie import PCX
from coterie.data import Scaler, as_views
from coterie.data.batches import Batches
from coterie.engine.schedule import mixed_seed
from coterie.errors import InterruptedWarning
from coterie.graph.neighbour_pairs import NeighbourPairs
from coterie.methods import self_training
from coterie.metrics import accuracy
from coterie.nn.autoencoder import mlp
from coterie.ops.memberships import entropy


def noise_like(rows, seed=0):
    return torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed))


def log_rows(n_rows: int, n_clusters: int, seed: int) -> torch.Tensor:
    return torch.randn(n_rows, n_clusters, generator=torch.Generator().manual_seed(seed)).log_softmax(1)


def blobs(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    truth = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(seed).normal(scale=0.7, size=(len(truth), 10))
    return (3 * np.eye(len(sizes), 10)[truth] + noise).astype(np.float32), truth


def corrected(rows: np.ndarray, labels: np.ndarray, **options) -> np.ndarray:
    views = as_views(rows)
    batches = Batches(views, Scaler("none").fit(views), batch_size=100, seed=0)
    pairs = NeighbourPairs(batches, lambda x: x, 10)
    trained = self_training.self_train(
        torch.from_numpy(rows),
        labels,
        lambda epoch: batches.pairs(epoch, pairs),
        per_epoch=batches.per_epoch,
        hidden=(64, 64),
        seed=0,
        **options,
    )
    return trained.labels


def test_the_divergence_of_sizes_equals_the_naive_sum_and_vanishes_at_the_clusters_shares():
    log_lambda, sizes = log_rows(7, 3, 0), torch.tensor([5.0, 3.0, 2.0])
    naive = 0.0
    for k in range(3):
        mean = sum(math.exp(log_lambda[i, k]) for i in range(7)) / 7
        naive += mean * math.log(mean / (float(sizes[k]) / 10))
    assert float(self_training.size_divergence(log_lambda, sizes)) == pytest.approx(naive, rel=1e-5)
    even = torch.zeros(10, 3)
    even[:5, 0], even[5:8, 1], even[8:, 2] = 1, 1, 1
    assert float(self_training.size_divergence(even.clamp(min=1e-12).log(), sizes)) == pytest.approx(
        0, abs=1e-6
    )


def test_disagreement_equals_the_naive_sum():
    mine, theirs = log_rows(6, 4, 0), log_rows(6, 4, 1)
    naive = -np.mean([math.log(sum(math.exp(mine[i, k] + theirs[i, k]) for k in range(4))) for i in range(6)])
    assert float(self_training.disagreement(mine, theirs)) == pytest.approx(naive, rel=1e-5)


def test_divergence_equals_the_naive_sum():
    now, after = log_rows(6, 4, 0), log_rows(6, 4, 1)
    naive = np.mean(
        [sum(math.exp(now[i, k]) * float(now[i, k] - after[i, k]) for k in range(4)) for i in range(6)]
    )
    assert float(self_training.divergence(now, after)) == pytest.approx(naive, rel=1e-5)


def test_the_adversarial_step_of_two_classes_lies_along_the_difference_of_their_weights():
    weights = torch.randn(2, 5, generator=torch.Generator().manual_seed(1))
    rows = torch.randn(30, 5, generator=torch.Generator().manual_seed(2))
    reach = torch.rand(30, 1, generator=torch.Generator().manual_seed(3)) + 0.1

    def log_lambda(x):
        return (x @ weights.T).log_softmax(1)

    step = self_training.adversarial_step(log_lambda, rows, log_lambda(rows), reach, noise_like(rows, seed=4))
    torch.testing.assert_close(step.norm(dim=1, keepdim=True), reach)
    across = (weights[0] - weights[1]) / (weights[0] - weights[1]).norm()
    torch.testing.assert_close((step @ across).abs(), reach.squeeze(1), rtol=1e-3, atol=1e-4)


def test_the_adversarial_step_is_worse_than_random_ones_of_its_length_and_leaves_no_gradient_behind():
    torch.manual_seed(0)
    model = mlp([20, 32, 5])
    rows, generator = torch.randn(50, 20), torch.Generator().manual_seed(0)

    def log_lambda(x):
        return model(x).log_softmax(1)

    now, reach = log_lambda(rows), torch.full((50, 1), 0.5)
    worst = self_training.adversarial_step(log_lambda, rows, now, reach, noise_like(rows))
    assert all(weight.grad is None for weight in model.parameters())
    bad = float(self_training.divergence(now, log_lambda(rows + worst)).detach())
    for _ in range(20):
        other = torch.nn.functional.normalize(torch.randn(50, 20, generator=generator), dim=1) * reach
        assert float(self_training.divergence(now, log_lambda(rows + other)).detach()) < 0.5 * bad


def test_a_row_that_equals_its_partner_takes_no_step():
    model, rows = mlp([4, 8, 3]), torch.ones(6, 4)
    now = model(rows).log_softmax(1)
    step = self_training.adversarial_step(
        lambda x: model(x).log_softmax(1), rows, now, torch.zeros(6, 1), noise_like(rows)
    )
    assert torch.equal(step, torch.zeros(6, 4))


def test_the_loss_fits_the_initial_labels_first_and_then_minimises_entropy_and_keeps_sizes():
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))
    network, labels = mlp([4, 8, 3]), np.arange(20) % 3
    for epoch, later in [(0, False), (1, False), (2, True)]:
        task = self_training.SelfTrainingTask(network, x, labels, n_supervised=2, seed=5)
        task.begin_epoch(epoch)
        losses, _ = task.losses((np.arange(10), np.arange(10, 20)))
        rows, positives = x[:10], x[10:]
        now, theirs = network(rows).log_softmax(1), network(positives).log_softmax(1)
        reach = 0.25 * (rows - positives).square().sum(1, keepdim=True).sqrt()
        noise = noise_like(rows, seed=mixed_seed(5, epoch))
        step = self_training.adversarial_step(task.memberships, rows, now, reach, noise)
        naive = self_training.divergence(now.detach(), task.memberships(rows + step))
        naive = naive + 0.5 * self_training.disagreement(now, theirs)
        if later:
            sizes = torch.tensor([7.0, 7.0, 6.0])
            naive = naive + 0.3 * entropy(now) + self_training.size_divergence(now, sizes)
        else:
            naive = naive - now[range(10), labels[:10]].mean()
        torch.testing.assert_close(losses["loss"], naive)


def test_wrong_clusters_of_single_rows_are_corrected():
    rows, truth = blobs([100, 100, 100])
    start = np.where(np.random.default_rng(1).random(300) < 0.15, (truth + 1) % 3, truth)
    assert (start == truth).mean() < 0.9
    assert (corrected(rows, start) == truth).mean() > 0.98


def test_right_clusters_of_unequal_size_stay():
    rows, truth = blobs([240, 40, 20])
    assert (corrected(rows, truth) == truth).mean() > 0.98


def test_rows_follow_their_neighbours_in_the_features_of_the_classifier():
    rows, truth = blobs([60, 60], seed=3)
    network = mlp([10, 10, 2])
    with torch.no_grad():  # features are the rows; the classifier is wrong for a few
        network[0].weight.copy_(torch.eye(10))
        network[0].bias.fill_(10.0)
        network[2].weight.copy_(torch.cat([torch.eye(2), torch.zeros(2, 8)], dim=1))
        network[2].weight[0, 5] = 3.0
        network[2].bias.copy_(torch.tensor([-30.0, 0.0]))
        told = network(torch.from_numpy(rows)).argmax(1).numpy()
    assert 0.02 < (told != truth).mean() < 0.25
    assert (self_training.correct_labels(network, torch.from_numpy(rows), 2, seed=0) == truth).mean() > 0.98


def test_the_same_seed_gives_the_same_labels():
    rows, truth = blobs([100, 100])
    start = np.where(np.random.default_rng(1).random(200) < 0.3, 1 - truth, truth)
    np.testing.assert_array_equal(corrected(rows, start), corrected(rows, start))


SETTINGS = {"hidden": (32,), "max_epochs": 10, "batch_size": 100, "random_state": 0}


def test_the_labels_of_self_training_are_those_of_the_fit(monkeypatch):
    rows, _ = blobs([300, 300])
    swapped = []

    def swap(seen, labels, *args, **kwargs):  # other numbers, so that no pair comes apart
        swapped.append(1 - labels)
        return self_training.SelfTrained(1 - labels, mlp([seen.shape[1], 32, 2]))

    monkeypatch.setattr(self_training, "self_train", swap)
    with_it = PCX(2, **SETTINGS).fit(rows)
    assert len(swapped) == 1
    assert (with_it.labels_ == swapped[0]).mean() > 0.95
    make(PCX, 2, self_training=0, **SETTINGS).fit(rows)
    PCX(2, **SETTINGS).fit(rows[50:550])  # 250 rows a cluster: too few
    PCX(2, preset="paper", **SETTINGS).fit(rows)
    assert len(swapped) == 1


@pytest.mark.parametrize("wrong", [lambda labels: np.arange(len(labels)) % 2, lambda labels: 0 * labels])
def test_labels_that_part_neighbours_or_lose_a_cluster_are_not_taken(monkeypatch, wrong):
    rows, truth = blobs([300, 300])
    monkeypatch.setattr(
        self_training,
        "self_train",
        lambda seen, labels, *_, **__: self_training.SelfTrained(wrong(labels), mlp([seen.shape[1], 32, 2])),
    )
    assert accuracy(truth, PCX(2, **SETTINGS).fit(rows).labels_) > 0.95


def test_an_interrupted_fit_is_finished_without_self_training(monkeypatch):
    def interrupted(self, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(self_training.SelfTrainingTask, "losses", interrupted)
    rows, truth = blobs([300, 300])
    with pytest.warns(InterruptedWarning):
        model = PCX(2, **SETTINGS).fit(rows)
    assert model.n_iter_ == 0
    assert accuracy(truth, model.labels_) > 0.9


def rings(n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    angles = np.linspace(0, 2 * np.pi, n_rows, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([circle, 3 * circle]).astype(np.float32), np.repeat([0, 1], n_rows)


def test_clusters_with_one_mean_are_drawn_apart():
    rows, truth = rings()
    model = PCX(2, hidden=(128, 128), batch_size=100, random_state=0).fit(rows)
    assert accuracy(truth, model.labels_) > 0.95
