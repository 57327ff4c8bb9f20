"""What a model of several views says about them: which agree, which rows are corrupt, which are missing."""

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
    explained : float
        Share that the codes explain of what they could at best.
    missing, corrupt : int
        Rows that do not have it or are empty in it, and rows whose values in it were judged corrupt.
    scaling : str
        How its columns were scaled.
    """

    name: str
    explained: float
    missing: int
    corrupt: int
    scaling: str


@dataclass(frozen=True)
class CorruptRow:
    """A row whose values in one view were judged corrupt; `weight` is how much they still count."""

    row: int
    view: str
    weight: float


@dataclass(frozen=True)
class Viewing:
    """All views.

    Attributes
    ----------
    views : list of ViewFacts
    agreement : ndarray of shape (v, v)
        How much oftener than by chance two views name the same neighbours.
    corrupt : list of CorruptRow
        Those that count least, at most twenty.
    """

    views: list[ViewFacts]
    agreement: NDArray[np.float64]
    corrupt: list[CorruptRow]


def read_viewing(model: Any, names: Sequence[str]) -> Viewing | None:
    """Collect what a model says about its views; None where it has one view or says nothing.

    Parameters
    ----------
    model : estimator
        Asked for `view_weights_`, `view_agreement_`, `row_weights_`, `noise_` and `scaler_`.
    names : sequence of str
        Of the views.
    """
    if len(names) < 2 or not hasattr(model, "view_weights_"):
        return None
    noise, weights = model.noise_, model.row_weights_
    missing = ((weights == 0) & ~noise).sum(axis=0)
    facts = [
        ViewFacts(name, float(model.view_weights_[v]), int(missing[v]), int(noise[:, v].sum()), scaling)
        for v, (name, scaling) in enumerate(zip(names, model.scaler_.modes_, strict=True))
    ]
    rows, views = np.nonzero(noise)
    order = np.argsort(weights[rows, views], kind="stable")[:_MOST_CORRUPT]
    worst = [CorruptRow(int(rows[i]), names[views[i]], float(weights[rows[i], views[i]])) for i in order]
    return Viewing(facts, np.asarray(model.view_agreement_, dtype=np.float64), worst)
