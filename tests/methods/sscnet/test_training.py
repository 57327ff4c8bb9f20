"""The start and the end of training: rows keep the clusters of the graph, and training ends when nothing moves."""

import numpy as np
import pytest
import torch
from benchmarks.making import make

from coterie import SSCNet
from coterie.methods import self_training
from coterie.methods.sscnet.network import predict_seen
from coterie.methods.sscnet.training import SSCNetTask, start_clusters
from coterie.metrics import accuracy
from coterie.nn.autoencoder import mlp

SMALL = {"n_atoms": 16, "n_landmarks": 100, "graph_neighbors": 8, "n_neighbors": 8, "batch_size": 64}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(4), 40))
    X = 12 * np.eye(4, 10)[truth] + rng.normal(size=(160, 10))
    return X.astype(np.float32), truth


def landmark_classes(task: SSCNetTask, truth: np.ndarray) -> np.ndarray:
    """Return the classes of the landmarks, found by their rows."""
    rows = torch.from_numpy(task.batches.read(slice(None))[0])
    distances = torch.cdist(task.landmarks.rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    assert distances.min(1).values.max() == 0
    return truth[distances.argmin(1).numpy()]


def test_rows_and_landmarks_get_the_initial_labels(groups, task_of):
    X, truth = groups
    task, initial = task_of(make(SSCNet, 4, **SMALL), X)
    assert accuracy(truth, initial) == 1
    start_clusters(task, truth)
    np.testing.assert_array_equal(task.labels.numpy(), truth)
    np.testing.assert_array_equal(task.landmarks.labels.numpy(), landmark_classes(task, truth))


@pytest.mark.parametrize("initial", [None, np.zeros(160, dtype=int)])
def test_without_initial_labels_of_every_cluster_the_landmarks_graph_gives_them(initial, groups, task_of):
    X, truth = groups
    task, _ = task_of(make(SSCNet, 4, **SMALL), X)
    start_clusters(task, initial)
    assert task.labels is None
    assert task.landmarks.by_code
    assert accuracy(landmark_classes(task, truth), task.landmarks.labels.numpy()) > 0.9


def test_the_landmarks_graph_alone_can_give_the_clusters(groups):
    X, truth = groups
    model = make(SSCNet, 4, init="landmarks", max_epochs=30, random_state=0, **SMALL).fit(X)
    assert accuracy(truth, model.labels_) > 0.9


def test_labels_are_corrected_by_self_training_whose_hidden_layers_the_embedding_takes(
    groups, task_of, monkeypatch
):
    X, truth = groups
    task, initial = task_of(make(SSCNet, 4, self_training=1.0, **SMALL), X)
    classifier = mlp([10, 512, 256, 4])
    corrected = np.roll(truth, 1)
    monkeypatch.setattr(self_training, "LEAST_ROWS", 1)
    monkeypatch.setattr(self_training, "_LOST_PAIRS", 1.0)
    trained = self_training.SelfTrained(corrected, classifier)
    monkeypatch.setattr(self_training, "self_train", lambda *_, **__: trained)
    start_clusters(task, initial)
    np.testing.assert_array_equal(task.labels.numpy(), corrected)
    with torch.no_grad():
        codes = task.network.coder.codes(task.seen)
        rows = task.network.coder.dictionary.decode(codes)
        hidden = task.network.embed[:-1](codes / task.network.code_spread)
        torch.testing.assert_close(hidden, classifier[:-1](rows), rtol=1e-3, atol=1e-4)


def test_training_ends_when_nothing_moves_and_the_network_has_the_initial_labels(groups):
    X, truth = groups
    model = make(SSCNet, 4, max_epochs=200, random_state=0, **SMALL).fit(X)
    assert model.n_iter_ < 200
    assert accuracy(truth, model.labels_) == 1
    long = make(SSCNet, 4, max_epochs=45, settle=False, random_state=0, **SMALL).fit(X)
    assert long.n_iter_ == 45


def test_a_refresh_turns_the_places_to_where_the_network_has_them(groups, task_of):
    X, truth = groups
    task, _ = task_of(make(SSCNet, 4, **SMALL), X)
    start_clusters(task, truth)
    columns = torch.linalg.qr(torch.randn(100, 4, generator=torch.Generator().manual_seed(0))).Q
    task.landmarks.columns.copy_(columns)
    task.refresh()
    placed = torch.nn.functional.normalize(predict_seen(task.network, task.marks).places, dim=1)
    turns = torch.linalg.svd(task.landmarks.columns.T @ placed)
    best = turns.S.sum()
    torch.testing.assert_close((task.landmarks.columns * placed).sum(), best, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(task.landmarks.labels.numpy(), landmark_classes(task, truth))


def test_what_is_coded_of_rows_is_projected_once_unless_it_is_too_much(groups, task_of, monkeypatch):
    X, _ = groups
    task, _ = task_of(make(SSCNet, 4, **SMALL), X)
    batch = next(iter(task.batches.epoch(0)))
    cached = task._seen(batch)
    monkeypatch.setattr("coterie.methods.run_setup._SEEN_BYTES", 0)
    large, _ = task_of(make(SSCNet, 4, **SMALL), X)
    assert task.seen is not None
    assert large.seen is None
    torch.testing.assert_close(large._seen(batch), cached)
