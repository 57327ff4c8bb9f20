"""`FUCSMF` as a person uses it; spec fucsmf, section 4, properties 7, 8, 10 and 11."""

import dataclasses
import tracemalloc
import warnings

import numpy as np
import pytest
import torch
from benchmarks.making import make
from scipy import sparse
from tests.tracing import called_by, not_run

import coterie
from coterie import FUCSMF, FUCSMFOptions, InputError, as_views
from coterie.data import load_digits, load_multiview_digits
from coterie.methods.fucsmf.adapt import adapt_graph
from coterie.methods.fucsmf.problem import AnchorGraph
from coterie.methods.fucsmf.solver import solve
from coterie.methods.fucsmf.supervision import combine
from coterie.metrics import accuracy
from coterie.ops.anchors import project_simplex

QUIET = {"random_state": 0}


def some_labels(truth, per_class, seed=0):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for k in np.unique(truth):
        rows = rng.choice(np.flatnonzero(truth == k), per_class, replace=False)
        y[rows] = k
    return y


@pytest.fixture(scope="module")
def digits():
    loaded = load_digits()
    return loaded.views.read(slice(None))[0], loaded.target


@pytest.fixture(scope="module")
def fitted(digits):
    X, truth = digits
    return FUCSMF(**QUIET).fit(X, some_labels(truth, 5))


def blobs(n=120, seed=0, gap=6.0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    return (np.array([[0, 0], [gap, 0], [0, gap]])[kind] + rng.normal(size=(n, 2))).astype(np.float32), kind


def test_five_labels_a_class_are_enough_for_digits(digits, fitted):
    truth = digits[1]
    y = some_labels(truth, 5)
    assert np.mean(fitted.labels_[y < 0] == truth[y < 0]) > 0.94
    np.testing.assert_array_equal(fitted.labels_[y >= 0], truth[y >= 0])
    assert fitted.is_convex_
    assert fitted.curvature_ > 0
    assert fitted.gradient_ <= 1e-6 * fitted.history_[0]["gradient"] * 10
    np.testing.assert_allclose(fitted.label_distributions_.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.labels_[fitted.exemplar_indices_], fitted.classes_)
    assert (y[fitted.exemplar_indices_] == -1).all()


def test_the_history_counts_the_iterations_of_the_solve(fitted):
    assert [record["iteration"] for record in fitted.history_] == list(range(fitted.n_iter_))
    assert set(fitted.history_[0]) == {"iteration", "objective", "gradient", "seconds"}


def test_prediction_of_unlabelled_rows_is_their_label_also_alone(digits, fitted):
    X, truth = digits
    free = some_labels(truth, 5) < 0
    predicted = fitted.predict(X)
    np.testing.assert_array_equal(predicted[free], fitted.labels_[free])
    assert np.mean(predicted == fitted.labels_) > 0.95
    np.testing.assert_array_equal(
        np.concatenate([fitted.transform(X[i : i + 1]) for i in range(5)]), fitted.transform(X[:5])
    )


def test_new_rows_are_labelled_nearly_as_well_as_old_ones(digits):
    X, truth = digits
    model = FUCSMF(**QUIET).fit(X[:1000], some_labels(truth[:1000], 5))
    assert np.mean(model.predict(X[1000:]) == truth[1000:]) > 0.9


@pytest.mark.parametrize("anchors", ["kmeans", "minibatch", "random"])
def test_far_fewer_anchors_than_rows_will_do(digits, anchors):
    X, truth = digits
    y = some_labels(truth, 5)
    model = FUCSMF(anchors=anchors, n_anchors=300, n_nearest=5, **QUIET).fit(X, y)
    assert model.anchors_.counts == [300]
    assert np.mean(model.labels_[y < 0] == truth[y < 0]) > 0.9


def test_anchors_that_are_to_be_placed_are_placed_also_where_every_row_could_be_one():
    X, kind = blobs()
    y = some_labels(kind, 2)
    everyone = FUCSMF(**QUIET).fit(X, y).anchors_
    assert everyone.counts == [120]
    placed = [FUCSMF(anchors=how, **QUIET).fit(X, y).anchors_ for how in ("random", "minibatch", "kmeans")]
    assert [one.counts for one in placed] == [[60]] * 3
    tables = [np.unique(one.parts[0].anchors.numpy(), axis=0) for one in placed]
    rows = {tuple(row) for row in everyone.parts[0].anchors.numpy()}
    assert all(tuple(row) in rows for row in tables[0])  # random ones are rows, the means of k-means are not
    assert not all(tuple(row) in rows for row in tables[2])
    assert not np.array_equal(tables[0], tables[1])


def test_anchors_can_be_given(digits):
    X, truth = digits
    y = some_labels(truth, 5)
    given = FUCSMF(anchors=X[:400], **QUIET).fit(X, y)
    assert given.anchors_.counts == [400]
    assert np.mean(given.labels_[y < 0] == truth[y < 0]) > 0.9


def test_weights_are_the_simplex_projection_in_the_correntropy_distance():
    X, kind = blobs()
    model = FUCSMF(metric="euclidean", n_anchors=20, n_nearest=4, **QUIET).fit(X, some_labels(kind, 2))
    view, found = model.anchors_.parts[0], model.anchors_.weights(as_views(X)).toarray()
    embedded = view.embed(torch.from_numpy(model.scaler_.transform([X])[0]))
    squares = torch.cdist(embedded.double(), view.anchors.double()).square()
    distances = (1 - torch.exp(-squares / (2 * view.width))).numpy()
    nearest = np.sort(distances, axis=1)
    gamma = (4 * nearest[:, 4] - nearest[:, :4].sum(axis=1)) / 2
    np.testing.assert_allclose(found, project_simplex(-distances / (2 * gamma[:, None])), atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (np.count_nonzero(found, axis=1) <= 4).all()


def test_gamma_and_sigma_are_those_of_the_formulas():
    X, kind = blobs()
    y = some_labels(kind, 2)
    for sigma in (0.5, "rows"):
        options = {"gamma": 0.3, "sigma": sigma, "n_axes": None}
        model = make(FUCSMF, metric="euclidean", n_anchors=20, n_nearest=4, **options, **QUIET).fit(X, y)
        view = model.anchors_.parts[0]
        rows = view.space(torch.from_numpy(model.scaler_.transform([X])[0]))
        squares = torch.cdist(rows.double(), view.anchors.double()).square().numpy()
        nearest = np.sort(squares, axis=1)
        doubled = 2 * 0.5**2 if sigma == 0.5 else nearest[:, :4].mean(axis=1, keepdims=True)
        distances = np.where(squares < nearest[:, 4:5], 1 - np.exp(-squares / doubled), np.inf)
        weights = model.anchors_.weights(as_views(X)).toarray()
        np.testing.assert_allclose(weights, project_simplex(-distances / 0.6), atol=1e-4)


PRINTED = {  # section 4.2, Algorithm 1, Figs. 13 to 15; the second line is its authors' where the text is lost
    **{"anchors": "kmeans", "n_anchors": 2000, "smoothness": 100.0, "label_scale": "one", "adapt": 5},
    **{"adaptation": "printed", "n_nearest": 5, "gamma": 0.2, "sigma": "rows"},
    **{"scale": "none", "metric": "euclidean", "n_axes": None},
}


def test_the_papers_preset_has_what_the_paper_prints_and_what_is_given_wins():
    def in_effect(**given):
        params = make(FUCSMF, preset="paper", **given)._resolved()
        return {**params, **params["options"].get_params()}

    assert {name: in_effect()[name] for name in PRINTED} == PRINTED
    usual = {"smoothness": 1000.0, "adapt": 0, "gamma": "auto", "n_nearest": 8, "label_scale": "balanced"}
    assert {name: in_effect(**usual)[name] for name in usual} == usual
    X, _ = blobs()
    given = FUCSMF(preset="paper", anchors=X[:30], **QUIET).fit(X, Y)
    assert given.anchors_.counts == [30]


def test_the_papers_line_runs_the_code_of_its_equations_and_places_k_means_anchors():
    X, kind = blobs()
    model = FUCSMF(preset="paper", **QUIET)
    called = called_by(lambda: model.fit(X, some_labels(kind, 3)))
    assert model.anchors_.counts == [60]
    assert not_run("fucsmf", called) == {
        "Eq. 3": ["anchors.simplex_weights"],  # gamma="auto"; LargeMvCNet's anchors
        "Theorem 2": ["objective.Objective.curvature"],  # computed where curvature_ is read
    }
    assert {"kmeans.kmeans", "adapt.adapt_as_printed"} <= called
    assert not called & {"adapt.adapt_graph", "metric.choose_metric"}


def test_the_printed_adaptation_is_algorithm_1_in_dense_algebra():
    X, kind = blobs(60)
    y = some_labels(kind, 2)
    before = make(FUCSMF, preset="paper", adapt=0, gamma=1.0, **QUIET).fit(X, y)
    after = make(FUCSMF, preset="paper", adapt=1, gamma=1.0, **QUIET).fit(X, y)
    stored = before.anchors_.distances(as_views(X)).tocoo()
    distances = np.full(stored.shape, np.inf)  # of a row that is an anchor one is zero
    distances[stored.row, stored.col] = stored.data
    Z, V = before._graph.weights.toarray(), scores_of(before, y)
    P = (Z.T @ V) / Z.sum(axis=0)[:, None]
    pull = 1.02 * ((V[:, None] - P[None]) ** 2).sum(axis=2)
    Z = project_simplex(-(distances + pull) / 2)
    known = combine(y, *np.zeros((2, 0, 2), dtype=int), hard=True)
    options = FUCSMFOptions(smoothness=100.0, label_scale="one")
    answer = solve(AnchorGraph.of(sparse.csr_matrix(Z)), known, 3, options)
    assert after.objective_ == pytest.approx(answer.minimum.value, rel=1e-5)
    assert abs(after.objective_ - before.objective_) > 1e-3
    np.testing.assert_array_equal(after.labels_, answer.rows.argmax(axis=1))


def scores_of(model, y):
    """Return V of a fit with labels of length one: labelled rows as given, the others from their anchors."""
    V = model._graph.weights @ model.anchor_codes_
    V[y >= 0] = np.eye(3)[y[y >= 0]]
    return V


def test_an_anchor_that_loses_all_its_rows_takes_the_scores_of_the_nearest():
    X, kind = blobs(60)
    model = make(FUCSMF, preset="paper", n_anchors=40, gamma=0.01, coupling=50.0, **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, some_labels(kind, 2))
    assert model.anchor_codes_.shape == (40, 3)
    assert (np.abs(model.anchor_codes_).max(axis=1) > 0).all()
    assert set(model.predict(X)) <= {0, 1, 2}


def test_projection_is_idempotent_and_brings_no_two_points_apart():
    a, b = np.random.default_rng(0).normal(size=(2, 200, 5))
    once = project_simplex(a)
    np.testing.assert_allclose(project_simplex(once), once, atol=1e-12)
    assert (np.linalg.norm(once - project_simplex(b), axis=1) <= np.linalg.norm(a - b, axis=1) + 1e-12).all()
    np.testing.assert_allclose(once.sum(axis=1), 1)


def test_the_order_of_rows_and_the_unit_of_measure_do_not_matter():
    X, kind = blobs()
    y = some_labels(kind, 2)
    order = np.random.default_rng(1).permutation(len(X))
    terms = {"metric": "euclidean", "scale": "none", **QUIET}
    first = make(FUCSMF, **terms).fit(X, y)
    turned = make(FUCSMF, **terms).fit(X[order], y[order])
    larger = make(FUCSMF, **terms).fit(X * 1000, y)
    np.testing.assert_allclose(turned.label_distributions_, first.label_distributions_[order], atol=1e-4)
    np.testing.assert_allclose(larger.label_distributions_, first.label_distributions_, atol=1e-4)


def test_relabel_gives_what_fit_gives_and_keeps_the_graph(digits):
    X, truth = digits
    model = FUCSMF(**QUIET).fit(X, some_labels(truth, 1))
    graph = model._graph
    again = model.relabel(some_labels(truth, 5))
    assert again is model
    assert model._graph is graph
    anew = FUCSMF(**QUIET).fit(X, some_labels(truth, 5))
    np.testing.assert_allclose(model.label_distributions_, anew.label_distributions_, atol=1e-3)
    assert model.objective_ == pytest.approx(anew.objective_, rel=1e-6)
    model.relabel(some_labels(truth, 5))
    assert len(model.history_) <= 1  # it is there already


def test_relabel_may_bring_new_classes_and_drop_old_ones():
    X, kind = blobs()
    model = FUCSMF(**QUIET).fit(X, np.where(np.arange(120) < 2, kind, -1))
    assert model.classes_.tolist() == [0, 1]
    y = np.full(120, -1)
    y[:3] = [4, 9, 2]
    model.relabel(y)
    assert model.classes_.tolist() == [2, 4, 9]
    assert accuracy(kind, model.labels_) == 1


def test_without_labels_the_rows_are_clustered_with_a_warning(digits):
    X, truth = digits
    with pytest.warns(UserWarning, match="no labels"):
        model = FUCSMF(10, **QUIET).fit(X)
    assert accuracy(truth, model.labels_) > 0.8


def test_several_views_do_better_than_their_worst_and_may_be_missing():
    loaded = load_multiview_digits()
    truth, y = loaded.target, some_labels(loaded.target, 3)
    views = loaded.views.read(slice(None))
    free = y < 0
    alone = [np.mean(FUCSMF(**QUIET).fit(view, y).labels_[free] == truth[free]) for view in views]
    together = FUCSMF(**QUIET).fit(views, y)
    assert np.mean(together.labels_[free] == truth[free]) > min(alone)
    gaps = [view.copy() for view in views]
    rng = np.random.default_rng(0)
    gone = rng.random((len(truth), len(views))) < 0.3
    gone[gone.all(axis=1), 0] = False
    for v, view in enumerate(gaps):
        view[gone[:, v]] = np.nan
    partly = FUCSMF(**QUIET).fit(gaps, y)
    assert np.mean(partly.labels_[free] == truth[free]) > min(alone)
    sums = partly.anchors_.weights(as_views(gaps)).sum(axis=1)
    np.testing.assert_allclose(np.asarray(sums).ravel(), 1)
    assert partly.curvature_ >= 0


def test_the_graph_of_two_whole_views_is_the_mean_of_their_graphs():
    X, kind = blobs()
    other = np.random.default_rng(3).normal(size=(120, 3)).astype(np.float32)
    model = FUCSMF(n_anchors=15, **QUIET).fit([X, other], some_labels(kind, 1))
    weights = model.anchors_.weights(as_views([X, other])).toarray()

    def graph(z):
        used = z[:, z.sum(axis=0) > 0]
        return used @ np.diag(1 / used.sum(axis=0)) @ used.T

    halves = [graph(2 * part) for part in (weights[:, :15], weights[:, 15:])]
    np.testing.assert_allclose(graph(weights), (halves[0] + halves[1]) / 2, atol=1e-10)


def test_must_links_pass_a_label_to_rows_far_away_and_cannot_links_push_back():
    X, kind = blobs(gap=3.0)
    y = some_labels(kind, 1)
    ones = np.flatnonzero(kind == 1)
    linked = FUCSMF(**QUIET).fit(X, y, must_link=[(ones[0], ones[-1])])
    assert linked.labels_[ones[0]] == linked.labels_[ones[-1]]
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 120, size=(400, 2))
    apart = pairs[kind[pairs[:, 0]] != kind[pairs[:, 1]]]
    alike = pairs[(kind[pairs[:, 0]] == kind[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    alone = FUCSMF(**QUIET).fit(X, y)
    helped = FUCSMF(**QUIET).fit(X, y, must_link=alike, cannot_link=apart)
    softly = make(FUCSMF, hard_links=False, **QUIET).fit(X, y, must_link=alike, cannot_link=apart)
    base = np.mean(alone.labels_ == kind)
    assert np.mean(helped.labels_ == kind) > base
    assert np.mean(softly.labels_ == kind) > base


def test_adapting_the_graph_never_raises_the_whole_objective(digits):
    X, truth = digits
    y = some_labels(truth[:600], 5)
    plain = make(FUCSMF, smoothness=100.0, **QUIET).fit(X[:600], y)
    turned = make(FUCSMF, smoothness=100.0, adapt=3, **QUIET).fit(X[:600], y)
    assert turned.objective_ < plain.objective_
    np.testing.assert_array_equal(turned.labels_[y >= 0], y[y >= 0])
    assert np.mean(turned.labels_ == truth[:600]) > 0.9


def test_adapting_does_not_cut_off_single_labels(digits):
    X, truth = digits
    y = some_labels(truth, 1)
    model = make(FUCSMF, adapt=3, metric="euclidean", **QUIET).fit(X, y)
    assert np.mean(model.labels_ == truth) > 0.8


def test_adapting_stops_where_no_step_helps():
    X, kind = blobs()
    model = FUCSMF(**QUIET).fit(X, some_labels(kind, 2))
    known = combine(some_labels(kind, 2), *np.zeros((2, 0, 2), dtype=int), hard=True)
    options = FUCSMFOptions(adapt=5)
    answer = solve(model._graph, known, 3, options)
    lowest = dataclasses.replace(answer, minimum=dataclasses.replace(answer.minimum, value=-1e9))
    assert adapt_graph(model._graph, known, lowest, options) is lowest
    assert adapt_graph(model._graph, known, answer, options) is not answer


def test_rows_that_no_label_reaches_take_the_class_of_the_nearest_and_a_warning_says_so():
    X, kind = blobs()
    island = X[:40] * 0.01 + np.array([0.0, 30.0], dtype=np.float32)
    rows = np.vstack([X, island])
    y = np.append(some_labels(kind, 2), np.full(40, -1))
    with pytest.warns(UserWarning, match=r"40 rows \(the first is row 120\)"):
        model = FUCSMF(metric="euclidean", scale="none", **QUIET).fit(rows, y)
    assert (model.labels_[120:] == 2).all()
    assert (model.predict(island) == 2).all()


def test_all_rows_labelled_leaves_nothing_to_solve_but_new_rows_can_be_predicted():
    X, kind = blobs()
    model = FUCSMF(**QUIET).fit(X, kind)
    np.testing.assert_array_equal(model.labels_, kind)
    assert model.history_ == []
    assert np.mean(model.predict(X + 0.1) == kind) > 0.95


def test_duplicate_rows_are_no_trouble():
    X, kind = blobs()
    rows = np.repeat(X, 12, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # copies of a row are not an island
        model = FUCSMF(**QUIET).fit(rows, some_labels(np.repeat(kind, 12), 2))
    assert model.anchors_.counts == [120]
    assert np.mean(model.labels_ == np.repeat(kind, 12)) > 0.9


def test_one_class_is_every_rows_class_with_a_warning():
    X, _ = blobs()
    y = np.full(120, -1)
    y[0] = 4
    with pytest.warns(UserWarning, match="Every label is 4"):
        model = FUCSMF(**QUIET).fit(X, y)
    assert (model.labels_ == 4).all()


def test_a_class_may_stay_without_labels_when_asked():
    X, kind = blobs()
    y = np.where(np.arange(120) < 2, kind, -1)
    model = FUCSMF(classes=[0, 1, 2], allow_unlabelled=True, **QUIET).fit(X, y)
    assert model.cluster_sizes_[2] == 0
    assert model.label_distributions_.shape == (120, 3)
    assert not model.is_convex_  # the third group is nearly an island
    assert -4 - 1e-6 < model.curvature_ < 0


Y = np.where(np.arange(120) < 6, np.arange(120) % 3, -1)


@pytest.mark.parametrize(
    ("params", "y", "links", "message"),
    [
        ({}, Y[:50], {}, r"y has shape \(50,\), but there are 120 rows"),
        ({}, np.where(Y == 2, -5, Y), {}, "y has label -5 in row 2"),
        ({}, Y + 0.5, {}, "y must hold whole numbers"),
        ({}, ["a"] * 120, {}, "y must hold whole numbers"),
        ({}, np.where(Y < 0, np.nan, Y), {}, "y must hold whole numbers"),
        ({"classes": [0, 1]}, Y, {}, r"label 2 in row 2, which is none of the classes \[0, 1\]"),
        ({"classes": [0, 1, 2, 3]}, Y, {}, "Class 3 has no labelled row"),
        ({"n_anchors": 500}, Y, {}, "n_anchors=500 is more than the 120 rows"),
        ({"anchors": np.zeros((4, 7))}, Y, {}, r"anchors of view 0 have shape \(4, 7\)"),
        ({"anchors": [np.zeros((4, 2))] * 2}, Y, {}, "anchors has 2 arrays for 1 views"),
        ({"anchors": "grid"}, Y, {}, "anchors='grid' does not fit FUCSMF"),
        ({"smoothness": -1}, Y, {}, "smoothness=-1 does not fit FUCSMF"),
        ({}, None, {"n_clusters": 200}, "n_samples=120 should be >= n_clusters=200"),
        ({}, Y, {"must_link": [(0, 500)]}, "must_link names row 500, but the rows are 0 to 119"),
        ({}, Y, {"must_link": [(7, 7)]}, "must_link pairs row 7 with itself"),
        ({}, Y, {"cannot_link": [1, 2]}, "cannot_link must be pairs of row numbers"),
        (
            {},
            Y,
            {"must_link": [(0, 9), (9, 1)]},
            "Rows 0 and 1 must be together by must_link but have different",
        ),
        (
            {},
            Y,
            {"must_link": [(8, 9)], "cannot_link": [(9, 8)]},
            "Rows 9 and 8 are in cannot_link, but must_link",
        ),
        ({}, Y, {"cannot_link": [(0, 3)]}, "Rows 0 and 3 are in cannot_link but have the same label"),
        ({"n_axes": None}, Y, {}, "n_axes=None needs a metric"),
        ({"adapt": 1, "adaptation": "printed", "views": [1, 1]}, Y, {}, "takes one view, but there are 2"),
        ({"hard_links": False}, Y, {"must_link": [(0, 1)]}, "Rows 0 and 1 must be together"),
    ],
)
def test_mistakes_are_named_in_one_sentence(params, y, links, message):
    X, _ = blobs()
    links = dict(links)
    params = params | {name: links.pop(name) for name in ("n_clusters",) if name in links}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(InputError, match=message) as caught:
            make(FUCSMF, **params, **QUIET).fit(X, y, **links)
    assert "\n" not in str(caught.value)


def test_a_saved_model_predicts_the_same_but_cannot_be_relabelled(digits, fitted, tmp_path):
    X, _ = digits
    fitted.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    np.testing.assert_array_equal(loaded.transform(X[:50]), fitted.transform(X[:50]))
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    np.testing.assert_array_equal(loaded.classes_, fitted.classes_)
    assert loaded.curvature_ == fitted.curvature_
    with pytest.raises(InputError, match="call fit with the rows"):
        loaded.relabel(fitted.labels_)


def test_memory_is_linear_in_rows_and_far_from_a_square():
    X, kind = blobs(20_000)
    y = some_labels(kind, 3)
    FUCSMF(n_anchors=200, **QUIET).fit(X[:500], y[:500])  # imports and caches
    tracemalloc.start()
    FUCSMF(n_anchors=200, **QUIET).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 8 * 20_000 * 3
