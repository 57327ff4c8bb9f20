"""`GraphClustering`: communities of a kNN graph, merged into clusters."""

# n rows, d columns, k clusters

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.collectives import Collectives, share_of
from coterie.data import Views
from coterie.engine.distributed import current_collectives
from coterie.graph.choose import Partition, partition
from coterie.graph.confidence import calibrate
from coterie.graph.levels import Levels, build_levels
from coterie.graph.metric import KINDS
from coterie.graph.model import (
    MAX_ROWS,
    Assigned,
    Comparable,
    GraphIndex,
    ReferenceRows,
    build_graph,
    comparable,
    medoids,
    pieces,
)
from coterie.graph.quality import Quality
from coterie.methods.base import Assignment, Clusterer
from coterie.methods.choosing.clusters import LEAST_ROWS, count_clusters, too_few_to_count
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, one_of, real, whole
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.distributed_rows import agreed, gathered
from coterie.store import below, versions

OUTLIER = -1
_ARRAYS = ("labels", "confidence", "outlier_score", "exemplar_indices")


class RowLabels(NamedTuple):
    """The cluster of each row, its confidence, its outlier score, and the graph node it belongs to; each (n,)."""

    labels: np.ndarray
    confidence: np.ndarray
    outlier_scores: np.ndarray
    nodes: np.ndarray


class GraphClustering(Clusterer):
    r"""Community detection on a kNN graph, with communities merged into clusters.

    Rows are compared by a metric chosen without labels and joined to their nearest neighbours. Communities of the
    graph (Leiden [1]_) are merged into `n_clusters` clusters. Among many such partitions, the one with the highest
    :math:`J = I / H^{0.6}` wins: the mutual information I between the clusters of adjacent rows, over a power of the
    entropy H of the clusters' volumes. Views are combined in one graph, and a row may lack some of them. New
    rows get the cluster of their nearest neighbours by a weighted vote.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" estimates it from the graph, as `coterie.choose_k` does.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    scale : str, list or mapping, default="auto"
        Scaling of each view; see `coterie.data.Scaler`.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        Metric of a single view. "auto" takes the one under which neighbours of neighbours are neighbours most often.
    n_neighbors : int or "auto", default="auto"
        Neighbours of each row in the graph; ``"auto"`` is log2 of its rows, at least 10.
    max_rows : int, default=100000
        Most rows in the graph. Of a larger data set a sample is clustered, and the other rows take the cluster of
        their nearest neighbours in it.
    n_resamples : int, default=5
        Resampled graphs that calibrate the confidence; 0 leaves it uncalibrated.
    outlier_threshold : float, optional
        Rows with an `outlier_score_` above this get the label -1; by default every row has a cluster.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of the search for candidate partitions.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
    confidence_ : ndarray of shape (n,)
        Calibrated probability that the row keeps its cluster in a resampled graph.
    outlier_score_ : ndarray of shape (n,)
        Local outlier factor: mean distance to the neighbours over their own; about 1 inside a cluster.
    n_clusters_ : int
        Number of clusters.
    k_choice_ : KChoice or None
        Evidence for the number of clusters, where ``n_clusters="auto"``.
    cluster_sizes_ : ndarray of shape (k,)
    cluster_stability_ : ndarray of shape (k,)
        Mean share of resampled graphs in which the rows of a cluster stay together.
    exemplar_indices_ : ndarray of shape (k,)
        The medoid of each cluster.
    levels_ : Levels
        The merge tree; `labels_at` cuts it at any number of clusters.
    quality_ : Quality
        Modularity, normalised cut and block information of the partition.
    scaler_ : Scaler
        The scaling of each view; `modes_` names them.
    metric_ : MetricChoice or None
        The metric of a single view.
    history_ : list of dict
        One record per candidate partition.
    n_iter_ : int
        Number of candidates.
    seed_ : int
        Seed of this fit; ``random_state=model.seed_`` repeats it.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict
        Versions of the packages that the result depends on.

    References
    ----------
    .. [1] Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", Scientific
       Reports 9, 2019, https://doi.org/10.1038/s41598-019-41695-z

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import GraphClustering
    >>> rng = np.random.default_rng(0)
    >>> X = np.eye(3)[np.repeat([0, 1, 2], 40)] * 9 + rng.normal(size=(120, 3))
    >>> model = GraphClustering(n_clusters=3, random_state=0).fit(X)
    >>> model.cluster_sizes_.tolist()
    [40, 40, 40]
    >>> model.predict(X[:2]).tolist() == model.labels_[:2].tolist()
    True
    >>> np.unique(model.labels_at(2)).tolist()
    [0, 1]
    """

    _takes_missing: ClassVar[bool] = True
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "metric": one_of("auto", *KINDS),
        "n_neighbors": either(one_of("auto"), whole(1)),
        "max_rows": whole(2),
        "n_resamples": whole(0),
        "outlier_threshold": either(one_of(None), real(0, above=True)),
    }

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        views: Any = None,
        scale: Any = "auto",
        metric: str = "auto",
        n_neighbors: int | str = "auto",
        max_rows: int = MAX_ROWS,
        n_resamples: int = 5,
        outlier_threshold: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.scale = scale
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.max_rows = max_rows
        self.n_resamples = n_resamples
        self.outlier_threshold = outlier_threshold
        self.random_state = random_state

    # Fitting

    def _settle_clusters(self, data: Views) -> None:
        """Take the number of clusters that was given; "auto" is settled on the graph."""
        self.k_choice_ = None
        if self.n_clusters != "auto":
            self.n_clusters_ = int(self.n_clusters)

    def _check_data(self, data: Views) -> None:
        if self.n_clusters != "auto":
            self._check_enough(data)
        elif data.n_rows < LEAST_ROWS:
            raise too_few_to_count(data.n_rows)

    def _fit(self, data: Views) -> None:
        together = current_collectives()
        reference = self._compare_and_graph(data, together)
        self._count_clusters(reference, together)
        best = self._partition(reference, together)
        rows = self._label(data, reference, together)
        self._describe(reference, best, rows)

    def _compare_and_graph(self, data: Views, collectives: Collectives) -> ReferenceRows:
        return build_graph(
            data,
            scale=self.scale,
            metric=self.metric,
            n_neighbors=None if self.n_neighbors == "auto" else int(self.n_neighbors),
            max_rows=self.max_rows if self.n_clusters == "auto" else max(self.max_rows, int(self.n_clusters)),
            by_content=True,
            seed=self.seed_,
            collectives=collectives,
        )

    def _count_clusters(self, reference: ReferenceRows, collectives: Collectives) -> None:
        """Set the number of clusters: the one given or estimated, at most that of distinct rows."""
        if self.n_clusters == "auto":
            choice = count_clusters(reference.joined.matrix, None, len(reference.sample), self.seed_)
            self.k_choice_, self.n_clusters_ = choice, int(agreed(np.array([choice.k]), collectives)[0])
            if not choice.clear:
                warnings.warn(choice.sentence, UserWarning, stacklevel=4)
        n_distinct = len(reference.nodes)
        if n_distinct < self.n_clusters_:
            warnings.warn(
                f"n_clusters={self.n_clusters_} is more than the {n_distinct} different rows of X (the others are "
                f"copies of them); {n_distinct} clusters were found.",
                UserWarning,
                stacklevel=4,
            )
            self.n_clusters_ = n_distinct

    def _partition(self, reference: ReferenceRows, collectives: Collectives) -> Partition:
        """Partition the graph, calibrate confidence on resampled graphs, and index the nodes for new rows."""
        graph, layers = reference.joined.matrix, reference.joined.layer_matrices()
        k, seed = self.n_clusters_, self.seed_
        # Of several processes the others may be at another candidate.
        best = partition(graph, k, seed=seed, layers=layers, interruptible=collectives.size == 1)
        labels = agreed(best.labels, collectives)
        calibration = calibrate(graph, labels, k, n_resamples=self.n_resamples, seed=seed)
        self.levels_ = build_levels(graph, labels, k, seed=seed)
        self.index_ = GraphIndex.build(reference, labels, calibration)
        return best

    def _label(self, data: Views, reference: ReferenceRows, collectives: Collectives) -> RowLabels:
        """Label each row by its node, or, beyond the sample, by a vote of its nearest neighbours."""
        index, nodes = self.index_, reference.groups
        if len(reference.sample) == data.n_rows:
            confidence = index.confidence[nodes].astype(np.float32)
            return RowLabels(index.labels[nodes], confidence, index.outlier_scores[nodes], nodes)
        columns = [ArrayBuilder() for _ in RowLabels._fields]
        for part in self._assign_rows(data, np.arange(data.n_rows)[share_of(data.n_rows, collectives)]):
            values = part.labels, part.memberships.max(axis=1), part.outlier_scores, part.nodes
            for column, value in zip(columns, values, strict=True):
                column.add(value)
        return RowLabels(*(gathered(column.joined(), data.n_rows, collectives) for column in columns))

    def _describe(self, reference: ReferenceRows, best: Partition, rows: RowLabels) -> None:
        self.labels_ = self._mark_outliers(rows.labels, rows.outlier_scores)
        self.confidence_, self.outlier_score_ = rows.confidence, rows.outlier_scores
        self.exemplar_indices_ = self._exemplars(reference)
        self.levels_ = dataclasses.replace(self.levels_, leaves=self.levels_.leaves[rows.nodes])
        self.quality_ = best.quality
        self.history_ = [
            {
                "candidate": candidate.origin,
                "score": candidate.score,
                **dataclasses.asdict(candidate.quality),
            }
            for candidate in best.tried
        ]
        self.versions_ = versions()
        self._set_derived()

    def _exemplars(self, reference: ReferenceRows) -> np.ndarray:
        """Return the medoid of each cluster, (k,), in the concatenated views where there are several.

        A cluster whose rows all lack a view has no row in that layer; its surest row takes the place of the medoid.
        """
        index, layer = self.index_, self.index_.layers[-1]
        labels, confidence = index.labels, index.confidence
        own = layer.numbers
        among = medoids(layer.index.rows, labels[own], confidence[own], self.n_clusters_)
        surest_first = np.lexsort((-confidence, labels))
        surest = surest_first[np.searchsorted(labels[surest_first], np.arange(self.n_clusters_))]
        return reference.nodes[np.where(among >= 0, own[among], surest)]

    def _mark_outliers(self, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        if self.outlier_threshold is None:
            return labels
        return np.where(scores > self.outlier_threshold, OUTLIER, labels)

    def _set_derived(self) -> None:
        """Set the attributes that follow from others."""
        self.scaler_, self.metric_ = self.index_.comparison.scaler, self.index_.comparison.metric
        self.cluster_stability_ = self.index_.calibration.stability
        inside = self.labels_[self.labels_ >= 0]
        self.cluster_sizes_ = np.bincount(inside, minlength=self.n_clusters_)
        self._n_features_out = self.index_.width
        self.n_iter_ = len(self.history_)

    # Using a fitted model

    def labels_at(self, n_clusters: int) -> np.ndarray:
        """Return the labels of the fitted rows at another number of clusters, by cutting the merge tree.

        Partitions of one tree are nested: with fewer clusters some are merged, with more some are split.

        Parameters
        ----------
        n_clusters : int
            From 1 to ``levels_.most``.

        Returns
        -------
        ndarray of shape (n,)
            -1 for outliers, as in `labels_`.
        """
        check_is_fitted(self)
        return np.where(self.labels_ == OUTLIER, OUTLIER, self.levels_.labels_at(n_clusters))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return memberships, (n, k): the confidence of a row's cluster, the rest by its neighbours' votes."""
        return ArrayBuilder.of(part.memberships for part in self._assign_new(X)).joined()

    def assign(self, X: Any) -> Assignment:
        """Return the cluster and confidence of each row, -1 for outliers; a fitted row gets its label again."""
        labels, confidence = ArrayBuilder(), ArrayBuilder()
        for part in self._assign_new(X):
            labels.add(self._mark_outliers(part.labels, part.outlier_scores))
            confidence.add(part.memberships.max(axis=1))
        return Assignment(labels.joined(), confidence.joined())

    def outlier_scores(self, X: Any) -> np.ndarray:
        """Return the local outlier factor of rows, (n,): mean distance to the neighbours over their own.

        It is about 1 inside a cluster.
        """
        return ArrayBuilder.of(part.outlier_scores for part in self._assign_new(X)).joined()

    def transform(self, X: Any) -> np.ndarray:
        """Return rows in the space in which they are compared: scaled, in the chosen metric, along principal axes.

        Several views are concatenated; a missing view is imputed from the row's neighbours.
        """
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        compared = self._compare_rows(data, np.arange(data.n_rows))
        return ArrayBuilder.of(self.index_.embed(part) for part in compared).joined()

    def _assign_new(self, X: Any) -> Iterator[Assigned]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        return self._assign_rows(data, np.arange(data.n_rows))

    def _assign_rows(self, data: Views, rows: np.ndarray) -> Iterator[Assigned]:
        return (self.index_.assign(part) for part in self._compare_rows(data, rows))

    def _compare_rows(self, data: Views, rows: np.ndarray) -> Iterator[Comparable]:
        return (comparable(self.index_.comparison, data, numbers) for numbers in pieces(rows, data))

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values, arrays = self.index_.state()
        arrays = {f"index.{name}": array for name, array in arrays.items()}
        arrays |= {name: getattr(self, f"{name}_") for name in _ARRAYS}
        arrays |= {"levels.leaves": self.levels_.leaves, "levels.merges": self.levels_.merges}
        fitted = {
            "seed": self.seed_,
            "index": values,
            "quality": dataclasses.asdict(self.quality_),
            "history": self.history_,
        }
        return fitted, arrays

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.seed_, self.history_ = values["seed"], values["history"]
        self.quality_ = Quality(**values["quality"])
        self.index_ = GraphIndex.from_state(values["index"], below("index.", arrays), self.view_dims_in_)
        for name in _ARRAYS:
            setattr(self, f"{name}_", arrays[name])
        self.levels_ = Levels(arrays["levels.leaves"], arrays["levels.merges"])
        self._set_derived()
