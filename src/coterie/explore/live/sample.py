"""The rows on the map: a sample of the data, and its layout in the plane."""

# s sampled rows

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.live.state import State
from coterie.explore.model_sample import ModelSample, read_means, read_sample
from coterie.explore.projection import Projection, project
from coterie.explore.rows import Table
from coterie.store import read_archive, write_archive


class Sample:
    """A stratified sample of rows, laid out in the plane.

    Attributes
    ----------
    of_model : ModelSample
        What the model says about the rows.
    rows : ndarray of shape (s,)
        Row numbers, ascending.
    projection : Projection
        PCA at first; `lay_out` replaces it by the final one.
    settled : bool
        Whether it has.
    """

    def __init__(
        self, model: Any, table: Table, labels: NDArray[np.integer], max_rows: int, random_state: int = 0
    ) -> None:
        self._table, self._seed = table, random_state
        self.of_model: ModelSample = read_sample(model, table, labels, max_rows, random_state)
        self.rows = self.of_model.rows
        self.projection: Projection = project(self.of_model.embedding, "pca")
        self.settled = False
        self._position = {row: at for at, row in enumerate(self.rows.tolist())}

    def position(self, row: int) -> int | None:
        """Return the position of a row in the sample; None for a row that is not in it."""
        return self._position.get(row)

    def lay_out(self, how: str, cache: Path) -> None:
        """Compute the map, or take it from the file in which it was kept."""
        fingerprint = hashlib.sha256(self.of_model.embedding.tobytes() + how.encode()).hexdigest()
        projection = _kept_map(cache, fingerprint, len(self.rows))
        if projection is None:
            projection = project(self.of_model.embedding, how, random_state=self._seed)
            manifest = {"kind": "map", "method": projection.method, "of": fingerprint}
            write_archive(cache, manifest, {"coordinates": projection.coordinates})
        self.projection, self.settled = projection, True

    def by_state(self, state: State) -> ModelSample:
        """Return the sample with the clusters of a state, with feature means computed again."""
        k, labels = len(state.numbers), state.positions()[self.rows]
        means, _ = read_means(self._table, self.rows, labels, self.of_model.weights, k)
        position_of = {number: at for at, number in enumerate(state.numbers.tolist())}
        return replace(
            self.of_model,
            labels=labels,
            confidence=state.confidence[self.rows].astype(np.float64),
            exemplars={position_of[number]: row for number, row in state.exemplars.items()},
            means=means,
            n_clusters=k,
        )


def _kept_map(path: Path, fingerprint: str, n_rows: int) -> Projection | None:
    """Read a map of the same rows; None where there is none that is whole."""
    try:
        manifest, arrays = read_archive(path)
        coordinates = np.asarray(arrays["coordinates"], dtype=np.float64)
    except (InputError, KeyError):
        return None
    same = manifest.get("of") == fingerprint and coordinates.shape == (n_rows, 2)
    return Projection(coordinates, str(manifest.get("method"))) if same else None
