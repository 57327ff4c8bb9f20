"""A stratified sample of rows, what a fitted model says about them, and the features that set clusters apart."""

# n rows, s sampled rows, k clusters, d width of the embedding, v views

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.rows import Table

if TYPE_CHECKING:
    from coterie.explore.distributions import Spread

_FEATURES_PER_VIEW = 6
# Enough rows to see the shape of a cluster on a map, however small its share of the data.
_ENOUGH_PER_CLUSTER = 30


@dataclass(frozen=True)
class Feature:
    """A feature whose mean in a cluster differs from its mean elsewhere.

    `difference` is the mean in the cluster minus the mean of all other rows, in standard deviations over all rows;
    `inside` and `elsewhere` are both means in the units of the data. `kind` says whether the column is a "number", a
    "flag" or a "word"; `column` is its number in the view, and `spread` how it spreads in the cluster and elsewhere.
    """

    view: str
    name: str
    difference: float
    inside: float
    elsewhere: float
    kind: str = "number"
    column: int = 0
    spread: "Spread | None" = None


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
        member = np.zeros((len(self._weights), len(labels)))
        member[labels, np.arange(len(labels))] = weights
        self._sums += member @ values
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

    def of_clusters(self) -> NDArray[np.float64]:
        """Return the mean of each feature in each cluster, (k, d); NaN for a cluster without rows."""
        if self._shift is None:
            return np.full_like(self._sums, np.nan)
        weights = np.where(self._weights > 0, self._weights, np.nan)[:, None]
        return self._sums / weights + self._shift

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
                Feature(
                    view,
                    str(names[j]),
                    float(difference[j]),
                    float(inside[j]),
                    float(elsewhere[j]),
                    column=int(j),
                )
                for j in best
                if difference[j] != 0
            ]

        return [of_cluster(weight, mine) for weight, mine in zip(self._weights, self._sums, strict=True)]


@dataclass(frozen=True)
class ModelSample:
    """What the model says about the sampled rows.

    Attributes
    ----------
    rows : ndarray of shape (s,)
        Row numbers, ascending.
    labels : ndarray of shape (s,)
        Their clusters.
    confidence : ndarray of shape (s,)
        Membership in that cluster.
    second : ndarray of shape (s,)
        The cluster with the largest other membership.
    weights : ndarray of shape (s,)
        How many rows of the data each one stands for.
    embedding : ndarray of shape (s, d)
        What `transform` returned.
    exemplars : dict of int to int
        From cluster to the row that stands for it, for clusters that have one.
    present : ndarray of bool, shape (s, v)
        Which views each row has.
    means : list of ClusterMeans
        For each view.
    n_clusters : int
        Columns of `predict_proba`.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.integer]
    confidence: NDArray[np.float64]
    second: NDArray[np.integer]
    weights: NDArray[np.float64]
    embedding: NDArray[np.float64]
    exemplars: dict[int, int]
    present: NDArray[np.bool_]
    means: list[ClusterMeans]
    n_clusters: int

    def centres(self) -> NDArray[np.float64]:
        """Return the mean embedding of each cluster, shape (k, d); zeros for an empty one."""
        sums = np.zeros((self.n_clusters, self.embedding.shape[1]))
        np.add.at(sums, self.labels, self.embedding)
        counts = np.bincount(self.labels, minlength=self.n_clusters)
        return sums / np.maximum(counts, 1)[:, None]

    def missing(self) -> NDArray[np.float64]:
        """Estimate how many rows of the data lack each view, shape (v,)."""
        return self.weights @ ~self.present

    def top_features(self, table: Table, *, skip: int | None = None) -> list[list[Feature]]:
        """Return the features that set each cluster apart, in every view but `skip`."""
        features: list[list[Feature]] = [[] for _ in range(self.n_clusters)]
        for v, (means, (view, _)) in enumerate(zip(self.means, table.views, strict=True)):
            if v != skip:
                top = means.top(table.feature_names[v], view=view, count=_FEATURES_PER_VIEW)
                for cluster, of_view in zip(features, top, strict=True):
                    cluster.extend(of_view)
        return features


def quotas(sizes: NDArray[np.int64], max_rows: int) -> NDArray[np.int64]:
    """Share out `max_rows` among clusters of these sizes, so that small clusters are seen too.

    Every cluster first gets up to 30 rows (fewer when there are very many clusters); what is left is shared out in
    proportion to the rows not yet counted.

    Examples
    --------
    >>> quotas(np.array([1_000_000, 10, 5000, 0]), max_rows=1000)
    array([955,  10,  34,   0])
    """
    used = int((sizes > 0).sum())
    if max_rows < used:
        raise InputError(f"max_rows is {max_rows}, fewer than the {used} clusters; raise it to see each one.")
    if sizes.sum() <= max_rows:
        return sizes.copy()
    first = np.minimum(sizes, max(1, min(_ENOUGH_PER_CLUSTER, max_rows // (2 * used))))
    rest = sizes - first
    share = rest / rest.sum()
    return first + np.floor(share * (max_rows - first.sum())).astype(np.int64)


def stratified_rows(
    labels: NDArray[np.integer], n_clusters: int, max_rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw rows of every cluster without replacement, ascending, so that a file is read from front to back.

    Examples
    --------
    >>> stratified_rows(np.array([0, 0, 0, 0, 1]), 2, max_rows=3, rng=np.random.default_rng(0))
    array([2, 3, 4])
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    clusters = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    take = quotas(sizes, max_rows)
    drawn = [rng.choice(rows, size, replace=False) for rows, size in zip(clusters, take, strict=True)]
    return np.sort(np.concatenate(drawn)).astype(np.int64)


def read_sample(
    model: Any,
    table: Table,
    labels: NDArray[np.integer],
    max_rows: int,
    random_state: int,
    rows: NDArray[np.int64] | None = None,
) -> ModelSample:
    """Draw rows of every cluster, and compute memberships, embedding and feature means of them and the exemplars.

    `rows` are taken instead where they were drawn before.
    """
    indices = np.asarray(getattr(model, "exemplar_indices_", ()), dtype=np.int64)
    exemplars = {c: int(row) for c, row in enumerate(indices) if row >= 0}
    k = _count_clusters(model, table, labels, len(indices))
    if rows is None:
        rng = np.random.default_rng(random_state)
        rows = np.union1d(stratified_rows(labels, k, max_rows, rng), list(exemplars.values())).astype(
            np.int64
        )
    clusters = labels[rows]
    drawn = np.bincount(clusters, minlength=k)
    weights = (np.bincount(labels, minlength=k) / np.maximum(drawn, 1))[clusters]
    memberships, embeddings = [], []
    for chunk in table.chunks(rows):
        given = table.for_model(chunk)
        memberships.append(np.asarray(model.predict_proba(given), dtype=np.float64))
        embeddings.append(np.asarray(model.transform(given), dtype=np.float64))
    means, present = read_means(table, rows, clusters, weights, k)
    confidence, second = first_and_second(np.concatenate(memberships), clusters)
    return ModelSample(
        rows, clusters, confidence, second, weights, np.concatenate(embeddings), exemplars, present, means, k
    )


def _count_clusters(model: Any, table: Table, labels: NDArray[np.integer], n_exemplars: int) -> int:
    """Return the number of clusters of the model, empty ones included."""
    k = np.asarray(model.predict_proba(table.for_model(np.zeros(1, dtype=np.int64)))).shape[1]
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise InputError(f"labels_ must be integers from 0 to {k - 1}, as predict_proba has {k} columns.")
    if n_exemplars not in (0, k):
        raise InputError(f"exemplar_indices_ has {n_exemplars} rows but predict_proba has {k} columns.")
    return k


def read_means(
    table: Table,
    rows: NDArray[np.integer],
    labels: NDArray[np.integer],
    weights: NDArray[np.float64],
    n_clusters: int,
) -> tuple[list[ClusterMeans], NDArray[np.bool_]]:
    """Compute the weighted feature means of each cluster in every view, and which views each row has (s, v)."""
    means = [ClusterMeans(n_clusters, dim) for _, dim in table.views]
    presences, start = [], 0
    for chunk in table.chunks(rows):
        at = slice(start, start + len(chunk))
        views, present = table.read(chunk)
        presences.append(present)
        for v, (view, mean) in enumerate(zip(views, means, strict=True)):
            has = present[:, v]
            mean.add(view[has], labels[at][has], weights[at][has])
        start += len(chunk)
    return means, np.concatenate(presences)


def first_and_second(
    memberships: NDArray[np.float64], labels: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the membership in the assigned cluster, and the best other cluster (the same when k is 1)."""
    at = np.arange(len(labels))
    others = memberships.copy()
    confidence = others[at, labels].copy()
    others[at, labels] = -np.inf
    return confidence, others.argmax(axis=1)
