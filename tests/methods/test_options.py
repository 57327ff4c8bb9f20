"""Parameters and options: how many there are, where they went, and what a preset may decide."""

import copy
import dataclasses
import inspect
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

import coterie
from coterie import (
    FUCSMF,
    MVSIB,
    PCX,
    FUCSMFOptions,
    GraphClustering,
    InputError,
    LargeMvCNet,
    PCXOptions,
    SSCNet,
)
from coterie.cli.inputs import read_settings
from coterie.methods.moved import ARRAYS, GONE
from coterie.methods.registry import METHODS
from coterie.store import read_archive, write_archive

WITH_OPTIONS = [PCX, MVSIB, SSCNet, LargeMvCNet, FUCSMF]
SMALL = {"hidden": (8,), "n_code": 2, "max_epochs": 2, "random_state": 0}


def rows(n=40):
    rng = np.random.default_rng(0)
    return (4 * rng.normal(size=(3, 5))[np.arange(n) % 3] + rng.normal(size=(n, 5))).astype(np.float32)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_no_constructor_has_more_than_eighteen_parameters(method):
    assert len(inspect.signature(method.load()).parameters) <= 18


@pytest.mark.parametrize("estimator", WITH_OPTIONS)
def test_every_option_fits_its_rule_by_default_and_has_a_line_of_documentation(estimator):
    options = estimator._options
    options().check()
    assert [name for name in options.names() if f"    {name} : " not in options.__doc__] == []
    assert not set(options.names()) & set(estimator._get_param_names())


@pytest.mark.parametrize("estimator", WITH_OPTIONS)
def test_options_are_parameters_of_an_estimator_as_scikit_learn_has_them(estimator):
    model = estimator()
    defaults = estimator._options().get_params()
    deep = model.get_params()
    assert {name: deep[f"options__{name}"] for name in defaults} == defaults
    assert model.get_params(deep=False)["options"] is None
    name, value = next((name, value) for name, value in defaults.items() if isinstance(value, float))
    model.set_params(**{f"options__{name}": value / 2})
    assert getattr(model.options, name) == value / 2
    assert clone(model).get_params() == model.get_params()
    assert estimator().get_params()[f"options__{name}"] == value


def test_a_grid_search_sets_one_option_and_leaves_the_others():
    usual = PCX(3, options=PCXOptions(hold=0.25))
    grid = ParameterGrid({"options__tau": [1.0, 2.0], "n_code": [4]})
    tried = [clone(usual).set_params(**params) for params in grid]
    assert [(model.options.tau, model.options.hold, model.n_code) for model in tried] == [
        (1.0, 0.25, 4),
        (2.0, 0.25, 4),
    ]
    assert usual.options == PCXOptions(hold=0.25)


def test_options_are_frozen_and_copies_remember_what_was_given():
    options = PCXOptions(tau=2.0)
    with pytest.raises(AttributeError, match="cannot assign to field 'tau'"):
        options.tau = 3.0
    for again in (copy.deepcopy(options), pickle.loads(pickle.dumps(options)), clone(options)):
        assert again == options
        assert again.given() == {"tau": 2.0}
    assert repr(options.set_params(hold=0)) == "PCXOptions(hold=0, tau=2.0)"
    assert repr(PCX(3, options=options)) == "PCX(n_clusters=3, options=PCXOptions(tau=2.0))"
    with pytest.raises(InputError, match="PCXOptions has no option 'taau'; the options are: n_axes, "):
        options.set_params(taau=1)
    with pytest.raises(InputError, match="PCXOptions has no option 'taau'"):
        PCX().set_params(options__taau=1)


def test_replacing_one_value_leaves_the_others_not_given():
    changed = dataclasses.replace(PCXOptions(tau=1.0), hold=0.25)
    assert changed.given() == {"hold": 0.25, "tau": 1.0}
    assert PCX(preset="paper", options=changed).get_params()["options__settle"] is False


@pytest.mark.parametrize("estimator", WITH_OPTIONS)
def test_parameters_that_are_set_to_those_of_another_model_give_the_same_model(estimator):
    assert estimator().set_params(**estimator().get_params()).options is None
    name, value = next(
        (name, value) for name, value in estimator._options().get_params().items() if isinstance(value, float)
    )
    model = estimator(options=estimator._options(**{name: value}))
    again = estimator().set_params(**model.get_params())
    assert again.options.given() == {name: value}
    assert again.set_params(**{**again.get_params(), f"options__{name}": value / 2}).options.given() == {
        name: value / 2
    }


def test_an_option_with_another_name_says_so(tmp_path):
    with pytest.raises(InputError) as caught:
        PCXOptions(student=0.5)
    assert str(caught.value) == "student is now called self_training: PCXOptions(self_training=0.5)."
    with pytest.raises(InputError, match="student is now called self_training"):
        PCX().set_params(options__student=0.5)
    with pytest.raises(InputError) as caught:
        PCX(student=0.5)
    assert str(caught.value) == "student is now an option: PCX(options=PCXOptions(self_training=0.5))."
    with pytest.raises(InputError, match=r"options.student is now called options.self_training"):
        read_settings(PCX, ["options.student=0.5"])


@pytest.mark.parametrize("estimator", [PCX, SSCNet, MVSIB])
def test_a_model_with_the_names_of_before_is_loaded(estimator, tmp_path):
    own = {key: value for key, value in SMALL.items() if key in estimator._get_param_names()}
    X = rows()
    model = estimator(3, **own).fit(X)
    model.save(tmp_path / "m")
    manifest, arrays = read_archive(tmp_path / "m")
    for old, new in ARRAYS.get(estimator.__name__, {}).items():
        assert any(name.startswith(new) for name in arrays)
        arrays = {name.replace(new, old): array for name, array in arrays.items()}
    if estimator is PCX:
        manifest["params"]["options"] = {"student": 0.5}
    write_archive(tmp_path / "m", manifest, arrays)
    again = coterie.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    if estimator is PCX:
        assert again.options.given() == {"self_training": 0.5}


def test_a_bad_option_is_one_sentence_in_fit():
    for options, sentence in (
        (PCXOptions(tau=0), "tau=0 does not fit PCXOptions: it must be a number above 0"),
        ({"tau": 2}, "options={'tau': 2} does not fit PCX: it must be None or PCXOptions"),
        (FUCSMFOptions(), r"options=FUCSMFOptions\(\) does not fit PCX"),
    ):
        with pytest.raises(InputError, match=sentence):
            PCX(3, options=options, **SMALL).fit(rows())


def test_a_preset_decides_what_was_not_given_and_nothing_else():
    paper = PCX(preset="paper")._resolved()
    assert (paper["learning_rate"], paper["n_neighbors"], paper["scale"]) == (5e-4, 0, "none")
    assert (paper["options"].tau, paper["options"].self_training, paper["options"].smoothing) == (
        5.0,
        0.0,
        5.0,
    )
    usual = PCX()._resolved()
    assert (usual["learning_rate"], usual["n_neighbors"], usual["options"]) == (1e-3, 15, PCXOptions())
    # Equal to the defaults, and given all the same.
    given = PCX(
        preset="paper", learning_rate=1e-3, n_neighbors=15, options=PCXOptions(tau=1.0, hold=0.8)
    )._resolved()
    assert (given["learning_rate"], given["n_neighbors"]) == (1e-3, 15)
    assert (given["options"].tau, given["options"].hold, given["options"].init) == (1.0, 0.8, "xavier")


def test_what_was_given_counts_after_cloning_setting_saving_and_loading(tmp_path):
    model = PCX(3, preset="paper", **SMALL).set_params(options__tau=1.0)
    assert clone(model).get_params()["options__tau"] == 1.0
    assert clone(model).get_params()["options__hold"] == 0.0
    model.fit(rows()).save(tmp_path / "m")
    again = coterie.load(tmp_path / "m")
    assert again.options.given() == {"tau": 1.0}
    assert again.get_params() == model.get_params()
    assert again.set_params(preset=None).get_params()["options__hold"] == 1.0


@pytest.mark.parametrize("estimator", WITH_OPTIONS)
def test_options_are_saved_as_json_and_loaded(estimator, tmp_path):
    name, value = next(
        (name, value) for name, value in estimator._options().get_params().items() if isinstance(value, float)
    )
    own = {key: one for key, one in SMALL.items() if key in estimator._get_param_names()}
    model = estimator(3, options=estimator._options(**{name: value / 2}), **own)
    X = rows()
    model.fit(X, np.where(np.arange(40) < 6, np.arange(40) % 3, -1)).save(tmp_path / "m")
    assert json.loads(json.dumps(read_archive(tmp_path / "m")[0]["params"]))["options"] == {name: value / 2}
    again = coterie.load(tmp_path / "m")
    assert again.options == model.options
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_model_that_an_earlier_version_saved_is_loaded(tmp_path):
    X = rows()
    model = PCX(3, options=PCXOptions(ci_unit=False), **SMALL).fit(X)
    model.save(tmp_path / "m")
    manifest, arrays = read_archive(tmp_path / "m")
    manifest["params"].pop("options")
    manifest["params"] |= {"ci_unit": False, "tau": 1.0, "rescue": True, "decoder": None, "n_threads": None}
    write_archive(tmp_path / "m", manifest, arrays)
    again = coterie.load(tmp_path / "m")
    assert again.options.given() == {"ci_unit": False}
    np.testing.assert_array_equal(again.predict(X), model.labels_)


@pytest.mark.parametrize("estimator", WITH_OPTIONS)
def test_a_name_of_before_says_that_it_is_an_option(estimator):
    method, options = estimator.__name__, estimator._options.__name__
    for name in estimator._options.names():
        sentence = f"{name} is now an option: {method}(options={options}({name}=2))."
        for give in (estimator, estimator().set_params):
            with pytest.raises(InputError) as caught:
                give(**{name: 2})
            assert str(caught.value) == sentence
        with pytest.raises(InputError) as caught:
            read_settings(estimator, [f"{name}=2"])
        assert str(caught.value) == f"{name} is now an option: --set options.{name}=2."


@pytest.mark.parametrize("estimator", WITH_OPTIONS)
def test_a_name_that_is_gone_says_why(estimator):
    for name, reason in GONE[estimator.__name__].items():
        for give in (estimator, estimator().set_params):
            with pytest.raises(InputError) as caught:
                give(**{name: 2})
            assert str(caught.value) == f"{name} is gone: {reason}."
        with pytest.raises(InputError, match=f"^{name} is gone: "):
            read_settings(estimator, [f"{name}=2"])


def test_what_destroyed_streams_or_never_acted_cannot_be_asked_for():
    for name in ("rescue", "recluster_every"):
        with pytest.raises(InputError, match=f"{name} is gone: "):
            PCX(3, **{name: 1})


def test_a_subclass_may_have_a_parameter_of_that_name():
    class Sharp(PCX):
        def __init__(self, n_clusters=8, *, tau=1.0):
            super().__init__(n_clusters)
            self.tau = tau

    assert Sharp(tau=3.0).tau == 3.0
    with pytest.raises(InputError, match="rescue is gone"):
        Sharp(rescue=True)


def test_an_unknown_name_is_an_error_as_before():
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_cluster'"):
        PCX(n_cluster=3)
    with pytest.raises(ValueError, match="Invalid parameter 'n_cluster'"):
        PCX().set_params(n_cluster=3)
    with pytest.raises(ValueError, match="Invalid parameter 'options'"):
        GraphClustering().set_params(options__tau=3)


def test_the_command_line_reads_options_with_a_dot():
    chosen = read_settings(MVSIB, ["options.tau=0.2", "options.curriculum=[0.1, 0.6]", "n_code=4"])
    assert chosen == {"options__tau": 0.2, "options__curriculum": (0.1, 0.6), "n_code": 4}
    model = MVSIB().set_params(**chosen)
    assert (model.options.tau, model.options.curriculum, model.n_code) == (0.2, (0.1, 0.6), 4)
    with pytest.raises(
        InputError, match=r"MVSIB has no parameter 'options.taau'; did you mean options.tau\?"
    ):
        read_settings(MVSIB, ["options.taau=1"])
