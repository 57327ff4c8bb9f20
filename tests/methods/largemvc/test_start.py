"""Where LargeMvC-Net starts: scalings, graph partition, guards."""

import numpy as np
import torch
from sklearn.datasets import make_blobs

from coterie.data import as_views
from coterie.methods.largemvc import fitting, start
from coterie.methods.largemvc.features import Guard, LandmarkFeatures, SideBySide
from coterie.methods.largemvc.inputs import usable
from coterie.metrics import accuracy
from coterie.ops.graphs import joined_graph, table_of_present


def rows_of(seed=0, n=200, d=6, k=4):
    X, y = make_blobs(n, n_features=d, centers=k, cluster_std=1.0, random_state=seed)
    return torch.from_numpy(X.astype(np.float32)), y


def test_the_scaling_that_makes_views_agree_is_chosen():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(200, 5))
    lengths = rng.lognormal(0, 2, size=(2, 200, 1))
    tables = {}
    for v in range(2):
        raw = (directions + 0.1 * rng.normal(size=(200, 5))) * lengths[v]
        for mode, scaled in (("none", raw), ("sample", raw / np.linalg.norm(raw, axis=1, keepdims=True))):
            tables[v, mode] = table_of_present(
                torch.from_numpy(scaled).float(), np.ones(200, bool), 10, generator=torch.Generator()
            )
    assert start.choose_scalings(tables, 2) == ["sample", "sample"]


def test_moving_rows_lowers_the_normalised_cut_and_finds_the_groups():
    X, y = rows_of()
    graph = joined_graph([table_of_present(X, np.ones(200, bool), 10, generator=torch.Generator())])
    spoilt = y.copy()
    spoilt[::5] = (spoilt[::5] + 1) % 4
    better = start.lower_cut(graph, spoilt, 4)
    assert start._normalised_cut(graph, better, 4) < start._normalised_cut(graph, spoilt, 4)
    assert accuracy(y, better) > accuracy(y, spoilt)
    found = start.best_partition(graph, 4, generator=torch.Generator().manual_seed(0))
    assert accuracy(y, found) == 1.0


def test_kernel_k_means_moves_as_the_naive_distance_says():
    X, _ = rows_of(1, n=60)
    graph = joined_graph([table_of_present(X, np.ones(60, bool), 5, generator=torch.Generator())])
    W = graph.toarray()
    degrees = W.sum(1)
    labels = np.arange(60) % 4
    kernel = W / np.outer(degrees, degrees)
    naive = np.empty((60, 4))
    for c in range(4):
        w = degrees * (labels == c)
        naive[:, c] = -2 * kernel @ w / w.sum() + w @ kernel @ w / w.sum() ** 2
    ties, inside, volume = start.cluster_cuts(graph, labels, 4)
    ours = inside / volume**2 - 2 * ties / (degrees[:, None] * volume)
    np.testing.assert_allclose(ours, naive, rtol=1e-9, atol=1e-12)


def test_landmark_features_weigh_columns_equally_and_come_back():
    X, _ = rows_of()
    features = LandmarkFeatures(20, 6).fit(X, 3 * X + 1, generator=torch.Generator().manual_seed(0))
    found = features(X)
    assert abs(float(found.square().sum(1).mean()) - 1) < 1e-5
    assert ((found > 0).sum(1) <= 5).all()
    heaviness = (found / features.scale).sum(0) * features.scale.square()
    torch.testing.assert_close(heaviness, heaviness.mean().expand(20))
    back = features.back(found)
    assert float((back - (3 * X + 1)).square().mean()) < 0.2 * float((3 * X).var())


def test_the_guard_finds_loud_rows_and_leaves_the_others():
    X, _ = rows_of(2)
    X[:20] = 30 * torch.randn(20, 6, generator=torch.Generator().manual_seed(0)) * X.std()
    guard = Guard(100, 6).fit(X, generator=torch.Generator().manual_seed(1))
    found = guard(X)
    assert found[:20].double().mean() > 0.9
    assert found[20:].double().mean() < 0.02


def test_empty_and_corrupt_rows_do_not_count_unless_nothing_else_is_there():
    blocks = [
        np.array([[1.0], [0.0], [0.0], [1.0]], np.float32),
        np.array([[1.0], [1.0], [0.0], [9.0]], np.float32),
    ]
    loud = Guard(1, 1)
    loud.limit.fill_(5.0)
    quiet = Guard(1, 1)
    counts, corrupt = usable(blocks, None, [quiet, loud], np.zeros(2, bool))
    assert counts.tolist() == [[True, True], [False, True], [True, True], [True, False]]
    assert corrupt.tolist() == [[False, False], [False, False], [False, False], [False, True]]
    counts, corrupt = usable(blocks, None, [quiet, loud], np.array([True, False]))
    assert counts[3].tolist() == [False, True]  # corrupt, but the only view that says anything
    assert not corrupt[3].any()


def test_views_side_by_side_weigh_the_same_whatever_their_units():
    X, _ = rows_of()
    views = [X, 1000 * X[:, :2] + 7]
    table = SideBySide(1, [6, 2]).fit(views, torch.ones(200, 2, dtype=torch.bool)).table(views)
    sizes = [float(part.square().sum(1).mean()) for part in (table[:, :6], table[:, 6:])]
    np.testing.assert_allclose(sizes, 1, rtol=1e-4)


def test_moving_rows_raises_modularity_by_what_the_clusters_pull():
    X, y = rows_of()
    graph = joined_graph([table_of_present(X, np.ones(200, bool), 10, generator=torch.Generator())])
    labels = np.random.default_rng(0).integers(4, size=200)
    ties, _, volume = start.cluster_cuts(graph, labels, 4)
    pulls, before = start._pulls(ties, volume, labels), start._modularity(graph, labels, 4)
    for row in range(0, 200, 20):
        for cluster in range(4):
            moved = labels.copy()
            moved[row] = cluster
            gain = 2 * (pulls[row, cluster] - pulls[row, labels[row]]) / graph.sum()
            np.testing.assert_allclose(start._modularity(graph, moved, 4) - before, gain, atol=1e-12)
    spoilt = np.where(np.arange(200) % 3, y, labels)
    better = start.raise_modularity(graph, spoilt, 4, generator=torch.Generator().manual_seed(0))
    assert start._modularity(graph, better, 4) > start._modularity(graph, spoilt, 4)
    assert accuracy(y, better) == 1.0


def test_the_share_that_codes_could_explain_is_the_leading_variance():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(50, 2, generator=generator) @ torch.randn(2, 7, generator=generator)

    class Given:
        rows = None

    Given.rows = [rows, torch.eye(50)]
    shares = fitting.best_shares(Given, 2, 2)
    np.testing.assert_allclose(shares, [1.0, 2 / 50], rtol=1e-4)


def test_a_partition_is_joined_by_the_share_of_neighbours_it_keeps():
    pairs = joined_graph([np.array([[1], [0], [3], [2]])])
    joined = start.JoinedViews(pairs, np.eye(1))
    assert joined.start(torch.tensor([0, 0, 1, 1]), 2).kept == 1.0
    assert joined.start(torch.tensor([0, 1, 1, 1]), 2).kept == 0.5


def test_the_sample_counts_what_the_layers_count_where_a_row_has_only_a_constant_view():
    X, _ = rows_of(n=60)
    constant, mask = np.full((60, 2), 7.0, np.float32), np.ones((60, 2), bool)
    mask[3, 0] = False
    views = as_views([X.numpy(), constant], mask=mask)
    generator = torch.Generator().manual_seed(0)
    sample = fitting.draw_sample(views, guard=True, seed=0, generator=generator)
    counts, corrupt = usable(sample.blocks, sample.there, sample.guards, sample.idle)
    np.testing.assert_array_equal(sample.sound, counts)
    np.testing.assert_array_equal(sample.corrupt, corrupt)
