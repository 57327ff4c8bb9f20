"""What the report says about several views."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.making import make

from coterie import LargeMvCNet, write_report
from coterie.data.scaling import MODES
from coterie.explore.multiview_panels import SCALINGS, views_panel
from coterie.explore.view_statistics import read_view_statistics


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 2
    views = [(kind[:, None] * 4 + rng.normal(size=(120, d))).astype(np.float32) for d in (5, 6)]
    views[0][:12] = 40 * rng.normal(size=(12, 5))
    views[1][20:35] = np.nan
    data = {"left": views[0], "<right>": views[1]}
    return make(LargeMvCNet, 2, n_landmarks=20, random_state=0).fit(data), data


def test_counts_of_missing_and_corrupt_rows_are_those_of_the_model(fitted):
    model, _ = fitted
    statistics = read_view_statistics(model, ["left", "<right>"])
    assert [one.missing for one in statistics.views] == [0, 15]
    assert [one.corrupt for one in statistics.views] == model.noise_.sum(0).tolist()
    assert statistics.views[0].corrupt >= 10
    assert {one.row for one in statistics.corrupt if one.view == "left"} <= set(
        np.flatnonzero(model.noise_[:, 0])
    )
    assert [one.weight for one in statistics.corrupt] == sorted(one.weight for one in statistics.corrupt)


def test_a_model_that_says_nothing_of_views_has_no_panel(fitted):
    assert read_view_statistics(fitted[0], ["left"]) is None
    assert read_view_statistics(object(), ["left", "right"]) is None
    assert views_panel(None) == ""


def test_the_page_shows_the_views_and_escapes_their_names(fitted, tmp_path):
    model, data = fitted
    page = write_report(model, data, tmp_path / "report.html").read_text()
    assert 'id="views"' in page
    assert "&lt;right&gt;" in page
    assert "<right>" not in page
    assert "Corrupt rows with the lowest weight" in page
    assert f"{model.view_agreement_[0, 1]:.2f}" in page


@pytest.fixture
def weighing():
    """Return a model that weighs views and judges no rows."""
    return SimpleNamespace(
        view_weights_=np.array([0.5, 0.125, 0.375]),
        view_agreement_=np.array([[0.9, 0.2, 0.4], [0.2, 0.8, 0.6], [0.4, 0.6, 0.7]]),
        scaler_=SimpleNamespace(modes_=["sample", "none", "feature"]),
    )


def test_views_that_are_weighed_stand_beside_their_mean_agreement_with_the_others(weighing):
    statistics = read_view_statistics(weighing, ["a", "b", "c"], np.array([0.0, 12.4, 3.0]))
    assert [one.weight for one in statistics.views] == [0.5, 0.125, 0.375]
    assert [one.agreement for one in statistics.views] == pytest.approx([0.3, 0.4, 0.5])
    assert [one.missing for one in statistics.views] == [0, 12, 3]
    assert {(one.explained, one.corrupt) for one in statistics.views} == {(None, None)}
    assert [one.missing for one in read_view_statistics(weighing, ["a", "b", "c"]).views] == [0, 0, 0]


def test_columns_of_which_the_model_says_nothing_are_left_out(weighing, fitted):
    weighed = views_panel(read_view_statistics(weighing, ["a", "b", "c"]))
    assert '<th scope="row">b</th><td>12.5%</td><td>0.40</td><td>0</td><td>none</td>' in weighed
    assert "Explained" not in weighed
    assert "orrupt" not in weighed
    judged = views_panel(read_view_statistics(fitted[0], ["left", "right"]))
    assert "Explained" in judged
    assert "Corrupt rows" in judged
    assert "Weight:" not in judged


def test_the_panel_says_what_the_scaling_of_a_view_does(fitted):
    panel = views_panel(read_view_statistics(fitted[0], ["left", "<right>"]))
    for mode in set(fitted[0].scaler_.modes_):
        assert f"Scaling &#x27;{mode}&#x27;: {SCALINGS[mode]}." in panel
    assert set(SCALINGS) == set(MODES)
