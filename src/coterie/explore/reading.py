"""Look at a sample of rows through a fitted model, a chunk at a time."""

# s sampled rows, k clusters, d width of the embedding

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.features import ClusterMeans, Feature
from coterie.explore.pictures import ImageLayout, to_pixels
from coterie.explore.rows import Table
from coterie.explore.sampling import stratified_rows

_FEATURES_PER_VIEW = 6
_EDGES = (1, 99)


@dataclass(frozen=True)
class Reading:
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
        Per view.
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
        """Return how many rows of the data lack each view, shape (v,), as far as the sample tells."""
        return self.weights @ ~self.present

    def top_features(self, table: Table, *, skip: int | None = None) -> list[list[Feature]]:
        """Return what sets each cluster apart in every view but `skip`."""
        found: list[list[Feature]] = [[] for _ in range(self.n_clusters)]
        for v, (means, (view, _)) in enumerate(zip(self.means, table.views, strict=True)):
            if v != skip:
                for mine, top in zip(
                    found,
                    means.top(table.feature_names[v], view=view, count=_FEATURES_PER_VIEW),
                    strict=True,
                ):
                    mine.extend(top)
        return found


@dataclass(frozen=True)
class Thumbnails:
    """Images of rows, and of the exemplars that the model decoded.

    Attributes
    ----------
    rows : dict of int to ndarray of uint8
        By row number; rows without this view are not in it.
    decoded : dict of int to ndarray of uint8
        By cluster; empty when the model does not decode exemplars.
    """

    rows: dict[int, NDArray[np.uint8]]
    decoded: dict[int, NDArray[np.uint8]]


def read_sample(
    model: Any, table: Table, labels: NDArray[np.integer], max_rows: int, random_state: int
) -> Reading:
    """Draw rows of every cluster, and ask the model about them and about the exemplars."""
    exemplars = np.asarray(getattr(model, "exemplar_indices_", ()), dtype=np.int64)
    known = {c: int(row) for c, row in enumerate(exemplars) if row >= 0}
    k = _count_clusters(model, table, labels, len(exemplars))
    rng = np.random.default_rng(random_state)
    rows = np.union1d(stratified_rows(labels, k, max_rows, rng), list(known.values())).astype(np.int64)
    mine = labels[rows]
    drawn = np.bincount(mine, minlength=k)
    weights = (np.bincount(labels, minlength=k) / np.maximum(drawn, 1))[mine]
    means = [ClusterMeans(k, dim) for _, dim in table.views]
    memberships, embeddings, presences = [], [], []
    for start, part in _numbered(table.chunks(rows)):
        at = slice(start, start + len(part))
        given = table.for_model(part)
        memberships.append(np.asarray(model.predict_proba(given), dtype=np.float64))
        embeddings.append(np.asarray(model.transform(given), dtype=np.float64))
        views, present = table.read(part)
        presences.append(present)
        for v, (view, mean) in enumerate(zip(views, means, strict=True)):
            there = present[:, v]
            mean.add(view[there], mine[at][there], weights[at][there])
    confidence, second = _first_and_second(np.concatenate(memberships), mine)
    return Reading(
        rows,
        mine,
        confidence,
        second,
        weights,
        np.concatenate(embeddings),
        known,
        np.concatenate(presences),
        means,
        n_clusters=k,
    )


def _count_clusters(model: Any, table: Table, labels: NDArray[np.integer], n_exemplars: int) -> int:
    """Return how many clusters the model knows, empty ones included."""
    k = np.asarray(model.predict_proba(table.for_model(np.zeros(1, dtype=np.int64)))).shape[1]
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise InputError(f"labels_ must be integers from 0 to {k - 1}, as predict_proba has {k} columns.")
    if n_exemplars not in (0, k):
        raise InputError(f"exemplar_indices_ has {n_exemplars} rows but predict_proba has {k} columns.")
    return k


def _numbered(parts: Any) -> Any:
    """Pair each part with the position at which it starts."""
    start = 0
    for part in parts:
        yield start, part
        start += len(part)


def _first_and_second(
    memberships: NDArray[np.float64], labels: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the membership in the assigned cluster, and the best other cluster (the same when k is 1)."""
    at = np.arange(len(labels))
    others = memberships.copy()
    confidence = others[at, labels].copy()
    others[at, labels] = -np.inf
    return confidence, others.argmax(axis=1)


def read_thumbnails(
    model: Any, table: Table, view: int, layout: ImageLayout, rows: Sequence[int]
) -> Thumbnails:
    """Draw rows of one view, and the model's decoded exemplars, with one scale of brightness for all."""
    parts = [table.read_view(view, part) for part in table.chunks(np.asarray(rows, dtype=np.int64))]
    values = {int(row): value for part in parts for row, value in zip(*part, strict=True)}
    low, high = 0.0, 1.0
    if values:
        # A few corrupt rows must not make all the others grey.
        low, high = (float(edge) for edge in np.percentile(np.stack(list(values.values())), _EDGES))
    exemplars = getattr(model, "exemplars_", None)
    decoded = () if exemplars is None else table.split(exemplars)[view]
    return Thumbnails(
        {row: to_pixels(value, layout, low, high) for row, value in values.items()},
        {c: to_pixels(value, layout, low, high) for c, value in enumerate(decoded)},
    )
