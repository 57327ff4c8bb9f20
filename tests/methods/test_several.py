"""What methods for several views share: scalings, guards, views side by side, the sample."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.datasets import load_wine, make_blobs

from coterie import MVSIB, LargeMvCNet
from coterie.data import as_views
from coterie.graph.agreement import neighbours_of_present
from coterie.graph.concatenation import Concatenation
from coterie.graph.initial import share_inside
from coterie.graph.outliers import Guard, usable
from coterie.graph.scaling import choose_scalings, draw_sample
from coterie.metrics import accuracy


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
            tables[v, mode] = neighbours_of_present(scaled.astype(np.float32), np.ones(200, bool), 10)
    assert choose_scalings(tables, 2) == ["sample", "sample"]


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
    table = Concatenation([6, 2]).fit(views, torch.ones(200, 2, dtype=torch.bool)).table(views)
    sizes = [float(part.square().sum(1).mean()) for part in (table[:, :6], table[:, 6:])]
    np.testing.assert_allclose(sizes, 1, rtol=1e-4)


def test_a_partition_keeps_the_share_of_the_ties_inside_its_clusters():
    pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    assert share_inside(pairs, np.array([0, 0, 1, 1]), 2) == 1.0
    assert share_inside(pairs, np.array([0, 1, 1, 1]), 2) == 0.5


def test_the_sample_counts_what_the_layers_count_where_a_row_has_only_a_constant_view():
    X, _ = rows_of(n=60)
    constant, mask = np.full((60, 2), 7.0, np.float32), np.ones((60, 2), bool)
    mask[3, 0] = False
    views = as_views([X.numpy(), constant], mask=mask)
    generator = torch.Generator().manual_seed(0)
    sample = draw_sample(views, guard=True, seed=0, generator=generator)
    counts, corrupt = usable(sample.blocks, sample.there, sample.guards, sample.idle)
    np.testing.assert_array_equal(sample.sound, counts)
    np.testing.assert_array_equal(sample.corrupt, corrupt)


@pytest.mark.parametrize("method", [LargeMvCNet(2, random_state=0), MVSIB(2, max_epochs=2, random_state=0)])
def test_a_group_a_ninth_as_large_as_the_other_is_found(method):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [450, 50])
    rows = 6 * rng.normal(size=(2, 10))[y] + rng.normal(size=(500, 10))
    assert accuracy(y, method.fit(rows).labels_) > 0.99


@pytest.mark.parametrize("method", [LargeMvCNet(3, random_state=0), MVSIB(3, max_epochs=2, random_state=0)])
def test_columns_of_different_units_count_alike_in_a_single_table(method):
    X, y = load_wine(return_X_y=True)  # one column in the hundreds, the others about one
    fitted = method.fit(X)
    assert fitted.scaler_.modes_[0] in ("feature", "minmax", "log")
    assert accuracy(y, fitted.labels_) > 0.9
