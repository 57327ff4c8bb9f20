"""`PCX` as a person uses it; the properties of spec pcx, section 4, that need a fit."""

import numpy as np
import pytest
import torch
from benchmarks.making import make
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from torch import nn

import coterie
from coterie import PCX, InputError
from coterie.data import load_digits
from coterie.errors import InterruptedWarning
from coterie.methods.pcx import estimator, training
from coterie.metrics import accuracy
from coterie.store import read_archive, write_archive

SMALL = {"hidden": (32, 16), "n_code": 4, "batch_size": 64, "random_state": 0}


def three_gaussians(n=300, d=20, seed=0):
    X, y = make_blobs(n, n_features=d, centers=3, cluster_std=2.0, random_state=seed)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def blobs():
    return three_gaussians()


@pytest.fixture(scope="module")
def fitted(blobs):
    return PCX(3, max_epochs=60, **SMALL).fit(blobs[0])


@pytest.mark.parametrize("seed", range(3))
def test_three_separated_gaussians_are_recovered(seed):
    X, y = three_gaussians(seed=seed)
    X = (X - X.mean(0)) / X.std()
    model = PCX(3, max_epochs=60, **{**SMALL, "random_state": seed}).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_fitted_attributes_have_their_shapes(fitted, blobs):
    X, _ = blobs
    assert fitted.labels_.shape == (300,)
    assert fitted.exemplars_.shape == (3, 20)
    assert fitted.exemplar_indices_.shape == (3,)
    assert fitted.cluster_centers_.shape == (3, 4)
    assert fitted.transform(X).shape == (300, 4)
    assert fitted.predict_proba(X).shape == (300, 3)
    assert 0 < len(fitted.history_) == fitted.n_iter_ <= 60
    assert fitted.n_features_in_ == 20
    assert list(fitted.view_names_in_) == ["X"]
    assert fitted.cluster_sizes_.sum() == 300
    assert fitted.versions_["torch"] == torch.__version__


def test_predict_on_the_training_rows_gives_labels_and_memberships_agree(fitted, blobs):
    X, _ = blobs
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    memberships = fitted.predict_proba(X)
    np.testing.assert_allclose(memberships.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(memberships.argmax(1), fitted.labels_)


def test_assign_gives_labels_and_confidence_in_one_pass(fitted, blobs, monkeypatch):
    X, _ = blobs
    whole = estimator.encode_batches
    passes = []
    monkeypatch.setattr(estimator, "encode_batches", lambda *given: passes.append(1) or whole(*given))
    labels, confidence = fitted.assign(X)
    assert len(passes) == 1
    np.testing.assert_array_equal(labels, fitted.predict(X))
    np.testing.assert_array_equal(confidence, fitted.predict_proba(X).max(1))


def test_the_seed_of_any_fit_repeats_it(blobs):
    X, _ = blobs
    drawn = PCX(3, max_epochs=2, **{**SMALL, "random_state": None}).fit(X)
    again = PCX(3, max_epochs=2, **{**SMALL, "random_state": drawn.seed_}).fit(X)
    assert again.seed_ == drawn.seed_
    np.testing.assert_array_equal(again.transform(X), drawn.transform(X))


def test_the_mean_confidence_is_the_share_of_neighbours_that_agree():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 5)), rng.normal(size=(200, 5)) + 1.5]).astype(np.float32)
    model = PCX(2, max_epochs=20, **SMALL).fit(X)
    confidence = model.predict_proba(X).max(1)
    assert 0.6 < confidence.mean() < 0.999
    distances = ((X[:, None] - X) ** 2).sum(2)
    np.fill_diagonal(distances, np.inf)
    table = distances.argsort(1)[:, :10]
    shares = np.array([[len(set(table[i]) & set(table[j])) for j in table[i]] for i in range(400)])
    agree = (shares * (model.labels_[table] == model.labels_[:, None])).sum() / shares.sum()
    assert confidence.mean() == pytest.approx(agree, abs=0.02)


def test_exemplars_lie_near_the_rows_of_their_cluster_and_indices_name_the_nearest_row(fitted, blobs):
    X, _ = blobs
    codes = fitted.transform(X)
    distances = ((codes[:, None] - fitted.cluster_centers_) ** 2).sum(2)
    np.testing.assert_array_equal(distances.argmin(0), fitted.exemplar_indices_)
    means = np.stack([X[fitted.labels_ == k].mean(0) for k in range(3)])
    nearest = ((fitted.exemplars_[:, None] - means) ** 2).sum(2).argmin(1)
    np.testing.assert_array_equal(nearest, [0, 1, 2])


def test_saving_and_loading_changes_nothing_that_can_be_seen(fitted, blobs, tmp_path):
    X, _ = blobs
    path = tmp_path / "model.coterie"
    fitted.save(path)
    loaded = coterie.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    np.testing.assert_array_equal(loaded.exemplars_, fitted.exemplars_)
    np.testing.assert_array_equal(loaded.exemplar_indices_, fitted.exemplar_indices_)
    assert loaded.history_ == fitted.history_
    assert loaded.get_params() == fitted.get_params()
    assert loaded.seed_ == fitted.seed_
    assert loaded.metric_ == fitted.metric_
    assert path.stat().st_size < 200_000


def test_an_unknown_parameter_is_an_error():
    with pytest.raises(TypeError, match="n_cluster"):
        PCX(n_cluster=3)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_clusters": 0}, "n_clusters=0 does not fit PCX: it must be a whole number of at least 1"),
        ({"n_clusters": 2.5}, "n_clusters=2.5 does not fit PCX"),
        (
            {"hold": 1.5},
            "hold=1.5 does not fit PCXOptions: it must be a number of at least 0 and at most 1",
        ),
        (
            {"init": "random"},
            "init='random' does not fit PCXOptions: it must be 'graph', 'kmeans' or 'xavier'",
        ),
        ({"preset": "papper"}, "preset='papper' does not fit PCX: it must be None, 'paper' or 'authors'"),
        ({"ci_unit": "yes"}, "ci_unit='yes' does not fit PCXOptions: it must be True or False"),
        ({"hidden": (10, 0)}, r"hidden=\(10, 0\) does not fit PCX"),
        ({"encoder": "conv"}, "encoder='conv' needs image_shape"),
        ({"encoder": "conv", "image_shape": (3, 3)}, r"has 9 pixels, but rows have 20 features"),
        ({"scale": "weird"}, "weird"),
        ({"device": "cuda:99"}, "device='cuda:99' cannot be used"),
        ({"reconstruction": "bce"}, "reconstruction='bce' needs values from 0 to 1"),
        ({"n_clusters": 301}, "n_samples=300 should be >= n_clusters=301"),
        ({"encoder": (nn.Linear(20, 4),)}, r"give encoder=\(encoder, decoder\), two modules"),
    ],
)
def test_a_bad_parameter_is_one_sentence_and_fit_is_where_it_is_found(blobs, params, words):
    model = make(PCX, **{**SMALL, "n_clusters": 3, "max_epochs": 1, **params})
    with pytest.raises(InputError, match=words):
        model.fit(blobs[0])


def test_a_row_with_nan_is_named(blobs):
    X = blobs[0].copy()
    X[17, 3] = np.nan
    with pytest.raises(InputError, match="row 17"):
        PCX(3, max_epochs=1, **SMALL).fit(X)


def test_a_constant_column_does_no_harm(blobs):
    X, y = blobs
    X = np.hstack([X, np.full((300, 1), 7.0, dtype=np.float32)])
    model = PCX(3, max_epochs=60, **SMALL).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert np.isfinite(model.exemplars_).all()


def test_other_columns_than_in_fit_are_an_error(fitted):
    with pytest.raises(ValueError, match="X has 19 features, but PCX is expecting 20 features as input"):
        fitted.predict(np.zeros((2, 19)))


def test_columns_of_other_units_are_standardised_and_pixels_are_not():
    X, y = three_gaussians()
    mixed = X * np.where(np.arange(20) == 0, 1e4, 1.0).astype(np.float32)
    model = PCX(3, max_epochs=60, **SMALL).fit(mixed)
    assert model.scaler_.modes_ == ("feature",)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert PCX(3, max_epochs=1, **SMALL).fit(X).scaler_.modes_ == ("none",)


def test_several_views_are_put_side_by_side_and_their_exemplars_taken_apart(blobs):
    X, y = blobs
    model = PCX(3, max_epochs=60, **SMALL).fit({"left": X[:, :12], "right": X[:, 12:]})
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert [part.shape for part in model.exemplars_] == [(3, 12), (3, 8)]
    assert list(model.view_names_in_) == ["left", "right"]
    grouped = PCX(3, max_epochs=60, views=[12, 8], **SMALL).fit(X)
    np.testing.assert_array_equal(grouped.labels_, model.labels_)


def test_a_missing_view_is_refused_with_its_name(blobs):
    X = blobs[0]
    right = X[:, 12:].copy()
    right[5] = np.nan
    model = PCX(3, max_epochs=1, **SMALL)
    fitted = clone(model).fit({"left": X[:, :12], "right": X[:, 12:]})
    for use in (model.fit, fitted.partial_fit, fitted.predict, fitted.transform):
        with pytest.raises(InputError, match="view 'right' is missing in row 5"):
            use({"left": X[:, :12], "right": right})


def test_a_file_on_disk_gives_the_clusters_of_the_same_rows_in_memory(blobs, tmp_path):
    X, y = blobs
    np.save(tmp_path / "rows.npy", X)
    model = PCX(3, max_epochs=60, **SMALL).fit(tmp_path / "rows.npy")
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_run_that_was_killed_goes_on_to_the_same_labels_bit_for_bit(
    blobs, tmp_path, monkeypatch, checkpoint_every_epoch
):
    X, _ = blobs
    whole = PCX(3, max_epochs=8, **SMALL).fit(X)
    path = str(tmp_path / "run.coterie")
    from coterie.engine import callbacks

    original = callbacks.Checkpoint.on_epoch_end

    def dies(self, loop, record):
        original(self, loop, record)
        if loop.epoch == 7:
            raise SystemExit

    monkeypatch.setattr(callbacks.Checkpoint, "on_epoch_end", dies)
    with pytest.raises(SystemExit):
        PCX(3, max_epochs=8, checkpoint=path, **SMALL).fit(X)
    monkeypatch.undo()
    resumed = PCX(3, max_epochs=8, checkpoint=path, **SMALL).fit(X)
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    np.testing.assert_array_equal(resumed.cluster_centers_, whole.cluster_centers_)


def test_without_random_state_a_resumed_run_keeps_the_seed_of_its_checkpoint(blobs, tmp_path):
    X, _ = blobs
    options = {**SMALL, "random_state": None, "max_epochs": 2, "checkpoint": str(tmp_path / "c")}
    first = PCX(3, **options).fit(X)
    second = PCX(3, **options).fit(X)
    assert second.seed_ == first.seed_
    np.testing.assert_array_equal(second.transform(X), first.transform(X))


def test_a_checkpoint_of_other_data_is_refused(blobs, tmp_path):
    X, _ = blobs
    options = {**SMALL, "max_epochs": 2, "checkpoint": str(tmp_path / "c")}
    PCX(3, **options).fit(X)
    with pytest.raises(InputError, match="belongs to a run with another data"):
        PCX(3, **options).fit(X + 1)
    with pytest.raises(InputError, match="belongs to a run with another parameters"):
        make(PCX, 3, **{**options, "tau": 2.0}).fit(X)


def test_an_interrupt_leaves_a_model_that_labels_rows(blobs, monkeypatch):
    from coterie.methods.pcx.training import PCXTask

    original = PCXTask.begin_epoch

    def interrupted(self, epoch):
        if epoch == 3:
            raise KeyboardInterrupt
        original(self, epoch)

    monkeypatch.setattr(PCXTask, "begin_epoch", interrupted)
    X, _ = blobs
    with pytest.warns(InterruptedWarning, match="^Interrupted in epoch 4 of 20"):
        model = PCX(3, max_epochs=20, **SMALL).fit(X)
    assert model.n_iter_ == 3
    assert len(np.unique(model.labels_)) == 3
    assert model.predict(X[:5]).shape == (5,)


def test_a_stream_keeps_the_numbers_of_its_clusters():
    X, y = three_gaussians(900)
    model = PCX(3, max_epochs=60, **SMALL)
    model.partial_fit(X[:300])
    epochs = model.n_iter_
    before = model.predict(X)
    centers = model.cluster_centers_.copy()
    for start in (300, 600):
        model.partial_fit(X[start : start + 300])
    after = model.predict(X)
    assert (before == after).mean() > 0.98
    assert adjusted_rand_score(y, after) > 0.95
    assert model.labels_.shape == (300,)
    assert len(model.history_) == epochs + 2
    assert not np.array_equal(centers, model.cluster_centers_)


def test_a_stream_follows_at_a_tenth_of_the_rate_that_the_preset_set(blobs, monkeypatch):
    rates = []

    def watched(task, *args):
        rates.append(task.optimizer.rate)
        return training.train(task, *args)

    monkeypatch.setattr("coterie.methods.pcx.estimator.train", watched)
    model = PCX(3, preset="paper", max_epochs=1, **SMALL)
    model.partial_fit(blobs[0]).partial_fit(blobs[0])
    assert rates == pytest.approx([5e-4, 5e-5])


def test_a_stream_may_go_on_from_a_loaded_model(fitted, blobs, tmp_path):
    fitted.save(tmp_path / "m")
    loaded = coterie.load(tmp_path / "m").partial_fit(blobs[0])
    assert (loaded.labels_ == fitted.labels_).mean() > 0.98


def test_a_custom_network_is_copied_and_comes_back_when_it_is_given_again(blobs, tmp_path):
    X, y = blobs
    encoder, decoder = nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 4)), nn.Linear(4, 20)
    weights = encoder[0].weight.detach().clone()
    model = PCX(3, max_epochs=60, encoder=(encoder, decoder), **SMALL).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert torch.equal(encoder[0].weight, weights)
    model.save(tmp_path / "m")
    with pytest.raises(InputError, match="saved with a custom encoder; load it with encoder="):
        coterie.load(tmp_path / "m")
    loaded = coterie.load(tmp_path / "m", encoder=(encoder, decoder))
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


def test_convolutional_networks_cluster_images():
    digits = load_digits()
    X = digits.views.read(slice(0, 300))[0]
    model = PCX(10, encoder="conv", image_shape=(8, 8), max_epochs=40, batch_size=64, random_state=0).fit(X)
    assert model.exemplars_.shape == (10, 64)
    assert accuracy(digits.target[:300], model.labels_) > 0.5
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_binary_reconstruction_gives_exemplars_between_zero_and_one(blobs):
    X = blobs[0]
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    model = make(PCX, 3, reconstruction="bce", max_epochs=5, **SMALL).fit(X)
    assert model.exemplars_.min() >= 0
    assert model.exemplars_.max() <= 1


def test_answers_of_which_many_are_copies_are_not_islands():
    rng = np.random.default_rng(0)
    alike = 1 + (rng.random((300, 6)) < 0.12) * rng.integers(1, 3, (300, 6))
    spread = np.clip(np.round(rng.normal(6, 2.5, (150, 1)) + rng.normal(0, 2, (150, 6))), 1, 10)
    X = np.vstack([alike, spread])
    assert len(np.unique(X, axis=0)) < 250
    model = PCX(2, hidden=(32,), random_state=0).fit(X)
    assert accuracy(np.repeat([0, 1], [300, 150]), model.labels_) > 0.95


def test_a_model_whose_encoder_saw_all_columns_loads_as_it_was_saved_before(fitted, blobs, tmp_path):
    fitted.save(tmp_path / "m")
    manifest, arrays = read_archive(tmp_path / "m")
    assert manifest["fitted"].pop("n_axes") == 20
    for name in ("axes", "spread"):
        arrays.pop(f"network.projection.{name}")
    arrays = {name.replace("network.projection.space.", "network.space."): a for name, a in arrays.items()}
    manifest["params"]["options"] = {"warmup": 0.5}
    write_archive(tmp_path / "m", manifest, arrays)
    loaded = coterie.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(blobs[0]), fitted.predict_proba(blobs[0]))
