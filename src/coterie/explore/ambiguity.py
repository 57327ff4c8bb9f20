"""Ambiguous rows: how uncertain a model is of each row, how it routed them, and silhouettes of the clusters."""

# n rows, k clusters

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.model_sample import ModelSample, stratified_rows
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
    """A row, its cluster, its uncertainty, and its route."""

    row: int
    cluster: int
    uncertainty: float
    route: str


@dataclass(frozen=True)
class AmbiguousCluster:
    """A cluster with rows: mean uncertainty, and how many were last routed as false and as hard negatives.

    `silhouette` is the mean of its sampled rows in the embedding; None for a single row or a single cluster.
    """

    number: int
    size: int
    uncertainty: float
    false: int
    hard: int
    silhouette: float | None


@dataclass(frozen=True)
class Ambiguity:
    """Rows by uncertainty in equal steps from 0 to 1, their median, and the most uncertain clusters and rows."""

    counts: NDArray[np.float64]
    median: float
    clusters: list[AmbiguousCluster]
    rows: list[AmbiguousRow]


def read_ambiguity(
    model: Any, labels: NDArray[np.integer], sample: ModelSample, *, random_state: int = 0
) -> Ambiguity | None:
    """Collect a model's `uncertainty_` and `route_`; None for a model without them."""
    if not (hasattr(model, "uncertainty_") and hasattr(model, "route_")):
        return None
    uncertainty, routes = np.asarray(model.uncertainty_, dtype=np.float64), np.asarray(model.route_)
    counts, _ = np.histogram(uncertainty, bins=_BINS, range=(0, 1))
    by_cluster = cluster_silhouettes(sample, random_state=random_state)
    clusters = [
        AmbiguousCluster(
            number=c,
            size=int(members.sum()),
            uncertainty=float(uncertainty[members].mean()),
            false=int((routes[members] == _FALSE).sum()),
            hard=int((routes[members] == _HARD).sum()),
            silhouette=by_cluster[c],
        )
        for c in range(sample.n_clusters)
        if (members := labels == c).any()
    ]
    most = np.argsort(-uncertainty, kind="stable")[:_MOST_ROWS].tolist()
    return Ambiguity(
        counts=counts.astype(np.float64),
        median=float(np.median(uncertainty)),
        clusters=sorted(clusters, key=lambda cluster: -cluster.uncertainty),
        rows=[AmbiguousRow(i, int(labels[i]), float(uncertainty[i]), ROUTES[routes[i]]) for i in most],
    )


def cluster_silhouettes(
    sample: ModelSample, *, most_rows: int = _SILHOUETTE_ROWS, random_state: int = 0
) -> list[float | None]:
    """Return the mean silhouette of each cluster in the embedding, each row measured against the whole sample.

    Small clusters have some of the `most_rows` too. None where there is nothing to compare: one cluster, or one row.
    """
    k, labels = sample.n_clusters, sample.labels
    sizes = np.bincount(labels, minlength=k)
    used = int((sizes > 0).sum())
    if used < 2:
        return [None] * k
    rows = stratified_rows(labels, k, max(most_rows, used), np.random.default_rng(random_state))
    values, clusters = silhouettes(sample.embedding, labels, rows), labels[rows]
    return [float(values[clusters == c].mean()) if sizes[c] > 1 else None for c in range(k)]
