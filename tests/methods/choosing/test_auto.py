"""`n_clusters="auto"` in every estimator."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import coterie
from coterie import FUCSMF, MVSIB, PCX, SSC, InputError, LargeMvCNet, SSCNet

pytestmark = [
    pytest.mark.filterwarnings("ignore:FUCSMF has no labels"),
    pytest.mark.filterwarnings("ignore:.* are connected to no labelled row"),
    pytest.mark.filterwarnings("ignore:.* sparse codes are not within tol"),
]
SHORT = {"max_epochs": 3}
ESTIMATORS = [
    (PCX, {**SHORT, "hidden": (16,), "n_code": 4}),
    (MVSIB, {**SHORT, "hidden": (16,), "n_code": 8}),
    (SSCNet, {**SHORT, "n_atoms": 16, "n_landmarks": 60}),
    (LargeMvCNet, {}),
    (SSC, {}),
    (FUCSMF, {}),
]


@pytest.fixture(scope="module")
def rows():
    return make_blobs(120, n_features=6, centers=np.eye(6)[:3] * 12, random_state=0)[0]


@pytest.mark.parametrize(("estimator", "settings"), ESTIMATORS, ids=lambda one: getattr(one, "__name__", ""))
def test_the_rows_say_how_many_clusters_there_are(estimator, settings, rows, tmp_path):
    model = estimator("auto", random_state=0, **settings).fit(rows)
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == model.k_choice_.k == 3
    assert len(model.cluster_sizes_) == model.predict_proba(rows[:2]).shape[1] == 3
    model.save(tmp_path / "model")
    same = coterie.load(tmp_path / "model")
    assert (same.n_clusters, same.n_clusters_, same.k_choice_) == ("auto", 3, model.k_choice_)
    np.testing.assert_array_equal(same.predict(rows), model.predict(rows))


@pytest.mark.parametrize(("estimator", "settings"), ESTIMATORS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_number_is_taken_as_it_is_and_forgets_an_earlier_choice(estimator, settings, rows):
    model = estimator("auto", random_state=0, **settings).fit(rows)
    model.set_params(n_clusters=2).fit(rows)
    assert (model.n_clusters_, model.k_choice_) == (2, None)


def test_labels_say_what_classes_there_are(rows):
    y = np.full(120, -1)
    y[[0, 1]] = [4, 7]
    model = FUCSMF("auto", random_state=0).fit(rows, y)
    assert (model.n_clusters_, model.k_choice_) == (2, None)


def test_labels_that_are_taken_back_leave_as_many_clusters_as_there_were(rows):
    model = FUCSMF("auto", random_state=0).fit(rows)
    model.relabel(np.full(120, -1))
    assert model.n_clusters_ == 3
    assert model.relabel(np.r_[0, 1, np.full(118, -1)]).k_choice_ is None
    assert model.n_clusters_ == 2


def test_a_stream_goes_on_with_the_clusters_of_its_first_rows(rows):
    model = PCX("auto", random_state=0, hidden=(16,), n_code=4, **SHORT)
    model.partial_fit(rows[:80]).partial_fit(rows[80:])
    assert model.n_clusters_ == 3
    assert len(model.cluster_centers_) == 3


def test_a_run_that_goes_on_from_a_checkpoint_chooses_the_same(rows, tmp_path):
    settings = {**SHORT, "hidden": (16,), "n_code": 4, "checkpoint": str(tmp_path / "state")}
    first = PCX("auto", **settings).fit(rows)
    again = PCX("auto", **settings).fit(rows)
    assert again.k_choice_ == first.k_choice_
    np.testing.assert_array_equal(again.labels_, first.labels_)


def test_rows_that_do_not_tell_are_warned_of():
    cloud = np.random.default_rng(0).normal(size=(200, 8))
    with pytest.warns(UserWarning, match="do not tell how many clusters"):
        LargeMvCNet("auto", random_state=0).fit(cloud)


def test_too_few_rows_are_one_sentence():
    with pytest.raises(InputError, match="too few to tell how many clusters there are"):
        SSC("auto").fit(np.eye(5))


def test_another_word_is_refused():
    with pytest.raises(InputError, match=r"n_clusters='many'.* at least 1 or 'auto'"):
        PCX("many").fit(np.eye(20))
