"""Self-training: its terms beside naive loops, and the labels that it corrects."""

import math

import numpy as np
import pytest
import torch
from benchmarks.making import make

from coterie import PCX
from coterie.data import Scaler, as_views
from coterie.data.batches import Batch, Batches
from coterie.graph.neighbour_pairs import NeighbourPairs
from coterie.methods.pcx import objective, self_training, training
from coterie.metrics import accuracy
from coterie.nn.autoencoder import mlp


def noise_like(rows, seed=0):
    return torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed))


def log_rows(n_rows: int, n_clusters: int, seed: int) -> torch.Tensor:
    return torch.randn(n_rows, n_clusters, generator=torch.Generator().manual_seed(seed)).log_softmax(1)


def blobs(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, torch.Tensor]:
    truth = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(seed).normal(scale=0.7, size=(len(truth), 10))
    return (3 * np.eye(len(sizes), 10)[truth] + noise).astype(np.float32), torch.from_numpy(truth)


def corrected(rows: np.ndarray, labels: torch.Tensor, n_epochs: int = 60) -> torch.Tensor:
    views = as_views(rows)
    batches = Batches(views, Scaler("none").fit(views), batch_size=100, seed=0)
    generator = torch.Generator().manual_seed(0)
    pairs = NeighbourPairs(batches, lambda x: x, 10)
    return self_training.self_train(
        labels,
        lambda parts: torch.from_numpy(parts[0]),
        batches,
        pairs,
        widths=[rows.shape[1], 64, 64, int(labels.max()) + 1],
        n_epochs=n_epochs,
        generator=generator,
    )


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
    x = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    batch = Batch(np.arange(10), [x[:10]], Batch(np.arange(10, 20), [x[10:]]))
    model, labels = mlp([4, 8, 3]), torch.arange(20) % 3
    batches = Batches(as_views(x), Scaler("none").fit(as_views(x)), batch_size=10, seed=0)
    for epoch, later in [(0, False), (1, False), (2, True)]:
        task = self_training.SelfTrainingTask(
            model,
            lambda views: torch.from_numpy(views[0]),
            labels,
            n_clusters=3,
            n_supervised=2,
            batches=batches,
            generator=torch.Generator().manual_seed(5),
        )
        task.begin_epoch(epoch)
        losses, _ = task.losses(batch)
        rows, positives = torch.from_numpy(x[:10]), torch.from_numpy(x[10:])
        now, theirs = model(rows).log_softmax(1), model(positives).log_softmax(1)
        reach = 0.25 * (rows - positives).square().sum(1, keepdim=True).sqrt()
        step = self_training.adversarial_step(task.memberships, rows, now, reach, noise_like(rows, seed=5))
        naive = self_training.divergence(now.detach(), task.memberships(rows + step))
        naive = naive + 0.5 * self_training.disagreement(now, theirs)
        if later:
            sizes = torch.tensor([7.0, 7.0, 6.0])
            naive = naive + 0.3 * objective.entropy(now) + self_training.size_divergence(now, sizes)
        else:
            naive = naive - now[range(10), labels[:10]].mean()
        torch.testing.assert_close(losses["loss"], naive)


def test_wrong_clusters_of_single_rows_are_corrected():
    rows, truth = blobs([100, 100, 100])
    wrong = torch.from_numpy(np.random.default_rng(1).random(300) < 0.15)
    start = torch.where(wrong, (truth + 1) % 3, truth)
    found = corrected(rows, start)
    assert float((start == truth).float().mean()) < 0.9
    assert float((found == truth).float().mean()) > 0.98


def test_right_clusters_of_unequal_size_stay():
    rows, truth = blobs([240, 40, 20])
    assert float((corrected(rows, truth, n_epochs=200) == truth).float().mean()) > 0.98


def test_an_interrupt_of_self_training_is_one_of_the_fit(monkeypatch):
    def interrupted(self, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(self_training.SelfTrainingTask, "losses", interrupted)
    rows, truth = blobs([30, 30])
    with pytest.raises(KeyboardInterrupt):
        corrected(rows, truth, n_epochs=2)


def test_after_self_training_the_cluster_stage_fits_its_labels_without_the_neighbours(monkeypatch):
    rows, _ = blobs([60, 60])
    swapped = []

    def swap(labels, *args, **kwargs):  # other numbers of the same modularity
        swapped.append((labels + 1) % 2)
        return swapped[-1]

    monkeypatch.setattr("coterie.methods.pcx.training.self_train", swap)
    settings = {"hidden": (32,), "max_epochs": 20, "batch_size": 30, "random_state": 0}
    with_it = make(PCX, 2, self_training=0.2, **settings).fit(rows)
    assert len(swapped) == 1
    assert [("contrast" in record) for record in with_it.history_] == [True] * 16 + [False] * 4
    assert ["consistency" in record for record in with_it.history_[:17]] == [False] * 16 + [True]
    assert (with_it.labels_ == swapped[0].numpy()).mean() > 0.95
    without = make(PCX, 2, self_training=0, **settings).fit(rows)
    assert len(swapped) == 1
    assert all("contrast" in record for record in without.history_)
    assert "consistency" in without.history_[-1]


def rings(n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    angles = np.linspace(0, 2 * np.pi, n_rows, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([circle, 3 * circle]).astype(np.float32), np.repeat([0, 1], n_rows)


def test_clusters_with_it_mean_are_drawn_apart(monkeypatch):
    rows, truth = rings()
    monkeypatch.setattr(training, "self_train", lambda *_, **__: torch.from_numpy(truth))
    settings = {"hidden": (128, 128), "max_epochs": 150, "warmup": 0.2, "batch_size": 100, "random_state": 0}
    assert accuracy(truth, make(PCX, 2, **settings).fit(rows).labels_) > 0.95


def test_rows_keep_the_labels_of_self_training_until_their_codes_have_converged(monkeypatch):
    rows, truth = rings(60)
    monkeypatch.setattr(training, "self_train", lambda *_, **__: torch.from_numpy(truth))
    settings = {"hidden": (8,), "max_epochs": 20, "warmup": 0.5, "batch_size": 40, "random_state": 0}
    model = make(PCX, 2, **settings).fit(rows)  # too small a network to part the rings
    assert (model.labels_ == truth).mean() < 0.9
    assert ["consistency" in record for record in model.history_] == [False] * 10 + [True] * 10
    free = make(PCX, 2, hold=0, **settings).fit(rows)
    assert not any("consistency" in record for record in free.history_)
    rows, truth = blobs([60, 60])
    monkeypatch.setattr(training, "self_train", lambda *_, **__: truth)
    easy = make(PCX, 2, **{**settings, "hidden": (64,), "max_epochs": 60}).fit(rows)
    held = ["consistency" in record for record in easy.history_]
    assert held[30]
    assert not any(held[45:])


def test_labels_of_self_training_that_part_neighbours_are_not_taken(monkeypatch):
    rows, _ = blobs([60, 60])
    monkeypatch.setattr(
        "coterie.methods.pcx.training.self_train", lambda labels, *_, **__: labels.flip(0) * 0
    )
    model = PCX(2, hidden=(32,), max_epochs=40, batch_size=30, random_state=0).fit(rows)
    assert (model.cluster_sizes_ > 20).all()


def test_the_papers_preset_has_no_self_training():
    assert PCX(2, preset="paper")._resolved()["options"].self_training == 0


def test_an_interrupted_fit_is_finished_without_self_training(monkeypatch):
    def interrupted(self, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(self_training.SelfTrainingTask, "losses", interrupted)
    X = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)
    model = PCX(3, hidden=(16,), n_code=3, batch_size=40, max_epochs=8, random_state=0).fit(X)
    assert model.n_iter_ == 6
    assert len(np.unique(model.labels_)) == 3


def test_a_fit_that_is_all_warm_up_still_has_self_training(monkeypatch):
    asked = []
    monkeypatch.setattr(training, "self_train", lambda labels, *_, **__: asked.append(len(labels)) or labels)
    X = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)
    make(PCX, 3, hidden=(16,), n_code=3, max_epochs=2, warmup=1.0, random_state=0).fit(X)
    assert asked == [120]
