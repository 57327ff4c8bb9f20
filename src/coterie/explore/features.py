"""Which features set each cluster apart."""

# n rows, d features, k clusters

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Feature:
    """A feature whose mean in a cluster differs from its mean elsewhere.

    Attributes
    ----------
    view : str
        The view it belongs to.
    name : str
        What it is called.
    difference : float
        Mean in the cluster minus mean of all other rows, in standard deviations over all rows.
    inside, elsewhere : float
        Both means, in the units of the data.
    """

    view: str
    name: str
    difference: float
    inside: float
    elsewhere: float


class ClusterMeans:
    """Weighted means of a view per cluster, gathered a chunk of rows at a time.

    Parameters
    ----------
    n_clusters : int
        How many clusters there are.
    n_features : int
        Width of the view.

    Examples
    --------
    >>> means = ClusterMeans(2, 1)
    >>> means.add(np.array([[0.0], [2.0], [4.0]]), np.array([0, 0, 1]), np.ones(3))
    >>> oldest = means.top(["age"], view="table", count=1)[1][0]
    >>> oldest.name, oldest.inside, oldest.elsewhere, round(oldest.difference, 2)
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
        """Count a chunk of rows (b, d), their clusters (b,) and how many rows each stands for (b,)."""
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
        """Return the mean and the standard deviation of each column over all rows; a constant one has infinity."""
        if self._shift is None:
            return self._squares.copy(), np.full(len(self._squares), np.inf)
        total = self._weights.sum()
        middle = self._sums.sum(axis=0) / total
        deviation = np.sqrt(np.maximum(self._squares / total - middle**2, 0))
        # A constant column has a spread of rounding errors only.
        deviation[deviation <= 1e-9 * np.maximum(np.abs(self._shift), 1.0)] = np.inf
        return middle + self._shift, deviation

    def top(self, names: Sequence[str], *, view: str, count: int) -> list[list[Feature]]:
        """Return, for each cluster, the features with the largest differences, largest first."""
        total = self._weights.sum()
        if self._shift is None:
            return [[] for _ in self._weights]
        everywhere, spread = self._sums.sum(axis=0), self.spread()[1]
        found: list[list[Feature]] = []
        for weight, sums in zip(self._weights, self._sums, strict=True):
            if weight in (0, total):
                found.append([])
                continue
            inside, elsewhere = sums / weight, (everywhere - sums) / (total - weight)
            difference = (inside - elsewhere) / spread
            best = np.argsort(-np.abs(difference), kind="stable")[:count]
            columns = zip(
                best, difference[best], inside[best], elsewhere[best], self._shift[best], strict=True
            )
            found.append(
                [
                    Feature(view, str(names[j]), float(apart), float(mean + shift), float(other + shift))
                    for j, apart, mean, other, shift in columns
                    if apart != 0
                ]
            )
        return found
