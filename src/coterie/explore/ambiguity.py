"""Which rows a model is uncertain of, what it took them for, and how well its clusters keep apart."""

# n rows, k clusters

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.model_sample import ModelSample
from coterie.explore.sampling import stratified_rows
from coterie.metrics import silhouettes

# A most uncertain row that was not routed should not be called certain, as the model's own name of 0 would.
ROUTES = ("not routed", "false negative", "hard negative")
"""What the numbers of a model's `route_` mean."""

_FALSE, _HARD = 1, 2
_MOST_ROWS = 20
# Uncertainties lie close together: fine steps.
_BINS = 50
_SILHOUETTE_ROWS = 2000


@dataclass(frozen=True)
class AmbiguousRow:
    """A row, its cluster, how uncertain the model is of it, and what it took the row for."""

    row: int
    cluster: int
    uncertainty: float
    route: str


@dataclass(frozen=True)
class AmbiguousCluster:
    """One cluster that is not empty.

    Attributes
    ----------
    number, size : int
        Its label and its rows.
    uncertainty : float
        Mean over its rows.
    false, hard : int
        Rows last routed as false and as hard negatives.
    silhouette : float or None
        Mean of its sampled rows in the embedding; None for a single row or a single cluster.
    """

    number: int
    size: int
    uncertainty: float
    false: int
    hard: int
    silhouette: float | None


@dataclass(frozen=True)
class Ambiguity:
    """All of it.

    Attributes
    ----------
    counts : ndarray of shape (bins,)
        Rows by uncertainty, in equal steps from 0 to 1.
    median : float
        Of the uncertainty.
    clusters : list of AmbiguousCluster
        The most uncertain first.
    rows : list of AmbiguousRow
        The most uncertain rows, at most twenty.
    """

    counts: NDArray[np.float64]
    median: float
    clusters: list[AmbiguousCluster]
    rows: list[AmbiguousRow]


def read_ambiguity(
    model: Any, labels: NDArray[np.integer], sample: ModelSample, *, random_state: int = 0
) -> Ambiguity | None:
    """Collect what a model says about ambiguous rows; None for a model that does not tell them apart.

    Parameters
    ----------
    model : estimator
        Asked for `uncertainty_` and `route_`.
    labels : ndarray of shape (n,)
        The clusters of the rows.
    sample : ModelSample
        Gives the embedding in which silhouettes are measured.
    random_state : int
        Decides for which rows.
    """
    if not (hasattr(model, "uncertainty_") and hasattr(model, "route_")):
        return None
    doubts, routes = np.asarray(model.uncertainty_, dtype=np.float64), np.asarray(model.route_)
    counts, _ = np.histogram(doubts, bins=_BINS, range=(0, 1))
    shapes = cluster_silhouettes(sample, random_state=random_state)
    clusters = [
        AmbiguousCluster(
            number=c,
            size=int(mine.sum()),
            uncertainty=float(doubts[mine].mean()),
            false=int((routes[mine] == _FALSE).sum()),
            hard=int((routes[mine] == _HARD).sum()),
            silhouette=shapes[c],
        )
        for c in range(sample.n_clusters)
        if (mine := labels == c).any()
    ]
    worst = np.argsort(-doubts, kind="stable")[:_MOST_ROWS].tolist()
    return Ambiguity(
        counts=counts.astype(np.float64),
        median=float(np.median(doubts)),
        clusters=sorted(clusters, key=lambda cluster: -cluster.uncertainty),
        rows=[AmbiguousRow(i, int(labels[i]), float(doubts[i]), ROUTES[routes[i]]) for i in worst],
    )


def cluster_silhouettes(
    sample: ModelSample, *, most_rows: int = _SILHOUETTE_ROWS, random_state: int = 0
) -> list[float | None]:
    """Return the mean silhouette of each cluster in the embedding, each row measured against the whole sample.

    Parameters
    ----------
    sample : ModelSample
    most_rows : int
        Rows to measure, shared out so that small clusters have some too.
    random_state : int
        Decides which.

    Returns
    -------
    list of float or None
        By cluster; None where there is nothing to compare, with one cluster or one row.
    """
    k, labels = sample.n_clusters, sample.labels
    sizes = np.bincount(labels, minlength=k)
    used = int((sizes > 0).sum())
    if used < 2:
        return [None] * k
    rows = stratified_rows(labels, k, max(most_rows, used), np.random.default_rng(random_state))
    values, mine = silhouettes(sample.embedding, labels, rows), labels[rows]
    return [float(values[mine == c].mean()) if sizes[c] > 1 else None for c in range(k)]
