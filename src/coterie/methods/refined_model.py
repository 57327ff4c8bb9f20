"""What a person's corrections leave behind: a model that labels new rows as the corrected ones were labelled."""

# n rows, c classes, p pairs

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from coterie.data import Views, as_views
from coterie.methods.base import Assignment, Clusterer, from_contents
from coterie.methods.fucsmf import FUCSMF
from coterie.methods.fucsmf.supervision import as_pairs
from coterie.store import below, write_archive


@dataclass(frozen=True)
class Grounds:
    """What the classes of a refined model go by: what a person said, and the rows that stand for clusters.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        -1 where nothing is known.
    given : ndarray of bool, shape (n,)
        Whether a person gave the label; the other labelled rows stand for a cluster.
    must_link, cannot_link : ndarray of shape (p, 2)
        Pairs of rows.
    """

    labels: np.ndarray
    given: np.ndarray
    must_link: np.ndarray
    cannot_link: np.ndarray

    def said(self, merged: Mapping[int, int]) -> np.ndarray:
        """Return what a person said of the rows, (n,), with some classes made one with others; -1 where nothing."""
        labels = np.where(self.given, self.labels, -1)
        for one, other in merged.items():
            labels[labels == one] = other if other >= 0 else one
        return labels

    def standing(self, rows: np.ndarray) -> int:
        """Return how many of some rows stand for their cluster."""
        return int(((self.labels[rows] >= 0) & ~self.given[rows]).sum())

    def check(self, classes: np.ndarray, n_rows: int) -> None:
        """Raise a `ValueError` where this cannot have led to these classes of so many rows."""
        whole = self.labels.shape == self.given.shape == (n_rows,)
        if not whole or self.given.dtype != bool or not np.isin(self.labels, [-1, *classes]).all():
            raise ValueError("the labels behind the classes are wrong")
        for pairs in (self.must_link, self.cannot_link):
            as_pairs(pairs, n_rows, "a link")


class RefinedModel:
    """A fitted model, and the solve of what a person said about its clusters.

    `Refinement.model` makes one; `coterie.load` reads one that was saved.

    Parameters
    ----------
    base : estimator
        The model that was corrected.
    solver : FUCSMF
        Fitted on the rows that `rows_for_solver` gives.
    grounds : Grounds
        What the solver was given; `refine` goes on from there.
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
    history_, versions_, seed_, view_dims_in_, image_shape
        Those of the model that was corrected.
    """

    def __init__(
        self, base: Clusterer, solver: FUCSMF, grounds: Grounds, names: Mapping[int, str] | None = None
    ) -> None:
        self.base, self.solver, self.grounds, self.names_ = base, solver, grounds, dict(names or {})
        self.method_ = f"{type(base).__name__}, refined"
        self.labels_, self.classes_ = solver.labels_, solver.classes_
        self.exemplar_indices_ = solver.exemplar_indices_
        self.history_, self.seed_, self.versions_ = base.history_, base.seed_, base.versions_
        self.view_dims_in_, self.image_shape = base.view_dims_in_, getattr(base, "image_shape", None)

    def named(self, names: Mapping[int, str]) -> RefinedModel:
        """Return the same model with other names."""
        return RefinedModel(self.base, self.solver, self.grounds, names)

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
        tensors = {f"grounds.{name}": array for name, array in vars(self.grounds).items()}
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
        grounds = Grounds(**below("grounds.", arrays))
        grounds.check(solver.classes_, len(solver.labels_))
        return cls(base, solver, grounds, {int(number): str(name) for number, name in manifest["names"]})


def rows_for_solver(model: Clusterer, X: Any) -> Views:
    """Return the rows as a solver that corrects this model compares them: their own views and the model's code.

    FUCSMF's own code is what it says about the classes, which is what is corrected; its rows are its views alone.
    """
    data = as_views(X, views=getattr(model, "views", None)).arranged(list(model.view_names_in_))
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
