"""Scores that scikit-learn lacks: agreement of clusters with known classes, and silhouettes of a sample of rows."""

from coterie.metrics.agreement import accuracy, matching, pairwise_f, purity, score_all
from coterie.metrics.changes import Changes, compare_labels
from coterie.metrics.separation import silhouette, silhouettes

__all__ = [
    "Changes",
    "accuracy",
    "compare_labels",
    "matching",
    "pairwise_f",
    "purity",
    "score_all",
    "silhouette",
    "silhouettes",
]
