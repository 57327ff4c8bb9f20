"""Scores of a clustering that scikit-learn lacks: against known classes, and silhouettes of some rows of many."""

from coterie.metrics.agreement import accuracy, matching, pairwise_f, purity, score_all
from coterie.metrics.shape import silhouette, silhouettes

__all__ = ["accuracy", "matching", "pairwise_f", "purity", "score_all", "silhouette", "silhouettes"]
