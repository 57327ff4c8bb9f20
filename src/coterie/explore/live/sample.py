"""The rows on the map: a sample of the data, and its layout in the plane."""

# s sampled rows

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.live.state import State
from coterie.explore.maps import DATA, Maps
from coterie.explore.model_sample import ModelSample, read_means, read_sample
from coterie.explore.projection import Projection
from coterie.explore.rows import Table


class Sample:
    """A stratified sample of rows, laid out in the plane.

    Attributes
    ----------
    of_model : ModelSample
        What the model says about the rows.
    rows : ndarray of shape (s,)
        Row numbers, ascending.
    maps : Maps
    settled : bool
        Whether the map of the data is computed; before, `projection` gives a quick one.
    """

    def __init__(
        self,
        model: Any,
        table: Table,
        labels: NDArray[np.integer],
        max_rows: int,
        how: str,
        kept: Path,
        random_state: int = 0,
    ) -> None:
        self._table = table
        self.of_model: ModelSample = read_sample(model, table, labels, max_rows, random_state)
        self.rows = self.of_model.rows
        self.maps = Maps(model, table, self.of_model, how, kept=kept, random_state=random_state)
        self._quick = self.maps.quick()
        self.settled = False
        self._position = {row: at for at, row in enumerate(self.rows.tolist())}

    def projection(self, key: str = DATA) -> Projection:
        """Return a map; of the data a quick one until the good one is there."""
        return self.maps.projection(key) if self.settled or key != DATA else self._quick

    def position(self, row: int) -> int | None:
        """Return the position of a row in the sample; None for a row that is not in it."""
        return self._position.get(row)

    def lay_out(self) -> None:
        """Compute the map of the data, or take it from the file that keeps it."""
        self.maps.projection(DATA)
        self.settled = True

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
