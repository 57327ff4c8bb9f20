"""The rows behind a report, as the model takes them and as a person reads them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data import Views, as_views
from coterie.errors import InputError

_CHUNK_BYTES = 64 * 2**20
_MOST_CHUNK_ROWS = 2048


class Table:
    """The data as a model takes them and as a person reads them.

    Both differ when the model cuts one table into views by its `views` parameter: the model gets the whole
    rows, the person sees the views. `feature_names` are those of `coterie.write_report`.
    """

    def __init__(self, X: Any, model: Any, feature_names: Any = None) -> None:
        self._whole = as_views(X)
        if self._whole.n_views > 1:
            self._whole = _as_fitted(self._whole, model)
        self._takes_views = hasattr(model, "view_names_in_") or self._whole.n_views > 1
        self._groups = model.get_params().get("views") if self._whole.n_views == 1 else None
        self._shown = _as_fitted(as_views(self._whole, views=self._groups), model)
        self.n_rows = self._whole.n_rows
        self.views = list(zip(self._shown.names, self._shown.dims, strict=True))
        self.feature_names = self._names(feature_names)

    def for_model(self, rows: NDArray[np.integer]) -> Any:
        """Return rows in the form that the model's methods take."""
        return self._whole.select(rows) if self._takes_views else self._whole.read(rows)[0]

    def read(self, rows: NDArray[np.integer]) -> tuple[list[NDArray[np.float32]], NDArray[np.bool_]]:
        """Return rows of every view, and which views each row has, shape (b, v)."""
        return self._shown.read(rows), self._shown.present_rows(rows)

    def read_view(
        self, view: int, rows: NDArray[np.integer]
    ) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
        """Return those of the rows that have this view, and their values in it."""
        has = self._shown.present_rows(rows)[:, view]
        return rows[has], self._shown.read_view(view, rows)[has]

    def select(self, rows: NDArray[np.integer], view: int | None = None) -> Views:
        """Return rows of all views, or of one, without reading them."""
        chosen = self._shown.select(rows)
        if view is None:
            return chosen
        return chosen.copy(
            sources=[chosen.sources[view]],
            names=[chosen.names[view]],
            mask=None if chosen.present is None else chosen.present[:, [view]],
            feature_names=[chosen.feature_names[view]],
        )

    def split(self, rows: Any) -> list[NDArray[np.float32]]:
        """Return decoded exemplars view by view."""
        views = as_views(rows, views=self._groups)
        if views.dims != self._shown.dims:
            raise InputError(
                f"exemplars_ has widths {views.dims} but the views of X have {self._shown.dims}."
            )
        return views.read(slice(None))

    def chunks(self, rows: NDArray[np.integer]) -> Iterator[NDArray[np.integer]]:
        """Cut row numbers into chunks that fit easily into memory."""
        width = sum(dim for _, dim in self.views)
        step = max(1, min(_MOST_CHUNK_ROWS, _CHUNK_BYTES // (4 * width)))
        for start in range(0, len(rows), step):
            yield rows[start : start + step]

    def view_of_size(self, size: int) -> int:
        """Return the first view with this many features."""
        for view, (_, dim) in enumerate(self.views):
            if dim == size:
                return view
        have = ", ".join(f"{name} has {dim}" for name, dim in self.views)
        raise InputError(f"image_shape needs a view with {size} features, but {have}; correct image_shape.")

    def _names(self, given: Any) -> list[Sequence[str]]:
        """Return the names of the columns of each view."""
        if given is None:
            stored = self._shown.feature_names
        elif isinstance(given, Mapping):
            unknown = [name for name in given if name not in self._shown.names]
            if unknown:
                raise InputError(
                    f"feature_names is for a view {unknown[0]!r}, but X has {self._shown.names}."
                )
            stored = tuple(given.get(name) for name in self._shown.names)
        else:
            stored = (given,) if len(self.views) == 1 else tuple(given)
        if len(stored) != len(self.views):
            raise InputError(
                f"feature_names has {len(stored)} lists but X has {len(self.views)} views; give one per view."
            )
        return [_checked_names(names, *view) for names, view in zip(stored, self.views, strict=True)]


def _as_fitted(views: Views, model: Any) -> Views:
    """Give the views the names and the order they had in `fit`, where the model remembers them."""
    names = getattr(model, "view_names_in_", None)
    return views if names is None else views.arranged([str(name) for name in names])


def _checked_names(names: Sequence[str] | None, view: str, dim: int) -> Sequence[str]:
    if names is None:
        return [f"feature {j}" for j in range(dim)]
    if len(names) != dim:
        raise InputError(f"feature_names has {len(names)} names but view '{view}' has {dim} features.")
    return names
