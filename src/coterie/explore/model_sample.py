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
) -> ModelSample:
    """Draw rows of every cluster, and ask the model about them and about the exemplars."""
    exemplars = np.asarray(getattr(model, "exemplar_indices_", ()), dtype=np.int64)
    known = {c: int(row) for c, row in enumerate(exemplars) if row >= 0}
    k = _count_clusters(model, table, labels, len(exemplars))
    rng = np.random.default_rng(random_state)
    rows = np.union1d(stratified_rows(labels, k, max_rows, rng), list(known.values())).astype(np.int64)
    mine = labels[rows]
    drawn = np.bincount(mine, minlength=k)
    weights = (np.bincount(labels, minlength=k) / np.maximum(drawn, 1))[mine]
    memberships, embeddings = [], []
    for part in table.chunks(rows):
        given = table.for_model(part)
        memberships.append(np.asarray(model.predict_proba(given), dtype=np.float64))
        embeddings.append(np.asarray(model.transform(given), dtype=np.float64))
    means, present = read_means(table, rows, mine, weights, k)
    confidence, second = first_and_second(np.concatenate(memberships), mine)
    return ModelSample(
        rows,
        mine,
        confidence,
        second,
        weights,
        np.concatenate(embeddings),
        known,
        present,
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


def read_means(
    table: Table,
    rows: NDArray[np.integer],
    labels: NDArray[np.integer],
    weights: NDArray[np.float64],
    n_clusters: int,
) -> tuple[list[ClusterMeans], NDArray[np.bool_]]:
    """Read sampled rows once: the means of their clusters in every view, and which views each row has.

    Parameters
    ----------
    table : Table
    rows, labels, weights : ndarray of shape (s,)
        Row numbers, clusters from 0, and how many rows of the data each one stands for.
    n_clusters : int
    """
    means = [ClusterMeans(n_clusters, dim) for _, dim in table.views]
    presences, start = [], 0
    for part in table.chunks(rows):
        at = slice(start, start + len(part))
        views, present = table.read(part)
        presences.append(present)
        for v, (view, mean) in enumerate(zip(views, means, strict=True)):
            there = present[:, v]
            mean.add(view[there], labels[at][there], weights[at][there])
        start += len(part)
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


def read_thumbnails(
    model: Any, table: Table, view: int, layout: ImageLayout, rows: Sequence[int]
) -> Thumbnails:
    """Draw rows of one view, and the model's decoded exemplars, with one scale of brightness for all."""
    parts = [table.read_view(view, part) for part in table.chunks(np.asarray(rows, dtype=np.int64))]
    values = {int(row): value for part in parts for row, value in zip(*part, strict=True)}
    low, high = brightness(list(values.values()))
    return Thumbnails(
        {row: to_pixels(value, layout, low, high) for row, value in values.items()},
        {
            c: to_pixels(value, layout, low, high)
            for c, value in enumerate(decoded_exemplars(model, table, view))
        },
    )


def brightness(images: Sequence[NDArray[np.floating]]) -> tuple[float, float]:
    """Return the values to draw as black and as white; a few corrupt rows must not make all the others grey."""
    if not len(images):
        return 0.0, 1.0
    low, high = np.percentile(np.stack(images), _EDGES)
    return float(low), float(high)


def decoded_exemplars(model: Any, table: Table, view: int) -> list[NDArray[np.float32]]:
    """Return the exemplars that the model decoded, by cluster, in one view; none from a model that decodes none."""
    exemplars = getattr(model, "exemplars_", None)
    return [] if exemplars is None else list(table.split(exemplars)[view])
