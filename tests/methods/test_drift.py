"""Drift: planted rows that are like the fit, shifted, or of a new group, for every kind of method."""

import json

import numpy as np
import pytest

from coterie import FUCSMF, MVSIB, PCX, GraphClustering, LargeMvCNet, SSCNet, as_views
from coterie.methods.drift import Reference, Seen

RNG = np.random.default_rng(0)
CENTRES = 5 * RNG.normal(size=(4, 6))
ELSEWHERE = 5 * RNG.normal(size=6) + 12


def draw(n, kinds=(0, 1, 2, 3)):
    return CENTRES[RNG.choice(kinds, size=n)] + RNG.normal(size=(n, 6))


FITTED, SAME = draw(800), draw(400)
SHIFTED = draw(400) + 2.5 * np.eye(6)[1]
NEW = np.concatenate([draw(340), ELSEWHERE + RNG.normal(size=(60, 6))])
FEWER = draw(400, (0, 0, 0, 1, 2, 3))
METHODS = {
    "graph": GraphClustering(4, random_state=0),
    "pcx": PCX(4, max_epochs=3, hidden=(16,), n_code=4, random_state=0),
    "mvsib": MVSIB(4, max_epochs=2, hidden=(16,), random_state=0),
    "largemvc": LargeMvCNet(4, random_state=0),
    "sscnet": SSCNet(4, max_epochs=2, random_state=0),
    "fucsmf": FUCSMF(random_state=0),
}


@pytest.fixture(scope="module", params=METHODS)
def fitted(request):
    """A model, and what is remembered of its rows."""
    known = np.full(len(FITTED), -1)
    nearest = np.square(FITTED[:, None] - CENTRES).sum(axis=2).argmin(axis=1)
    known[:40] = nearest[:40]
    model = METHODS[request.param].fit(FITTED, known if request.param == "fucsmf" else None)
    data = as_views(FITTED)
    labels, confidence = model.assign(FITTED)
    return model, Reference.of(data, labels, confidence, len(model.cluster_sizes_))


def report(fitted, rows, names=None):
    model, reference = fitted
    seen = reference.observe(as_views(rows), *model.assign(rows), names)
    return reference.report([seen])


def test_rows_like_those_of_the_fit_are_no_drift(fitted):
    found = report(fitted, SAME)
    assert not found["drift"], found["sentences"]
    assert found["far"]["share"] < 0.03


def test_rows_that_moved_along_a_column_are_a_shift_of_that_column_and_no_new_group(fitted):
    found = report(fitted, SHIFTED)
    assert found["drift"]
    assert found["columns"][0]["column"] == "column 1"
    assert found["columns"][0]["deviations"] > 0
    assert found["new_groups"] == []


def test_rows_of_a_group_that_the_fit_had_not_are_found_with_exemplars(fitted):
    found = report(fitted, NEW, np.array([f"c{i}" for i in range(400)]))
    assert found["columns"] == []
    (group,) = found["new_groups"]
    assert 50 <= group["rows"] <= 70
    assert all(row["row"] >= 340 and row["id"] == f"c{row['row']}" for row in group["exemplars"])


def test_clusters_of_other_sizes_are_said_and_no_new_group():
    model = METHODS["graph"].fit(FITTED)
    reference = Reference.of(as_views(FITTED), *model.assign(FITTED), 4)
    found = report((model, reference), FEWER)
    (grown,) = (size for size in found["sizes"] if size["cluster"] == model.predict(CENTRES[:1])[0])
    assert grown["changed"]
    assert 0.4 < grown["share"] < 0.6
    assert found["new_groups"] == []


def test_a_report_of_parts_is_that_of_all_rows_and_survives_a_file():
    model = METHODS["graph"].fit(FITTED)
    reference = Reference.of(as_views(FITTED), *model.assign(FITTED), 4)
    reference = Reference.from_contents(*reference.contents())
    parts = [NEW[:100], NEW[100:350], NEW[350:]]
    seen = [reference.observe(as_views(part), *model.assign(part)) for part in parts]
    seen = [Seen.from_contents(*part.contents()) for part in seen]
    together, whole = reference.report(seen, ["a", "b", "c"]), report((model, reference), NEW)
    assert together["far"] == whole["far"]
    assert together["sizes"] == whole["sizes"]
    assert [group["rows"] for group in together["new_groups"]] == [
        group["rows"] for group in whole["new_groups"]
    ]
    assert {row["file"] for row in together["new_groups"][0]["exemplars"]} <= {"b", "c"}
    assert json.loads(json.dumps(together)) == together


def test_a_row_that_lacks_a_view_is_judged_by_the_others():
    one, two = FITTED[:, :3].copy(), FITTED[:, 3:].copy()
    two[::5] = np.nan
    data = as_views([one, two])
    data.check()
    labels = np.square(FITTED[:, None] - CENTRES).sum(axis=2).argmin(axis=1)
    reference = Reference.of(data, labels, np.ones(800), 4)
    new = as_views([SAME[:, :3], np.full((400, 3), np.nan)])
    new.check()
    same = np.square(SAME[:, None] - CENTRES).sum(axis=2).argmin(axis=1)
    found = reference.report([reference.observe(new, same, np.ones(400))])
    assert found["far"]["share"] < 0.03
    assert found["columns"] == []
