"""Which features set each cluster apart."""

# n rows, d features, k clusters

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Feature:
    """A feature whose mean in a cluster differs from its mean elsewhere.

    `difference` is the mean in the cluster minus the mean of all other rows, in standard deviations over all rows;
    `inside` and `elsewhere` are both means in the units of the data.
    """

    view: str
    name: str
    difference: float
    inside: float
    elsewhere: float


class ClusterMeans:
    """Weighted means of the features of a view for each cluster, accumulated a chunk of rows at a time.

    Examples
    --------
    >>> means = ClusterMeans(2, 1)
    >>> means.add(np.array([[0.0], [2.0], [4.0]]), np.array([0, 0, 1]), np.ones(3))
    >>> age = means.top(["age"], view="table", count=1)[1][0]
    >>> age.name, age.inside, age.elsewhere, round(age.difference, 2)
    ('age', 4.0, 1.0, 1.84)
    """

    def __init__(self, n_clusters: int, n_features: int) -> None:
        self._weights = np.zeros(n_clusters)
        self._sums = np.zeros((n_clusters, n_features))
        self._squares = np.zeros(n_features)
        self._shift: NDArray[np.float64] | None = None

    def add(
        self, rows: NDArray[np.floating], labels: NDArray[np.integer], weights: NDArray[np.floating]
    ) -> None:
        """Add a chunk of rows (b, d), their clusters (b,) and how many rows each stands for (b,)."""
        if len(rows) == 0:
            return
        values = rows.astype(np.float64)
        if self._shift is None:
            # Sums of squares around a typical value keep their digits when the mean is far from zero.
            self._shift = values.mean(axis=0)
        values -= self._shift
        self._weights += np.bincount(labels, weights, minlength=len(self._weights))
        np.add.at(self._sums, labels, weights[:, None] * values)
        self._squares += weights @ values**2

    def spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and standard deviation of each feature over all rows; infinity for a constant one."""
        if self._shift is None:
            return self._squares.copy(), np.full(len(self._squares), np.inf)
        total = self._weights.sum()
        mean = self._sums.sum(axis=0) / total
        deviation = np.sqrt(np.maximum(self._squares / total - mean**2, 0))
        # A constant column has a spread of rounding errors only.
        deviation[deviation <= 1e-9 * np.maximum(np.abs(self._shift), 1.0)] = np.inf
        return mean + self._shift, deviation

    def top(self, names: Sequence[str], *, view: str, count: int) -> list[list[Feature]]:
        """Return, for each cluster, the features with the largest differences, largest first."""
        total = self._weights.sum()
        if self._shift is None:
            return [[] for _ in self._weights]
        sums, deviation, shift = self._sums.sum(axis=0), self.spread()[1], self._shift

        def of_cluster(weight: float, mine: NDArray[np.float64]) -> list[Feature]:
            if weight in (0, total):
                return []
            inside, elsewhere = mine / weight, (sums - mine) / (total - weight)
            difference = (inside - elsewhere) / deviation
            best = np.argsort(-np.abs(difference), kind="stable")[:count]
            inside, elsewhere = inside + shift, elsewhere + shift
            return [
                Feature(view, str(names[j]), float(difference[j]), float(inside[j]), float(elsewhere[j]))
                for j in best
                if difference[j] != 0
            ]

        return [of_cluster(weight, mine) for weight, mine in zip(self._weights, self._sums, strict=True)]
