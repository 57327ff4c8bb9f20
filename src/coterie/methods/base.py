"""What every estimator shares: how data come in, how clusters go out, how a model is saved and loaded."""

from __future__ import annotations

import operator
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie.data import Views, as_views
from coterie.engine.callbacks import Checkpoint, Progress
from coterie.engine.checkpoint import stored_identity
from coterie.engine.distributed import current_collectives
from coterie.engine.loop import Callback
from coterie.errors import InputError, listed
from coterie.methods.choosing.clusters import KChoice, choose_k
from coterie.methods.moved import current_arrays, current_params, refuse_moved
from coterie.methods.options import PREFIX, Options
from coterie.methods.params import Rule, check_params, draw_seed
from coterie.methods.registry import METHODS, find_method
from coterie.ops.distributed_rows import check_same_data
from coterie.store import below, read_archive, write_archive

_READS_CLASSES = (
    "The check asks predict_proba of any estimator that takes sparse data for one column per class of y; "
    "a clusterer's columns are its clusters."
)
# Parameters that say where and how a run is watched, not what it computes.
_BYSTANDERS = {"checkpoint", "verbose", "device", "random_state"}

EXPECTED_FAILED_CHECKS = {
    "check_estimator_sparse_matrix": _READS_CLASSES,
    "check_estimator_sparse_array": _READS_CLASSES,
}
"""What scikit-learn's `check_estimator` finds in every coterie estimator, and why it is right as it is."""


class Assignment(NamedTuple):
    """Clusters of rows.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    confidence : ndarray of shape (n,)
        From 1/k to 1.
    """

    labels: np.ndarray
    confidence: np.ndarray


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC):
    """Base of coterie's estimators.

    A subclass declares `_rules` (constraints of its parameters), implements `_fit`, `transform` and
    `predict_proba`, and says in `_pack` and `_unpack` what its fitted state is.
    """

    _rules: ClassVar[Mapping[str, Rule]] = {}
    _options: ClassVar[type[Options] | None] = None
    """The class of the parameter `options`, of a method that has them."""
    _presets: ClassVar[Mapping[str | None, Mapping[str, Any]]] = {None: {}}
    """What "auto" and options that were not given are with each `preset`."""
    _takes_missing: ClassVar[bool] = False
    """Whether a row may lack a view."""
    reading_: Any = None
    """How texts, pictures, series or cells became the rows of the fit, where the command line read them."""
    names_: dict[int, str]
    options: Any
    checkpoint: Any
    verbose: int
    n_clusters: int | str
    n_clusters_: int
    view_names_in_: np.ndarray
    k_choice_: KChoice | None
    seed_: int

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Say where a parameter of an earlier version went, before Python refuses its name."""
        refuse_moved(cls, params)
        return super().__new__(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # codes are float32 whatever comes in
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, also the options in effect, as ``options__NAME``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and self._options is not None:
            params |= {PREFIX + name: value for name, value in self._options_in_effect().get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and options by ``options__NAME``."""
        refuse_moved(type(self), params)
        nested = [name for name in params if name.startswith(PREFIX) and self._options is not None]
        changes = {name.removeprefix(PREFIX): params.pop(name) for name in nested}
        super().set_params(**params)
        if "options" in params:  # as from get_params: values in effect need not be given
            in_effect = self._options_in_effect().get_params()
            changes = {
                k: value for k, value in changes.items() if k not in in_effect or in_effect[k] != value
            }
        if changes:
            self.options = self._given_options().set_params(**changes)
        return self

    def _given_options(self) -> Options:
        assert self._options is not None
        options = getattr(self, "options", None)
        return options if isinstance(options, self._options) else self._options()

    def _options_in_effect(self) -> Any:
        """Return the options that were given over those of the preset."""
        return self._given_options().over(self._preset().get("options"))

    def _preset(self) -> Mapping[str, Any]:
        name = getattr(self, "preset", None)
        return self._presets.get(name, {}) if name is None or isinstance(name, str) else {}

    def _check_params(self) -> None:
        check_params(type(self).__name__, self.get_params(deep=False), self._rules)
        if self._options is not None:
            self._options_in_effect().check()

    def _check_input(self, X: Any, *, reset: bool) -> Views:
        """Return the data as views with the features of `fit`; with `reset`, remember those of these data."""
        data = as_views(X, views=getattr(self, "views", None))
        if not reset:
            data = data.arranged([str(name) for name in self.view_names_in_])
        if hasattr(X, "shape") or hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        data.check()
        if reset:
            check_same_data(data, current_collectives())
            self.n_features_in_ = sum(data.dims)
            self.view_names_in_ = np.array(data.names, dtype=object)
            self.view_dims_in_ = tuple(data.dims)
            self._columns_in = [None if names is None else list(names) for names in data.feature_names]
        elif tuple(data.dims) != self.view_dims_in_:
            raise InputError(
                f"X has {_columns(data.dims)} features, but {type(self).__name__} is expecting "
                f"{_columns(self.view_dims_in_)} features as input."
            )
        else:
            self._check_column_order(data)
        if not self._takes_missing:
            self._check_whole(data)
        return data

    def _check_column_order(self, data: Views) -> None:
        """Check that columns named as in `fit` come in the order of `fit`: they are taken by position."""
        fitted = getattr(self, "_columns_in", [])  # models of file schema 1 do not know it
        for view, before, now in zip(data.names, fitted, data.feature_names, strict=False):
            if before is not None and now is not None and before != list(now) and set(before) == set(now):
                raise InputError(
                    f"View {view!r} has the columns of fit in another order; put them in that order: "
                    f"{listed(list(map(str, before)))}."
                )

    def _settle_clusters(self, data: Views) -> None:
        """Set how many clusters to find: as many as were asked for, or what the rows say where "auto" was."""
        self.k_choice_ = choose_k(data, random_state=self.seed_) if self.n_clusters == "auto" else None
        self.n_clusters_ = int(self.n_clusters) if self.k_choice_ is None else self.k_choice_.k
        if self.k_choice_ is not None and not self.k_choice_.clear:
            warnings.warn(self.k_choice_.sentence, UserWarning, stacklevel=4)

    def _check_enough(self, data: Views) -> None:
        """Check that there are rows enough."""
        if data.n_rows < max(2, self.n_clusters_):
            raise InputError(
                f"n_samples={data.n_rows} should be >= n_clusters={self.n_clusters_} and at least 2 (1 sample is no "
                "cluster); ask for fewer clusters or give more rows."
            )

    def _check_whole(self, data: Views) -> None:
        """Check that every row has every view."""
        if data.present is not None and not data.present.all():
            row, view = (int(index[0]) for index in np.nonzero(~data.present))
            raise InputError(
                f"{type(self).__name__} needs every view of every row, but view {data.names[view]!r} is missing in "
                f"row {row}; leave the view or the row out, or use a method for missing views."
            )

    def _draw_seed(self) -> int:
        """Return the one number that decides everything random in a fit: a whole `random_state` itself.

        So ``random_state=model.seed_`` repeats any fit, also one whose `random_state` was None or a generator.
        """
        return draw_seed(getattr(self, "random_state", None))

    def _run_seed(self) -> int:
        """Return the seed of this run; one that goes on from a checkpoint without random_state keeps its seed."""
        checkpoint = getattr(self, "checkpoint", None)
        if getattr(self, "random_state", None) is None and checkpoint is not None:
            stored = stored_identity(checkpoint)
            if "seed" in stored:
                return int(stored["seed"])
        return self._draw_seed()

    def _resolved(self) -> dict[str, Any]:
        """Return the parameters as they are in effect."""
        params = self.get_params(deep=False)
        preset = self._preset().items()
        params |= {name: value for name, value in preset if _is_auto(params[name])}
        if self._options is not None:
            params["options"] = self._options_in_effect()
        # A fit settles the number of clusters first.
        return params | {"n_clusters": getattr(self, "n_clusters_", self.n_clusters)}

    def _watchers(self, fingerprint: list[Any]) -> list[Callback]:
        """Return the callbacks of training that `verbose` and `checkpoint` ask for."""
        callbacks: list[Callback] = []
        if self.verbose and current_collectives().rank == 0:
            callbacks.append(Progress(type(self).__name__))
        if self.checkpoint is not None:
            params = {name: value for name, value in self._resolved().items() if name not in _BYSTANDERS}
            if self._options is not None:
                params["options"] = params["options"].get_params()
            identity = {
                "method": type(self).__name__,
                "parameters": {name: as_json(name, value) for name, value in params.items()},
                "data": fingerprint,
                "seed": self.seed_,
            }
            callbacks.append(Checkpoint(self.checkpoint, identity))
        return callbacks

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, views, or path
            Rows to cluster. Methods that take missing views miss one where a row has nothing but NaN in it, or by a
            mask.
        y : ignored

        Returns
        -------
        self
        """
        self._check_params()
        data = self._check_input(X, reset=True)
        self.seed_ = self._run_seed()
        self._settle_clusters(data)
        self._check_data(data)
        self._fit(data)
        return self

    def _check_data(self, data: Views) -> None:
        """Raise an `InputError` where the data do not suit the parameters."""
        self._check_enough(data)

    def _fit(self, data: Views) -> None:
        """Cluster checked data: compare, graph, partition, train, label, describe."""
        raise NotImplementedError

    @abstractmethod
    def transform(self, X: Any) -> np.ndarray:
        """Return the embedding of rows, in which clusters are apart.

        Parameters
        ----------
        X : array-like, views, or path
            Rows with the features of `fit`.

        Returns
        -------
        ndarray of shape (n, d), float32
        """

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row.

        Parameters
        ----------
        X : array-like, views, or path
            Rows with the features of `fit`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.assign(X).labels

    def assign(self, X: Any) -> Assignment:
        """Return the cluster of each row and how sure it is, in one pass over the rows.

        Parameters
        ----------
        X : array-like, views, or path
            Rows with the features of `fit`.

        Returns
        -------
        Assignment
            `labels` as `predict` gives them, and `confidence`, the largest membership of `predict_proba`.
        """
        memberships = self.predict_proba(X)
        return Assignment(memberships.argmax(axis=1), memberships.max(axis=1))

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of each row in the clusters.

        Parameters
        ----------
        X : array-like, views, or path
            Rows with the features of `fit`.

        Returns
        -------
        ndarray of shape (n, k)
            Rows sum to one.
        """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: a zip of `manifest.json` and safetensors, no code in it."""
        write_archive(path, *self.contents())

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `save` writes: a manifest that JSON can hold, and arrays by name."""
        check_is_fitted(self)
        params = {name: as_json(name, value) for name, value in self.get_params(deep=False).items()}
        values, arrays = self._pack()
        inputs = {
            "n_features_in_": self.n_features_in_,
            "view_names_in_": list(self.view_names_in_),
            "view_dims_in_": list(self.view_dims_in_),
            "columns_in": self._columns_in,
            "feature_names_in_": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "n_clusters_": self.n_clusters_,
            "k_choice_": None if self.k_choice_ is None else self.k_choice_.as_values(),
        }
        if getattr(self, "names_", None):
            inputs["names"] = [[int(number), name] for number, name in self.names_.items()]
        manifest = {
            "kind": "model",
            "class": type(self).__name__,
            "params": params,
            "seen": inputs,
            "fitted": values,
        }
        if self.reading_ is not None:
            manifest["reading"], own = self.reading_.state()
            arrays |= {_READING + name: array for name, array in own.items()}
        return manifest, arrays

    @abstractmethod
    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the fitted state as JSON values and arrays."""

    @abstractmethod
    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take the fitted state back."""

    def _restore(self, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        inputs = manifest["seen"]
        self.n_features_in_ = inputs["n_features_in_"]
        self.view_names_in_ = np.array(inputs["view_names_in_"], dtype=object)
        self.view_dims_in_ = tuple(inputs["view_dims_in_"])
        if inputs["feature_names_in_"]:
            self.feature_names_in_ = np.array(inputs["feature_names_in_"], dtype=object)
        self._columns_in = inputs.get("columns_in", [])
        # Models of version 0.1 before "auto" have neither.
        self.n_clusters_ = inputs.get("n_clusters_", self.n_clusters)
        choice = inputs.get("k_choice_")
        self.k_choice_ = None if choice is None else KChoice.from_values(choice)
        self.versions_ = manifest["versions"]
        if "names" in inputs:
            self.names_ = {int(number): str(name) for number, name in inputs["names"]}
        if "reading" in manifest:
            from coterie.data.describe.reading import Reading  # imports scikit-learn's text tools

            self.reading_ = Reading.from_state(manifest["reading"], below(_READING, arrays))
        _check_labels(
            arrays, self.n_clusters_, marks_outliers=getattr(self, "outlier_threshold", None) is not None
        )
        self._unpack(manifest["fitted"], arrays)
        return self


def load(path: str | os.PathLike[str], **overrides: Any) -> Any:
    """Load a model that `save` wrote. Nothing in the file is ever executed.

    Parameters
    ----------
    path : path-like
    **overrides
        Parameters to replace, for those that a file cannot hold (a custom `encoder`), or to move a model
        (`device="cpu"`).

    Returns
    -------
    estimator
        Fitted, of the class that was saved.

    Examples
    --------
    >>> load("nothing-here.coterie")
    Traceback (most recent call last):
    coterie.errors.InputError: There is no file nothing-here.coterie.
    """
    manifest, arrays = read_archive(path)
    try:
        if manifest.get("kind") == "refined model":
            from coterie.methods.refined_model import (
                RefinedModel,  # above this file: it is made of two models
            )

            return RefinedModel.from_contents(manifest, arrays, **overrides)
        return from_contents(manifest, arrays, **overrides)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        reason = (str(error).splitlines() or ["no more is known"])[0]
        raise InputError(f"{path} does not hold a whole model ({type(error).__name__}: {reason}).") from error


def from_contents(manifest: dict[str, Any], arrays: dict[str, np.ndarray], **overrides: Any) -> Any:
    """Return the fitted model whose `contents` these are, with some parameters replaced."""
    if manifest.get("kind") != "model" or manifest.get("class") not in {method.name for method in METHODS}:
        raise InputError("it is a coterie file but not a model of this version.")
    estimator = find_method(manifest["class"]).load()
    stored = {name: value for name, value in manifest["params"].items() if name not in overrides}
    params = current_params(estimator, {name: _from_json(name, value) for name, value in stored.items()})
    if params.get("options") is not None:
        params["options"] = estimator._options(**params["options"])
    return estimator(**(params | overrides))._restore(manifest, current_arrays(estimator, arrays))


def _check_labels(arrays: dict[str, np.ndarray], n_clusters: Any, *, marks_outliers: bool = False) -> None:
    """Check that a model says of each row which of its clusters it is in, before anything is counted."""
    labels, classes = arrays["labels"], arrays.get("classes")
    if (
        labels.ndim != 1
        or labels.dtype.kind not in "iu"
        or not 1 <= operator.index(n_clusters) <= len(labels)
    ):
        raise ValueError("labels or the number of clusters are wrong")
    inside = (
        np.isin(labels, classes)
        if classes is not None
        else (labels >= -int(marks_outliers)) & (labels < n_clusters)
    )
    if not inside.all():
        raise ValueError("a row is in a cluster that there is not")


def _columns(dims: tuple[int, ...]) -> str:
    return str(dims[0]) if len(dims) == 1 else "+".join(map(str, dims))


_READING = "reading."
_OPAQUE = "__object__"
_SLICE = "__slice__"


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def as_json(name: str, value: Any) -> Any:
    """Return a parameter in a form JSON keeps; objects that only code can make are named, not stored.

    Examples
    --------
    >>> as_json("views", [slice(0, 2), [2, 3]])
    [{'__slice__': [0, 2, None]}, [2, 3]]
    """
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, slice):
        return {_SLICE: [value.start, value.stop, value.step]}
    if isinstance(value, (list, tuple)):
        return [as_json(name, item) for item in value]
    if isinstance(value, Options):
        value = value.given()
    if isinstance(value, Mapping):
        return {str(key): as_json(name, item) for key, item in value.items()}
    return {_OPAQUE: type(value).__name__, "name": name}


def _from_json(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(name, item) for item in value)
    if isinstance(value, dict) and _SLICE in value:
        return slice(*value[_SLICE])
    if isinstance(value, dict) and _OPAQUE in value:
        if name == "random_state":
            return None
        raise InputError(
            f"The model was saved with a custom {name}; load it with {name}= the same kind of object."
        )
    if isinstance(value, dict):
        return {key: _from_json(name, item) for key, item in value.items()}
    return value
