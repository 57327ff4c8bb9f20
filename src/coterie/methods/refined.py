"""What a person's corrections leave behind: a model that labels new rows as the corrected ones were labelled."""

# n rows, c classes

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from coterie.data import Views, as_views
from coterie.methods.base import Assignment, Clusterer, from_contents
from coterie.methods.fucsmf import FUCSMF
from coterie.store import below, write_archive


class RefinedModel:
    """A fitted model, and the solve of what a person said about its clusters.

    `Refinement.model` makes one; `coterie.load` reads one that was saved.

    Parameters
    ----------
    base : estimator
        The model that was corrected.
    solver : FUCSMF
        Fitted on the rows that `rows_for_solver` gives.
    names : mapping from class to str, optional
        What a person calls the classes.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The classes of the rows that were corrected.
    classes_ : ndarray of shape (c,)
    exemplar_indices_ : ndarray of shape (c,)
        The row that is most surely of each class.
    names_ : dict of int to str
    method_ : str
        What a report calls it: the method that was corrected, and that it was.
    history_, versions_, seed_
        Those of the model that was corrected.
    """

    def __init__(self, base: Clusterer, solver: FUCSMF, names: Mapping[int, str] | None = None) -> None:
        self.base, self.solver, self.names_ = base, solver, dict(names or {})
        self.method_ = f"{type(base).__name__}, refined"
        self.labels_, self.classes_ = solver.labels_, solver.classes_
        self.exemplar_indices_ = solver.exemplar_indices_
        self.history_, self.seed_, self.versions_ = base.history_, base.seed_, base.versions_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model that was corrected."""
        return self.base.get_params(deep)

    def transform(self, X: Any) -> np.ndarray:
        """Return the embedding of the model that was corrected."""
        return self.base.transform(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row, (n,); what a person said about single rows is not looked up."""
        return self.assign(X).labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows, (n, c), in the order of `classes_`."""
        return self.solver.predict_proba(rows_for_solver(self.base, X))

    def assign(self, X: Any) -> Assignment:
        """Return the class of each row and how sure it is."""
        return self.solver.assign(rows_for_solver(self.base, X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write both models and the names to one file without code in it; `coterie.load` reads it."""
        manifest: dict[str, Any] = {
            "kind": "refined model",
            "names": [[int(number), name] for number, name in self.names_.items()],
        }
        tensors: dict[str, np.ndarray] = {}
        for part, model in (("base", self.base), ("solver", self.solver)):
            manifest[part], arrays = model.contents()
            tensors |= {f"{part}.{name}": array for name, array in arrays.items()}
        write_archive(path, manifest, tensors)

    @classmethod
    def from_contents(cls, manifest: dict[str, Any], arrays: dict[str, np.ndarray], **overrides: Any) -> Self:
        """Return what `save` wrote; `overrides` are parameters of the model that was corrected."""
        whole = {part: manifest[part] | {"versions": manifest["versions"]} for part in ("base", "solver")}
        base = from_contents(whole["base"], below("base.", arrays), **overrides)
        solver = from_contents(whole["solver"], below("solver.", arrays))
        return cls(base, solver, {int(number): str(name) for number, name in manifest["names"]})


def rows_for_solver(model: Clusterer, X: Any) -> Views:
    """Return the rows as a solver that corrects this model compares them: their own views and the model's code.

    FUCSMF's own code is what it says about the classes, which is what is corrected; its rows are its views alone.
    """
    data = as_views(X, views=getattr(model, "views", None))
    return data if isinstance(model, FUCSMF) else with_code(model.transform(X), data)


def with_code(code: np.ndarray, data: Views) -> Views:
    """Return the views of the rows with the code of a model as one view more.

    Examples
    --------
    >>> with_code(np.zeros((2, 3)), as_views(np.ones((2, 5))))
    Views(2 rows: code 3, X 5)
    """
    names = [f"{name} of the rows" if name == "code" else name for name in data.names]
    mask = None if data.present is None else np.insert(data.present, 0, True, axis=1)
    return Views([*as_views(code).sources, *data.sources], names=["code", *names], mask=mask)
