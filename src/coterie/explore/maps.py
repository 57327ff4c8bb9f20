"""The maps of a run: its rows laid out by the data, by the model, and by each view, kept in one file."""

# s sampled rows, v views

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data import Views
from coterie.errors import InputError
from coterie.explore.model_sample import ModelSample
from coterie.explore.projection import Projection, lay_out, pca, project, takes_tsne
from coterie.explore.rows import Table
from coterie.store import read_archive, write_archive

if TYPE_CHECKING:
    from coterie.graph.compare import Comparison

DATA, MODEL = "data", "model"
_VIEW = "view-"
# How rows are compared is chosen on so many of them: a map needs no finer choice.
_ROWS_TO_COMPARE = 2000
_MOST_COLUMNS = 1000


def map_titles(model: Any, table: Table) -> dict[str, str]:
    """Return the maps that there are: of all data, of the model's embedding, and of each of several views.

    `GraphClustering` has no embedding of its own: it compares the rows as the map of the data does.
    """
    titles = {DATA: "Data"} if hasattr(model, "index_") else {DATA: "Data", MODEL: "Model"}
    if len(table.views) > 1:
        titles |= {f"{_VIEW}{v}": f"View {name}" for v, (name, _) in enumerate(table.views)}
    return titles


class Maps:
    """The maps of a sample of rows, each computed when it is first asked for.

    Parameters
    ----------
    model : estimator
    table : Table
    sample : ModelSample
    how : {"auto", "tsne", "pca"}
    kept : Path, optional
        The file that keeps them, so that page and report agree; maps of other rows in it are replaced.
    random_state : int
    """

    def __init__(
        self,
        model: Any,
        table: Table,
        sample: ModelSample,
        how: str = "auto",
        *,
        kept: Path | None = None,
        random_state: int = 0,
    ) -> None:
        self._model, self._table, self._sample, self._how = model, table, sample, how
        self._seed, self._kept = random_state, kept
        self.titles = map_titles(model, table)
        self._of = hashlib.sha256(
            sample.rows.tobytes() + sample.embedding.tobytes() + how.encode()
        ).hexdigest()
        self._drawn: dict[str, Projection] = {}
        self._lock = threading.Lock()
        if kept is not None:
            self._drawn = _kept_maps(kept, self._of, len(sample.rows))

    def projection(self, key: str) -> Projection:
        """Return a map; NaN where a row lacks the view that it shows."""
        if key not in self.titles:
            raise InputError("There is no such map.")
        with self._lock:
            if key not in self._drawn:
                self._drawn[key] = self._draw(key)
                if self._kept is not None:
                    _keep(self._kept, self._of, self._drawn)
            return self._drawn[key]

    def known(self) -> dict[str, Projection]:
        """Return the maps of a report by their titles: of the data, of the model, and others that are kept."""
        keys = [key for key in self.titles if key in (DATA, MODEL) or key in self._drawn]
        return {self.titles[key]: self.projection(key) for key in keys}

    def quick(self) -> Projection:
        """Return the two main directions of the data, which cost next to nothing."""
        return principal_map(self._table.select(self._sample.rows))

    def _draw(self, key: str) -> Projection:
        if key == MODEL:
            return project(self._sample.embedding, self._how, random_state=self._seed)
        if key == DATA:
            return self._of_rows(self._sample.rows, None)
        view = int(key.removeprefix(_VIEW))
        has = self._sample.present[:, view]
        drawn = self._of_rows(self._sample.rows[has], view)
        coordinates = np.full((len(has), 2), np.nan)
        coordinates[has] = drawn.coordinates
        return Projection(coordinates, drawn.method)

    def _of_rows(self, rows: NDArray[np.int64], view: int | None) -> Projection:
        index = getattr(self._model, "index_", None)  # GraphClustering has chosen already
        comparison = None if index is None or view is not None else index.comparison
        return data_map(
            self._table.select(rows, view), self._how, comparison=comparison, random_state=self._seed
        )


def data_map(
    data: Views, how: str = "auto", *, comparison: Comparison | None = None, random_state: int = 0
) -> Projection:
    """Lay rows out by their neighbours in all views; by their main directions where `how` or their number says so.

    Parameters
    ----------
    data : Views
    how : {"auto", "tsne", "pca"}
    comparison : Comparison, optional
        How rows are compared; by default it is chosen on 2,000 of them.
    random_state : int

    Examples
    --------
    >>> from coterie.data import as_views
    >>> data_map(as_views(np.eye(4)), "pca").method
    'PCA'
    """
    start = principal_map(data)
    if not takes_tsne(start.coordinates, how):
        return start
    from coterie.data.subsets import some_rows
    from coterie.graph.compare import fit_comparison
    from coterie.graph.model import build_graph
    from coterie.graph.neighbours import neighbour_count

    n_rows = data.n_rows
    if comparison is None:
        some = data.select(some_rows(n_rows, _ROWS_TO_COMPARE, random_state))
        comparison = fit_comparison(some, n_neighbors=neighbour_count(n_rows), seed=random_state)
    graph = build_graph(data, comparison=comparison, max_rows=n_rows, seed=random_state)
    if not graph.joined.matrix.nnz:
        return start
    places = lay_out(graph.joined.matrix, start.coordinates[graph.nodes], random_state=random_state)
    return Projection(places[graph.groups], "t-SNE")


def principal_map(data: Views) -> Projection:
    """Return the main directions of rows, each view with the same weight; a missing view lies at its mean.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> principal_map(as_views([[0.0], [1.0], [3.0]])).coordinates.shape
    (3, 2)
    """
    if not data.n_rows:
        return Projection(np.zeros((0, 2)), "PCA")
    from coterie.graph.scaling import fit_table_scaler  # imports torch

    scaler = fit_table_scaler(data, "auto")
    blocks = []
    for v, block in enumerate(scaler.transform(data.read(slice(None)))):
        has = data.present_rows(slice(None))[:, v]
        columns = np.unique(np.linspace(0, block.shape[1] - 1, _MOST_COLUMNS).astype(np.int64))
        values = block[:, columns].astype(np.float64)
        values -= values[has].mean(axis=0) if has.any() else 0.0
        values[~has] = 0.0
        blocks.append(values / (np.linalg.norm(values) or 1.0))
    return Projection(pca(np.concatenate(blocks, axis=1), 2), "PCA")


def _keep(path: Path, of: str, drawn: dict[str, Projection]) -> None:
    methods = {key: projection.method for key, projection in drawn.items()}
    arrays = {key: projection.coordinates for key, projection in drawn.items()}
    write_archive(path, {"kind": "maps", "methods": methods, "of": of}, arrays)


def _kept_maps(path: Path, of: str, n_rows: int) -> dict[str, Projection]:
    """Read the maps of the same rows; none where the file is not whole, or of others."""
    try:
        manifest, arrays = read_archive(path)
        methods = dict(manifest["methods"])
        drawn = {key: Projection(np.asarray(arrays[key], np.float64), str(methods[key])) for key in arrays}
    except (InputError, KeyError, TypeError, ValueError):
        return {}
    same = manifest.get("of") == of and all(p.coordinates.shape == (n_rows, 2) for p in drawn.values())
    return drawn if same else {}
