import csv

import numpy as np
import pytest

from coterie import write_report
from coterie.explore.distributions import differences, spread
from coterie.explore.model_sample import Feature
from coterie.explore.names import automatic_names
from coterie.explore.rows import Table
from coterie.explore.summary import summarise


def feature(name, difference, kind="number"):
    return Feature("table", name, difference, 2.0, 1.0, kind)


def test_a_cluster_is_named_by_its_two_clearest_columns():
    own = [feature("proline", 1.9), feature("hue", -1.2), feature("ash", 0.8)]
    assert automatic_names([own], [None]) == ["high proline, low hue"]


def test_a_difference_that_is_not_clear_gives_no_name():
    assert automatic_names([[feature("ash", 0.49)], []], [None, None]) == ["", ""]


def test_clusters_that_share_their_clearest_columns_are_told_apart_by_more_and_at_last_by_numbers():
    shared = [feature("a", 2.0), feature("b", 1.5)]
    names = automatic_names([[*shared, feature("c", 1.0)], [*shared, feature("c", -1.0)]], [None, None])
    assert names == ["high a, high b, high c", "high a, high b, low c"]
    assert automatic_names([shared, shared], [None, None]) == ["high a, high b (1)", "high a, high b (2)"]


def test_the_class_of_most_rows_wins_and_a_bare_number_says_that_it_is_a_class():
    names = automatic_names([[feature("a", 2.0)]] * 3, [("cats", 0.9), ("7", 0.8), ("dogs", 0.4)])
    assert names == ["cats", "class 7", "high a"]


def test_two_clusters_of_one_class_differ_in_their_names():
    names = automatic_names([[feature("a", 2.0)], [feature("a", -2.0)]], [("cats", 0.9), ("cats", 0.8)])
    assert names == ["cats, high a", "cats, low a"]


def test_texts_are_named_by_their_words_and_flags_by_their_own_names():
    words = [feature(word, 1.0, "word") for word in ("goal", "match", "cup", "fan")] + [
        feature("tax", -3.0, "word")
    ]
    assert automatic_names([words], [None]) == ["goal, match, cup"]
    assert automatic_names([[feature("city=Oslo", 1.0, "flag"), feature("pays", -0.9, "flag")]], [None]) == [
        "city=Oslo, not pays"
    ]


def test_long_names_of_columns_are_cut():
    (name,) = automatic_names([[feature("x" * 500, 1.0)]], [None])
    assert len(name) < 40
    assert name.endswith("…")


@pytest.mark.parametrize("values", [np.arange(200.0), np.arange(200.0) % 3])
def test_spreads_are_shares_of_both_groups_with_marks_in_the_units_of_the_column(values):
    inside = values > np.median(values)
    found = spread(values, inside, ~inside, np.ones(200))
    assert sum(found.inside) == pytest.approx(1, abs=1e-2)
    assert sum(found.outside) == pytest.approx(1, abs=1e-2)
    steps = [i for i, share in enumerate(found.inside) if share]
    assert found.marks[steps[0]] > np.quantile(values, 0.4)
    assert (len(found.marks) == 3) == found.values


def test_the_differences_of_two_groups_are_those_of_their_means(nearest):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    X[:30, 2] += 5
    X[60:, 1] -= 3
    groups = np.repeat([0, 1, 2], 30)
    table = Table(X, nearest([[0.0] * 4]).fit(X), ["a", "b", "c", "d"])
    found = differences(table, np.arange(90), groups == 0, groups == 2, np.ones(90), count=2)
    assert [f.name for f in found] == ["c", "b"]
    both = X[groups != 1]
    expected = (X[:30, 2].mean() - X[60:, 2].mean()) / both[:, 2].std()
    assert found[0].difference == pytest.approx(expected, rel=1e-5)
    assert found[0].inside == pytest.approx(X[:30, 2].mean(), rel=1e-5)
    assert found[0].spread is not None


def test_a_persons_name_wins_over_the_one_that_is_found(fitted):
    model, X = fitted([[0, 0], [9, 0], [0, 9]], [30, 30, 30])
    found = summarise(model, X, feature_names=["width", "height"], embedding="pca")
    assert [cluster.name for cluster in found.clusters][1:] == [
        "high width, low height",
        "high height, low width",
    ]
    given = summarise(model, X, embedding="pca", names={1: "wide ones"})
    assert given.clusters[1].title == "1: wide ones"


def test_the_report_shows_values_of_features_and_class_words(fitted, tmp_path):
    model, X = fitted([[0, 0], [9, 0]], [30, 30])
    truth = np.repeat(["calm", "wild"], 30)
    page = write_report(model, X, tmp_path / "r.html", truth=truth, embedding="pca").read_text("utf-8")
    assert "Cluster 1: wild" in page
    assert page.count('class="spread"') == 4


def test_words_of_a_file_of_classes_stay_words(tmp_path):
    from coterie.cli.inputs import read_shown_classes

    with (tmp_path / "classes.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([["kind", "sex"], ["cat", "f"], ["ant", "m"], ["cat", ""]])
    assert read_shown_classes(tmp_path / "classes.csv", "kind") == ["cat", "ant", "cat"]
