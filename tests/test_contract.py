"""What every estimator promises, checked on every public class: scikit-learn's contract and ours."""

import random
import warnings

import numpy as np
import pytest
import torch
from benchmarks.making import make
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import coterie
from coterie.methods.base import EXPECTED_FAILED_CHECKS
from coterie.methods.registry import METHODS, find_method

SHORT = {
    "PCX": {"max_epochs": 3},
    "LargeMvCNet": {"n_landmarks": 20},
    "MVSIB": {"max_epochs": 3},
    "SSCNet": {"max_epochs": 3, "n_atoms": 16, "n_landmarks": 60},
    "SSC": {"tol": 0.1},
}
"""What makes a fit of a class quick."""

ROUNDED = {"SSC": 1e-5}
"""How far a row alone may be from the row in a batch: SSC solves rows together until the last has converged."""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def estimator(method, **params):
    return make(method.load(), 3, **{"random_state": 0, **SHORT.get(method.name, {}), **params})


def three_groups():
    """Return rows of three groups that overlap, and the classes of the first ten."""
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    rows = 1.5 * rng.normal(size=(3, 6))[kinds] + rng.normal(size=(90, 6))
    return rows.astype(np.float32), np.where(np.arange(90) < 10, kinds, -1)


def fit(model, method):
    X, y = three_groups()
    return model.fit(X, y) if method.uses_labels else model.fit(X)


def random_states():
    state = np.random.get_state()  # noqa: NPY002
    return random.getstate(), state[1].tolist(), state[2:], torch.get_rng_state().tolist()


def answers(model, X):
    return model.predict(X), model.predict_proba(X), model.transform(X)


@pytest.fixture(scope="module", params=METHODS, ids=lambda method: method.name)
def method(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(method):
    return fit(estimator(method), method)


def test_every_public_estimator_is_here():
    public = {name for name in coterie.__all__ if hasattr(getattr(coterie, name), "fit_predict")}
    assert public == {method.name for method in METHODS}


def test_scikit_learns_checks_pass_but_for_the_listed_ones(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            estimator(method), expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail="raise"
        )
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(EXPECTED_FAILED_CHECKS)


def test_parameters_survive_fit_clone_and_set_params(method, fitted):
    params = estimator(method).get_params()
    assert fitted.get_params() == clone(fitted).get_params() == params
    own = fitted.get_params(deep=False)
    assert method.load()().set_params(**own).get_params() == params


def test_fitting_again_gives_the_same_model_to_the_bit_and_touches_no_global_seed(method, fitted):
    random.random(), np.random.random(), torch.rand(1)  # noqa: NPY002, else a second seeding would change nothing
    before = random_states()
    again = fit(clone(fitted), method)
    assert random_states() == before
    X, _ = three_groups()
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    for one, other in zip(answers(again, X), answers(fitted, X), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(fit(again, method).labels_, fitted.labels_)


@pytest.mark.parametrize("seed", [-1, 2**32, "seven"])
def test_a_random_state_that_is_no_seed_is_one_sentence(method, seed):
    with pytest.raises(
        coterie.InputError, match=f"^random_state={seed!r} is no seed: it must be a whole number"
    ):
        fit(estimator(method, random_state=seed), method)


@pytest.mark.parametrize("name", ["PCX", "MVSIB", "SSCNet"])
def test_another_seed_trains_another_network(name):
    X, _ = three_groups()
    one, other = (estimator(find_method(name), random_state=seed).fit(X).transform(X) for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_fitted_rows_without_a_label_are_predicted_as_they_were_labelled(method, fitted):
    X, y = three_groups()
    free = y == -1 if method.uses_labels else slice(None)
    np.testing.assert_array_equal(fitted.predict(X)[free], fitted.labels_[free])


def test_memberships_sum_to_one_and_the_largest_is_that_of_the_label(fitted):
    X, _ = three_groups()
    memberships = fitted.predict_proba(X)
    assert memberships.shape == (90, 3)
    assert (memberships >= 0).all()
    np.testing.assert_allclose(memberships.sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(memberships.argmax(1), fitted.predict(X))


def test_a_row_alone_is_what_it_is_in_a_batch(method, fitted):
    X = three_groups()[0] + np.float32(0.1)
    together = answers(fitted, X)
    for row in range(0, 90, 11):
        for whole, alone in zip(together, answers(fitted, X[row : row + 1]), strict=True):
            np.testing.assert_allclose(alone[0], whole[row], rtol=0, atol=ROUNDED.get(method.name, 0))


def test_an_exemplar_is_a_row_of_its_cluster(fitted):
    np.testing.assert_array_equal(fitted.labels_[fitted.exemplar_indices_], np.arange(3))


def test_a_loaded_model_gives_the_answers_of_the_saved_one_to_the_bit(fitted, tmp_path):
    fitted.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.history_ == fitted.history_
    for name in ("labels_", "exemplar_indices_", "cluster_sizes_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    X = three_groups()[0] + np.float32(0.1)
    for one, other in zip(answers(loaded, X), answers(fitted, X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_torch_has_the_threads_that_it_had(method):
    X, _ = three_groups()
    had = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        answers(fit(estimator(method), method), X)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(had)
