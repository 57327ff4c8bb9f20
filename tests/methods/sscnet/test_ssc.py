"""`SSC` as a person uses it."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import coterie
from coterie import SSC, InputError
from coterie.methods.sscnet.ssc import _best_tied
from coterie.metrics import accuracy

QUIET = {"random_state": 0}


def subspaces(k=3, size=25, dimension=3, features=30, noise=0.0, seed=0):
    """Rows on k random linear subspaces, of very different lengths, shuffled."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(size, dimension)) @ rng.normal(size=(dimension, features)) for _ in range(k)]
    X = np.vstack(rows) + noise * rng.normal(size=(k * size, features))
    X *= rng.uniform(0.1, 10, size=(k * size, 1))
    order = rng.permutation(k * size)
    return X[order].astype(np.float32), np.repeat(np.arange(k), size)[order]


@pytest.fixture(scope="module")
def data():
    return subspaces(noise=0.02)


@pytest.fixture(scope="module")
def fitted(data):
    return SSC(3, **QUIET).fit(data[0])


@pytest.mark.parametrize("error", ["column", "element"])
@pytest.mark.parametrize("n_axes", ["auto", None])
def test_a_union_of_subspaces_is_found_exactly_where_k_means_finds_nothing(error, n_axes):
    X, truth = subspaces()
    model = SSC(3, error=error, n_axes=n_axes, **QUIET).fit(X)
    assert accuracy(truth, model.labels_) == 1
    ties = model.affinity_.toarray()
    assert ties[truth[:, None] != truth].sum() < 0.01 * ties.sum()


def test_gross_errors_in_single_features_are_for_the_element_wise_form():
    X, truth = subspaces(k=2, features=40, dimension=2)
    rng = np.random.default_rng(1)
    hit = rng.random(X.shape) < 0.05
    X = np.where(hit, X + 10 * X.std(axis=1, keepdims=True), X)
    element, column = (SSC(2, error=error, n_axes=None, **QUIET).fit(X) for error in ("element", "column"))
    assert accuracy(truth, element.labels_) > 0.95
    strays = [
        model.affinity_.toarray()[truth[:, None] != truth].sum() / model.affinity_.sum()
        for model in (element, column)
    ]
    assert strays[0] < 0.7 * strays[1]


def test_what_was_found_is_described(data, fitted):
    truth = data[1]
    assert accuracy(truth, fitted.labels_) == 1
    assert fitted.cluster_sizes_.tolist() == [25, 25, 25]
    np.testing.assert_array_equal(fitted.labels_[fitted.exemplar_indices_], np.arange(3))
    assert (fitted.affinity_ != fitted.affinity_.T).nnz == 0
    assert fitted.affinity_.diagonal().sum() == 0
    assert fitted.affinity_.max() <= 2
    assert (fitted.affinity_.max(axis=1).toarray() >= 1 - 1e-9).all()
    assert 0.8 < fitted.sparsity_ < 1
    assert (fitted.gaps_ <= fitted.tol).all()
    assert fitted.history_ == []
    inside = np.array([fitted.affinity_[i, fitted.labels_ == fitted.labels_[i]].sum() for i in range(75)])
    for cluster, row in enumerate(fitted.exemplar_indices_):
        assert inside[row] == pytest.approx(inside[fitted.labels_ == cluster].max())


def test_the_order_and_the_length_of_rows_do_not_matter(data, fitted):
    X, _ = data
    order = np.random.default_rng(2).permutation(75)
    plain, turned = (SSC(3, tol=1e-3, **QUIET).fit(rows) for rows in (X, X[order]))
    np.testing.assert_allclose(
        turned.affinity_.toarray(), plain.affinity_.toarray()[order][:, order], atol=0.05
    )
    assert accuracy(fitted.labels_[order], turned.labels_) == 1
    longer = SSC(3, **QUIET).fit(X * 1000)
    np.testing.assert_array_equal(longer.labels_, fitted.labels_)


def test_rows_seen_in_fit_keep_their_labels_and_new_ones_join_their_subspace(data, fitted):
    X, truth = data
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    shares = fitted.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert (shares.max(axis=1) == 1).all()
    mixed = np.vstack([X[truth == c][:8] + X[truth == c][8:16] for c in range(3)])
    names = [fitted.labels_[truth == c][0] for c in range(3)]
    np.testing.assert_array_equal(fitted.predict(mixed), np.repeat(names, 8))
    np.testing.assert_array_equal(fitted.predict(-mixed), np.repeat(names, 8))


def test_memberships_are_shares_of_the_code_and_the_embedding_is_their_mean(data, fitted):
    X = torch.from_numpy(data[0][:4] + 0.1)
    shares = torch.cat(list(fitted._shares(X.numpy()))).numpy()
    by_hand = [[shares[i, fitted.labels_ == c].sum() for c in range(3)] for i in range(4)]
    np.testing.assert_allclose(fitted.predict_proba(X.numpy()), by_hand, atol=1e-6)
    np.testing.assert_allclose(
        fitted.transform(X.numpy()), shares @ fitted._embedding.numpy(), rtol=1e-5, atol=1e-6
    )


def test_a_row_without_a_code_takes_the_cluster_of_the_nearest():
    X = np.zeros((20, 8), dtype=np.float32)
    X[:10, :2], X[10:, 2:4] = np.random.default_rng(0).normal(size=(2, 10, 2))
    model = SSC(2, n_axes=None, **QUIET).fit(X)
    stranger = np.eye(8, dtype=np.float32)[7:]
    assert model.predict_proba(stranger).max() == 1
    zero = model.predict(np.zeros((1, 8)))
    assert zero[0] in (0, 1)


def test_rows_of_zeros_and_copies_of_rows_are_no_trouble(data):
    X, truth = data
    rows = np.vstack([X, X[:20], np.zeros((2, 30))])
    model = SSC(3, **QUIET).fit(rows)
    assert accuracy(truth, model.labels_[:75]) > 0.9
    assert np.isfinite(model.transform(rows)).all()


def test_views_lie_side_by_side_and_a_missing_one_is_an_error(data, fitted):
    X, _ = data
    model = SSC(3, **QUIET).fit([X[:, :10], X[:, 10:]])
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    gaps = X[:, :10].copy()
    gaps[4] = np.nan
    with pytest.raises(InputError, match="SSC needs every view of every row, but"):
        SSC(3, **QUIET).fit([gaps, X[:, 10:]])
    with pytest.raises(InputError, match="missing in row 4"):
        model.predict([gaps, X[:, 10:]])


def test_a_saved_model_predicts_the_same(data, fitted, tmp_path):
    X, _ = data
    for model in (fitted, SSC(3, n_axes=12, **QUIET).fit(X)):
        model.save(tmp_path / "model.coterie")
        loaded = coterie.load(tmp_path / "model.coterie")
        np.testing.assert_array_equal(loaded.predict_proba(X[:9] + 0.1), model.predict_proba(X[:9] + 0.1))
        np.testing.assert_array_equal(loaded.transform(X[:9]), model.transform(X[:9]))
        assert (loaded.affinity_ != model.affinity_).nnz == 0
        assert loaded.sparsity_ == model.sparsity_
        np.testing.assert_array_equal(loaded.exemplar_indices_, model.exemplar_indices_)


def test_few_axes_are_those_of_most_weight_through_the_origin(data):
    X, truth = data
    model = SSC(3, n_axes=9, **QUIET).fit(X)
    assert model._rows.shape == (75, 9)
    np.testing.assert_allclose(model._rows.norm(dim=1).numpy(), 1, rtol=1e-5)
    assert accuracy(truth, model.labels_) == 1
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    lost = ((unit - unit @ model._axes.numpy() @ model._axes.numpy().T) ** 2).sum()
    assert lost == pytest.approx((np.linalg.svd(unit)[1][9:] ** 2).sum(), rel=1e-3)


def test_errors_are_weighed_by_the_largest_coherence_with_another_row(data, fitted):
    unit = data[0] / np.linalg.norm(data[0], axis=1, keepdims=True)
    likeness = np.abs(unit @ fitted._axes.numpy() @ fitted._axes.numpy().T @ unit.T)
    size = np.linalg.norm(unit @ fitted._axes.numpy(), axis=1)
    likeness /= size[:, None] * size
    np.fill_diagonal(likeness, 0)
    found = fitted._error_weights(fitted._rows, forbid_self=True)
    np.testing.assert_allclose(found.numpy(), 3 / likeness.max(axis=1), rtol=1e-4)


def test_an_exemplar_is_of_its_own_cluster_even_where_ties_go_elsewhere():
    ties = np.zeros((5, 5))
    ties[0, 1] = ties[3, 4] = 1
    ties[2, 3] = 9
    graph = sparse.csr_matrix(ties + ties.T)
    assert _best_tied(graph, np.array([0, 0, 0, 1, 1]), 2).tolist() == [0, 3]


def test_too_few_steps_warn(data):
    with pytest.warns(ConvergenceWarning, match="allow more steps"):
        SSC(3, max_iter=2, **QUIET).fit(data[0])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_rows": 50}, r"X has 75 rows, but SSC .* at most max_rows=50; use SSCNet"),
        ({"n_clusters": 80}, "n_samples=75 should be >= n_clusters=80 and at least 2"),
        ({"error": "row"}, "error='row' does not fit SSC: it must be 'column' or 'element'"),
        ({"error_weight": 0}, "error_weight=0 does not fit SSC: it must be a number above 0"),
        ({"n_axes": 0}, "n_axes=0 does not fit SSC"),
        ({"max_iter": 0}, "max_iter=0 does not fit SSC"),
    ],
)
def test_mistakes_are_named_in_one_sentence(data, params, message):
    with pytest.raises(InputError, match=message) as caught:
        SSC(**params, **QUIET).fit(data[0])
    assert "\n" not in str(caught.value)
