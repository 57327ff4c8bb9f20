"""`GraphClustering`: communities of a nearest-neighbour graph, merged to clusters."""

# n rows, k clusters

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from coterie.collectives import share_of
from coterie.data import Views
from coterie.engine.device import thread_cap
from coterie.engine.distributed import current_collectives
from coterie.graph.choose import Partition, partition
from coterie.graph.confidence import calibrate
from coterie.graph.levels import Levels, build_levels
from coterie.graph.metric import KINDS
from coterie.graph.model import (
    MAX_ROWS,
    N_NEIGHBORS,
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


class GraphClustering(Clusterer):
    r"""Clusters of a graph of nearest neighbours: seconds for ten thousands of rows, minutes for millions.

    Rows are compared by a metric that is chosen without labels, and joined to their nearest neighbours. Communities
    of the graph (Leiden) are merged to `n_clusters` clusters; of many such partitions the one is taken whose clusters
    say most about who is near whom, :math:`J = I / \sqrt H` (block information over the root of the entropy of the
    clusters' volumes). New rows are labelled by a vote of their nearest neighbours. Several views are joined in one
    graph, and a row may lack some of them.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        How many clusters to find; "auto" lets the rows tell.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    scale : str, list or mapping, default="auto"
        How the columns or rows of each view are scaled; see `coterie.data.Scaler`.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        How rows of a single view are compared. "auto" takes the one under which neighbours of neighbours are
        neighbours most often.
    n_neighbors : int, default=10
        Neighbours of each row in the graph.
    max_rows : int, default=100000
        The most rows that the graph is built on. Of more rows, a sample is clustered and the rest follow their
        nearest neighbours in it.
    n_resamples : int, default=5
        How many resampled graphs the confidence is learned from; 0 leaves it uncalibrated.
    outlier_threshold : float, optional
        Rows with an `outlier_score_` above this get the label -1; by default every row has a cluster.
    n_threads : int, optional
        The most threads to use.
    random_state : int, RandomState or None, default=None
        Decides the sample and the order in which candidates are searched.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
    confidence_ : ndarray of shape (n,)
        How sure each label is: the share of resampled graphs in which such rows stay in their cluster.
    outlier_score_ : ndarray of shape (n,)
        How much farther a row is from its neighbours than these from theirs; about 1 inside a cluster.
    n_clusters_ : int
        How many clusters there are.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number.
    cluster_sizes_ : ndarray of shape (k,)
    cluster_stability_ : ndarray of shape (k,)
        Mean share of resampled graphs in which the rows of a cluster stay in it.
    exemplar_indices_ : ndarray of shape (k,)
        The medoid of each cluster.
    levels_ : Levels
        The merge tree; `labels_at` cuts it at any number of clusters.
    quality_ : Quality
        Modularity, normalised cut and block information of the clusters.
    metric_ : MetricChoice or None
        How rows of a single view are compared.
    history_ : list of dict
        One record for each candidate partition.
    n_iter_ : int
        How many candidates there were.
    seed_ : int
        The number that decided everything random in this fit.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict
        Of the packages that the result depends on.

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
        "n_neighbors": whole(1),
        "max_rows": whole(2),
        "n_resamples": whole(0),
        "outlier_threshold": either(one_of(None), real(0, above=True)),
        "n_threads": either(one_of(None), whole(1)),
    }

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        views: Any = None,
        scale: Any = "auto",
        metric: str = "auto",
        n_neighbors: int = N_NEIGHBORS,
        max_rows: int = MAX_ROWS,
        n_resamples: int = 5,
        outlier_threshold: float | None = None,
        n_threads: int | None = None,
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
        self.n_threads = n_threads
        self.random_state = random_state

    # Fitting

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, views, or path
            Rows to cluster. A view is missing where a row has nothing but NaN in it, or by a mask.
        y : ignored

        Returns
        -------
        self
        """
        self._check_params()
        data = self._check_input(X, reset=True)
        self.seed_ = self._draw_seed()
        with thread_cap(self.n_threads):
            self._fit(data)
        return self

    def _fit(self, data: Views) -> None:
        self._check_rows(data)
        reference = build_graph(
            data,
            scale=self.scale,
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            max_rows=self.max_rows if self.n_clusters == "auto" else max(self.max_rows, int(self.n_clusters)),
            seed=self.seed_,
            collectives=current_collectives(),
        )
        graph = reference.joined.matrix
        self._set_clusters(graph, len(reference.sample))
        self._limit_clusters(len(reference.nodes))
        layers = reference.joined.layer_matrices()
        chosen = partition(graph, self.n_clusters_, seed=self.seed_, layers=layers)
        labels = agreed(chosen.labels, current_collectives())
        calibration = calibrate(
            graph, labels, self.n_clusters_, n_resamples=self.n_resamples, seed=self.seed_
        )
        tree = build_levels(graph, labels, self.n_clusters_, seed=self.seed_)
        self.index_ = GraphIndex.build(reference, labels, calibration, self.n_neighbors)
        nodes = self._label_rows(data, reference)
        self.levels_ = dataclasses.replace(tree, leaves=tree.leaves[nodes])
        self._describe(chosen)

    def _check_rows(self, data: Views) -> None:
        """Check that there are rows enough."""
        if self.n_clusters != "auto":
            self.n_clusters_ = int(self.n_clusters)
            self._check_enough(data)
        elif data.n_rows < LEAST_ROWS:
            raise too_few_to_count(data.n_rows)

    def _set_clusters(self, graph: sparse.csr_matrix, n_rows: int) -> None:
        """Set how many clusters to find: as many as were asked for, or what the graph says where "auto" was."""
        self.k_choice_ = (
            count_clusters(graph, None, n_rows, self.seed_) if self.n_clusters == "auto" else None
        )
        if self.k_choice_ is not None:
            self.n_clusters_ = int(agreed(np.array([self.k_choice_.k]), current_collectives())[0])
            if not self.k_choice_.clear:
                warnings.warn(self.k_choice_.sentence, UserWarning, stacklevel=5)

    def _limit_clusters(self, n_different: int) -> None:
        """Find no more clusters than there are different rows."""
        if n_different < self.n_clusters_:
            warnings.warn(
                f"n_clusters={self.n_clusters_} is more than the {n_different} different rows of X (the others are "
                f"copies of them); {n_different} clusters were found.",
                UserWarning,
                stacklevel=5,
            )
            self.n_clusters_ = n_different

    def _label_rows(self, data: Views, reference: ReferenceRows) -> np.ndarray:
        """Label every row by its node, or, beyond the sample, by its nearest neighbours; return the rows' nodes."""
        index = self.index_
        table = index.layers[-1].index.rows
        own = index.layers[-1].numbers
        among = medoids(table, index.labels[own], index.confidence[own], self.n_clusters_)
        surest = np.lexsort((-index.confidence, index.labels))
        surest = surest[np.searchsorted(index.labels[surest], np.arange(self.n_clusters_))]
        # A cluster whose rows all have an empty view has none in the concatenated layer.
        self.exemplar_indices_ = reference.nodes[np.where(among >= 0, own[among], surest)]
        if len(reference.sample) == data.n_rows:
            nodes = reference.groups
            self.labels_, self.confidence_ = index.labels[nodes], index.confidence[nodes].astype(np.float32)
            self.outlier_score_ = index.outlier_scores[nodes]
        else:
            together = current_collectives()
            found: tuple[ArrayBuilder, ...] = (ArrayBuilder(), ArrayBuilder(), ArrayBuilder(), ArrayBuilder())
            for part in self._assigned(data, np.arange(data.n_rows)[share_of(data.n_rows, together)]):
                values = part.labels, part.memberships.max(axis=1), part.outlier_scores, part.nodes
                for pieces_, value in zip(found, values, strict=True):
                    pieces_.add(value)
            self.labels_, self.confidence_, self.outlier_score_, nodes = (
                gathered(pieces_.joined(), data.n_rows, together) for pieces_ in found
            )
        self.labels_ = self._marked(self.labels_, self.outlier_score_)
        return nodes

    def _marked(self, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return labels with -1 for rows that are outliers by `outlier_threshold`."""
        if self.outlier_threshold is None:
            return labels
        return np.where(scores > self.outlier_threshold, OUTLIER, labels)

    def _describe(self, chosen: Partition) -> None:
        """Set the attributes that follow from the partition."""
        self.quality_ = chosen.quality
        self.history_ = [
            {
                "candidate": tried.origin,
                "score": tried.score,
                **dataclasses.asdict(tried.quality),
            }
            for tried in chosen.tried
        ]
        self.versions_ = versions()
        self._settle()

    def _settle(self) -> None:
        """Set the attributes that follow from others."""
        self.metric_ = self.index_.comparison.metric
        self.cluster_stability_ = self.index_.calibration.stability
        inside = self.labels_[self.labels_ >= 0]
        self.cluster_sizes_ = np.bincount(inside, minlength=self.n_clusters_)
        self._n_features_out = self.index_.width
        self.n_iter_ = len(self.history_)

    # Using a fitted model

    def labels_at(self, n_clusters: int) -> np.ndarray:
        """Return the labels of the fitted rows with another number of clusters, from the merge tree.

        Partitions of one tree are nested: with fewer clusters some are merged, with more some are split.

        Parameters
        ----------
        n_clusters : int
            From 1 to ``levels_.most``.

        Returns
        -------
        ndarray of shape (n,)
            -1 where `labels_` has it.
        """
        check_is_fitted(self)
        return np.where(self.labels_ == OUTLIER, OUTLIER, self.levels_.labels_at(n_clusters))

    def _assigned(self, data: Views, rows: np.ndarray) -> Iterator[Assigned]:
        for part in self._comparable(data, rows):
            yield self.index_.assign(part)

    def _comparable(self, data: Views, rows: np.ndarray) -> Iterator[Comparable]:
        for numbers in pieces(rows, data):
            yield comparable(self.index_.comparison, data, numbers)

    def _over(self, X: Any) -> Iterator[Assigned]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        with thread_cap(self.n_threads):
            yield from self._assigned(data, np.arange(data.n_rows))

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row: that of most of its nearest neighbours, weighted by how near they are.

        A row of the fit gets the label it got there.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n,)
            -1 for outliers where `outlier_threshold` asks for it.
        """
        return ArrayBuilder.of(
            self._marked(part.labels, part.outlier_scores) for part in self._over(X)
        ).joined()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows: the confidence in the own cluster, the rest by the neighbours' votes.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, k), float32
            Rows sum to one.
        """
        return ArrayBuilder.of(part.memberships for part in self._over(X)).joined()

    def assign(self, X: Any) -> Assignment:
        """Return the cluster of each row and how sure it is, in one pass over the rows.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        Assignment
            `labels` as `predict` gives them, and `confidence`, the largest membership of `predict_proba`.
        """
        labels, confidence = ArrayBuilder(), ArrayBuilder()
        for part in self._over(X):
            labels.add(self._marked(part.labels, part.outlier_scores))
            confidence.add(part.memberships.max(axis=1))
        return Assignment(labels.joined(), confidence.joined())

    def outlier_scores(self, X: Any) -> np.ndarray:
        """Return how much farther rows are from their neighbours than these from theirs, (n,).

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n,)
            About 1 inside a cluster.
        """
        return ArrayBuilder.of(part.outlier_scores for part in self._over(X)).joined()

    def transform(self, X: Any) -> np.ndarray:
        """Return rows as they are compared: scaled, in the metric that was chosen, along its principal axes.

        Several views are concatenated, and a view that a row lacks is filled in from its neighbours.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, d), float32
        """
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        with thread_cap(self.n_threads):
            rows = self._comparable(data, np.arange(data.n_rows))
            return ArrayBuilder.of(self.index_.embed(part) for part in rows).joined()

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values, arrays = self.index_.state()
        arrays = {f"index.{name}": array for name, array in arrays.items()}
        arrays |= {
            "labels": self.labels_,
            "confidence": self.confidence_,
            "outlier_score": self.outlier_score_,
            "exemplar_indices": self.exemplar_indices_,
            "levels.leaves": self.levels_.leaves,
            "levels.merges": self.levels_.merges,
        }
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
        self.labels_, self.confidence_ = arrays["labels"], arrays["confidence"]
        self.outlier_score_ = arrays["outlier_score"]
        self.exemplar_indices_ = arrays["exemplar_indices"]
        self.levels_ = Levels(arrays["levels.leaves"], arrays["levels.merges"])
        self._settle()
