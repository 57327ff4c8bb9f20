"""The start: clusters from the kNN graph of many rows, handed to the landmarks and the graph that suits them."""

import numpy as np
import pytest
import torch
from benchmarks.making import make

from coterie import SSCNet, as_views
from coterie.graph.initial import RowGraph
from coterie.methods.sscnet import fitting, starting
from coterie.methods.sscnet.fitting import Parts
from coterie.methods.sscnet.landmarks import Landmarks, Refreshed
from coterie.metrics import accuracy


def parts_of(separation: float) -> tuple[Parts, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(4), 40))
    X = separation * np.eye(4, 10)[truth] + rng.normal(size=(160, 10))
    model = make(SSCNet, 4, n_atoms=16, n_landmarks=100, graph_neighbors=8, n_neighbors=8, batch_size=64)
    return fitting.prepare(model.get_params(deep=False), as_views(X), 0, torch.device("cpu")), truth


def start_of(parts: Parts, **params) -> tuple[Landmarks, Refreshed]:
    params = {"graph_on": "auto", "n_neighbors": 8, "seed": 0} | params
    return starting.best_start(parts.modules.network, parts.modules.landmarks, parts.batches, **params)


def known(landmarks: Landmarks, parts: Parts, truth: np.ndarray) -> np.ndarray:
    """Return the classes of the landmarks, found by their rows."""
    rows = torch.from_numpy(parts.batches.read(slice(None))[0])
    distances = torch.cdist(landmarks.rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    assert distances.min(1).values.max() == 0
    return truth[distances.argmin(1).numpy()]


@pytest.mark.parametrize(("graph_on", "by_code"), [("code", True), ("embedding", False)])
def test_the_graph_that_was_asked_for_is_taken(graph_on, by_code):
    parts, _ = parts_of(separation=12.0)
    assert bool(start_of(parts, graph_on=graph_on)[0].by_code) == by_code


def test_without_neighbours_the_graph_of_the_codes_alone_gives_the_clusters():
    parts, truth = parts_of(separation=12.0)
    landmarks, found = start_of(parts, n_neighbors=0)
    assert landmarks.by_code
    assert found.changed == 1.0
    assert accuracy(known(landmarks, parts, truth), landmarks.labels.numpy()) > 0.9


def test_the_landmarks_get_the_clusters_of_their_rows(monkeypatch):
    """Whatever the partition says of a row, the landmark that is this row gets."""
    parts, truth = parts_of(separation=3.0)
    monkeypatch.setattr(RowGraph, "partition", lambda *_, **__: truth)
    landmarks, found = start_of(parts)
    classes = known(landmarks, parts, truth)
    np.testing.assert_array_equal(landmarks.labels.numpy(), classes)
    means = torch.stack([landmarks.places()[classes == c].mean(0) for c in range(4)])
    torch.testing.assert_close(landmarks.centers, means)
    nearer = torch.cdist(landmarks.places(), means).argmin(1).numpy()
    assert found.changed == pytest.approx((nearer != classes).mean())


def test_the_graph_whose_places_keep_to_the_clusters_is_taken():
    parts, _ = parts_of(separation=3.0)
    each = {graph: start_of(parts, graph_on=graph)[1].changed for graph in ("code", "embedding")}
    landmarks, found = start_of(parts)
    assert len(set(each.values())) == 2, "the two graphs should differ here"
    assert found.changed == min(each.values())
    assert bool(landmarks.by_code) == (each["code"] < each["embedding"])


def test_a_large_set_is_partitioned_by_a_sample(monkeypatch):
    parts, truth = parts_of(separation=12.0)
    monkeypatch.setattr(starting, "_MOST_ROWS", 110)
    sizes = []
    whole = starting.graph_of_rows
    monkeypatch.setattr(
        starting, "graph_of_rows", lambda rows, *a, **b: sizes.append(len(rows)) or whole(rows, *a, **b)
    )
    landmarks, _ = start_of(parts)
    assert sizes == [110]
    assert accuracy(known(landmarks, parts, truth), landmarks.labels.numpy()) > 0.95
