"""Cuts of graphs: moving rows lowers the normalised cut and raises modularity by what the formulas say."""

import numpy as np
import torch
from sklearn.datasets import make_blobs

from coterie.metrics import accuracy
from coterie.ops import cuts
from coterie.ops.communities import cluster_cuts
from coterie.ops.graphs import joined_graph, table_of_present


def rows_of(seed=0, n=200, d=6, k=4):
    X, y = make_blobs(n, n_features=d, centers=k, cluster_std=1.0, random_state=seed)
    return torch.from_numpy(X.astype(np.float32)), y


def test_moving_rows_lowers_thenormalised_cut_and_finds_the_groups():
    X, y = rows_of()
    graph = joined_graph([table_of_present(X, np.ones(200, bool), 10, generator=torch.Generator())])
    spoilt = y.copy()
    spoilt[::5] = (spoilt[::5] + 1) % 4
    better = cuts.lower_cut(graph, spoilt, 4)
    assert cuts.normalised_cut(graph, better, 4) < cuts.normalised_cut(graph, spoilt, 4)
    assert accuracy(y, better) > accuracy(y, spoilt)
    found = cuts.find_partitions(graph, 4, generator=torch.Generator().manual_seed(0))
    assert accuracy(y, found.modular) == accuracy(y, found.low) == 1.0


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
    ties, inside, volume = cluster_cuts(graph, labels, 4)
    ours = inside / volume**2 - 2 * ties / (degrees[:, None] * volume)
    np.testing.assert_allclose(ours, naive, rtol=1e-9, atol=1e-12)


def test_moving_rows_raises_modularity_by_what_the_clusters_pull():
    X, y = rows_of()
    graph = joined_graph([table_of_present(X, np.ones(200, bool), 10, generator=torch.Generator())])
    labels = np.random.default_rng(0).integers(4, size=200)
    ties, _, volume = cluster_cuts(graph, labels, 4)
    pulls, before = cuts._pulls(ties, volume, labels), cuts.modularity_of(graph, labels, 4)
    for row in range(0, 200, 20):
        for cluster in range(4):
            moved = labels.copy()
            moved[row] = cluster
            gain = 2 * (pulls[row, cluster] - pulls[row, labels[row]]) / graph.sum()
            np.testing.assert_allclose(cuts.modularity_of(graph, moved, 4) - before, gain, atol=1e-12)
    spoilt = np.where(np.arange(200) % 3, y, labels)
    better = cuts.raise_modularity(graph, spoilt, 4, generator=torch.Generator().manual_seed(0))
    assert cuts.modularity_of(graph, better, 4) > cuts.modularity_of(graph, spoilt, 4)
    assert accuracy(y, better) == 1.0
