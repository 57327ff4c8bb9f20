"""What a model of several views says about them: what they count, which agree, which rows are missing or corrupt."""

# n rows, v views

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_CORRUPT = 20


@dataclass(frozen=True)
class ViewFacts:
    """One view.

    Attributes
    ----------
    name : str
    explained : float or None
        Share that the codes explain of what they could at best; None for a model without codes.
    weight : float or None
        What the view counts in the consensus; None for a model that has none.
    agreement : float
        How much it agrees with the other views, the mean over them.
    missing : int
        Rows that do not have it, or are empty in it where the model counts those itself.
    corrupt : int or None
        Rows whose values in it were judged corrupt; None for a model that does not judge.
    scaling : str
        How its columns were scaled.
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
    """A row whose values in one view were judged corrupt; `weight` is how much they still count."""

    row: int
    view: str
    weight: float


@dataclass(frozen=True)
class ViewStatistics:
    """All views.

    Attributes
    ----------
    views : list of ViewFacts
    agreement : ndarray of shape (v, v)
        How much oftener than by chance two views name the same neighbours.
    corrupt : list of CorruptRow
        Those that count least, at most twenty.
    estimated : bool
        Whether missing rows were counted in a sample.
    """

    views: list[ViewFacts]
    agreement: NDArray[np.float64]
    corrupt: list[CorruptRow]
    estimated: bool


def read_viewing(
    model: Any,
    names: Sequence[str],
    missing: NDArray[np.floating] | None = None,
    *,
    sampled: bool = False,
) -> ViewStatistics | None:
    """Collect what a model says about its views; None where it has one view or says nothing.

    Parameters
    ----------
    model : estimator
        Asked for `view_weights_`, `view_agreement_` and `scaler_`, and for `row_weights_` and `noise_` if it judges
        rows.
    names : sequence of str
        Of the views.
    missing : ndarray of shape (v,), optional
        Rows without each view, for a model that does not say itself; none by default.
    sampled : bool
        Whether `missing` is an estimate from a sample.
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
