"""`SSCNet` as a person uses it; the properties of spec sscnet, section 4, that need a fit."""

import numpy as np
import pytest
import torch
from benchmarks.making import make
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie import InputError, SSCNet
from coterie.data import as_views
from coterie.engine import loop as loops
from coterie.methods.sscnet.training import start_clusters, train
from coterie.metrics import accuracy

SMALL = {
    "n_atoms": 32,
    "n_landmarks": 150,
    "graph_neighbors": 8,
    "n_neighbors": 8,
    "batch_size": 64,
    "random_state": 0,
}


class PowerCutError(Exception):
    """Ends a run between two epochs."""


def subspaces(n=100, d=20, dim=2, k=3, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows near k random linear subspaces, off the origin along a direction of their own."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), n)
    bases = np.linalg.qr(rng.normal(size=(k, d, dim)))[0]
    weights = np.abs(rng.normal(size=(k * n, dim))) + 0.5
    X = np.einsum("nf,ndf->nd", weights, bases[y]) + 0.02 * rng.normal(size=(k * n, d))
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def rows():
    return subspaces()


@pytest.fixture(scope="module")
def fitted(rows):
    return make(SSCNet, 3, max_epochs=20, settle=False, metric="euclidean", **SMALL).fit(rows[0])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dictionary", ["linear", "mlp"])
def test_subspaces_are_recovered(dictionary, seed):
    X, y = subspaces(seed=seed)
    params = {**SMALL, "random_state": seed, "dictionary": dictionary, "hidden": (32,)}
    assert adjusted_rand_score(y, make(SSCNet, 3, max_epochs=40, **params).fit(X).labels_) > 0.9


def test_fitted_attributes_have_their_shapes(fitted, rows):
    X, _ = rows
    assert fitted.labels_.shape == (300,)
    assert fitted.exemplar_indices_.shape == (3,)
    assert fitted.atoms_.shape == (32, 20)
    assert fitted.atom_use_.shape == (3, 32)
    assert fitted.sparsity_.shape == fitted.reconstruction_.shape == (300,)
    assert fitted.landmark_graph_.shape == (150, 150)
    assert fitted.landmark_places_.shape == (150, 3)
    assert fitted.transform(X).shape == (300, 32)
    assert fitted.encode(X).shape == (300, 32)
    assert len(fitted.history_) == fitted.n_iter_ == 20


def test_what_is_said_of_rows_follows_from_their_codes(fitted, rows):
    X, _ = rows
    codes = fitted.encode(X)
    np.testing.assert_allclose(fitted.sparsity_, (codes == 0).mean(1), atol=1e-6)
    for cluster in range(3):
        mean = np.abs(codes[fitted.labels_ == cluster]).mean(0)
        np.testing.assert_allclose(fitted.atom_use_[cluster], mean, rtol=1e-4, atol=1e-6)
    assert (fitted.labels_[fitted.exemplar_indices_] == np.arange(3)).all()
    decoded = codes @ fitted.atoms_ + X.mean(0)
    error = np.linalg.norm(X - decoded, axis=1) / np.linalg.norm(X - X.mean(0), axis=1)
    np.testing.assert_allclose(fitted.reconstruction_, error, rtol=1e-3, atol=1e-4)


def test_more_weight_on_sparsity_makes_sparser_codes(rows):
    X, _ = rows
    full, sparse = (make(SSCNet, 3, max_epochs=15, sparsity=s, **SMALL).fit(X) for s in (0.0, 0.5))
    assert sparse.sparsity_.mean() > full.sparsity_.mean() + 0.2
    assert full.reconstruction_.mean() < 0.5


def test_labels_are_the_classifiers_and_agree_with_the_landmarks(fitted, rows):
    X, y = rows
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict_proba(X).argmax(1), fitted.labels_)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(1), 1, atol=1e-5)
    assert accuracy(y, fitted.labels_) > 0.95


def test_a_row_alone_gets_the_label_it_gets_in_company(fitted, rows):
    X, _ = rows
    whole = fitted.predict_proba(X)
    state = {name: value.clone() for name, value in fitted.modules_.network.state_dict().items()}
    for row in (0, 7, 299):
        np.testing.assert_array_equal(fitted.predict_proba(X[row : row + 1])[0], whole[row])
    np.testing.assert_array_equal(fitted.predict_proba(X), whole)
    for name, value in fitted.modules_.network.state_dict().items():
        assert torch.equal(value, state[name])


def test_new_rows_are_labelled_like_the_old(rows):
    X, y = rows
    order = np.random.default_rng(1).permutation(300)
    known, new = order[:240], order[240:]
    model = make(SSCNet, 3, max_epochs=30, **SMALL).fit(X[known])
    both = np.concatenate([model.labels_, model.predict(X[new])])
    assert accuracy(np.concatenate([y[known], y[new]]), both) > 0.95


def test_a_saved_model_is_the_same_and_can_go_on(fitted, rows, tmp_path):
    X, _ = rows
    path = tmp_path / "model.coterie"
    fitted.save(path)
    loaded = coterie.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.atoms_, fitted.atoms_)
    np.testing.assert_array_equal(loaded.landmark_labels_, fitted.landmark_labels_)
    assert (loaded.landmark_graph_ != fitted.landmark_graph_).nnz == 0
    assert loaded.metric_ == fitted.metric_
    loaded.partial_fit(X[:120])
    assert loaded.n_iter_ == fitted.n_iter_ + 1


def test_partial_fit_keeps_the_numbers_of_clusters(rows):
    X, _ = rows
    model = make(SSCNet, 3, max_epochs=30, **SMALL).partial_fit(X)
    before = model.labels_.copy()
    more, more_y = subspaces(n=40)
    for _ in range(3):
        model.partial_fit(more)
    assert len(model.labels_) == 120
    assert accuracy(more_y, model.labels_) > 0.95
    assert (model.predict(X) == before).mean() > 0.97


def test_a_run_that_was_stopped_goes_on_to_the_same_result(rows, tmp_path, checkpoint_every_epoch):
    X, _ = rows
    whole = make(SSCNet, 3, max_epochs=8, **SMALL).fit(X)
    path = tmp_path / "run.ckpt"

    original = loops.Loop.run_epoch

    def stop_after_six(self):
        if self.epoch == 6:
            raise PowerCutError
        original(self)

    params = {"max_epochs": 8, "checkpoint": path, **SMALL}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops.Loop, "run_epoch", stop_after_six)
        with pytest.raises(PowerCutError):
            make(SSCNet, 3, **params).fit(X)
    resumed = make(SSCNet, 3, **params).fit(X)
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)


@pytest.mark.parametrize("joint", [True, False])
def test_only_joint_training_sends_the_later_losses_into_the_blocks(rows, joint, task_of):
    X, _ = rows
    quiet = {"coding_weight": 0.0, "spectral_weight": 0.15, "max_epochs": 3, "joint": joint}
    task, initial = task_of(make(SSCNet, 3, **quiet, **SMALL), X)
    before = task.network.coder.dictionary.matrix.detach().clone()
    train(task, initial)
    after = task.network.coder.dictionary.matrix.detach()
    assert torch.allclose(before, after, atol=1e-6) != joint


def test_the_three_phases_take_turns(rows, task_of):
    X, _ = rows
    all_on = {"turns": True, "spectral_weight": 0.15, "neighbor_weight": 1.0}
    task, initial = task_of(make(SSCNet, 3, max_epochs=1, **all_on, **SMALL), X)
    start_clusters(task, initial)
    task.begin_epoch(0)
    terms = [set(task.losses(batch)[0]) for batch in task.batches.epoch(0, task.pairs)]
    first = {"loss", "coding", "contrast"}
    assert terms[:3] == [first, first | {"spectral"}, first | {"spectral", "assignment"}]
    assert terms[3] == first


def test_data_on_disk_and_several_views_give_what_one_array_gives(rows, tmp_path):
    X, _ = rows
    np.save(tmp_path / "rows.npy", X)
    one = make(SSCNet, 3, max_epochs=2, **SMALL).fit(X)
    disk = make(SSCNet, 3, max_epochs=2, **SMALL).fit(as_views(tmp_path / "rows.npy"))
    np.testing.assert_array_equal(one.labels_, disk.labels_)
    views = make(SSCNet, 3, max_epochs=2, **SMALL).fit([X[:, :5], X[:, 5:]])
    np.testing.assert_array_equal(one.labels_, views.labels_)
    assert [len(part[0]) for part in views.atoms_] == [5, 15]


def test_images_go_through_a_convolutional_dictionary():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(0, 0.1, size=(80, 64)).astype(np.float32)
    X[y == 0, :32] += 1
    X[y == 1, 32:] += 1
    params = {**SMALL, "dictionary": "conv", "image_shape": (8, 8), "n_landmarks": 60}
    model = make(SSCNet, 2, max_epochs=10, **params).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.atoms_.shape == (512, 64)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_landmarks": 3}, "n_landmarks=3 of 300 rows cannot be cut into n_clusters=3"),
        ({"dictionary": "conv"}, "dictionary='conv' needs image_shape"),
        ({"dictionary": "conv", "image_shape": (3, 5)}, "has 15 pixels, but rows have 20 features"),
        ({"dictionary": "deep"}, "dictionary"),
        ({"sparsity": -1}, "sparsity"),
        ({"n_blocks": 1.5}, "n_blocks"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(rows, params, message):
    with pytest.raises(InputError, match=message):
        make(SSCNet, 3, **{**SMALL, **params}).fit(rows[0])


def test_duplicate_rows_and_constant_columns_do_no_harm():
    X = np.repeat(np.eye(4, 6, dtype=np.float32), 20, axis=0)
    model = make(SSCNet, 4, max_epochs=10, **SMALL).fit(X)
    assert adjusted_rand_score(np.repeat(np.arange(4), 20), model.labels_) == 1
    assert np.isfinite(model.transform(X)).all()
