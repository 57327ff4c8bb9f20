"""The initial clusters: a kNN graph of many rows labels the landmarks, and the graph that suits them is taken."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.making import make

from coterie import SSCNet, as_views
from coterie.graph.initial import RowGraph
from coterie.methods.run_setup import compare_rows
from coterie.methods.sscnet import training
from coterie.methods.sscnet.landmarks import Landmarks, Refresh
from coterie.methods.sscnet.network import draw_modules
from coterie.methods.sscnet.options import SSCNetSettings
from coterie.methods.sscnet.training import SSCNetTask
from coterie.metrics import accuracy


def task_of(separation: float) -> tuple[SSCNetTask, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(4), 40))
    X = separation * np.eye(4, 10)[truth] + rng.normal(size=(160, 10))
    model = make(SSCNet, 4, n_atoms=16, n_landmarks=100, graph_neighbors=8, n_neighbors=8, batch_size=64)
    settings = SSCNetSettings.of(model._resolved())
    rows = compare_rows(as_views(X), settings, 0)
    return SSCNetTask(draw_modules(settings, rows), settings, rows.batches, seed=0), truth


def start_of(task: SSCNetTask, graph_on: str = "auto", n_neighbors: int = 8) -> tuple[Landmarks, Refresh]:
    settings = replace(task.settings, n_neighbors=n_neighbors)
    initial = training.partition_landmarks(task.network, task.batches, settings, task.seed)
    task.options = task.options.set_params(graph_on=graph_on)
    return training.embed_landmarks(task, initial)


def known(landmarks: Landmarks, task: SSCNetTask, truth: np.ndarray) -> np.ndarray:
    """Return the classes of the landmarks, found by their rows."""
    rows = torch.from_numpy(task.batches.read(slice(None))[0])
    distances = torch.cdist(landmarks.rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    assert distances.min(1).values.max() == 0
    return truth[distances.argmin(1).numpy()]


@pytest.mark.parametrize(("graph_on", "by_code"), [("code", True), ("embedding", False)])
def test_the_graph_that_was_asked_for_is_taken(graph_on, by_code):
    task, _ = task_of(separation=12.0)
    assert bool(start_of(task, graph_on=graph_on)[0].by_code) == by_code


def test_without_neighbours_the_graph_of_the_codes_alone_gives_the_clusters():
    task, truth = task_of(separation=12.0)
    landmarks, refresh = start_of(task, n_neighbors=0)
    assert landmarks.by_code
    assert refresh.changed == 1.0
    assert accuracy(known(landmarks, task, truth), landmarks.labels.numpy()) > 0.9


def test_the_landmarks_get_the_clusters_of_their_rows(monkeypatch):
    """Whatever the partition says of a row, the landmark that is this row gets."""
    task, truth = task_of(separation=3.0)
    monkeypatch.setattr(RowGraph, "partition", lambda *_, **__: truth)
    landmarks, refresh = start_of(task)
    classes = known(landmarks, task, truth)
    np.testing.assert_array_equal(landmarks.labels.numpy(), classes)
    means = torch.stack([landmarks.places()[classes == c].mean(0) for c in range(4)])
    torch.testing.assert_close(landmarks.centers, means)
    nearer = torch.cdist(landmarks.places(), means).argmin(1).numpy()
    assert refresh.changed == pytest.approx((nearer != classes).mean())


def test_the_graph_whose_places_keep_to_the_clusters_is_taken():
    task, _ = task_of(separation=3.0)
    each = {graph: start_of(task, graph_on=graph)[1].changed for graph in ("code", "embedding")}
    landmarks, refresh = start_of(task)
    assert len(set(each.values())) == 2, "the two graphs should differ here"
    assert refresh.changed == min(each.values())
    assert bool(landmarks.by_code) == (each["code"] < each["embedding"])


def test_a_large_set_is_partitioned_by_a_sample(monkeypatch):
    task, truth = task_of(separation=12.0)
    monkeypatch.setattr(training, "_MOST_ROWS", 110)
    sizes = []
    whole = training.graph_of_rows
    monkeypatch.setattr(
        training, "graph_of_rows", lambda rows, *a, **b: sizes.append(len(rows)) or whole(rows, *a, **b)
    )
    landmarks, _ = start_of(task)
    assert sizes == [110]
    assert accuracy(known(landmarks, task, truth), landmarks.labels.numpy()) > 0.95
