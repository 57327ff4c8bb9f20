"""Row details: single rows and single clusters as plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.live.session import Session
from coterie.explore.model_sample import Feature, first_and_second
from coterie.explore.pictures import brightness, data_uri, decoded_exemplars, to_pixels

_STRONGEST = 5
_ROWS_FOR_BRIGHTNESS = 300


def feature_json(feature: Feature) -> dict[str, Any]:
    """Return a feature with both means and both spreads."""
    return {
        "view": feature.view,
        "name": feature.name,
        "difference": round(feature.difference, 3),
        "inside": float(f"{feature.inside:.4g}"),
        "elsewhere": float(f"{feature.elsewhere:.4g}"),
        "spread": None if feature.spread is None else asdict(feature.spread),
    }


class RowDetails:
    """Describes rows and clusters of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def rows(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Describe rows: class, confidence, runner-up, image or strongest features, metadata."""
        session, index = self._session, np.asarray(rows, dtype=np.int64)
        if not len(index):
            return []
        state, given, classes = session.state, session.corrections.labels, session.classes
        blocks, present = session.table.read(index)
        seconds, pictures = self._runners_up(index), self._pictures(index)
        strongest = self._strongest(blocks, present)
        views = [name for name, _ in session.table.views]
        return [
            {
                "row": row,
                "cluster": int(state.labels[row]),
                "confidence": round(float(state.confidence[row]), 4),
                "second": seconds[i],
                "given": given.get(row),
                "class": None if classes is None or classes.codes[row] < 0 else classes.name_of(row),
                "missing": [view for view, has in zip(views, present[i], strict=True) if not has],
                "image": pictures.get(row),
                "features": strongest[i],
                "metadata": [] if session.metadata is None else session.metadata.row(row),
            }
            for i, row in enumerate(index.tolist())
        ]

    def cluster(self, number: int) -> dict[str, Any]:
        """Describe a class: its typical rows, its features, its neighbours."""
        session, state = self._session, self._session.state
        if number not in state.numbers:
            raise InputError(f"There is no cluster {number}.")
        cluster = session.clusters()[int(np.searchsorted(state.numbers, number))]
        # A decoded exemplar is shown as long as its row has not left the class.
        row = session.model_exemplars.get(number)
        modelled = row is None or int(state.labels[row]) == number
        return {
            "number": number,
            "size": cluster.size,
            "confidence": cluster.confidence,
            "exemplar": state.exemplars.get(number),
            "decoded": self._decoded.get(number) if modelled else None,
            "decoded_features": self._decoded_features.get(number, []) if modelled else [],
            "typical": cluster.typical,
            "unsure": self.members(number, "unsure", 0, 8),
            "neighbours": [int(state.numbers[other]) for other in cluster.neighbours[:4]],
            "commonest": cluster.commonest,
            "features": [feature_json(feature) for feature in cluster.features],
        }

    def members(self, number: int, order: str, offset: int, most: int) -> list[int]:
        """Return rows of a class among all the data: "unsure" first, "sure" first, or by "row" number."""
        state = self._session.state
        rows = np.flatnonzero(state.labels == number)
        if order != "row":
            confidence = state.confidence[rows]
            rows = rows[np.argsort(-confidence if order == "sure" else confidence, kind="stable")]
        return rows[offset : offset + most].tolist()

    def _runners_up(self, rows: NDArray[np.int64]) -> list[dict[str, Any] | None]:
        """Return the class with the largest other membership of each row; None where there is one class only."""
        session, state = self._session, self._session.state
        if state.memberships is None:
            memberships = np.asarray(
                session.model.predict_proba(session.table.for_model(rows)), dtype=np.float64
            )
        else:
            memberships = state.memberships[rows]
        if memberships.shape[1] < 2:
            return [None] * len(rows)
        second = first_and_second(memberships, np.searchsorted(state.columns, state.labels[rows]))[1]
        return [
            {"cluster": int(state.columns[other]), "membership": round(float(of_row[other]), 4)}
            for other, of_row in zip(second.tolist(), memberships, strict=True)
        ]

    def _strongest(
        self, blocks: Sequence[NDArray[np.float32]], present: NDArray[np.bool_]
    ) -> list[list[dict[str, Any]]]:
        """Return the features in which each row differs most from the mean, in every view that is no image."""
        session = self._session
        features: list[list[dict[str, Any]]] = [[] for _ in present]
        for v, (block, means) in enumerate(zip(blocks, session.sample.of_model.means, strict=True)):
            if v == session.picture_view:
                continue
            mean, deviation = means.spread()
            deviations = (block - mean) / deviation
            for i in np.flatnonzero(present[:, v]):
                features[i] += [
                    {
                        "view": session.table.views[v][0],
                        "name": str(session.table.feature_names[v][j]),
                        "value": float(f"{block[i, j]:.4g}"),
                        "deviation": round(float(deviations[i, j]), 2),
                    }
                    for j in np.argsort(-np.abs(deviations[i]), kind="stable")[:_STRONGEST]
                    if deviations[i, j] != 0
                ]
        return features

    def _pictures(self, rows: NDArray[np.int64]) -> dict[int, str]:
        if self._session.picture_view is None:
            return {}
        drawn, values = self._session.table.read_view(self._session.picture_view, rows)
        return {int(row): self.draw(value) for row, value in zip(drawn, values, strict=True)}

    def draw(self, value: NDArray[np.floating]) -> str:
        """Return the picture of the values of a row."""
        assert self._session.layout is not None
        return data_uri(to_pixels(value, self._session.layout, *self._brightness))

    @cached_property
    def _brightness(self) -> tuple[float, float]:
        rows = self._session.sample.rows
        some = rows[:: max(1, len(rows) // _ROWS_FOR_BRIGHTNESS)]
        assert self._session.picture_view is not None
        return brightness(list(self._session.table.read_view(self._session.picture_view, some)[1]))

    @cached_property
    def _decoded(self) -> dict[int, str]:
        """Images of the exemplars that the model decoded, by class."""
        session = self._session
        if session.picture_view is None:
            return {}
        decoded = decoded_exemplars(session.model, session.table, session.picture_view)
        return {int(session.model_numbers[c]): self.draw(value) for c, value in enumerate(decoded)}

    @cached_property
    def _decoded_features(self) -> dict[int, list[dict[str, Any]]]:
        """The strongest features of the exemplars that the model decoded, by class, in views that are no images."""
        session = self._session
        views = range(len(session.table.views))
        blocks = [np.array(decoded_exemplars(session.model, session.table, v)) for v in views]
        if not len(blocks[0]):
            return {}
        features = self._strongest(blocks, np.ones((len(blocks[0]), len(blocks)), dtype=bool))
        return dict(zip(session.model_numbers.tolist(), features, strict=True))
