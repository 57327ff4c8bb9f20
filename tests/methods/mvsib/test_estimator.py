"""`MVSIB` as a person uses it: several views, missing ones, streams, files, bad input."""

import numpy as np
import pytest
from benchmarks.making import make

import coterie
from coterie import MVSIB, InputError, amputate
from coterie.data import as_views
from coterie.engine import loop as loops
from coterie.methods.mvsib.training import train
from coterie.metrics import accuracy

SMALL = {
    "hidden": (32,),
    "n_code": 8,
    "n_neighbors": 6,
    "n_partners": 8,
    "batch_size": 64,
    "random_state": 0,
}


class PowerCutError(Exception):
    """Ends a run between two epochs."""


def two_views(n=50, k=3, seed=0, gap=4.0) -> tuple[list[np.ndarray], np.ndarray]:
    """Return two noisy views of k groups."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), n)
    views = [gap * np.eye(k, width)[y] + rng.normal(size=(k * n, width)) for width in (6, 7)]
    return [view.astype(np.float32) for view in views], y


def two_halves(gap=7.0) -> tuple[list[np.ndarray], np.ndarray]:
    """Return three groups: one view does not tell the last two apart, the other not the first two."""
    views, y = two_views(gap=0.0)
    kinds = [np.minimum(y, 1), np.maximum(y, 1)]
    return [view + gap * np.eye(3, view.shape[1])[kind] for view, kind in zip(views, kinds, strict=True)], y


@pytest.fixture(scope="module")
def data():
    return two_views()


@pytest.fixture(scope="module")
def fitted(data):
    return make(MVSIB, 3, max_epochs=40, **SMALL).fit(data[0])


def test_the_groups_are_found(fitted, data):
    assert accuracy(data[1], fitted.labels_) > 0.98


def test_groups_that_no_view_tells_apart_alone_are_found():
    views, y = two_halves()
    together, alone = (make(MVSIB, 3, max_epochs=40, scale="none", **SMALL).fit(x) for x in (views, views[0]))
    assert accuracy(y, together.labels_) > 0.88
    assert accuracy(y, alone.labels_) < 0.8


def test_fitted_attributes_have_their_shapes_and_meaning(fitted, data):
    views, _ = data
    assert fitted.labels_.shape == fitted.uncertainty_.shape == fitted.route_.shape == (150,)
    assert fitted.cluster_centers_.shape == (3, 8)
    assert fitted.view_weights_.shape == (2,)
    assert fitted.view_weights_.sum() == pytest.approx(1)
    assert fitted.view_agreement_.shape == (2, 2)
    assert ((fitted.uncertainty_ >= 0) & (fitted.uncertainty_ <= 1)).all()
    assert set(fitted.route_) <= {0, 1, 2}
    assert (fitted.labels_[fitted.exemplar_indices_] == np.arange(3)).all()
    assert len(fitted.history_) == fitted.n_iter_ <= 40
    consensus = fitted.transform(views)
    np.testing.assert_allclose(np.linalg.norm(consensus, axis=1), 1, atol=1e-5)
    means = np.stack([consensus[fitted.labels_ == c].mean(0) for c in range(3)])
    np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-4)


def test_the_history_tells_stages_and_measures_the_theorems(data):
    model = make(MVSIB, 3, max_epochs=20, warmup=0.5, false_mask=0.1, **SMALL).fit(two_views(gap=1.5)[0])
    phases = [record["phase"] for record in model.history_]
    assert phases == ["warm-up"] * 10 + ["stage 1"] * 2 + ["stage 2"] * 3 + ["stage 3"] * 5
    routed = [record for record in model.history_ if "routed" in record]
    assert routed
    assert (model.route_ > 0).sum() == int(0.3 * 150)
    assert all(0 <= record["hard_share"] <= 1 for record in routed)
    assert any("route_consistency" in record for record in routed)
    measured = [record for record in model.history_ if "safe_share" in record]
    assert len(measured) == 8
    assert all(0 <= record["false_mass"] <= 1 and 0 <= record["safe_share"] <= 1 for record in measured)


def test_predictions_are_those_of_the_fit_and_of_a_row_alone(fitted, data):
    views, _ = data
    np.testing.assert_array_equal(fitted.predict(views), fitted.labels_)
    whole = fitted.predict_proba(views)
    np.testing.assert_allclose(whole.sum(1), 1, atol=1e-5)
    for row in (0, 75, 149):
        np.testing.assert_array_equal(fitted.predict_proba([x[row : row + 1] for x in views])[0], whole[row])


def test_wide_rows_are_condensed_in_memory_to_no_other_effect(data, tmp_path):
    views, y = data
    whole = as_views(views)
    lazily = []
    for v, view in enumerate(views):
        np.save(tmp_path / f"{v}.npy", view)
        lazily.append(np.load(tmp_path / f"{v}.npy", mmap_mode="r"))
    models = [make(MVSIB, 3, max_epochs=10, n_axes=4, **SMALL).fit(x) for x in (whole, as_views(lazily))]
    assert accuracy(y, models[0].labels_) > 0.95
    np.testing.assert_array_equal(models[0].predict(views), models[0].labels_)
    np.testing.assert_allclose(models[0].transform(views), models[1].transform(views), atol=1e-3)


def test_what_stands_in_a_missing_view_changes_nothing(data):
    views, y = data
    present = amputate(150, 2, 0.3, random_state=0)
    blank = [view.copy() for view in views]
    wild = [view.copy() for view in views]
    for v in range(2):
        blank[v][~present[:, v]] = 0
        wild[v][~present[:, v]] = 1e6
    one, other = (
        make(MVSIB, 3, max_epochs=20, **SMALL).fit(as_views(x, mask=present)) for x in (blank, wild)
    )
    np.testing.assert_array_equal(
        one.transform(as_views(blank, mask=present)), other.transform(as_views(wild, mask=present))
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    complete = present.all(axis=1)
    assert accuracy(y[complete], one.labels_[complete]) > 0.9


def test_a_constant_view_counts_nothing(data):
    views, y = data
    model = make(MVSIB, 3, max_epochs=30, **SMALL).fit([*views, np.full((150, 2), 7.0)])
    assert model.view_weights_[2] == 0
    assert accuracy(y, model.labels_) > 0.95


def test_rows_with_one_view_each_are_embedded(data):
    views, _ = data
    mask = np.zeros((150, 2), dtype=bool)
    mask[np.arange(150), np.arange(150) % 2] = True
    model = make(MVSIB, 3, max_epochs=6, **SMALL).fit(as_views(views, mask=mask))
    assert np.isfinite(model.transform(as_views(views, mask=mask))).all()


def test_without_an_epoch_the_clusters_are_the_initial_ones(monkeypatch):
    views, _ = two_views(gap=1.5)
    partitions = []

    def watched(task, initial, callbacks):
        partitions.append(initial)
        return train(task, initial, callbacks)

    monkeypatch.setattr("coterie.methods.mvsib.estimator.train", watched)
    model = make(MVSIB, 3, max_epochs=0, **SMALL).fit(views)
    initial = partitions[0].numpy()
    consensus = model.transform(views)
    means = np.stack([consensus[initial == c].mean(0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-5)


def test_more_rows_keep_the_numbers_of_the_clusters(data):
    views, _ = data
    model = make(MVSIB, 3, max_epochs=40, **SMALL).partial_fit(views)
    before = model.predict(views)
    more, _ = two_views(seed=1)
    model.partial_fit(more)
    assert model.labels_.shape == (150,)
    assert len(model.history_) > 1
    assert (model.predict(views) == before).mean() > 0.95


def test_a_cluster_that_a_stream_lacks_keeps_its_place(data):
    views, _ = data
    model = make(MVSIB, 3, max_epochs=40, **SMALL).fit(views)
    before = model.predict(views)
    for seed in range(1, 5):
        more, kinds = two_views(seed=seed)
        model.partial_fit([view[kinds < 2] for view in more])
    assert np.linalg.norm(model.cluster_centers_, axis=1).min() > 0.5
    assert (model.predict(views) == before).mean() > 0.95


def test_training_ends_before_the_cap_when_the_clusters_settle(data):
    model = make(MVSIB, 3, max_epochs=200, **SMALL).fit(data[0])
    assert model.n_iter_ < 100
    assert model.history_[-1]["kept"] > 0.98


def test_a_saved_model_is_the_same_model(fitted, data, tmp_path):
    fitted.save(tmp_path / "model.coterie")
    again = coterie.load(tmp_path / "model.coterie")
    np.testing.assert_array_equal(again.predict_proba(data[0]), fitted.predict_proba(data[0]))
    for name in (
        "labels_",
        "uncertainty_",
        "route_",
        "view_weights_",
        "view_agreement_",
        "exemplar_indices_",
    ):
        np.testing.assert_array_equal(getattr(again, name), getattr(fitted, name))
    assert again.history_ == fitted.history_


@pytest.mark.parametrize("cut", [3, 14])
def test_a_run_goes_on_from_its_checkpoint_bit_for_bit(
    data, tmp_path, monkeypatch, checkpoint_every_epoch, cut
):
    views, _ = data
    params = {**SMALL, "max_epochs": 16, "warmup": 0.5}
    whole = make(MVSIB, 3, **params).fit(views)
    run = loops.Loop.run_epoch

    def until_the_cut(self):
        if self.epoch == cut:
            raise PowerCutError
        run(self)

    monkeypatch.setattr(loops.Loop, "run_epoch", until_the_cut)
    with pytest.raises(PowerCutError):
        make(MVSIB, 3, checkpoint=str(tmp_path / "run"), **params).fit(views)
    monkeypatch.undo()
    resumed = make(MVSIB, 3, checkpoint=str(tmp_path / "run"), **params).fit(views)
    np.testing.assert_array_equal(resumed.transform(views), whole.transform(views))
    np.testing.assert_array_equal(resumed.route_, whole.route_)


@pytest.mark.parametrize(
    "params",
    [
        {"minority_weight": 1.0, "minority_ratio": 3.0},
        {"hard_weight": 0.0, "false_mask": 1.0},
        {"cross_weight": 0.0},
        {"cluster_weight": 0.0},
        {"curriculum": None},
        {"router": "mlp"},
        {"false_mode": "both", "gate_window": True, "control": False},
        {"reconstruction_weight": 1.0},
        {"tau": 0.1},
    ],
    ids=str,
)
def test_every_module_can_be_turned_and_the_groups_are_found(data, params):
    views, y = data
    model = make(MVSIB, 3, max_epochs=30, warmup=0.5, **{**SMALL, **params}).fit(views)
    assert accuracy(y, model.labels_) > 0.9


def test_fewer_rows_in_a_batch_than_clusters_work():
    views, _ = two_views(k=6, n=20, gap=8.0)
    model = make(MVSIB, 6, max_epochs=10, **{**SMALL, "batch_size": 4}).fit(views)
    assert len(np.unique(model.labels_)) > 1


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"gate": (0.7, 0.3)}, "gate=.* two rising numbers"),
        ({"curriculum": (0.2, 1.5)}, "curriculum=.* at most 1"),
        ({"tau": 0.0}, "tau=0.0 does not fit MVSIB"),
        ({"router": "oracle"}, "router='oracle' does not fit MVSIB"),
        ({"n_neighbors": 0}, "n_neighbors=0 does not fit MVSIB: it must be a whole number of at least 1"),
        ({"n_clusters": 500}, "n_samples=150 should be >= n_clusters=500"),
    ],
)
def test_bad_parameters_end_in_one_sentence(data, params, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        make(MVSIB, **{"n_clusters": 3, **SMALL, **params}).fit(data[0])
    assert "\n" not in str(caught.value)
