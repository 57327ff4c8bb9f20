"""Scores of a clustering: against known classes, and without them."""

from coterie.metrics.agreement import (
    Contingency,
    accuracy,
    ari,
    contingency,
    fowlkes_mallows,
    matching,
    nmi,
    pairwise_f,
    purity,
    score_all,
)
from coterie.metrics.shape import silhouette, silhouettes

__all__ = [
    "Contingency",
    "accuracy",
    "ari",
    "contingency",
    "fowlkes_mallows",
    "matching",
    "nmi",
    "pairwise_f",
    "purity",
    "score_all",
    "silhouette",
    "silhouettes",
]
