"""The rows on the map: which they are, where they lie, what is seen of them."""

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
    """A sample of rows with small clusters in it, laid out in the plane.

    Parameters
    ----------
    model : estimator
    table : Table
    labels : ndarray of shape (n,)
        The model's clusters, from 0.
    max_rows : int
    random_state : int

    Attributes
    ----------
    reading : ModelSample
        What the model says about the rows.
    projection : Projection
        Quick at first; `lay_out` replaces it by a better one.
    settled : bool
        Whether it has.
    """

    def __init__(
        self, model: Any, table: Table, labels: NDArray[np.integer], max_rows: int, random_state: int = 0
    ) -> None:
        self._table, self._seed = table, random_state
        self.reading: ModelSample = read_sample(model, table, labels, max_rows, random_state)
        self.projection: Projection = project(self.reading.embedding, "pca")
        self.settled = False
        self._place = {row: at for at, row in enumerate(self.reading.rows.tolist())}

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row numbers, ascending."""
        return self.reading.rows

    def place(self, row: int) -> int | None:
        """Return the position of a row in the sample; None for a row that is not in it."""
        return self._place.get(row)

    def lay_out(self, how: str, kept_in: Path) -> None:
        """Compute the map, or take it from the file in which it was kept."""
        print_of = hashlib.sha256(self.reading.embedding.tobytes() + how.encode()).hexdigest()
        found = _kept_map(kept_in, print_of, len(self.rows))
        if found is None:
            found = project(self.reading.embedding, how, random_state=self._seed)
            write_archive(
                kept_in,
                {"kind": "map", "method": found.method, "of": print_of},
                {"coordinates": found.coordinates},
            )
        self.projection, self.settled = found, True

    def read_as(self, state: State) -> ModelSample:
        """Return the sample as the present classes divide it; reads the rows again."""
        k, labels = len(state.numbers), state.positions()[self.rows]
        means, _ = read_means(self._table, self.rows, labels, self.reading.weights, k)
        number_at = {number: at for at, number in enumerate(state.numbers.tolist())}
        return replace(
            self.reading,
            labels=labels,
            confidence=state.confidence[self.rows].astype(np.float64),
            exemplars={number_at[number]: row for number, row in state.exemplars.items()},
            means=means,
            n_clusters=k,
        )


def _kept_map(path: Path, print_of: str, n_rows: int) -> Projection | None:
    """Read a map of the same rows; None where there is none that is whole."""
    try:
        manifest, arrays = read_archive(path)
        coordinates = np.asarray(arrays["coordinates"], dtype=np.float64)
    except (InputError, KeyError):
        return None
    same = manifest.get("of") == print_of and coordinates.shape == (n_rows, 2)
    return Projection(coordinates, str(manifest.get("method"))) if same else None
