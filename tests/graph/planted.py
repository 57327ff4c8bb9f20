"""Data whose groups are known because they were planted."""

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs


def islands(*sizes):
    """Return complete graphs that nothing connects, and which row is in which."""
    graph = sparse.block_diag([np.ones((s, s)) - np.eye(s) for s in sizes], format="csr")
    return graph, np.repeat(np.arange(len(sizes)), sizes)


def blobs(sizes, d=6, spread=1.0, distance=8.0, seed=0):
    """Return rows of round groups of these sizes around corners of a simplex, and the groups."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centers = distance * np.eye(max(d, len(sizes)))[: len(sizes)]
    return centers[truth] + spread * rng.normal(size=(len(truth), centers.shape[1])), truth


def rings(n_rows, seed=0):
    """Return two rings, one inside the other, which no means tell apart."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(n_rows) % 2
    angles = rng.random(n_rows) * 2 * np.pi
    rows = (1 + 2 * kinds)[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)
    return rows + 0.05 * rng.normal(size=(n_rows, 2)), kinds


def of_parts(sizes):
    """Return two views, one of which parts six groups in three and the other in two, and the groups."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(6), sizes))
    parts = [3 * rng.normal(size=(3, 8))[truth % 3], 3 * rng.normal(size=(2, 8))[truth // 3]]
    return [(part + rng.normal(size=part.shape)).astype(np.float32) for part in parts], truth


def with_noise_view(n_noise=1):
    """Return a view with six groups, views of noise, and the groups."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(6), 60))
    view = 2 * rng.normal(size=(6, 10))[truth] + rng.normal(size=(360, 10))
    return [view, *(rng.normal(size=(360, 40)) for _ in range(n_noise))], truth


def with_blind_view(seed=0):
    """Return a view that tells five groups, one that takes two of them for one, and the groups.

    One of the others has two halves, which cutting would suit the joined graph better.
    """
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(5), 60))
    half = rng.integers(0, 2, len(truth)) * (truth == 0)
    views = []
    for seen in (truth, np.minimum(truth, 3)):
        centers, apart = 3 * rng.normal(size=(5, 8)), 1.5 * rng.normal(size=(5, 8))[0]
        views.append(centers[seen] + half[:, None] * apart + rng.normal(size=(len(truth), 8)))
    return views, truth


def long_group_beside_small_ones():
    """Return a long group that modularity would rather cut, two small ones that stand apart, and the groups."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [900, 60, 40])
    rows = rng.random((1000, 2))
    rows[truth == 0] *= [40.0, 1.0]
    rows[truth > 0, 1] += 10.0
    rows[truth == 2, 0] += 40.0
    return rows, truth


def answers(n_rows=600, seed=0):
    """Return whole numbers with many equal rows, in three groups, and the groups."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) % 3
    centers = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [5, 5, 5, 5, 9, 9, 9, 9], [9, 9, 9, 9, 3, 3, 3, 3]])
    rows = centers[truth] + rng.binomial(2, 0.2, size=(n_rows, 8))
    return rows.astype(float), truth


def many(k, rows=40, d=10, seed=0):
    """Return k clear groups of equal size, and the groups."""
    return make_blobs(k * rows, d, centers=k, random_state=seed)
