"""The choice among landmarks, graphs and cuts: by neighbours alone."""

import numpy as np
import pytest
import torch

from coterie import SSCNet, as_views
from coterie.methods.sscnet import fitting, starting
from coterie.methods.sscnet.fitting import Parts


def parts_of(separation: float) -> Parts:
    rng = np.random.default_rng(0)
    X = np.repeat(separation * np.eye(4, 10), 40, axis=0) + rng.normal(size=(160, 10))
    model = SSCNet(4, n_atoms=16, n_landmarks=100, graph_neighbors=8, n_neighbors=8, batch_size=64)
    return fitting.prepare(model.get_params(deep=False), as_views(X), 0, torch.device("cpu"))


def start_of(parts: Parts, pairs: bool = True, **params) -> starting.Candidate:
    params = {"graph_on": "auto", "n_starts": 2, "seed": 0} | params
    network, landmarks = parts.modules.network, parts.modules.landmarks
    return starting.best_start(network, landmarks, parts.batches, parts.pairs if pairs else None, **params)


def test_where_both_graphs_say_the_same_the_sparse_codes_are_taken():
    assert start_of(parts_of(separation=12.0)).by_code


@pytest.mark.parametrize(("graph_on", "by_code"), [("code", True), ("embedding", False)])
def test_the_graph_that_was_asked_for_is_taken(graph_on, by_code):
    assert start_of(parts_of(separation=12.0), graph_on=graph_on).by_code == by_code


def test_without_neighbours_there_is_one_draw_and_the_graph_of_the_codes():
    parts = parts_of(separation=3.0)
    alone = start_of(parts, pairs=False)
    assert alone.by_code
    torch.testing.assert_close(alone.landmarks.centers, alone.cuts[0])


def test_the_cut_with_the_highest_modularity_is_kept(monkeypatch):
    parts = parts_of(separation=3.0)
    seen: list[tuple[float, np.ndarray]] = []
    score = starting._score

    def watched(pairs, labels, n_clusters):
        seen.append((score(pairs, labels, n_clusters), labels.copy()))
        return seen[-1][0]

    monkeypatch.setattr(starting, "_score", watched)
    chosen = start_of(parts, graph_on="code", n_starts=3)
    assert len(seen) == 15
    assert len({value for value, _ in seen}) > 1
    rows = torch.from_numpy(parts.batches.read(slice(None))[0])
    codes = starting.looked_at(parts.modules.network, rows, by_code=True)
    labels = chosen.landmarks.votes(codes).mean(chosen.landmarks.memberships()).argmax(1).numpy()
    np.testing.assert_array_equal(labels, max(seen, key=lambda pair: pair[0])[1])


def test_a_partition_with_an_empty_cluster_comes_last():
    parts = parts_of(separation=12.0)
    truth = np.repeat(np.arange(4), 40)
    merged = np.where(truth == 3, 2, truth)
    whole = starting._score(parts.pairs, np.random.default_rng(0).permutation(truth), 4)
    assert starting._score(parts.pairs, merged, 4) < whole
