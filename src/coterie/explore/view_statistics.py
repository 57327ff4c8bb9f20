"""View statistics of a multi-view model: weights, agreement, missing and corrupt rows."""

# n rows, v views

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_CORRUPT = 20


@dataclass(frozen=True)
class ViewFacts:
    """One view; None where the model has no such statistic.

    `explained` is the share of the view that the codes explain, of what they could at best; `weight` that in the
    consensus; `agreement` the mean over the other views; `missing` and `corrupt` count rows.
    """

    name: str
    explained: float | None
    weight: float | None
    agreement: float
    missing: int
    corrupt: int | None
    scaling: str


@dataclass(frozen=True)
class CorruptRow:
    """A row whose values in one view were judged corrupt, and the weight that they still have."""

    row: int
    view: str
    weight: float


@dataclass(frozen=True)
class ViewStatistics:
    """All views.

    `agreement` (v, v) is how much more often than by chance two views name the same neighbours, `corrupt` lists the
    rows of lowest weight, and `estimated` says whether missing rows were counted in a sample.
    """

    views: list[ViewFacts]
    agreement: NDArray[np.float64]
    corrupt: list[CorruptRow]
    estimated: bool


def read_view_statistics(
    model: Any,
    names: Sequence[str],
    missing: NDArray[np.floating] | None = None,
    *,
    sampled: bool = False,
) -> ViewStatistics | None:
    """Collect the view statistics of a model; None where it has one view or none of them.

    They are `view_weights_`, `view_agreement_` and `scaler_`, and `row_weights_` and `noise_` where the model judges
    rows. `missing` (v,) counts the rows without each view, in a sample if `sampled`, for a model that does not.
    """
    if len(names) < 2 or not hasattr(model, "view_agreement_"):
        return None
    agreement = np.asarray(model.view_agreement_, dtype=np.float64)
    others = (agreement.sum(axis=1) - agreement.diagonal()) / (len(names) - 1)
    judges = hasattr(model, "noise_")
    noise = np.asarray(model.noise_) if judges else np.zeros((0, len(names)), dtype=bool)
    weights = np.asarray(model.row_weights_) if judges else np.zeros((0, len(names)))
    if judges or missing is None:
        missing = ((weights == 0) & ~noise).sum(axis=0)
    facts = [
        ViewFacts(
            name=name,
            # A model with codes weighs views by what the codes explain of them.
            explained=float(model.view_weights_[v]) if judges else None,
            weight=None if judges else float(model.view_weights_[v]),
            agreement=float(others[v]),
            missing=round(float(missing[v])),
            corrupt=int(noise[:, v].sum()) if judges else None,
            scaling=scaling,
        )
        for v, (name, scaling) in enumerate(zip(names, model.scaler_.modes_, strict=True))
    ]
    rows, views = np.nonzero(noise)
    order = np.argsort(weights[rows, views], kind="stable")[:_MOST_CORRUPT]
    worst = [CorruptRow(int(rows[i]), names[views[i]], float(weights[rows[i], views[i]])) for i in order]
    return ViewStatistics(facts, agreement, worst, estimated=sampled and not judges)
