"""`GraphClustering` as a person uses it."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from tests.graph.planted import (
    answers,
    blobs,
    long_group_beside_small_ones,
    many,
    of_parts,
    rings,
    with_blind_view,
    with_noise_view,
)
from tests.together import in_threads

import coterie
from coterie import GraphClustering, InputError, as_views, read_views, refine, write_report
from coterie.collectives import ALONE
from coterie.graph import neighbours
from coterie.metrics import accuracy


def model_of(n_clusters, **params):
    return GraphClustering(n_clusters, random_state=0, **params)


def missing_views(sizes=(50,) * 4):
    """Return two views that both tell the groups, of which every third row lacks one, and the groups."""
    rows, truth = blobs(list(sizes))
    rng = np.random.default_rng(1)
    views = [rows + rng.normal(size=rows.shape), rows @ rng.normal(size=(6, 9))]
    views[0][::6], views[1][3::6] = np.nan, np.nan
    return views, truth


@pytest.fixture(scope="module")
def overlapping():
    """Groups that overlap, so that neighbours' votes and labels differ at the borders."""
    return blobs([80, 60, 50], distance=2.5)


@pytest.fixture(scope="module")
def fitted(overlapping):
    return model_of(3).fit(overlapping[0])


@pytest.fixture(scope="module")
def incomplete():
    return missing_views()


@pytest.fixture(scope="module")
def fitted_incomplete(incomplete):
    return model_of(4).fit(incomplete[0])


# Groups


PLANTED = {
    "even blobs": (blobs([60] * 4), 4, 0.95),
    "uneven blobs": (blobs([300, 80, 30, 20]), 4, 0.95),
    "rings": (rings(400), 2, 0.95),
    "a long group beside small ones": (long_group_beside_small_ones(), 3, 0.95),
    "duplicates": (answers(), 3, 0.95),
    "complementary views": (of_parts([50] * 6), 6, 0.95),
    "complementary views of uneven groups": (of_parts([100, 80, 60, 40, 30, 20]), 6, 0.95),
    "a blind view": (with_blind_view(), 5, 0.95),
    "a noise view": (with_noise_view(), 6, 0.9),
    "missing views": (missing_views(), 4, 0.95),
}


@pytest.mark.parametrize("case", PLANTED)
def test_planted_groups_are_found(case):
    (rows, truth), n_clusters, least = PLANTED[case]
    assert accuracy(truth, model_of(n_clusters, n_resamples=0).fit(rows).labels_) > least


def test_the_number_of_clusters_is_found():
    rows, truth = many(5)
    model = model_of("auto").fit(rows)
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == 5
    assert model.k_choice_.clear
    assert accuracy(truth, model.labels_) > 0.95


def test_fitted_attributes_have_their_shapes(fitted):
    assert fitted.labels_.shape == fitted.confidence_.shape == fitted.outlier_score_.shape == (190,)
    assert fitted.cluster_sizes_.tolist() == np.bincount(fitted.labels_).tolist()
    assert fitted.cluster_stability_.shape == fitted.exemplar_indices_.shape == (3,)
    assert ((fitted.confidence_ >= 1 / 3) & (fitted.confidence_ <= 1)).all()
    assert fitted.n_features_in_ == 6
    assert fitted.k_choice_ is None
    assert fitted.seed_ == 0
    assert fitted.metric_.kind == "euclidean"
    best = max(fitted.history_, key=lambda record: record["score"])
    assert best["score"] == pytest.approx(fitted.quality_.score)
    assert best["modularity"] == fitted.quality_.modularity


def test_the_same_seed_gives_the_same_model_and_fitting_leaves_parameters_alone(overlapping):
    rows = np.random.default_rng(0).normal(size=(150, 4))  # no groups: much depends on the search
    model = model_of(5)
    before = model.get_params()
    first = model.fit(rows).labels_
    assert model.get_params() == before
    np.testing.assert_array_equal(clone(model).fit(rows).labels_, first)


def test_without_a_seed_the_seed_that_was_drawn_repeats_the_fit():
    rows = np.random.default_rng(0).normal(size=(150, 4))
    model = GraphClustering(5).fit(rows)
    again = GraphClustering(5, random_state=model.seed_).fit(rows)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_fitting_leaves_the_global_random_state_alone():
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    model = model_of("auto").fit(of_parts([20] * 6)[0])
    model.predict(of_parts([20] * 6)[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.parametrize(("n_clusters", "max_rows"), [(4, 1000), (4, 120), ("auto", 1000)])
def test_rows_in_another_order_get_the_same_labels_and_confidence_to_the_bit(n_clusters, max_rows):
    rows = np.vstack([blobs([80, 50, 30, 40], distance=2.5)[0], np.zeros((5, 6))])
    views = [rows, rows @ np.random.default_rng(2).normal(size=(6, 4))]
    views[1][::7] = np.nan
    order = np.random.default_rng(1).permutation(len(rows))
    for X in (rows, views):
        one, other = (
            model_of(n_clusters, max_rows=max_rows).fit(given)
            for given in (X, X[order] if X is rows else [view[order] for view in X])
        )
        np.testing.assert_array_equal(other.labels_, one.labels_[order])
        np.testing.assert_array_equal(other.confidence_, one.confidence_[order])
        np.testing.assert_array_equal(rows[order][other.exemplar_indices_], rows[one.exemplar_indices_])
        np.testing.assert_array_equal(other.labels_at(3), one.labels_at(3)[order])


# Prediction


def test_fitted_rows_are_predicted_as_they_were_labelled(fitted, overlapping):
    np.testing.assert_array_equal(fitted.predict(overlapping[0]), fitted.labels_)


def test_fitted_rows_with_missing_views_are_predicted_as_they_were_labelled(fitted_incomplete, incomplete):
    np.testing.assert_array_equal(fitted_incomplete.predict(incomplete[0]), fitted_incomplete.labels_)


def test_the_confidence_of_fitted_rows_is_what_assign_gives_them(fitted, overlapping):
    labels, confidence = fitted.assign(overlapping[0])
    np.testing.assert_array_equal(labels, fitted.labels_)
    np.testing.assert_allclose(confidence, fitted.confidence_, rtol=1e-5)


def test_outlier_scores_of_fitted_rows_are_what_the_fit_gave_them(fitted, overlapping):
    np.testing.assert_allclose(fitted.outlier_scores(overlapping[0]), fitted.outlier_score_, rtol=1e-5)


def test_memberships_sum_to_one_and_the_largest_is_that_of_the_label(fitted, overlapping):
    new = overlapping[0] + np.random.default_rng(5).normal(size=overlapping[0].shape)
    for rows in (overlapping[0], new):
        found = fitted.predict_proba(rows)
        assert found.shape == (190, 3)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(found.argmax(axis=1), fitted.predict(rows))
        np.testing.assert_array_equal(fitted.assign(rows).confidence, found.max(axis=1))


def test_rows_between_groups_are_less_sure_than_rows_inside():
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.normal(-3, 1, 120), rng.normal(3, 1, 120), rng.uniform(-1.5, 1.5, 40)])
    model = model_of(2, n_resamples=10).fit(np.column_stack([places, rng.normal(size=280)]))
    inside, between = model.predict_proba([[-3.5, 0.0], [0.0, 0.1]]).max(axis=1)
    assert inside > between
    assert model.confidence_[np.abs(places) > 3].mean() > model.confidence_[np.abs(places) < 0.7].mean()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform", "outlier_scores"])
def test_a_row_alone_is_what_it_is_in_a_batch(fitted, overlapping, method):
    new = overlapping[0] + 0.5
    whole = getattr(fitted, method)(new)
    for row in (0, 77, 189):
        np.testing.assert_array_equal(getattr(fitted, method)(new[row : row + 1])[0], whole[row])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform", "outlier_scores"])
def test_a_row_of_several_views_alone_is_what_it_is_in_a_batch(fitted_incomplete, incomplete, method):
    new = [view + 0.3 for view in incomplete[0]]
    whole = getattr(fitted_incomplete, method)(new)
    for row in (0, 3, 100, 199):
        alone = getattr(fitted_incomplete, method)([view[row : row + 1] for view in new])
        np.testing.assert_array_equal(alone[0], whole[row])


def test_new_rows_that_lack_views_get_the_labels_of_their_groups(fitted_incomplete, incomplete):
    views, truth = incomplete
    new = [view + 0.1 for view in views]
    assert accuracy(truth, fitted_incomplete.predict(new)) > 0.95
    named = {"view0": new[0], "view1": np.full_like(new[1], np.nan)}
    has = ~np.isnan(new[0]).all(axis=1)
    only_one = {name: view[has] for name, view in named.items()}
    assert accuracy(truth[has], fitted_incomplete.predict(only_one)) > 0.95


def test_what_stands_in_a_missing_view_changes_nothing(incomplete, fitted_incomplete):
    views, _ = incomplete
    mask = np.column_stack([~np.isnan(view).all(axis=1) for view in views])
    filled = [np.where(np.isnan(view), 1e3, view) for view in views]
    model = model_of(4).fit(as_views(filled, mask=mask))
    np.testing.assert_array_equal(model.labels_, fitted_incomplete.labels_)


def test_rows_of_new_data_must_have_the_features_of_the_fit(fitted):
    with pytest.raises(ValueError, match="X has 5 features, but GraphClustering is expecting 6 features"):
        fitted.predict(np.ones((3, 5)))


# Forms of data


def test_sparse_rows_get_the_labels_of_dense_ones():
    rows = np.maximum(blobs([60, 50, 40])[0] - 1.0, 0.0)
    dense, thin = model_of(3).fit(rows), model_of(3).fit(sparse.csr_matrix(rows))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_array_equal(dense.predict_proba(rows), thin.predict_proba(sparse.csr_matrix(rows)))


def test_rows_in_a_file_get_the_labels_of_rows_in_memory(fitted, overlapping, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, overlapping[0])
    model = model_of(3).fit(path)
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    np.testing.assert_array_equal(model_of(3).fit(read_views(path)).labels_, fitted.labels_)
    np.testing.assert_array_equal(model.predict(path), fitted.labels_)


def test_column_groups_of_one_array_are_views():
    views, _ = of_parts([30] * 6)
    apart, together = model_of(6).fit(views), model_of(6, views=[8, 8]).fit(np.hstack(views))
    np.testing.assert_array_equal(apart.labels_, together.labels_)


def test_a_sample_is_clustered_and_the_other_rows_follow(monkeypatch):
    rows, truth = blobs([300, 200, 100])
    monkeypatch.setattr("coterie.graph.model._CHUNK_BYTES", 4 * 6 * 97)  # in several pieces
    model = model_of(3, max_rows=120).fit(rows)
    assert accuracy(truth, model.labels_) == 1
    assert len(model.labels_) == len(model.confidence_) == len(model.outlier_score_) == 600
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal(model.labels_at(3), model.labels_)
    assert model.cluster_sizes_.sum() == 600


def test_many_rows_are_searched_by_an_inverted_file_with_the_same_groups(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 300)
    rows, truth = blobs([300, 200, 200])
    model = model_of(3).fit(rows)
    assert accuracy(truth, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


# Saving


def assert_same_answers(one, other, rows):
    for method in ("predict", "predict_proba", "transform", "outlier_scores"):
        np.testing.assert_array_equal(getattr(one, method)(rows), getattr(other, method)(rows))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.confidence_, other.confidence_)
    np.testing.assert_array_equal(one.outlier_score_, other.outlier_score_)
    np.testing.assert_array_equal(one.exemplar_indices_, other.exemplar_indices_)
    np.testing.assert_array_equal(one.cluster_stability_, other.cluster_stability_)
    np.testing.assert_array_equal(one.labels_at(2), other.labels_at(2))
    assert (one.quality_, one.history_, one.seed_) == (other.quality_, other.history_, other.seed_)
    assert one.metric_ == other.metric_


def test_a_loaded_model_says_what_the_saved_one_said(fitted, overlapping, tmp_path):
    fitted.save(tmp_path / "m.coterie")
    again = coterie.load(tmp_path / "m.coterie")
    assert_same_answers(fitted, again, overlapping[0])
    assert_same_answers(fitted, again, overlapping[0] + 0.5)
    assert again.get_params() == fitted.get_params()


def test_a_loaded_model_of_several_views_says_what_the_saved_one_said(
    fitted_incomplete, incomplete, tmp_path
):
    fitted_incomplete.save(tmp_path / "m.coterie")
    again = coterie.load(tmp_path / "m.coterie")
    assert_same_answers(fitted_incomplete, again, incomplete[0])
    assert_same_answers(fitted_incomplete, again, [view + 0.3 for view in incomplete[0]])


def test_a_loaded_model_knows_how_it_came_to_its_number_of_clusters(tmp_path):
    model = model_of("auto").fit(many(5)[0])
    model.save(tmp_path / "m.coterie")
    assert coterie.load(tmp_path / "m.coterie").k_choice_ == model.k_choice_


# Outliers


@pytest.fixture(scope="module")
def with_outlier():
    rows, truth = blobs([60, 60, 60])
    rows = np.vstack([rows, np.full(6, 40.0)])
    return rows, np.append(truth, -1)


def test_a_row_far_away_is_the_only_outlier(with_outlier):
    rows, truth = with_outlier
    model = model_of(3, outlier_threshold=5.0).fit(rows)
    assert np.flatnonzero(model.labels_ == -1).tolist() == [180]
    assert model.outlier_score_.argmax() == 180
    assert model.cluster_sizes_.sum() == 180
    assert accuracy(truth[:180], model.labels_[:180]) > 0.95
    assert model.labels_at(2)[180] == -1
    assert (model.labels_at(2)[:180] >= 0).all()


def test_by_default_every_row_has_a_cluster(with_outlier):
    rows, _ = with_outlier
    model = model_of(3).fit(rows)
    assert (model.labels_ >= 0).all()
    assert (model.predict(rows) >= 0).all()
    assert model.outlier_score_.argmax() == 180


def test_new_rows_far_away_are_outliers_and_others_are_not(with_outlier):
    rows, _ = with_outlier
    model = model_of(3, outlier_threshold=5.0).fit(rows[:180])
    assert (model.labels_ >= 0).all()
    new = np.vstack([rows[:20] + 0.1, np.full((1, 6), -40.0)])
    assert np.flatnonzero(model.predict(new) == -1).tolist() == [20]
    assert model.outlier_scores(new).argmax() == 20
    np.testing.assert_array_equal(model.assign(new).labels, model.predict(new))


@pytest.mark.parametrize("threshold", [1.5, 5.0, 20.0])
def test_fitted_outliers_are_predicted_as_outliers(with_outlier, threshold):
    rows, _ = with_outlier
    model = model_of(3, outlier_threshold=threshold).fit(rows)
    assert model.labels_[180] == -1
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_a_model_with_outliers_can_be_saved_and_loaded(with_outlier, tmp_path):
    rows, _ = with_outlier
    model = model_of(3, outlier_threshold=5.0).fit(rows)
    model.save(tmp_path / "m.coterie")
    again = coterie.load(tmp_path / "m.coterie")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.cluster_sizes_, model.cluster_sizes_)


# Levels, exemplars, embedding


def test_levels_are_nested_and_pass_through_the_labels(fitted):
    np.testing.assert_array_equal(fitted.labels_at(3), fitted.labels_)
    for k in range(2, fitted.levels_.most + 1):
        fine, coarse = fitted.labels_at(k), fitted.labels_at(k - 1)
        assert np.unique(fine).tolist() == list(range(k))
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == k


def test_levels_of_several_views_and_duplicates_pass_through_the_labels(fitted_incomplete):
    np.testing.assert_array_equal(fitted_incomplete.labels_at(4), fitted_incomplete.labels_)
    model = model_of(3).fit(answers()[0])
    np.testing.assert_array_equal(model.labels_at(3), model.labels_)


def test_a_level_beyond_the_tree_is_one_sentence(fitted):
    with pytest.raises(InputError, match="n_clusters=1000 is no level of this tree"):
        fitted.labels_at(1000)


def test_exemplars_are_rows_of_their_own_cluster(fitted, fitted_incomplete):
    assert fitted.labels_[fitted.exemplar_indices_].tolist() == [0, 1, 2]
    assert fitted_incomplete.labels_[fitted_incomplete.exemplar_indices_].tolist() == [0, 1, 2, 3]
    sampled = model_of(3, max_rows=100).fit(blobs([300, 200, 100])[0])
    assert sampled.labels_[sampled.exemplar_indices_].tolist() == [0, 1, 2]


def test_an_exemplar_is_nearer_to_the_middle_of_its_cluster_than_most_rows(fitted, overlapping):
    table = fitted.transform(overlapping[0])
    for cluster, exemplar in enumerate(fitted.exemplar_indices_):
        own = table[fitted.labels_ == cluster]
        far = np.linalg.norm(own - own.mean(axis=0), axis=1)
        assert np.linalg.norm(table[exemplar] - own.mean(axis=0)) < np.quantile(far, 0.2)


def test_transformed_rows_tell_the_groups_to_a_classifier():
    rows, truth = blobs([60, 60, 60], distance=5.0)
    model = model_of(3).fit(rows[::2])
    codes = model.transform(rows)
    assert codes.shape == (180, model.get_feature_names_out().size)
    assert codes.dtype == np.float32
    judge = KNeighborsClassifier(5).fit(codes[::2], truth[::2])
    assert judge.score(codes[1::2], truth[1::2]) > 0.95


def test_transformed_rows_that_lack_views_tell_the_groups_too(fitted_incomplete, incomplete):
    views, truth = incomplete
    codes = fitted_incomplete.transform(views)
    assert np.isfinite(codes).all()
    lacking = np.any([np.isnan(view).all(axis=1) for view in views], axis=0)
    judge = KNeighborsClassifier(5).fit(codes[~lacking], truth[~lacking])
    assert judge.score(codes[lacking], truth[lacking]) > 0.95


# Extremes


def test_rows_that_are_all_equal_are_one_cluster_with_a_warning():
    with pytest.warns(UserWarning, match="n_clusters=3 is more than the 1 different rows of X"):
        model = model_of(3).fit(np.ones((20, 4)))
    assert model.labels_.tolist() == [0] * 20
    assert model.n_clusters_ == 1
    assert model.predict(np.ones((2, 4))).tolist() == [0, 0]


def test_fewer_different_rows_than_clusters_give_as_many_clusters_with_a_warning():
    rows = np.repeat(np.eye(3), 10, axis=0)
    with pytest.warns(UserWarning, match="n_clusters=5 is more than the 3 different rows of X"):
        model = model_of(5).fit(rows)
    assert accuracy(np.repeat([0, 1, 2], 10), model.labels_) == 1


def test_one_cluster_has_every_row():
    rows, _ = blobs([20, 20])
    model = model_of(1).fit(rows)
    assert model.labels_.tolist() == [0] * 40
    np.testing.assert_array_equal(model.predict_proba(rows + 1), np.ones((40, 1)))
    assert model.levels_.most > 1


def test_as_many_clusters_as_rows_have_one_each():
    rows, _ = blobs([10, 10])
    model = model_of(20).fit(rows)
    assert sorted(model.labels_) == list(range(20))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("n", [2, 6])
def test_fewer_rows_than_neighbours_can_be_clustered(n):
    rows = np.concatenate([np.zeros(n - n // 2), 9 * np.ones(n // 2)])[:, None] + 0.1 * np.arange(n)[:, None]
    model = model_of(2).fit(rows)
    assert model.labels_.tolist() == [0] * (n - n // 2) + [1] * (n // 2)
    assert model.predict([[8.8]]).tolist() == [1]


def test_too_few_rows_to_count_clusters_are_one_sentence():
    with pytest.raises(InputError, match="X has 5 rows, too few to tell how many clusters there are"):
        model_of("auto").fit(np.eye(5))


def test_fewer_rows_than_clusters_are_one_sentence():
    with pytest.raises(InputError, match="n_samples=5 should be >= n_clusters=6"):
        model_of(6).fit(np.eye(5))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_clusters", 0),
        ("n_clusters", "many"),
        ("scale", 3),
        ("metric", "cosine"),
        ("n_neighbors", 0),
        ("max_rows", 1),
        ("n_resamples", -1),
        ("outlier_threshold", 0.0),
    ],
)
def test_a_wrong_parameter_is_one_sentence_that_names_it(name, value):
    model = model_of(2).set_params(**{name: value})
    with pytest.raises(InputError, match=f"^{name}={value!r} does not fit GraphClustering: it must be "):
        model.fit(blobs([20, 20])[0])


def test_the_number_of_threads_is_set_outside():
    with pytest.raises(InputError, match=r"^n_threads is gone: set OMP_NUM_THREADS"):
        GraphClustering(2, n_threads=1)


def test_new_rows_beside_a_cluster_of_one_row_get_its_label():
    rows, _ = blobs([10, 10])
    model = model_of(20).fit(rows)
    np.testing.assert_array_equal(model.predict(rows + 1e-3), model.labels_)


# With the rest of the library


def test_labels_of_a_person_refine_a_model():
    rows, truth = blobs([50, 50, 50])
    rows = rows.astype(np.float32)
    model = model_of(3).fit(rows)
    one, other = (int(model.labels_[truth == c][0]) for c in (0, 1))
    refined = refine(model, rows, {int(model.exemplar_indices_[one]): other})
    assert (refined.labels[truth == 0] == other).mean() > 0.95
    assert (refined.labels[truth == 2] == model.labels_[truth == 2]).all()


def test_a_report_is_written_without_a_warning(tmp_path):
    rows, _ = blobs([40, 30, 30])
    frame = pd.DataFrame(rows, columns=[f"f{j}" for j in range(6)])
    model = model_of(3).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(model, frame, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "GraphClustering" in page
    assert "f5" in page


@pytest.fixture
def collectives_of_threads(monkeypatch):
    """Let every thread have collectives of its own, set in `local.collectives`."""
    local = threading.local()
    local.collectives = ALONE
    monkeypatch.setattr(
        "coterie.methods.graph_clustering.estimator.current_collectives", lambda: local.collectives
    )
    return local


@pytest.mark.parametrize("max_rows", [100_000, 80])
@pytest.mark.parametrize("several", [False, True])
def test_processes_together_find_what_one_finds(collectives_of_threads, several, max_rows):
    rows = missing_views()[0] if several else blobs([80, 60, 50], distance=2.5)[0]

    def work(collectives):
        collectives_of_threads.collectives = collectives
        return GraphClustering(4, random_state=0, max_rows=max_rows).fit(rows)

    alone = work(ALONE)
    for model in in_threads(2, work):
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        np.testing.assert_array_equal(model.confidence_, alone.confidence_)
        np.testing.assert_array_equal(model.outlier_score_, alone.outlier_score_)
        np.testing.assert_array_equal(model.labels_at(6), alone.labels_at(6))
        np.testing.assert_array_equal(model.exemplar_indices_, alone.exemplar_indices_)


def test_a_cluster_whose_rows_all_have_an_empty_view_has_an_exemplar():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 40)
    words = np.eye(3)[kind] * 9 + rng.normal(size=(120, 3))
    links = np.eye(3)[kind] * 9 + rng.normal(size=(120, 3))
    links[kind == 2] = 0.0
    model = model_of(3).fit([words, links])
    assert accuracy(kind, model.labels_) == 1.0
    np.testing.assert_array_equal(model.labels_[model.exemplar_indices_], [0, 1, 2])
