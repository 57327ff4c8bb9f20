import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import LargeMvCNet, LargeMvCNetOptions
from coterie.data import as_views
from coterie.errors import InputError
from coterie.explore import rows as rows_module
from coterie.explore.summary import summarise

CENTRES = [[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 9.0, 0.0]]


def test_clusters_have_their_sizes_exemplars_and_neighbours(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    summary = summarise(model, X, embedding="pca")
    assert [cluster.size for cluster in summary.clusters] == [30, 20, 10]
    assert [cluster.exemplar for cluster in summary.clusters] == model.exemplar_indices_.tolist()
    assert [cluster.neighbours for cluster in summary.clusters] == [[1, 2], [0, 2], [0, 1]]
    assert summary.sample.rows.tolist() == list(range(60))


def test_typical_rows_are_near_the_mean_and_confidence_is_the_mean_membership(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    cluster = summarise(model, X, embedding="pca").clusters[1]
    members = np.flatnonzero(model.labels_ == 1)
    away = np.linalg.norm(X[members] - X[members].mean(axis=0), axis=1)
    assert cluster.typical == members[np.argsort(away)[:5]].tolist()
    own = model.predict_proba(X)[members, 1]
    assert cluster.confidence == pytest.approx(own.mean())


def test_least_certain_rows_come_with_their_second_cluster(fitted):
    model, X = fitted(np.divide(CENTRES, 2), [30, 20, 10])
    summary = summarise(model, X, embedding="pca")
    memberships = model.predict_proba(X)
    order = np.argsort(memberships.max(axis=1))
    assert summary.sample.rows[summary.least_certain].tolist() == order[:20].tolist()
    assert summary.sample.second[order].tolist() == np.argsort(memberships[order], axis=1)[:, 1].tolist()


def test_the_feature_that_separates_a_cluster_comes_first(fitted):
    model, X = fitted(CENTRES, [30, 30, 30])
    summary = summarise(model, X, feature_names=["width", "height", "noise"], embedding="pca")
    assert summary.clusters[1].features[0].name == "width"
    assert summary.clusters[2].features[0].name == "height"
    assert summary.clusters[2].features[0].difference > 1


def test_only_the_sampled_rows_are_read_and_every_cluster_is_among_them(fitted, monkeypatch):
    model, X = fitted(CENTRES, [3000, 40, 3])
    views = as_views(X)
    asked = []
    read = type(views).read
    monkeypatch.setattr(
        type(views), "read", lambda self, rows: asked.append(np.size(rows)) or read(self, rows)
    )
    monkeypatch.setattr(rows_module, "_MOST_CHUNK_ROWS", 16)
    summary = summarise(model, views, max_rows=100, embedding="pca")
    assert len(summary.sample.rows) <= 100 + 3
    assert max(asked) <= len(summary.sample.rows)  # the map is of the whole sample, all else of its parts
    assert (np.bincount(summary.sample.labels, minlength=3) >= [10, 10, 3]).all()
    assert set(model.exemplar_indices_) <= set(summary.sample.rows.tolist())


def test_chunks_do_not_change_the_summary(fitted, monkeypatch):
    model, X = fitted(CENTRES, [30, 20, 10])
    whole = summarise(model, X, embedding="pca")
    monkeypatch.setattr(rows_module, "_MOST_CHUNK_ROWS", 7)
    parts = summarise(model, X, embedding="pca")
    np.testing.assert_allclose(parts.sample.confidence, whole.sample.confidence)
    np.testing.assert_allclose(parts.sample.embedding, whole.sample.embedding)
    for one, two in zip(parts.clusters, whole.clusters, strict=True):
        assert [f.difference for f in one.features] == pytest.approx([f.difference for f in two.features])


def test_the_histogram_of_a_sample_stands_for_all_rows(fitted):
    model, X = fitted(CENTRES, [3000, 40, 3])
    summary = summarise(model, X, max_rows=200, embedding="pca")
    assert summary.sample.weights.sum() == pytest.approx(3043)
    assert summary.histogram.sum() == pytest.approx(3043)


def test_the_same_seed_shows_the_same_rows(fitted):
    model, X = fitted(CENTRES, [300, 300, 300])
    one, two, other = (
        summarise(model, X, max_rows=50, embedding="pca", random_state=seed).sample.rows.tolist()
        for seed in (1, 1, 2)
    )
    assert one == two != other


def test_known_classes_give_scores_beside_those_of_another_clustering(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    truth = np.array(["a"] * 30 + ["b"] * 30)
    other = np.arange(60) % 2
    summary = summarise(model, X, truth=truth, compare={"k-means": other}, embedding="pca")
    assert summary.scores["Nearest"]["ari"] == pytest.approx(adjusted_rand_score(truth, model.labels_))
    assert summary.scores["k-means"]["ari"] == pytest.approx(adjusted_rand_score(truth, other))
    assert [cluster.commonest for cluster in summary.clusters] == [("a", 1.0), ("b", 1.0), ("b", 1.0)]


def test_rows_without_a_known_class_are_marked_and_not_counted(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    truth = np.array([10] * 30 + [-1] * 15 + [2] * 5 + [-1] * 10)
    summary = summarise(model, X, truth=truth, embedding="pca")
    assert summary.classes.names == ["2", "10"]
    assert summary.classes.codes[[0, 30, 46]].tolist() == [1, -1, 0]
    assert [cluster.commonest for cluster in summary.clusters] == [("10", 1.0), ("2", 1.0), None]


def test_without_known_classes_there_are_no_scores(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    summary = summarise(model, X, compare={"k-means": model.labels_}, embedding="pca")
    assert summary.scores == {}
    assert summary.classes is None


def test_several_views_keep_their_names_and_features_and_skip_missing_rows(nearest):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    left[20:] += 8
    right[20:] += 5
    hidden = right.copy()
    hidden[25:] = np.nan
    model = nearest([[0.0, 0.0, 0.0], [8.0, 8.0, 5.0]]).fit(as_views([left, right]))
    summary = summarise(
        model,
        {"size": left, "colour": hidden},
        feature_names={"colour": ["hue"]},
        embedding="pca",
    )
    assert summary.views == [("size", 2), ("colour", 1)]
    hue = next(feature for feature in summary.clusters[1].features if feature.view == "colour")
    assert (hue.name, hue.inside) == ("hue", pytest.approx(right[20:25].mean(), rel=1e-5))
    assert {f.name for f in summary.clusters[1].features if f.view == "size"} == {"feature 0", "feature 1"}


def test_a_table_that_the_model_cuts_into_views_is_shown_as_views(fitted):
    model, X = fitted(CENTRES, [30, 20, 10], views={"plane": [0, 2], "line": [1]})
    summary = summarise(model, X, image_shape=(1, 2), embedding="pca")
    assert summary.views == [("plane", 2), ("line", 1)]
    assert {feature.view for cluster in summary.clusters for feature in cluster.features} == {"line"}
    # Columns 0 and 2 of the exemplar of cluster 1 are 6 and 0: bright, dark.
    first, second = summary.thumbnails.decoded[1][0]
    assert first > second


def test_images_are_drawn_for_the_rows_shown_and_the_decoded_exemplars(fitted):
    centres = [[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 9.0]]
    model, X = fitted(centres, [30, 30])
    summary = summarise(model, X, image_shape=(2, 2), embedding="pca")
    shown = {row for c in summary.clusters for row in [c.exemplar, *c.typical]}
    assert shown <= set(summary.thumbnails.rows)
    assert set(summary.thumbnails.decoded) == {0, 1}
    assert (summary.thumbnails.decoded[1] > 128).tolist() == [[True, False], [False, True]]
    assert all(cluster.features == [] for cluster in summary.clusters)


def test_an_empty_cluster_is_shown_as_empty(fitted):
    model, X = fitted(CENTRES, [30, 20, 0])
    model.exemplar_indices_[2] = -1
    empty = summarise(model, X, truth=np.zeros(50, dtype=int), embedding="pca").clusters[2]
    assert (empty.size, empty.confidence, empty.exemplar, empty.typical, empty.commonest) == (
        0,
        None,
        None,
        [],
        None,
    )


def test_a_model_without_history_exemplars_or_versions_is_summarised(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    del model.history_, model.exemplar_indices_, model.exemplars_
    summary = summarise(model, X, embedding="pca")
    assert summary.training.curves == []
    assert summary.sample.exemplars == {}
    assert summary.versions["numpy"] == np.__version__


def test_options_are_shown_one_by_one_as_the_command_line_writes_them():
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = LargeMvCNet(2, options=LargeMvCNetOptions(sparsity=0.25), random_state=0).fit(X)
    shown = summarise(model, X).parameters
    assert (shown["options.sparsity"], shown["options.init"], shown["n_layers"]) == ("0.25", "'graph'", "2")
    assert "options" not in shown


def test_the_models_own_versions_and_parameters_are_shown(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    model.versions_ = {"coterie": "9.9"}
    summary = summarise(model, X, embedding="pca")
    assert summary.versions == {"coterie": "9.9"}
    assert (summary.seed, summary.parameters["random_state"]) == ("7", "7")
    model.seed_ = 123
    assert summarise(model, X, embedding="pca").seed == "123"


def test_input_that_does_not_fit_the_model_is_refused_with_both_numbers(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    with pytest.raises(InputError, match="X has 59 rows but the model was fitted on 60"):
        summarise(model, X[1:])
    with pytest.raises(InputError, match="truth has 2 entries but X has 60 rows"):
        summarise(model, X, truth=[0, 1])
    with pytest.raises(InputError, match="truth has 60 entries but labels has 3"):
        summarise(model, X, truth=model.labels_, compare={"k-means": [0, 1, 2]})
    with pytest.raises(InputError, match="needs a view with 4 features, but X has 3"):
        summarise(model, X, image_shape=(2, 2))
    with pytest.raises(InputError, match="feature_names has 2 names but view 'X' has 3"):
        summarise(model, X, feature_names=["a", "b"])
    with pytest.raises(InputError, match="feature_names is for a view 'other'"):
        summarise(model, X, feature_names={"other": ["a"]})
    with pytest.raises(InputError, match="feature_names has 1 lists but X has 2 views"):
        summarise(model, [X, X], feature_names=[["a", "b", "c"]])


def test_labels_and_exemplars_that_contradict_the_memberships_are_refused(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    model.exemplar_indices_ = model.exemplar_indices_[:2]
    with pytest.raises(InputError, match="exemplar_indices_ has 2 rows but predict_proba has 3 columns"):
        summarise(model, X)
    model.labels_ = model.labels_ - 1
    with pytest.raises(InputError, match="labels_ must be integers from 0 to 2"):
        summarise(model, X)


def test_rows_without_the_view_of_images_have_no_image(nearest):
    rng = np.random.default_rng(0)
    image, other = rng.uniform(5, 9, size=(30, 4)), rng.normal(size=(30, 1))
    model = nearest([[5.0] * 4 + [0.0], [9.0] * 4 + [0.0]]).fit(as_views([image, other]))
    model.exemplars_ = [model.exemplars_[:, :4], model.exemplars_[:, 4:]]
    image[::2] = np.nan
    summary = summarise(model, [image, other], image_shape=(2, 2), embedding="pca")
    assert summary.thumbnails.rows
    assert all(row % 2 == 1 for row in summary.thumbnails.rows)
    # The zeros that stand for a missing view do not set the scale of brightness.
    assert min(pixels.min() for pixels in summary.thumbnails.rows.values()) == 0


def test_decoded_exemplars_of_another_width_are_refused(fitted):
    model, X = fitted(CENTRES, [30, 20, 10])
    model.exemplars_ = model.exemplars_[:, :2]
    with pytest.raises(InputError, match=r"exemplars_ has widths \(2,\) but the views of X have \(3,\)"):
        summarise(model, X, image_shape=(1, 3), embedding="pca")
