"""What the report says about ambiguous rows."""

import re
from html import escape

import numpy as np
import pytest
from benchmarks.making import make
from sklearn.metrics import silhouette_samples

from coterie import MVSIB, write_report
from coterie.explore import ambiguity as module
from coterie.explore.ambiguity import cluster_silhouettes, read_ambiguity
from coterie.explore.multiview_panels import ambiguity_panel, views_panel
from coterie.explore.panels import training_panel
from coterie.explore.summary import summarise
from coterie.methods.mvsib.estimator import ROUTES

CENTRES = [[0.0, 0.0, 0.0, 0.0], [6.0, 0.0, 0.0, 6.0], [0.0, 9.0, 0.0, 0.0]]
SIZES = [8, 4, 4]
DOUBTS = np.array([0.11] * 8 + [0.51, 0.51, 0.71, 0.91] + [0.21, 0.21, 0.21, 0.81], dtype=np.float32)
PATHS = np.array([0] * 8 + [0, 1, 1, 2] + [0, 0, 0, 2])
MEASURED = [{"loss": 2.0}, {"loss": 1.0, "changed": 0.125, "routed": 4}]


@pytest.fixture
def doubting(fitted):
    """Return a model with uncertainties made up by hand, and its rows."""

    def make(sizes=SIZES):
        model, X = fitted(CENTRES[: len(sizes)], sizes)
        n = len(X)
        model.uncertainty_, model.route_, model.history_ = DOUBTS[:n], PATHS[:n], MEASURED
        return model, X

    return make


def summarised(model, X, **options):
    return summarise(model, X, embedding="pca", **options)


# Values


def test_routes_have_the_names_that_the_estimator_gives_them():
    assert module.ROUTES[1:] == ROUTES[1:]
    assert len(module.ROUTES) == len(ROUTES)


def test_clusters_count_their_routed_rows_and_the_most_uncertain_comes_first(doubting):
    found = summarised(*doubting()).ambiguity.clusters
    assert [(one.number, one.size, one.false, one.hard) for one in found] == [
        (1, 4, 2, 1),
        (2, 4, 0, 1),
        (0, 8, 0, 0),
    ]
    assert [one.uncertainty for one in found] == pytest.approx([0.66, 0.36, 0.11])


def test_the_histogram_and_the_median_are_of_all_rows(doubting):
    found = summarised(*doubting(), max_rows=6).ambiguity
    assert found.counts.sum() == 16
    # Steps of 0.02.
    assert found.counts[[5, 10, 25, 35, 40, 45]].tolist() == [8, 3, 2, 1, 1, 1]
    assert found.median == pytest.approx(0.16)


def test_the_most_uncertain_rows_are_of_all_rows_with_cluster_and_route(doubting):
    found = summarised(*doubting(), max_rows=6).ambiguity.rows
    assert [(one.row, one.cluster, one.route) for one in found[:5]] == [
        (11, 1, "hard negative"),
        (15, 2, "hard negative"),
        (10, 1, "false negative"),
        (8, 1, "not routed"),
        (9, 1, "false negative"),
    ]
    assert found[0].uncertainty == pytest.approx(0.91)


def test_no_more_than_twenty_rows_are_listed(fitted):
    model, X = fitted(CENTRES, [20, 20, 20])
    model.uncertainty_, model.route_ = np.linspace(0, 1, 60), np.zeros(60, dtype=int)
    assert [one.row for one in summarised(model, X).ambiguity.rows] == list(range(59, 39, -1))


def test_silhouettes_are_the_means_of_clusters_in_the_embedding(doubting):
    model, X = doubting()
    summary = summarised(model, X)
    every = silhouette_samples(X, model.labels_)
    wanted = [every[model.labels_ == c].mean() for c in range(3)]
    assert cluster_silhouettes(summary.sample) == pytest.approx(wanted)
    assert {one.number: one.silhouette for one in summary.ambiguity.clusters} == pytest.approx(
        dict(enumerate(wanted))
    )


def test_few_measured_rows_still_reach_every_cluster_and_each_is_measured_against_all(doubting):
    model, X = doubting()
    sample = summarised(model, X).sample
    every = silhouette_samples(X, model.labels_)
    for c, value in enumerate(cluster_silhouettes(sample, most_rows=1)):
        assert np.isclose(every[model.labels_ == c], value).any()


def test_a_single_row_or_a_single_cluster_has_no_silhouette(doubting):
    assert [one.silhouette for one in summarised(*doubting([8])).ambiguity.clusters] == [None]
    silhouettes = cluster_silhouettes(summarised(*doubting([8, 1])).sample)
    assert silhouettes[0] > 0
    assert silhouettes[1] is None


def test_an_empty_cluster_is_left_out(doubting):
    model, X = doubting([8, 4, 0])
    model.exemplar_indices_[2] = -1
    assert [one.number for one in summarised(model, X).ambiguity.clusters] == [1, 0]


def test_a_model_that_does_not_tell_rows_apart_has_no_panel(fitted, doubting):
    plain, X = fitted(CENTRES, SIZES)
    plain.history_ = MEASURED
    summary = summarised(plain, X)
    assert summary.ambiguity is None
    assert ambiguity_panel(summary) == ""
    assert "What it means" not in training_panel(summary)
    model, X = doubting()
    del model.route_
    assert read_ambiguity(model, model.labels_, summarised(model, X).sample) is None


# The page


def test_the_panel_shows_clusters_and_rows(doubting):
    page = ambiguity_panel(summarised(*doubting()))
    assert re.findall(r'<section id="(\w+)"', page) == ["ambiguous"]
    assert "2 rows counted as false negatives and 2 as hard negatives" in page
    assert "1</th><td>4</td><td>0.66</td><td>2</td><td>1</td><td>" in page
    assert '<th scope="row">11</th><td>1</td><td>0.910</td><td>hard negative</td>' in page
    assert "Histogram of uncertainty" in page
    assert "estimated from the sample" not in page
    assert "estimated from the sample" in ambiguity_panel(summarised(*doubting(), max_rows=6))


def test_training_metrics_come_with_their_first_and_last_value_and_their_meaning(doubting):
    model, X = doubting()
    model.history_ = [*MEASURED, {"loss": 0.5, "changed": 0.25}]
    page = training_panel(summarised(model, X))
    assert '<th scope="row">changed rows</th><td>0.125</td><td>0.25</td><td>Share of rows' in page
    assert '<th scope="row">routed rows</th><td>4</td><td>4</td>' in page
    assert '<th scope="row">loss</th>' not in page


def test_uncertain_rows_come_with_their_images_and_known_classes(doubting):
    # Rows outside the sample have images too.
    truth = ["<i>"] * 12 + ["b"] * 4
    page = ambiguity_panel(summarised(*doubting(), image_shape=(2, 2), truth=truth, max_rows=6))
    assert page.count("<img ") == 16
    assert 'alt="Row 11"' in page
    assert f"<td>hard negative</td><td>{escape('<i>')}</td>" in page


def test_a_training_without_routes_and_without_metrics_is_reported(doubting):
    model, X = doubting()
    model.route_, model.history_ = np.zeros(16, dtype=int), [{"loss": 1.0}]
    assert "Training routed no row." in ambiguity_panel(summarised(model, X))
    assert "What it means" not in training_panel(summarised(model, X))


def test_many_clusters_fold_away(fitted):
    model, X = fitted(np.random.default_rng(0).normal(size=(25, 4)) * 50, [4] * 25)
    model.uncertainty_, model.route_ = np.linspace(0, 1, 100), np.zeros(100, dtype=int)
    page = ambiguity_panel(summarised(model, X))
    assert "All 25 clusters in a table" in page
    assert page.count('class="swatch"') == 20 + 25


@pytest.fixture(scope="module")
def mvsib():
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    left, right = (
        (3 * rng.normal(size=(3, d))[kind] + rng.normal(size=(90, d))).astype(np.float32) for d in (4, 5)
    )
    right[10:17] = np.nan
    data = {"left": left, "<right>": right}
    model = make(MVSIB, 3, hidden=(16,), n_code=8, max_epochs=10, warmup=0.4, random_state=0)
    return model.fit(data), data


def test_the_report_of_mvsib_with_missing_views_has_all_its_parts(mvsib, tmp_path):
    model, data = mvsib
    page = write_report(model, data, tmp_path / "r.html", embedding="pca").read_text("utf-8")
    for part in ("views", "ambiguous", "training"):
        assert f'<section id="{part}"' in page
    assert "<right>" not in page
    weight, agreement = model.view_weights_[1], model.view_agreement_[0, 1]
    assert f"&lt;right&gt;</th><td>{weight:.1%}</td><td>{agreement:.2f}</td><td>7</td>" in page
    changed = [record["changed"] for record in model.history_ if "changed" in record]
    row = f'<th scope="row">changed rows</th><td>{changed[0]:.3g}</td><td>{changed[-1]:.3g}</td>'
    assert row in page
    assert '<th scope="row">weight of &lt;right&gt;</th>' in page


def test_the_curves_of_view_weights_have_the_names_of_the_views(mvsib, tmp_path):
    model, data = mvsib
    for given in (data, dict(reversed(data.items())), list(data.values())):
        page = write_report(model, given, tmp_path / "r.html", embedding="pca").read_text("utf-8")
        captions = re.findall("<figcaption>(.*?)</figcaption>", page)
        assert [one for one in captions if "weight" in one] == ["weight of left", "weight of &lt;right&gt;"]
        assert '<th scope="col">weight of left</th>' in page
        assert 'aria-label="Curve of weight of left, from ' in page


def test_the_report_shows_views_as_they_were_in_fit_whatever_order_they_come_in(mvsib):
    model, data = mvsib
    want = summarised(model, data)
    for given in (dict(reversed(data.items())), list(data.values())):
        summary_of_model = summarised(model, given)
        assert summary_of_model.views == want.views == [("left", 4), ("<right>", 5)]
        assert [view.missing for view in summary_of_model.view_statistics.views] == [0, 7]
        assert summary_of_model.view_statistics.views == want.view_statistics.views


def test_missing_views_are_estimated_from_a_sample(mvsib):
    model, data = mvsib
    summary_of_model = summarised(model, data, max_rows=60)
    there = summary_of_model.sample.present[:, 1]
    assert summary_of_model.view_statistics.views[1].missing == round(
        summary_of_model.sample.weights[~there].sum()
    )
    assert summary_of_model.view_statistics.views[0].missing == 0
    assert "Missing rows are estimated from the sample" in views_panel(summary_of_model.view_statistics)
    assert "estimated" not in views_panel(summarised(model, data).view_statistics)
    assert there.tolist() == [not 10 <= row < 17 for row in summary_of_model.sample.rows]
    assert not there.all()


def test_one_view_is_reported_without_a_part_about_views(mvsib, tmp_path):
    X = mvsib[1]["left"]
    model = make(MVSIB, 3, hidden=(16,), n_code=8, max_epochs=5, warmup=0.4, random_state=0).fit(X)
    page = write_report(model, X, tmp_path / "r.html", embedding="pca").read_text("utf-8")
    assert '<section id="ambiguous"' in page
    assert '<section id="views"' not in page
