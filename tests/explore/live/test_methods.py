"""The page takes a run of any method."""

import numpy as np
import pytest

from coterie import FUCSMF, MVSIB, SSC, LargeMvCNet, SSCNet, as_views, load, refine
from coterie.explore.live import describe
from coterie.explore.live.export import EXPORTS
from coterie.explore.live.row_details import RowDetails
from coterie.explore.live.session import Session

KIND = np.arange(90) % 3


def two_views(missing):
    rng = np.random.default_rng(0)
    tables = [np.eye(3)[KIND] @ rng.normal(size=(3, d)) * 5 + rng.normal(size=(90, d)) for d in (6, 5)]
    if missing:
        tables[1][::9] = np.nan
    return as_views({"sound": tables[0], "sight": tables[1]})


def known():
    y = np.full(90, -1)
    y[:9] = np.array([4, 7, 30])[KIND[:9]]
    return y


MAKERS = {
    "LargeMvCNet": lambda: LargeMvCNet(3, random_state=0).fit(two_views(True)),
    "MVSIB": lambda: MVSIB(3, hidden=(16,), max_epochs=6, random_state=0).fit(two_views(True)),
    "SSCNet": lambda: SSCNet(3, n_atoms=16, max_epochs=40, random_state=0).fit(
        two_views(False).select(slice(None))
    ),
    "SSC": lambda: SSC(3, random_state=0).fit(two_views(False)),
    "FUCSMF": lambda: FUCSMF(random_state=0).fit(two_views(True), known()),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_refined_model_is_explored_with_its_names_and_numbers_and_refined_again(tmp_path):
    views = two_views(True)
    first = refine(MAKERS["FUCSMF"](), views, {0: 11, 3: 11})
    first.model({11: "new", 7: "old"}).save(tmp_path / "refined.coterie")
    session = Session(load(tmp_path / "refined.coterie"), views, tmp_path / "explore", embedding="pca")
    session.prepare()
    assert session.refiner.failure is None
    np.testing.assert_array_equal(session.state.labels, first.labels)
    assert describe.run_json(session)["method"] == "FUCSMF, refined"
    assert session.corrections.names == {11: "new", 7: "old"}
    session.name(7, "older")
    assert load(session.export(EXPORTS["model"].write, "named")).names_ == {11: "new", 7: "older"}
    change = session.label([31], 11)
    assert change.taken_over == 0
    assert session.state.labels[[0, 3, 31]].tolist() == [11, 11, 11]
    session.merge(11, 7)
    assert session.corrections.names == {7: "older"}
    assert session.state.labels[[0, 3, 31]].tolist() == [7, 7, 7]
    assert 11 not in session.state.numbers
    assert load(session.export(EXPORTS["model"].write, "again")).names_ == {7: "older"}
    session.export(EXPORTS["report"].write, "report.html")
    session.log.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", MAKERS)
def test_a_run_of_any_method_is_shown_corrected_and_exported(method, tmp_path):
    model, views = MAKERS[method](), two_views(method not in ("SSCNet", "SSC"))
    session = Session(model, views, tmp_path / "explore", embedding="pca")
    session.prepare()
    assert session.refiner.failure is None
    assert session.state.numbers.tolist() == np.unique(model.labels_).tolist()
    rows = np.flatnonzero(KIND == 1)[:6].tolist()
    session.label(rows, None)
    new = int(session.state.labels[rows[0]])
    assert new == max(session.state.numbers) > max(model.labels_)
    assert session.state.sizes().sum() == 90
    details = RowDetails(session)
    assert details.cluster(new)["size"] >= 6
    (found,) = details.rows([9])
    assert found["missing"] == (["sight"] if method not in ("SSCNet", "SSC") else [])
    shown = describe.colouring_json(session, "views")["groups"]
    assert len(shown) == (1 if method in ("SSCNet", "SSC") else 2)
    for what in ("labels.csv", "model", "report"):
        assert session.export(EXPORTS[what].write, EXPORTS[what].file).stat().st_size > 100
    session.log.close()
