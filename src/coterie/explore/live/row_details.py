"""Single rows and single clusters, as a person looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.live.session import Session
from coterie.explore.model_sample import brightness, decoded_exemplars, first_and_second
from coterie.explore.pictures import data_uri, to_pixels
from coterie.explore.summary import Cluster, describe_clusters

_STRONGEST = 5
_ROWS_FOR_BRIGHTNESS = 300


class RowDetails:
    """Describes rows and clusters of a session.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._described: tuple[int, list[Cluster]] = (0, [])

    def rows(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Describe rows: class, confidence, runner-up, image or strongest features, metadata."""
        session, index = self._session, np.asarray(rows, dtype=np.int64)
        if not len(index):
            return []
        state, given = session.state, session.known.labels
        seconds = self._runners_up(index)
        pictures, strongest = self._pictures(index), self._strongest(index)
        present = session.table.read(index)[1]
        views = [name for name, _ in session.table.views]
        classes = session.classes
        return [
            {
                "row": row,
                "cluster": int(state.labels[row]),
                "confidence": round(float(state.confidence[row]), 4),
                "second": seconds[i],
                "said": given.get(row),
                "class": None
                if classes is None or classes.codes[row] < 0
                else classes.names[classes.codes[row]],
                "place": session.sample.place(row),
                "missing": [view for view, there in zip(views, present[i], strict=True) if not there],
                "image": pictures.get(row),
                "features": strongest[i],
                "metadata": [] if session.metadata is None else session.metadata.row(row),
            }
            for i, row in enumerate(index.tolist())
        ]

    def cluster(self, number: int) -> dict[str, Any]:
        """Describe a class: what is typical of it, what sets it apart, what is near."""
        state = self._session.state
        at = np.flatnonzero(state.numbers == number)
        if not len(at):
            raise InputError(f"There is no cluster {number}.")
        found = self._clusters()[int(at[0])]
        least, modelled = self.listed(number, "unsure", 0, 8), self._is_modelled(number)
        return {
            "number": number,
            "size": found.size,
            "confidence": found.confidence,
            "exemplar": state.exemplars.get(number),
            "decoded": self._decoded.get(number) if modelled else None,
            "decoded_features": self._decoded_features.get(number, []) if modelled else [],
            "typical": found.typical,
            "unsure": least,
            "neighbours": [int(state.numbers[other]) for other in found.neighbours[:4]],
            "commonest": found.commonest,
            "features": [
                {
                    "view": one.view,
                    "name": one.name,
                    "difference": round(one.difference, 3),
                    "inside": float(f"{one.inside:.4g}"),
                    "elsewhere": float(f"{one.elsewhere:.4g}"),
                }
                for one in found.features
            ],
        }

    def listed(self, number: int, order: str, offset: int, most: int) -> list[int]:
        """Return rows of a class among all the data: the least sure first, the surest first, or by number."""
        state = self._session.state
        rows = np.flatnonzero(state.labels == number)
        if order != "row":
            sure = state.confidence[rows]
            rows = rows[np.argsort(-sure if order == "sure" else sure, kind="stable")]
        return rows[offset : offset + most].tolist()

    def _is_modelled(self, number: int) -> bool:
        """Say whether a class is still the one that the model decodes: its row of then has not left it."""
        session = self._session
        row = session.modelled_exemplars.get(number)
        return row is None or int(session.state.labels[row]) == number

    def _clusters(self) -> list[Cluster]:
        """Describe all classes once for each state."""
        session = self._session
        version, found = self._described
        if version != session.version:
            version, state = session.version, session.state
            sample = session.sample.read_as(state)
            features = sample.top_features(session.table, skip=session.picture_view)
            titles = list(map(str, state.numbers.tolist()))
            found = describe_clusters(
                sample, titles, features, state.sizes(), session.classes, state.positions()
            )
            self._described = (version, found)
        return found

    def _runners_up(self, rows: NDArray[np.int64]) -> list[dict[str, Any] | None]:
        """Return the class with the largest other membership of each row; None where there is one class only."""
        session, state = self._session, self._session.state
        if state.memberships is None:
            shares = np.asarray(session.model.predict_proba(session.table.for_model(rows)), dtype=np.float64)
        else:
            shares = state.memberships[rows]
        if shares.shape[1] < 2:
            return [None] * len(rows)
        mine = np.searchsorted(state.columns, state.labels[rows])
        best = first_and_second(shares, mine)[1]
        return [
            {"cluster": int(state.columns[other]), "membership": round(float(share[other]), 4)}
            for other, share in zip(best.tolist(), shares, strict=True)
        ]

    def _strongest(self, rows: NDArray[np.int64]) -> list[list[dict[str, Any]]]:
        """Return the features in which each row differs most from the mean of all, in every view that is no image."""
        return self._away(*self._session.table.read(rows))

    def _away(
        self, blocks: Sequence[NDArray[np.float32]], present: NDArray[np.bool_]
    ) -> list[list[dict[str, Any]]]:
        session = self._session
        found: list[list[dict[str, Any]]] = [[] for _ in present]
        for v, (block, means, (view, _)) in enumerate(
            zip(blocks, session.sample.reading.means, session.table.views, strict=True)
        ):
            if v == session.picture_view:
                continue
            middle, spread = means.spread()
            away = (block - middle) / spread
            for i in np.flatnonzero(present[:, v]):
                for j in np.argsort(-np.abs(away[i]), kind="stable")[:_STRONGEST]:
                    if away[i, j] != 0:
                        found[i].append(
                            {
                                "view": view,
                                "name": str(session.table.feature_names[v][j]),
                                "value": float(f"{block[i, j]:.4g}"),
                                "away": round(float(away[i, j]), 2),
                            }
                        )
        return found

    def _pictures(self, rows: NDArray[np.int64]) -> dict[int, str]:
        if self._session.layout is None or self._session.picture_view is None:
            return {}
        there, values = self._session.table.read_view(self._session.picture_view, rows)
        return {int(row): self._drawn(value) for row, value in zip(there, values, strict=True)}

    def _drawn(self, value: NDArray[np.float32]) -> str:
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
        return {int(session.model_numbers[c]): self._drawn(value) for c, value in enumerate(decoded)}

    @cached_property
    def _decoded_features(self) -> dict[int, list[dict[str, Any]]]:
        """The strongest features of the exemplars that the model decoded, by class, in views that are no images."""
        session = self._session
        blocks = [
            np.array(decoded_exemplars(session.model, session.table, v))
            for v in range(len(session.table.views))
        ]
        if not len(blocks[0]):
            return {}
        found = self._away(blocks, np.ones((len(blocks[0]), len(blocks)), dtype=bool))
        return dict(zip(session.model_numbers.tolist(), found, strict=True))
