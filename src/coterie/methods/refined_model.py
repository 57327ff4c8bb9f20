"""`RefinedModel`: a fitted model with the labels and links that corrected it; it labels new rows and can be saved."""

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
class Constraints:
    """The labels and links behind the classes of a refined model."""

    labels: np.ndarray  # (n,), -1 where unlabelled
    given: np.ndarray  # (n,), bool; the other labels are pseudo-labels of the model's clusters
    must_link: np.ndarray  # (p, 2)
    cannot_link: np.ndarray  # (p, 2)

    def given_labels(self, merged: Mapping[int, int]) -> np.ndarray:
        """Return the labels that a person gave, (n,), -1 elsewhere, with some classes merged into others."""
        labels = np.where(self.given, self.labels, -1)
        for source, target in merged.items():
            labels[labels == source] = target if target >= 0 else source
        return labels

    def n_pseudo_labels(self, rows: np.ndarray) -> int:
        """Count the pseudo-labels among some rows."""
        return int(((self.labels[rows] >= 0) & ~self.given[rows]).sum())

    def check(self, classes: np.ndarray, n_rows: int) -> None:
        """Raise a `ValueError` where these constraints are not those of the classes and rows of a model."""
        complete = self.labels.shape == self.given.shape == (n_rows,)
        if not complete or self.given.dtype != bool or not np.isin(self.labels, [-1, *classes]).all():
            raise ValueError("the labels behind the classes are wrong")
        for pairs in (self.must_link, self.cannot_link):
            as_pairs(pairs, n_rows, "a link")


class RefinedModel:
    """A fitted model whose clusters were corrected by labels and links.

    `Refinement.model` makes one; `coterie.load` reads one that was saved. It predicts by `FUCSMF` on the rows' own
    views and the model's embedding.

    Parameters
    ----------
    base : estimator
        The model that was corrected.
    solver : FUCSMF
        Fitted on the rows that `rows_for_solver` gives.
    constraints : Constraints
        The labels and links of the solver; `refine` continues from them.
    names : mapping from class to str, optional
        Names of the classes.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The classes of the rows that were corrected.
    classes_ : ndarray of shape (c,)
    exemplar_indices_ : ndarray of shape (c,)
        The row with the highest score of each class.
    names_ : dict of int to str
    method_ : str
        Name of the method in a report.
    history_, versions_, seed_, view_dims_in_, image_shape
        Those of the model that was corrected.
    """

    def __init__(
        self,
        base: Clusterer,
        solver: FUCSMF,
        constraints: Constraints,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.base, self.solver, self.constraints, self.names_ = base, solver, constraints, dict(names or {})
        self.method_ = f"{type(base).__name__}, refined"
        self.labels_, self.classes_ = solver.labels_, solver.classes_
        self.exemplar_indices_ = solver.exemplar_indices_
        self.history_, self.seed_, self.versions_ = base.history_, base.seed_, base.versions_
        self.view_dims_in_, self.image_shape = base.view_dims_in_, getattr(base, "image_shape", None)
        self.reading_ = base.reading_

    def named(self, names: Mapping[int, str]) -> RefinedModel:
        """Return the same model with other names."""
        return RefinedModel(self.base, self.solver, self.constraints, names)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model that was corrected."""
        return self.base.get_params(deep)

    def transform(self, X: Any) -> np.ndarray:
        """Return the embedding of the model that was corrected."""
        return self.base.transform(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row, (n,); the labels of corrected rows are not looked up."""
        return self.assign(X).labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows, (n, c), in the order of `classes_`."""
        return self.solver.predict_proba(rows_for_solver(self.base, X))

    def assign(self, X: Any) -> Assignment:
        """Return the class of each row and its confidence."""
        return self.solver.assign(rows_for_solver(self.base, X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write both models, the constraints and the names to one file without code; `coterie.load` reads it."""
        manifest: dict[str, Any] = {
            "kind": "refined model",
            "names": [[int(number), name] for number, name in self.names_.items()],
        }
        tensors = {f"constraints.{name}": array for name, array in vars(self.constraints).items()}
        for part, model in (("base", self.base), ("solver", self.solver)):
            manifest[part], arrays = model.contents()
            tensors |= {f"{part}.{name}": array for name, array in arrays.items()}
        write_archive(path, manifest, tensors)

    @classmethod
    def from_contents(cls, manifest: dict[str, Any], arrays: dict[str, np.ndarray], **overrides: Any) -> Self:
        """Return what `save` wrote; `overrides` are parameters of the model that was corrected."""
        parts = {part: manifest[part] | {"versions": manifest["versions"]} for part in ("base", "solver")}
        base = from_contents(parts["base"], below("base.", arrays), **overrides)
        solver = from_contents(parts["solver"], below("solver.", arrays))
        stored = below("constraints.", arrays) or below("grounds.", arrays)  # their name in version 0.1
        constraints = Constraints(**stored)
        constraints.check(solver.classes_, len(solver.labels_))
        return cls(base, solver, constraints, {int(number): str(name) for number, name in manifest["names"]})


def rows_for_solver(model: Clusterer, X: Any) -> Views:
    """Return the rows for the solver that corrects a model: their own views and the model's embedding.

    The embedding of FUCSMF is its class scores, which are what is corrected; its rows are its views alone.
    """
    data = as_views(X, views=getattr(model, "views", None)).arranged(list(model.view_names_in_))
    return data if isinstance(model, FUCSMF) else with_code(model.transform(X), data)


def with_code(code: np.ndarray, data: Views) -> Views:
    """Return the views of the rows with the embedding of a model as one more view.

    Examples
    --------
    >>> with_code(np.zeros((2, 3)), as_views(np.ones((2, 5))))
    Views(2 rows: code 3, X 5)
    """
    names = [f"{name} of the rows" if name == "code" else name for name in data.names]
    mask = None if data.present is None else np.insert(data.present, 0, True, axis=1)
    return Views([*as_views(code).sources, *data.sources], names=["code", *names], mask=mask)
