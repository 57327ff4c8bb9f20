"""How texts, pictures, series and cells at a path become rows: saved in a model, and used for new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from coterie.data.describe.base import Description
from coterie.data.describe.cells import CellRows
from coterie.data.describe.files import Things, read_things
from coterie.data.describe.images import ImageRows
from coterie.data.describe.modalities import ModalityRows
from coterie.data.describe.series import SeriesRows
from coterie.data.describe.texts import TextRows
from coterie.data.sources import DenseRows
from coterie.data.views import Views
from coterie.errors import InputError

_CLASSES: dict[str, type[Description]] = {
    made.__name__: made for made in (TextRows, ImageRows, SeriesRows, CellRows, ModalityRows)
}
_NAMED_TERMS = 3


@dataclass(frozen=True)
class Reading:
    """The kind of things at a path, the column of texts where there is one, and their fitted description.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> for number, text in enumerate(["a cat", "the cat", "a dog", "dog and dog"]):
    ...     _ = (folder / f"{number}.txt").write_text(text)
    >>> reading, views = Reading.fitted(folder, "texts")
    >>> views
    Views(4 rows: texts 1)
    >>> Reading.from_state(*reading.state()).views(folder)
    Views(4 rows: texts 1)
    """

    kind: str
    column: str | None
    description: Description

    @classmethod
    def fitted(
        cls,
        path: Path,
        kind: str,
        *,
        column: str | None = None,
        layer: str | None = None,
        use_rep: str | None = None,
    ) -> tuple[Self, Views]:
        """Read things, fit their description and return both it and the rows."""
        things = read_things(path, kind, column)
        if kind == "cells" and hasattr(things.items, "mod"):
            if layer is not None:
                raise InputError("--layer is for AnnData: of MuData, X of each modality is taken.")
            description: Description = ModalityRows(use_rep)
        elif kind == "cells":
            description = CellRows(use_rep, layer=layer)
        else:
            description = {"texts": TextRows, "images": ImageRows, "series": SeriesRows}[kind]()
        try:
            reading = cls(kind, column, description.fit(things.items))
        except InputError as error:
            raise _located(error, path) from None
        return reading, reading._rows(things, path)

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """The shape of the pictures that rows are, for a report; None where rows are something else."""
        return tuple(self.description.shape_) if isinstance(self.description, ImageRows) else None

    def views(self, path: Path) -> Views:
        """Return the things at a path as rows, described as those of the fit."""
        return self._rows(read_things(path, self.kind, self.column), path)

    def names(self, path: Path, labels: np.ndarray) -> dict[int, str]:
        """Return names for clusters of texts, their top words; nothing for other things."""
        if not isinstance(self.description, TextRows):
            return {}
        items = read_things(path, self.kind, self.column).items
        terms = self.description.cluster_terms(items, labels, _NAMED_TERMS)
        return {cluster: " ".join(words) for cluster, words in terms.items() if words}

    def _rows(self, things: Things, path: Path) -> Views:
        try:
            if isinstance(self.description, CellRows | ModalityRows):
                return self.description.views(things.items, str(path))
            table = DenseRows(np.asarray(self.description.transform(things.items), dtype=np.float32))
            columns = [self.description.get_feature_names_out().tolist()]
            return Views([table], names=[self.kind], labels=things.labels, feature_names=columns)
        except InputError as error:
            raise _located(error, path) from None

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything as JSON values and arrays."""
        values, arrays = self.description.state()
        made_by = type(self.description).__name__
        return {"kind": self.kind, "column": self.column, "made by": made_by, "values": values}, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Take back what `state` gave."""
        description = _CLASSES[values["made by"]].from_state(values["values"], arrays)
        return cls(values["kind"], values["column"], description)


def _located(error: InputError, path: Path) -> InputError:
    """Return the error with the path in front, unless it is there."""
    return error if str(error).startswith(str(path)) else InputError(f"{path}: {error}")
