"""`LargeMvCNet` as a person uses it; spec largemvc, section 4, properties 8, 11 and 12."""

import gc
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.making import make
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie import InputError, LargeMvCNet, amputate, as_views, write_report
from coterie.data import views as data_views
from coterie.graph import scaling
from coterie.methods.largemvc import estimator, fitting, inputs
from coterie.methods.largemvc.inputs import Passes
from coterie.methods.largemvc.training import LargeMvCTask
from coterie.metrics import accuracy
from coterie.store import write_archive

QUICK = {"n_landmarks": 40, "random_state": 0}


def two_views(n=240, seed=0, noise=1.0):
    """Three groups; the first view tells one of them from the others, the second another one, a third is narrow."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    left = np.eye(3)[np.minimum(kind, 1)] @ rng.normal(size=(3, 8)) * 4 + noise * rng.normal(size=(n, 8))
    right = np.eye(3)[np.maximum(kind, 1)] @ rng.normal(size=(3, 12)) * 4 + noise * rng.normal(size=(n, 12))
    narrow = (kind == 2)[:, None] * 3.0 + rng.normal(size=(n, 2))
    return [left.astype(np.float32), right.astype(np.float32), narrow.astype(np.float32)], kind


@pytest.fixture(scope="module")
def data():
    return two_views()


@pytest.fixture(scope="module")
def fitted(data):
    return make(LargeMvCNet, 3, **QUICK).fit(data[0])


@pytest.mark.parametrize(
    ("features", "init"), [("landmarks", "graph"), ("columns", "graph"), ("columns", "kmeans")]
)
def test_groups_that_no_single_view_tells_apart_are_found(data, features, init):
    views, kind = data
    model = make(LargeMvCNet, 3, features=features, init=init, **QUICK).fit(views)
    assert accuracy(kind, model.labels_) > 0.95


def test_fitted_attributes_have_their_shapes(fitted):
    assert fitted.labels_.shape == (240,)
    assert fitted.view_weights_.shape == (3,)
    assert fitted.view_agreement_.shape == (3, 3)
    assert fitted.row_weights_.shape == fitted.noise_.shape == (240, 3)
    assert [one.shape for one in fitted.anchors_] == [(3, 8), (3, 12), (3, 2)]
    assert [one.shape for one in fitted.exemplars_] == [(3, 8), (3, 12), (3, 2)]
    assert fitted.cluster_centers_.shape == (3, 3)
    assert fitted.cluster_sizes_.sum() == 240
    assert fitted.exemplar_indices_.shape == (3,)
    assert fitted.n_iter_ == len(fitted.history_) == 2
    assert [record["sweep"] for record in fitted.history_] == [0, 1]
    assert set(fitted.history_[0]) == {"sweep", "phase", "objective", "seconds"}
    assert fitted.n_features_in_ == 22
    assert list(fitted.view_names_in_) == ["view0", "view1", "view2"]
    assert (fitted.labels_[fitted.exemplar_indices_] == np.arange(3)).all()


def test_a_view_of_noise_is_explained_less_than_the_others_and_agrees_with_none(data):
    views, _ = data
    noise = np.random.default_rng(3).normal(size=(240, 10)).astype(np.float32)
    model = make(LargeMvCNet, 3, **QUICK).fit([*views[:2], noise])
    assert model.view_weights_[2] < 0.6 * model.view_weights_[:2].min()
    assert ((model.view_weights_ >= 0) & (model.view_weights_ <= 1)).all()
    assert abs(model.view_agreement_[2, :2]).max() < 0.05


def test_predict_transform_and_memberships_agree_with_the_fit(fitted, data):
    views, _ = data
    np.testing.assert_array_equal(fitted.predict(views), fitted.labels_)
    memberships = fitted.predict_proba(views)
    np.testing.assert_allclose(memberships.sum(1), 1, rtol=1e-5)
    labels, confidence = fitted.assign(views)
    np.testing.assert_array_equal(labels, fitted.labels_)
    np.testing.assert_array_equal(confidence, memberships.max(1))
    codes = fitted.transform(views)
    assert (codes >= 0).all()
    assert codes.shape == (240, 3)


def test_views_of_new_rows_are_found_by_name(data):
    named = dict(zip(("a", "b", "c"), data[0], strict=True))
    model = make(LargeMvCNet, 3, **QUICK).fit(named)
    turned = {name: named[name] for name in ("c", "a", "b")}
    np.testing.assert_array_equal(model.predict(turned), model.labels_)
    np.testing.assert_array_equal(model.predict(data[0]), model.labels_)
    with pytest.raises(InputError, match="X lacks the view 'c': new rows need every view"):
        model.predict({"a": named["a"], "b": named["b"]})


def test_a_report_of_a_frame_warns_of_nothing(data, tmp_path):
    frame = pd.DataFrame(data[0][0], columns=[f"f{j}" for j in range(8)])
    model = make(LargeMvCNet, 3, **QUICK).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(model, frame, tmp_path / "r.html")


def test_a_row_alone_is_what_it_is_in_company(fitted, data):
    views, _ = data
    codes = fitted.transform(views)
    for row in (0, 100, 239):
        np.testing.assert_array_equal(fitted.transform([x[row : row + 1] for x in views])[0], codes[row])


def test_the_objective_falls_from_sweep_to_sweep(data):
    for features in ("landmarks", "columns"):
        model = make(LargeMvCNet, 3, n_layers=8, features=features, **QUICK).fit(data[0])
        values = np.array([record["objective"] for record in model.history_])
        assert (np.diff(values) <= 1e-6 * values[:-1]).all()
        assert values[-1] < values[0]


def test_one_array_with_column_groups_is_the_same_as_several_arrays(fitted, data):
    views, _ = data
    together = make(LargeMvCNet, 3, views=[8, 12, 2], **QUICK).fit(np.hstack(views))
    np.testing.assert_array_equal(together.labels_, fitted.labels_)
    assert together.n_features_in_ == 22


@pytest.mark.parametrize("features", ["landmarks", "columns"])
def test_what_stands_in_a_missing_entry_changes_nothing(data, features):
    views, kind = data
    mask = amputate(240, 3, 0.4, random_state=1)
    answers = []
    for filler in (0.0, np.nan, 1e9):
        filled = [np.where(mask[:, v : v + 1], x, np.float32(filler)) for v, x in enumerate(views)]
        model = make(LargeMvCNet, 3, features=features, **QUICK).fit(as_views(filled, mask=mask))
        answers.append((model.labels_, model.transform(as_views(filled, mask=mask))))
    for labels, codes in answers[1:]:
        np.testing.assert_array_equal(labels, answers[0][0])
        np.testing.assert_array_equal(codes, answers[0][1])
    assert accuracy(kind, answers[0][0]) > 0.75  # two thirds would be all that one view tells


def test_rows_that_are_all_nan_in_a_view_miss_it(fitted, data):
    views = [x.copy() for x in data[0]]
    views[1][::4] = np.nan
    labels = fitted.predict(views)
    assert accuracy(data[1], labels) > 0.85
    mask = np.ones((240, 3), bool)
    mask[::4, 1] = False
    np.testing.assert_array_equal(labels, fitted.predict(as_views(data[0], mask=mask)))


def test_a_missing_view_is_imputed_better_than_by_its_mean(fitted, data):
    views, _ = data
    mask = np.ones((240, 3), bool)
    mask[:60, 1] = False
    guessed = fitted.inverse_transform(fitted.transform(as_views(views, mask=mask)))
    assert [one.shape for one in guessed] == [x.shape for x in views]
    error = np.square(guessed[1][:60] - views[1][:60]).mean()
    assert error < 0.7 * np.square(views[1][60:].mean(0) - views[1][:60]).mean()


def test_corrupt_rows_are_found_and_do_no_harm(data):
    views, kind = [x.copy() for x in data[0]], data[1]
    rng = np.random.default_rng(1)
    bad = rng.choice(240, 24, replace=False)
    views[0][bad] = 5 * views[0].std() * rng.normal(size=(24, 8))
    model = make(LargeMvCNet, 3, **QUICK).fit(views)
    found = np.flatnonzero(model.noise_[:, 0])
    assert np.isin(bad, found).mean() > 0.9
    assert np.isin(found, bad).mean() > 0.8
    assert (model.row_weights_[bad][:, 0] < 0.5).mean() > 0.9
    assert accuracy(kind, model.labels_) > 0.85
    assert not model.noise_[model.exemplar_indices_].any()


def test_without_the_noise_term_nothing_is_called_corrupt(data):
    model = make(LargeMvCNet, 3, noise=False, **QUICK).fit(data[0])
    assert not model.noise_.any()
    assert (model.row_weights_ == 1).all()


def test_fixed_anchors_stay_where_they_started(data):
    model = make(LargeMvCNet, 3, noise=False, fixed_anchors=True, n_layers=3, **QUICK).fit(data[0])
    for first, last in zip(model.network_.anchors(0), model.network_.anchors(3), strict=True):
        assert torch.equal(first, last)
    free = make(LargeMvCNet, 3, noise=False, n_layers=3, **QUICK).fit(data[0])
    assert not torch.equal(free.network_.anchors(0)[0], free.network_.anchors(3)[0])


@pytest.mark.parametrize("loss", ["objective", "recon"])
def test_training_lowers_its_loss_and_keeps_thresholds_positive(data, loss):
    model = make(LargeMvCNet, 3, max_epochs=15, loss=loss, batch_size=64, n_anchors=6, **QUICK).fit(data[0])
    trained = [record for record in model.history_ if record["phase"] == "train"]
    assert len(trained) == 15
    assert trained[-1]["loss"] < trained[0]["loss"]
    assert (model.network_.represent.theta > 0).all()
    assert (model.network_.noise.rho > 0).all()
    assert not torch.equal(model.network_.represent.mixing, torch.eye(6))
    np.testing.assert_array_equal(model.predict(data[0]), model.labels_)


def test_more_anchors_than_clusters_and_one_layer_work(data):
    model = make(LargeMvCNet, 3, n_anchors=9, n_layers=1, **QUICK).fit(data[0])
    assert model.transform(data[0]).shape == (240, 9)
    assert adjusted_rand_score(data[1], model.labels_) > 0.5


def test_a_saved_model_gives_the_same_answers(fitted, data, tmp_path):
    path = tmp_path / "model.coterie"
    fitted.save(path)
    again = coterie.load(path)
    np.testing.assert_array_equal(again.predict(data[0]), fitted.labels_)
    np.testing.assert_array_equal(again.transform(data[0]), fitted.transform(data[0]))
    np.testing.assert_array_equal(again.noise_, fitted.noise_)
    np.testing.assert_array_equal(again.row_weights_, fitted.row_weights_)
    np.testing.assert_array_equal(again.exemplars_[1], fitted.exemplars_[1])
    assert again.history_ == fitted.history_


def test_training_goes_on_from_a_checkpoint(data, tmp_path, checkpoint_every_epoch):
    options = {
        **QUICK,
        "batch_size": 64,
        "checkpoint": str(tmp_path / "state.coterie"),
    }
    whole = make(LargeMvCNet, 3, max_epochs=6, **{**options, "checkpoint": None}).fit(data[0])

    class StoppedError(Exception):
        pass

    with pytest.MonkeyPatch.context() as patch:
        begin = LargeMvCTask.begin_epoch

        def stop_at_four(task, epoch):
            if epoch == 4:
                raise StoppedError
            begin(task, epoch)

        patch.setattr(LargeMvCTask, "begin_epoch", stop_at_four)
        with pytest.raises(StoppedError):
            make(LargeMvCNet, 3, max_epochs=6, **options).fit(data[0])
    resumed = make(LargeMvCNet, 3, max_epochs=6, **options).fit(data[0])
    np.testing.assert_array_equal(resumed.transform(data[0]), whole.transform(data[0]))


def test_data_on_disk_give_the_answers_of_data_in_memory(fitted, data, tmp_path):
    for v, x in enumerate(data[0]):
        np.save(tmp_path / f"view{v}.npy", x)
    views = as_views([np.load(tmp_path / f"view{v}.npy", mmap_mode="r") for v in range(3)])
    assert not views.in_memory
    model = make(LargeMvCNet, 3, **QUICK).fit(views)
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    np.testing.assert_array_equal(model.transform(views), fitted.transform(data[0]))


def test_memory_of_sweeps_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(inputs, "_CHUNK_BYTES", 2**18)
    monkeypatch.setattr(data_views, "_PASS_BYTES", 2**18)
    model = make(LargeMvCNet, 2, **QUICK)
    peaks = []
    for n in (2000, 8000):
        rng = np.random.default_rng(0)
        kind = np.arange(n) % 2
        rows = (kind[:, None] * 4 + rng.normal(size=(n, 50))).astype(np.float32)
        np.save(tmp_path / "rows.npy", rows)
        views = as_views(np.load(tmp_path / "rows.npy", mmap_mode="r"), views=[25, 25])
        tracemalloc.start()
        model.fit(views)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert accuracy(kind, model.labels_) > 0.95
    # 8 bytes of label, 8 of weights and 2 of flags a row, twice while pieces are joined
    assert peaks[1] - peaks[0] < 6000 * 60


def test_labelling_holds_one_line_a_row_and_no_piece(fitted, data, monkeypatch):
    monkeypatch.setattr(inputs, "_CHUNK_BYTES", 2**16)
    views = as_views([np.tile(x, (160, 1)) for x in data[0]])
    few = as_views(list(data[0]))
    fitting.label_rows(fitted.network_, Passes(fitted.inputs_, few), fitted._centers)  # imports and caches
    gc.collect()
    tracemalloc.start()
    fitting.label_rows(fitted.network_, Passes(fitted.inputs_, views), fitted._centers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A line is a label and, for each of three views, a weight and a flag; all columns would be 88 bytes.
    assert peak < views.n_rows * (8 + 5 * 3) + 2**18


def test_labelling_keeps_no_small_arrays_from_piece_to_piece(fitted, data, monkeypatch):
    monkeypatch.setattr(inputs, "_CHUNK_BYTES", 2**16)
    alive, encode = [], fitting.encode

    def watched(*args):
        for piece in encode(*args):
            alive.append(sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects()))
            yield piece

    monkeypatch.setattr(fitting, "encode", watched)
    views = as_views([np.tile(x, (7, 1))[: 6 * 256] for x in data[0]])  # whole pieces
    fitting.label_rows(fitted.network_, Passes(fitted.inputs_, views), fitted._centers)
    assert len(alive) == 6
    assert len(set(alive[1:])) == 1  # an array that lies on a tensor keeps it alive


BAD = [
    ({"n_anchors": 500}, None, r"n_samples=240 should be >= n_clusters=3, >= n_anchors=500"),
    ({"n_clusters": 300}, None, r"n_samples=240 should be >= n_clusters=300"),
    ({"loss": "mse"}, None, r"loss='mse' does not fit LargeMvCNetOptions: it must be 'objective' or 'recon'"),
    ({"scale": "loud"}, None, r"The scaling mode 'loud' does not exist"),
    ({}, "infinite", r"View 'view1', row 5, column 2 is inf"),
    ({}, "empty row", r"Row 7 has no view at all"),
    ({}, "other rows", r"View 'view1' has 239 rows but view 'view0' has 240"),
]


@pytest.mark.parametrize(("params", "fault", "message"), BAD)
def test_bad_input_is_one_sentence(data, params, fault, message):
    views = [x.copy() for x in data[0]]
    if fault == "infinite":
        views[1][5, 2] = np.inf
    if fault == "empty row":
        for x in views:
            x[7] = np.nan
    if fault == "other rows":
        views[1] = views[1][:-1]
    with pytest.raises(InputError, match=message):
        make(LargeMvCNet, **{"n_clusters": 3, **QUICK, **params}).fit(views)


def test_a_constant_view_and_an_empty_one_do_no_harm(data):
    views, kind = data
    constant = [*views, np.full((240, 4), 7.0, np.float32), np.zeros((240, 3), np.float32)]
    model = make(LargeMvCNet, 3, **QUICK).fit(constant)
    assert accuracy(kind, model.labels_) > 0.95
    assert np.isfinite(model.view_weights_).all()


def test_codes_of_another_width_are_refused(fitted):
    with pytest.raises(InputError, match=r"codes has shape \(2, 5\) but needs 3 columns"):
        fitted.inverse_transform(np.zeros((2, 5)))


def test_the_seed_decides_everything(data):
    first, again = (make(LargeMvCNet, 3, max_epochs=2, **QUICK).fit(data[0]) for _ in range(2))
    np.testing.assert_array_equal(first.transform(data[0]), again.transform(data[0]))


def test_a_fit_scales_its_sample_once(data, monkeypatch):
    calls = []
    transform = coterie.data.Scaler.transform

    def counted(self, blocks, present=None):
        calls.append(tuple(self.modes_))
        return transform(self, blocks, present)

    monkeypatch.setattr(coterie.data.Scaler, "transform", counted)
    make(LargeMvCNet, 3, n_layers=1, scale="none", **QUICK).fit(data[0])
    assert len(calls) == 2  # the sample and the first sweep, from which the labels follow


def test_a_start_by_k_means_cuts_no_graph(data, monkeypatch):
    monkeypatch.delattr(estimator, "partition_views")
    views, kind = data
    model = make(LargeMvCNet, 3, init="kmeans", features="columns", **QUICK).fit(views)
    assert accuracy(kind, model.labels_) > 0.95
    assert model.view_agreement_.shape == (3, 3)


def test_a_model_saved_under_the_earlier_name_of_concatenated_views_is_read(fitted, data, tmp_path):
    manifest, arrays = fitted.contents()
    manifest["fitted"]["beside"] = manifest["fitted"].pop("concatenated")
    old = {name.replace("inputs.concatenated.", "inputs.beside."): array for name, array in arrays.items()}
    assert old.keys() != arrays.keys()
    write_archive(tmp_path / "old.coterie", manifest, old)
    np.testing.assert_array_equal(coterie.load(tmp_path / "old.coterie").predict(data[0]), fitted.labels_)
