"""The human loop."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.making import make

from coterie import FUCSMF, PCX, InputError, LargeMvCNet, as_views, load, refine
from coterie.methods.active_learning import Regions, interleave, uncertain_rows
from coterie.methods.refine import Refinement, as_labels
from coterie.methods.refined_model import RefinedModel
from coterie.store import read_archive, write_archive

CENTERS = np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0], [6, 6, 0]])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    kind = np.arange(200) % 4
    return (CENTERS[kind] + 0.7 * rng.normal(size=(200, 3))).astype(np.float32), kind


@pytest.fixture(scope="module")
def model(rows):
    """Four groups, and a model that was asked for four."""
    return PCX(4, hidden=(16,), max_epochs=30, random_state=0).fit(rows[0])


@pytest.fixture(scope="module")
def coarse(rows):
    """Four groups, and a model that was asked for two."""
    return PCX(2, hidden=(16,), max_epochs=30, random_state=0).fit(rows[0])


def number_of(model, kind, wanted):
    """The model's number for a group."""
    return int(np.bincount(model.labels_[kind == wanted]).argmax())


def test_with_nothing_said_nearly_every_row_stays(rows, model):
    refined = refine(model, rows[0])
    assert (refined.labels == model.labels_).mean() > 0.98
    np.testing.assert_array_equal(refined.clusters, model.labels_)
    np.testing.assert_allclose(refined.memberships.sum(axis=1), 1)


def test_what_a_person_said_is_never_overwritten(rows, model):
    X, kind = rows
    wrong = {int(row): 3 for row in np.flatnonzero(kind == 0)[:3]}
    refined = refine(model, X, wrong)
    assert all(refined.labels[row] == 3 for row in wrong)


def test_a_label_on_a_typical_row_merges_its_cluster_into_another(rows, model):
    X, kind = rows
    one, other = number_of(model, kind, 0), number_of(model, kind, 1)
    refined = refine(model, X, {int(model.exemplar_indices_[one]): other})
    assert one not in refined.classes
    assert (refined.labels[kind == 0] == other).mean() > 0.95
    assert (refined.labels[kind == 3] == number_of(model, kind, 3)).all()


def test_a_label_on_a_row_at_the_edge_leaves_its_cluster_alone(rows, model):
    X, kind = rows
    one, other = number_of(model, kind, 0), number_of(model, kind, 1)
    sure = model.assign(X).confidence
    least = np.flatnonzero(kind == 0)[sure[kind == 0].argmin()]
    refined = refine(model, X, {int(least): other})
    assert refined.labels[least] == other
    assert (np.delete(refined.labels, least)[np.delete(kind, least) == 0] == one).mean() > 0.9


def test_new_labels_split_a_cluster(rows, coarse):
    X, kind = rows
    said = {int(row): int(kind[row]) + 10 for row in range(8)}
    refined = refine(coarse, X, said, keep=False)
    assert refined.classes.tolist() == [10, 11, 12, 13]
    assert (refined.labels == kind + 10).mean() > 0.95


def test_an_update_is_what_a_new_refinement_says(rows, model):
    X, kind = rows
    first = refine(model, X, {0: int(kind[0])})
    graph = first._solver._graph
    here, there = (int(model.exemplar_indices_[number_of(model, kind, k)]) for k in (0, 3))
    links = {"must_link": [(here, there)], "cannot_link": [(2, 3)]}
    first.update(
        {1: 7, 2: 8},
        **links,
    )
    assert first._solver._graph is graph
    anew = refine(model, X, {1: 7, 2: 8}, **links)
    np.testing.assert_array_equal(first.classes, anew.classes)
    np.testing.assert_allclose(first.memberships, anew.memberships, atol=0.02)


@pytest.mark.parametrize("kind_of_model", ["views", "labels"])
def test_any_fitted_model_can_be_refined(rows, kind_of_model):
    X, kind = rows
    if kind_of_model == "views":
        parts = [X[:, :2], X[:, ::-1].copy()]
        parts[1][4] = np.nan
        model, given = make(LargeMvCNet, 4, n_landmarks=30, random_state=0).fit(parts), as_views(parts)
    else:
        y = np.where(np.arange(200) < 8, kind, -1)
        model, given = FUCSMF(random_state=0).fit(X, y), X
    said = np.where(np.arange(200) < 12, kind, -1)
    refined = refine(model, given, said, keep=False)
    assert (refined.labels == kind).mean() > 0.95


def test_rows_to_ask_about_are_unsure_spread_and_not_known(rows, model):
    X, _ = rows
    refined = refine(model, X, {3: int(model.labels_[3])}, n_ask=8)
    assert len(refined.ask) == 8
    assert 3 not in refined.ask
    assert len(np.unique(refined._solver.nearest_anchor()[refined.ask])) == 8
    assert len(np.unique(refined.labels[refined.ask])) == 4
    top = np.sort(refined.memberships, axis=1)
    margin = top[:, -1] - top[:, -2]
    assert margin[refined.ask].mean() < margin.mean()


def test_asking_takes_the_least_sure_of_each_class_in_turn():
    memberships = np.array([[0.9, 0.1], [0.55, 0.45], [0.8, 0.2], [0.4, 0.6], [0.1, 0.9]])
    asked = uncertain_rows(memberships, np.arange(5), np.zeros(5, dtype=bool), 4)
    assert asked.tolist() == [1, 3, 2, 4]
    known = np.array([False, True, False, False, False])
    assert uncertain_rows(memberships, np.arange(5), known, 2).tolist() == [3, 2]
    assert uncertain_rows(memberships, np.zeros(5, dtype=int), np.zeros(5, dtype=bool), 4).tolist() == [1]
    assert uncertain_rows(memberships, np.array([0, 0, 1, 2, 2]), known, 5).tolist() == [3, 2, 0]
    assert uncertain_rows(memberships, np.array([0, 3, 1, 2, 2]), known, 5).tolist() == [3, 2, 0]


def test_asked_labels_help_more_than_labels_at_random():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 600)
    X = (np.array([[0, 0], [2.2, 0], [0, 2.2]])[kind] + rng.normal(size=(600, 2))).astype(np.float32)
    model = PCX(3, hidden=(16,), max_epochs=20, random_state=0).fit(X)
    named = np.array([np.bincount(model.labels_[kind == k], minlength=3).argmax() for k in range(3)])
    truth = named[kind]
    refined, said = Refinement(model, X, n_ask=20), {}
    refined.update()
    for _ in range(5):
        said |= {int(row): int(truth[row]) for row in refined.ask}
        refined.update(said)
    asked = (refined.labels == truth).mean()
    drawn = {int(row): int(truth[row]) for row in rng.choice(600, len(said), replace=False)}
    assert asked > (refined.update(drawn).labels == truth).mean()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ({900: 1}, "y labels row 900, but the rows are 0 to 199"),
        ({3: "tall"}, "y gives row 3 the label 'tall': a label is the number of a cluster"),
        ({3: 1.5}, "y gives row 3 the label 1.5: a label is"),
        ([1, 2], r"y has shape \(2,\)"),
    ],
)
def test_labels_that_do_not_fit_the_rows_are_named(rows, model, y, message):
    with pytest.raises(InputError, match=message):
        refine(model, rows[0], y)


def test_nothing_to_go_by_is_said(rows, model):
    with pytest.raises(InputError, match="nothing to go by"):
        refine(model, rows[0], keep=False)


def test_labels_come_as_an_array_or_as_a_mapping():
    np.testing.assert_array_equal(as_labels({1: 4}, 3), [-1, 4, -1])
    np.testing.assert_array_equal(as_labels(np.array([-1, 4, -1]), 3), [-1, 4, -1])
    np.testing.assert_array_equal(as_labels(None, 2), [-1, -1])


def test_where_merges_are_named_a_label_on_a_typical_row_moves_no_cluster(rows, model):
    X, kind = rows
    one, other = number_of(model, kind, 0), number_of(model, kind, 1)
    refined = Refinement(model, X).update({int(model.exemplar_indices_[one]): other}, merged={})
    assert (refined.labels[kind == 0] == one).mean() > 0.9
    refined.update(merged={one: other})
    assert (refined.labels[kind == 0] == other).mean() > 0.95
    assert one not in refined.classes
    row = int(model.exemplar_indices_[one])
    assert (refined.update({row: 9}, merged={one: -1}).labels[kind == 0] == 9).mean() > 0.9


def test_a_contradiction_leaves_the_last_answer_as_it_was(rows, model):
    X, _ = rows
    refined = Refinement(model, X).update({0: 0, 1: 1})
    before = refined.labels.copy()
    with pytest.raises(InputError, match="different labels"):
        refined.update({0: 0, 1: 9}, must_link=[(0, 1)])
    np.testing.assert_array_equal(refined.update({0: 0, 1: 1}).labels, before)


@pytest.mark.parametrize("kind_of_model", ["pcx", "fucsmf", "column groups"])
def test_a_refined_model_labels_new_rows_and_comes_back_from_its_file(rows, model, kind_of_model, tmp_path):
    X, kind = rows
    if kind_of_model == "fucsmf":
        y = np.full(len(X), -1)
        y[:8] = kind[:8]
        model = FUCSMF(random_state=0).fit(X, y)
    elif kind_of_model == "column groups":
        model = LargeMvCNet(4, views=[2, 1], random_state=0).fit(X)
    one = number_of(model, kind, 0)
    refined = Refinement(model, X).update(dict.fromkeys(np.flatnonzero(kind == 0)[:5].tolist(), 7))
    made = refined.model({7: "corner", one: "gone"})
    assert (made.predict(X) == refined.labels).mean() > 0.97
    made.save(tmp_path / "refined.coterie")
    same = load(tmp_path / "refined.coterie")
    np.testing.assert_array_equal(same.predict(X[:9]), made.predict(X[:9]))
    np.testing.assert_array_equal(same.labels_, refined.labels)
    assert same.names_ == {7: "corner", one: "gone"}
    assert same.get_params().keys() == model.get_params().keys()


@pytest.fixture(scope="module")
def corrected(rows):
    """A model, what was said of it, and the refined model of that."""
    X, kind = rows
    model = LargeMvCNet(4, views=[2, 1], random_state=0).fit(X)
    second, third = (number_of(model, kind, wanted) for wanted in (1, 2))
    refined = refine(model, X, {0: 9, 4: 9, 1: second, 50: third}, must_link=[(10, 11)])
    return refined, refined.model({9: "corner"})


@pytest.mark.parametrize("base", ["column groups", "fucsmf"])
def test_a_refined_model_goes_on_where_it_was_also_from_its_file(rows, corrected, base, tmp_path):
    X, kind = rows
    first, made = corrected
    if base == "fucsmf":
        model = FUCSMF(random_state=0).fit(X, np.where(np.arange(200) < 8, kind, -1))
        first = refine(model, X, {0: 9, 4: 9})
        made = first.model({9: "corner"})
    made.save(tmp_path / "refined.coterie")
    again = refine(load(tmp_path / "refined.coterie"), X)
    np.testing.assert_array_equal(again.labels, first.labels)
    np.testing.assert_array_equal(again.clusters, first.labels)
    np.testing.assert_allclose(again.memberships, first.memberships, atol=1e-6)
    assert again.model().names_ == {9: "corner"}
    assert type(again.model().base) is type(made.base)


def test_what_is_said_of_a_refined_model_comes_after_what_was_said_before(rows, corrected):
    X, kind = rows
    first, made = corrected
    second, third = (number_of(made.base, kind, wanted) for wanted in (1, 2))
    again = Refinement(made, X).update({1: 9, 30: 12}, merged={})
    assert set(again.classes) == {*first.classes, 12}
    assert again.labels[[0, 1, 4, 30, 50]].tolist() == [9, 9, 9, 12, third]
    assert again.labels[10] == again.labels[11]
    merged = Refinement(made, X).update({30: 12}, merged={9: second})
    assert merged.labels[[0, 1, 4, 30, 50]].tolist() == [second, second, second, 12, third]
    assert 9 not in merged.classes
    with pytest.raises(InputError, match="Rows 10 and 11 must be together"):
        refine(made, X, {10: 0, 11: 1})
    assert refine(made, X, {0: 1, 1: 2}, keep=False).classes.tolist() == [1, 2]


def test_a_refined_model_is_refined_on_the_rows_that_were_corrected(rows, corrected):
    with pytest.raises(InputError, match="X has 50 rows, but 200 rows were corrected"):
        refine(corrected[1], rows[0][:50])


@pytest.mark.parametrize("change", [{"labels": np.zeros(3, int)}, {"must_link": np.array([[0, 999]])}])
def test_a_refined_model_with_impossible_constraints_is_refused(corrected, tmp_path, change):
    made = corrected[1]
    RefinedModel(made.base, made.solver, replace(made.constraints, **change)).save(tmp_path / "odd.coterie")
    with pytest.raises(InputError, match=r"odd\.coterie.*(labels behind the classes|names row 999)"):
        load(tmp_path / "odd.coterie")


def test_a_refined_model_saved_under_the_earlier_name_of_its_constraints_is_read(corrected, tmp_path):
    made = corrected[1]
    made.save(tmp_path / "new.coterie")
    manifest, arrays = read_archive(tmp_path / "new.coterie")
    old = {name.replace("constraints.", "grounds."): array for name, array in arrays.items()}
    write_archive(tmp_path / "old.coterie", manifest, old)
    again = load(tmp_path / "old.coterie")
    np.testing.assert_array_equal(again.constraints.labels, made.constraints.labels)


def test_links_between_rows_that_stand_for_clusters_are_no_contradiction(rows, model):
    X, kind = rows
    surest = np.argsort(-model.assign(X).confidence, kind="stable")
    one, other = (int(surest[kind[surest] == k][0]) for k in (0, 1))
    refined = refine(model, X, must_link=[(one, other)])
    assert refined.labels[one] == refined.labels[other]
    assert len(refined.classes) == 4
    near = [int(row) for row in surest[kind[surest] == 2][:2]]
    assert len(refine(model, X, cannot_link=[near]).classes) == 4


def test_a_cluster_whose_rows_are_all_kept_together_stays(rows, model):
    X, kind = rows
    number = number_of(model, kind, 0)
    members = np.flatnonzero(model.labels_ == number)
    refined = refine(model, X, must_link=[(members[0], row) for row in members[1:]])
    assert (refined.labels[members] == number).all()


def test_a_region_that_no_label_reaches_is_asked_about_before_anything_unsure(rows, coarse):
    """Four groups in two clusters: the model is sure of its mistake, and only the regions show it."""
    X, kind = rows
    refined = Refinement(coarse, X).update(merged={})
    seeds = {number: np.bincount(kind[refined.clusters == number], minlength=4) for number in (0, 1)}
    hidden = [group for count in seeds.values() for group in np.flatnonzero(count > 20)]
    assert sorted(hidden) == [0, 1, 2, 3]
    said, number = {}, 10
    for _ in range(5):
        row = int(refined.ask[0])
        known = {int(kind[one]): label for one, label in said.items()}
        said[row] = known.get(int(kind[row]), number)
        number += 1
        refined.update(said, merged={0: -1, 1: -1})
    assert {int(kind[row]) for row in said} == {0, 1, 2, 3}


def test_regions_that_somebody_spoke_of_are_left_out():
    data = as_views(np.repeat(np.eye(3) * 9, [30, 20, 10], axis=0))
    regions = Regions(data, 3)
    known = np.zeros(60, dtype=bool)
    even = np.ones(len(regions.rows))
    largest, middle, smallest = regions.unlabelled(even, known).tolist()
    assert largest < 30 <= middle < 50 <= smallest
    weak = np.where(regions.rows >= 50, 1e-3, 1.0)
    assert regions.unlabelled(weak, known)[0] >= 50
    known[0] = True
    assert all(row >= 30 for row in regions.unlabelled(even, known))


def test_identical_rows_are_one_region():
    regions = Regions(as_views(np.ones((5, 2))), 3)
    assert len(regions.unlabelled(np.ones(5), np.zeros(5, dtype=bool))) == 1


def test_entries_come_in_turn_and_once():
    assert interleave(np.array([5]), np.array([5, 6, 7]), 9).tolist() == [5, 6, 7]
    assert interleave(np.array([], dtype=int), np.array([2, 1]), 1).tolist() == [2]


def test_the_same_words_give_the_same_answer_in_whatever_order_they_came(rows, model):
    X, _ = rows
    refined = Refinement(model, X).update(merged={})
    first = refined.update({3: 9, 7: 9}, merged={}).memberships
    refined.update({40: 8, 41: 8}, merged={0: 1})
    np.testing.assert_array_equal(refined.update({3: 9, 7: 9}, merged={}).memberships, first)
