"""Modalities of a MuData object as views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.data.describe.base import Description
from coterie.data.describe.cells import CellRows
from coterie.data.readers.cells import modality_views
from coterie.data.views import Views
from coterie.errors import InputError
from coterie.store import below


class ModalityRows(Description):
    """Each modality described as `CellRows` does, one view a modality; a cell may lack some.

    Parameters
    ----------
    use_rep : str or mapping from modality to str, optional
        As of `CellRows`.
    n_axes : int, default=50

    Attributes
    ----------
    cells_ : dict of str to CellRows
    """

    def __init__(self, use_rep: str | Mapping[str, str] | None = None, *, n_axes: int = 50) -> None:
        self.use_rep = use_rep
        self.n_axes = n_axes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Describe each modality."""
        if not X.mod:
            raise InputError("The MuData object has no modality: there is nothing to cluster.")
        chosen = self.use_rep if isinstance(self.use_rep, Mapping) else dict.fromkeys(X.mod, self.use_rep)
        self.cells_ = {
            name: CellRows(chosen.get(name), n_axes=self.n_axes).fit(own) for name, own in X.mod.items()
        }
        return self

    def views(self, X: Any, where: str = "The MuData object") -> Views:
        """Return the modalities as views."""
        check_is_fitted(self)
        missing = [name for name in self.cells_ if name not in X.mod]
        if missing:
            raise InputError(f"{where} lacks the modality {missing[0]!r} of the fit: give every one of them.")
        tables = {name: cells.transform(X.mod[name]) for name, cells in self.cells_.items()}
        columns = [cells.get_feature_names_out().tolist() for cells in self.cells_.values()]
        return modality_views(X, tables, columns, where)

    def transform(self, X: Any) -> list[np.ndarray]:
        """Return the views as arrays, NaN where a cell lacks one."""
        views = self.views(X)
        present = views.present_rows(slice(None))
        blocks = views.read(slice(None))
        return [np.where(present[:, [v]], block, np.nan) for v, block in enumerate(blocks)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of all views."""
        return np.concatenate([cells.get_feature_names_out() for cells in self.cells_.values()])

    @property
    def sentence(self) -> str:
        """What was done to each modality."""
        return "; ".join(f"{name}: {cells.sentence}" for name, cells in self.cells_.items())

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what was learned of each modality."""
        check_is_fitted(self)
        states = {name: cells.state() for name, cells in self.cells_.items()}
        arrays = {
            f"{place}.{name}": array
            for place, (_, own) in enumerate(states.values())
            for name, array in own.items()
        }
        return {
            "params": self.get_params(),
            "cells": [[name, values] for name, (values, _) in states.items()],
        }, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Take back what `state` gave."""
        made = cls(**values["params"])
        made.cells_ = {
            name: CellRows.from_state(own, below(f"{place}.", arrays))
            for place, (name, own) in enumerate(values["cells"])
        }
        return made
