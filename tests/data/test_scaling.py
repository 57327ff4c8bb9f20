"""Scaling: a stream gives what all rows at once would give, and everything can be undone and stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.together import in_threads

from coterie.data import Scaler, Views, as_views
from coterie.data.scaling import MODES
from coterie.errors import InputError

VALUES = st.floats(-1e4, 1e4, width=32)
TABLES = st.tuples(st.integers(1, 30), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=VALUES)
)
ALL = slice(None)
TINY = np.finfo(np.float32).tiny


def in_chunks(views, rows):
    """Return views that are read so many rows at a time."""
    views.chunks = lambda: Views.chunks(views, rows)
    return views


def fitted(mode, X, batch_rows=None, **kwargs):
    views = in_chunks(as_views(X), batch_rows)
    return Scaler(mode).fit(views, **kwargs), views


@given(TABLES, st.integers(1, 31), st.sampled_from(["feature", "minmax"]))
def test_any_chunking_gives_the_statistics_of_all_rows(X, batch_rows, mode):
    (scaler, _), (whole, _) = fitted(mode, X, batch_rows), fitted(mode, X, len(X))
    wide = X.astype(np.float64)
    constant = np.ptp(wide, axis=0) < TINY
    shift, scale = (
        (wide.mean(axis=0), wide.std(axis=0))
        if mode == "feature"
        else (
            wide.min(axis=0),
            np.ptp(wide, axis=0),
        )
    )
    for one in (scaler, whole):
        np.testing.assert_allclose(one.shifts_[0], shift, rtol=1e-6, atol=1e-6 * np.abs(wide).max() + TINY)
        np.testing.assert_allclose(one.scales_[0][~constant], scale[~constant], rtol=1e-5, atol=1e-37)
        assert np.isinf(one.scales_[0][constant]).all()


@given(TABLES, st.sampled_from(["feature", "minmax", "none", "log"]))
def test_inverse_transform_undoes_transform(X, mode):
    scaler, views = fitted(mode, X)
    back = scaler.inverse_transform(scaler.transform(views.read(ALL)))[0]
    spread = np.abs(X).max() + 1e-30
    np.testing.assert_allclose(back, X, rtol=0, atol=1e-5 * spread)


@given(TABLES)
def test_minmax_stays_between_zero_and_one_and_reaches_both(X):
    scaler, views = fitted("minmax", X)
    scaled = scaler.transform(views.read(ALL))[0]
    assert scaled.min() >= 0.0
    assert scaled.max() <= 1.0
    changing = np.ptp(X.astype(np.float64), axis=0) >= TINY
    assert (scaled[:, changing].max(axis=0) == 1.0).all()
    assert (scaled[:, changing].min(axis=0) == 0.0).all()
    assert (scaled[:, ~changing] == 0.0).all()


@given(TABLES)
def test_sample_gives_rows_of_length_one_and_keeps_zero_rows(X):
    scaler, views = fitted("sample", X)
    scaled = scaler.transform(views.read(ALL))[0]
    zero = ~X.any(axis=1)
    np.testing.assert_allclose(np.linalg.norm(scaled[~zero].astype(np.float64), axis=1), 1.0, rtol=1e-5)
    assert (scaled[zero] == 0.0).all()


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_sample_survives_rows_whose_squares_leave_float32(size):
    scaler, views = fitted("sample", np.array([[3.0, 4.0]]) * size)
    np.testing.assert_allclose(scaler.transform(views.read(ALL))[0], [[0.6, 0.8]], rtol=1e-6)


def test_feature_gives_mean_zero_and_deviation_one():
    X = np.random.default_rng(0).normal(50.0, 3.0, size=(5000, 3))
    scaler, views = fitted("feature", X, 77)
    scaled = scaler.transform(views.read(ALL))[0].astype(np.float64)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=2e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("mode", "before"),
    [
        ("angle", lambda X: X - X.mean(0)),
        ("feature-angle", lambda X: (X - X.mean(0)) / X.std(0)),
        ("root", lambda X: np.sign(X) * np.sqrt(np.abs(X))),
    ],
)
def test_angles_are_rows_of_length_one_after_another_scaling(mode, before):
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(30, 4)).astype(np.float32)
    scaler, views = fitted(mode, X)
    expected = before(X.astype(np.float64))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(scaler.transform(views.read(ALL))[0], expected, rtol=1e-4, atol=1e-5)


def test_log_compresses_values_that_are_large_for_their_column():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.normal(3.0, 2.0, 400)), rng.normal(0.0, 5.0, 400), np.zeros(400)])
    scaler, views = fitted("log", X, 77)
    sizes = np.exp(np.log(np.abs(X[:, :2])).mean(0))
    expected = np.sign(X) * np.log1p(np.abs(X) / [*sizes, 1.0])
    deviations = expected.std(0)
    deviations[2] = np.inf
    expected = (expected - expected.mean(0)) / deviations
    np.testing.assert_allclose(scaler.transform(views.read(ALL))[0], expected, rtol=1e-4, atol=1e-5)


def test_a_root_is_undone_but_for_the_length_of_the_row():
    X = np.array([[4.0, -9.0, 0.0]])
    scaler, views = fitted("root", X)
    back = scaler.inverse_transform(scaler.transform(views.read(ALL)))[0]
    np.testing.assert_allclose(back / back[0, 0], X / 4, rtol=1e-5)


def test_variance_survives_a_mean_that_is_large_beside_it():
    X = (1e6 + np.arange(1000) % 2)[:, None]
    assert fitted("feature", X, 13)[0].scales_[0][0] == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("mode", ["feature", "minmax", "log"])
@pytest.mark.parametrize("batch_rows", [1, 7, None])
def test_a_constant_column_becomes_zero_whatever_it_holds_later(mode, batch_rows):
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    scaler, _ = fitted(mode, X, batch_rows)
    later = scaler.transform([np.array([[0.1, 3.0], [7.0, 3.0]])])[0]
    assert (later[:, 0] == 0.0).all()
    assert np.isfinite(later).all()
    assert scaler.inverse_transform([later])[0][1, 0] == np.float32(0.1)


@pytest.mark.parametrize("mode", ["feature", "minmax"])
def test_a_spread_too_small_for_float32_counts_as_constant(mode):
    scaler, views = fitted(mode, np.array([[3.7e-39], [0.0]]))
    assert (scaler.transform(views.read(ALL))[0] == 0.0).all()
    assert np.isfinite(scaler.transform([np.array([[1e6]])])[0]).all()


def test_missing_rows_do_not_count_and_stay_zero():
    rng = np.random.default_rng(0)
    X, there = rng.normal(5.0, 2.0, size=(60, 2)), rng.random(60) < 0.6
    holes = np.where(there[:, None], X, np.nan)
    views = as_views([holes, X])
    views.check()
    scaler = Scaler("feature").fit(in_chunks(views, 7))
    alone = Scaler("feature").fit(as_views(X[there]))
    np.testing.assert_allclose(scaler.shifts_[0], alone.shifts_[0], rtol=1e-6)
    np.testing.assert_allclose(scaler.scales_[0], alone.scales_[0], rtol=1e-6)
    scaled = scaler.transform(views.read(ALL), views.present_rows(ALL))
    assert (scaled[0][~there] == 0.0).all()
    np.testing.assert_allclose(scaled[0][there], alone.transform([X[there]])[0], rtol=1e-5, atol=1e-6)


def test_a_view_that_no_row_has_becomes_zeros():
    views = as_views([np.full((3, 2), np.nan), np.eye(3)])
    views.check()
    scaled = Scaler("feature").fit(views).transform(views.read(ALL), views.present)
    assert (scaled[0] == 0.0).all()


@pytest.mark.parametrize("mode", ["feature", "minmax", "log"])
def test_processes_that_share_the_rows_learn_the_same_as_one(mode):
    rng = np.random.default_rng(0)
    X = (rng.normal(1e3, 2.0, size=(100, 3)) + np.arange(100)[:, None]).astype(np.float32)
    X[:, 2] = 4.0
    shares, one = [X[:70], X[70:75], X[75:]], fitted(mode, X)[0]

    def fit(collectives):
        return Scaler(mode).fit(as_views(shares[collectives.rank]), collectives=collectives)

    for many in in_threads(3, fit):
        np.testing.assert_allclose(many.shifts_[0], one.shifts_[0], rtol=1e-6)
        np.testing.assert_allclose(many.scales_[0], one.scales_[0], rtol=1e-6)


def test_each_view_may_have_its_own_mode():
    X, Y = np.array([[0.0], [2.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])
    views = as_views({"a": X, "b": Y})
    for mode in (["minmax", "sample"], {"b": "sample", "a": "minmax"}):
        scaled = Scaler(mode).fit(views).transform(views.read(ALL))
        np.testing.assert_array_equal(scaled[0], [[0.0], [1.0]])
        np.testing.assert_allclose(scaled[1], [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("mode", [*MODES, ["none", "feature"], ["root", "feature-angle"]])
def test_a_scaler_survives_its_state(mode):
    rng = np.random.default_rng(0)
    views = as_views([rng.normal(size=(20, 3)), np.ones((20, 2))])
    scaler = Scaler(mode).fit(views)
    again = Scaler.from_state(mode, scaler.state())
    assert again.modes_ == scaler.modes_
    for a, b in zip(again.transform(views.read(ALL)), scaler.transform(views.read(ALL)), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(
        again.inverse_transform(views.read(ALL)), scaler.inverse_transform(views.read(ALL)), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", MODES)
def test_transform_leaves_its_input_alone(mode):
    X = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    scaler, _ = fitted(mode, X)
    before = X.copy()
    scaled, back = scaler.transform([X])[0], scaler.inverse_transform([X])[0]
    scaled[:], back[:] = 7.0, 7.0
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (
            "standard",
            "The scaling mode 'standard' does not exist: choose one of feature, minmax, sample, none",
        ),
        (["none"], "There are 1 scaling modes for 2 views"),
        ({"a": "none"}, r"The scaling modes are for \['a'\] but the views are \['a', 'b'\]"),
    ],
)
def test_a_wrong_mode_is_named(mode, message):
    with pytest.raises(InputError, match=message):
        Scaler(mode).fit(as_views({"a": np.eye(2), "b": np.eye(2)}))


def test_a_batch_that_does_not_fit_is_named():
    scaler, _ = fitted("none", np.eye(3))
    with pytest.raises(InputError, match="fitted on 1 views but got 2"):
        scaler.transform([np.eye(3), np.eye(3)])
    with pytest.raises(InputError, match="View 0 has 2 columns but the Scaler was fitted on 3"):
        scaler.inverse_transform([np.eye(2)])
    with pytest.raises(InputError, match="call fit first"):
        Scaler().transform([np.eye(2)])
