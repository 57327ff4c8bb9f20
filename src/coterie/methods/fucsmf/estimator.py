"""`FUCSMF`: what a person calls."""

# n rows, d columns of a view, m anchors, c classes

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.collectives import Collectives
from coterie.data import Scaler, Views
from coterie.data.scaling import fit_table_scaler
from coterie.engine.distributed import current_collectives
from coterie.errors import InputError
from coterie.graph.metric import KINDS
from coterie.methods.base import Assignment, Clusterer
from coterie.methods.fucsmf import graph as graphs
from coterie.methods.fucsmf import reach
from coterie.methods.fucsmf.adapt import adapted
from coterie.methods.fucsmf.graph import PLACES, AnchorView, AnchorViews
from coterie.methods.fucsmf.knowledge import Knowledge, as_pairs, gather
from coterie.methods.fucsmf.labels import pseudo_labels, read_labels
from coterie.methods.fucsmf.options import FUCSMFOptions
from coterie.methods.fucsmf.problem import Graph, column_sums
from coterie.methods.fucsmf.solving import Answer, Terms, memberships, solve
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, flag, one_of, whole
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.store import below, versions

_EVERY_ROW = 10_000
_MANY = 5000


class FUCSMF(Clusterer):
    """Semi-supervised clustering by one convex solve on an anchor graph.

    Rows hang on their nearest anchors, and rows that share anchors are near. The labels that are known stay; the
    classes of the other rows are the one minimum of a convex function, found by a search whose steps do not depend
    on the number of rows.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find where there is no label at all; ``"auto"`` asks `coterie.choose_k`. Otherwise the
        labels say what classes there are, and a class that nobody labelled is not looked for.
    classes : sequence of int, optional
        The classes there are, where that should be checked; by default those among the labels.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views. Each view has its own graph; the mean counts.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of ``"feature"``, ``"minmax"``, ``"sample"``, ``"none"``. ``"auto"``
        standardises columns of different units and leaves columns of one kind, such as pixels, as they are.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        How rows are compared. ``"auto"`` takes the one whose neighbours agree most, without any label.
    anchors : {"auto", "kmeans", "minibatch", "random"}, array or list of arrays, default="auto"
        How the anchors are placed, or where they are, one array a view. ``"auto"`` makes every row an anchor where
        `n_anchors` allows it, and places them by k-means where it does not.
    n_anchors : int or "auto", default="auto"
        Anchors of each view. ``"auto"`` is 5,000, or every row up to 10,000 rows; where `anchors` says how to place
        them, half of those rows.
    n_nearest : int, default=8
        How many anchors a row hangs on in each view.
    allow_unlabelled : bool, default=False
        Whether a class may have no labelled row. No row will be of that class.
    options : FUCSMFOptions, optional
        What the paper names, and what we add to it; None is ``FUCSMFOptions()``.
    random_state : int, RandomState or None, default=None
        Decides where the anchors are.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The class of each row; labelled rows keep theirs.
    classes_ : ndarray of shape (c,)
        The classes, ascending; the columns of all memberships.
    names_ : dict of int to str
        What classes are called, where somebody says so: empty after a fit, kept in a saved model, shown in reports.
    label_distributions_ : ndarray of shape (n, c)
        Soft memberships of the rows; they sum to one.
    anchor_codes_ : ndarray of shape (m, c)
        What each anchor says about the classes; a new row is the mean of its anchors, by their weights.
    is_convex_ : bool
        Whether the problem was convex, so that the answer is the only one.
    curvature_ : float
        The lowest curvature of the objective, over all directions and places.
    objective_ : float
        What was minimised, at the end.
    gradient_ : float
        The norm of its gradient there.
    exemplar_indices_ : ndarray of shape (c,)
        The row that is most surely of each class, of those without a label where there are any.
    n_clusters_ : int
        How many classes there are.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number, where there was no label.
    cluster_sizes_ : ndarray of shape (c,)
    history_ : list of dict
        One record per iteration of the solve.
    anchors_ : AnchorViews
        The anchors and how rows are compared with them.
    scaler_ : Scaler
    seed_ : int
    n_iter_ : int
        Iterations of the solve; 1 where nothing was left to solve.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict

    Notes
    -----
    The method is that of "FUCSMF" (Symmetry 2026) as reconstructed and corrected on our page about it; the reduction
    of the solve to the anchors, the choice of the metric, several views and the links are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import FUCSMF
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 30, axis=0) + rng.normal(size=(60, 2))
    >>> y = np.full(60, -1)
    >>> y[[0, 30]] = [1, 0]
    >>> model = FUCSMF(random_state=0).fit(X, y)
    >>> model.cluster_sizes_
    array([30, 30])
    >>> model.predict([[5.0, 4.0]])
    array([0])
    """

    _takes_missing: ClassVar[bool] = True
    _options: ClassVar[type[Options]] = FUCSMFOptions
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "classes": either(one_of(None), a_kind_of((list, tuple, np.ndarray), "a list of whole numbers")),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "metric": one_of("auto", *KINDS),
        "anchors": either(
            one_of("auto", *PLACES), a_kind_of((np.ndarray, list, tuple), "an array, or one for each view")
        ),
        "n_anchors": either(one_of("auto"), whole(1)),
        "n_nearest": whole(1),
        "allow_unlabelled": flag(),
        "options": either(one_of(None), a_kind_of(FUCSMFOptions, "FUCSMFOptions")),
    }

    _curvature: float | None
    classes_: np.ndarray
    names_: dict[int, str]

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        classes: Sequence[int] | None = None,
        views: Any = None,
        scale: Any = "auto",
        metric: str = "auto",
        anchors: Any = "auto",
        n_anchors: int | str = "auto",
        n_nearest: int = 8,
        allow_unlabelled: bool = False,
        options: FUCSMFOptions | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.classes = classes
        self.views = views
        self.scale = scale
        self.metric = metric
        self.anchors = anchors
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.allow_unlabelled = allow_unlabelled
        self.options = options
        self.random_state = random_state

    # Fitting

    def fit(self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Find the class of every row from the labels and links of some.

        Parameters
        ----------
        X : array-like, views, or path
        y : array-like of shape (n,), optional
            Classes as whole numbers from 0; -1 where a row has no label. Without any label the rows are clustered
            into `n_clusters`, with a warning.
        must_link, cannot_link : array-like of shape (pairs, 2), optional
            Row numbers of pairs that are, or are not, of one class.

        Returns
        -------
        self
        """
        self._check_params()
        data = self._check_input(X, reset=True)
        self._check_rows(data)
        codes = self._read_labels(y, data.n_rows)
        self.seed_ = self._run_seed()
        if (codes < 0).all():
            self._settle_clusters(data)
        collectives = current_collectives()
        self.scaler_ = fit_table_scaler(data, self.scale, collectives)
        self.anchors_ = self._fit_anchors(data, collectives)
        self._graph = self._kept(self.anchors_.weights(data, collectives))
        self._solve(codes, must_link, cannot_link, None)
        self.versions_, self.names_ = versions(), {}
        return self

    def relabel(self, y: Any, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Solve again for other labels and links of the same rows, from the last answer; the graph is kept.

        Parameters
        ----------
        y : array-like of shape (n,)
        must_link, cannot_link : array-like of shape (pairs, 2), optional

        Returns
        -------
        self
        """
        self._kept_graph()
        self._check_params()
        if self.n_clusters != "auto":
            self.n_clusters_ = int(self.n_clusters)
        before, last = self.classes_, self.anchor_codes_[self._live]
        codes = self._read_labels(y, len(self.labels_))
        start = np.zeros((len(last), len(self.classes_)))
        _, new, old = np.intersect1d(self.classes_, before, return_indices=True)
        start[:, new] = last[:, old]
        try:
            self._solve(codes, must_link, cannot_link, start)
        except InputError:
            self.classes_ = before  # contradictions leave the last answer as it was
            raise
        return self

    def nearest_anchor(self) -> np.ndarray:
        """Return the number of the anchor that each row of `fit` hangs on most, (n,)."""
        return self._kept_graph().nearest

    def reach(self, rows: np.ndarray) -> np.ndarray:
        """Return how strongly labels reach some rows of `fit`, as their anchors say it, shape of `rows`."""
        return (self._kept_graph().weights[rows] @ self.anchor_codes_[self._live]).max(axis=1)

    def _kept_graph(self) -> Graph:
        check_is_fitted(self)
        if not hasattr(self, "_graph"):
            raise InputError("A loaded model has no graph of its rows any more; call fit with the rows.")
        return self._graph

    def _read_labels(self, y: Any, n_rows: int) -> np.ndarray:
        codes, self.classes_ = read_labels(y, n_rows, self.classes, allow_unlabelled=self.allow_unlabelled)
        return codes

    def _check_rows(self, data: Views) -> None:
        if data.n_rows < 2:
            raise InputError("n_samples=1 should be at least 2 (1 sample is no cluster); give more rows.")
        if self.n_anchors != "auto" and int(self.n_anchors) > data.n_rows:
            raise InputError(
                f"n_anchors={self.n_anchors} is more than the {data.n_rows} rows; ask for fewer, or 'auto'."
            )

    def _fit_anchors(self, data: Views, collectives: Collectives) -> AnchorViews:
        placed: Any = self.anchors
        if not isinstance(placed, str):
            placed = [np.asarray(one, dtype=np.float32) for one in _one_a_view(placed)]
            graphs.check_anchors(placed, data.dims, data.n_rows)
        n_anchors = self.n_anchors
        if n_anchors == "auto":
            few = (
                data.n_rows if placed == "auto" else max(1, data.n_rows // 2)
            )  # all rows leave none to choose
            n_anchors = few if data.n_rows <= _EVERY_ROW else _MANY
        return graphs.fit_views(
            data,
            self.scaler_,
            metric=self.metric,
            anchors=placed,
            n_anchors=int(n_anchors),
            n_nearest=self.n_nearest,
            seed=self.seed_,
            collectives=collectives,
        )

    def _kept(self, weights: Any) -> Graph:
        """Return the graph of the anchors that have rows, and remember which those are."""
        self._live = column_sums(weights) > 0
        return Graph.of(weights if self._live.all() else weights[:, self._live])

    def _solve(self, codes: np.ndarray, must_link: Any, cannot_link: Any, start: np.ndarray | None) -> None:
        n_rows = len(codes)
        links = [as_pairs(must_link, n_rows, "must_link"), as_pairs(cannot_link, n_rows, "cannot_link")]
        if (codes < 0).all():
            codes, start = self._guess(n_rows), None
        else:
            self.k_choice_ = None
        if len(self.classes_) == 1:
            warnings.warn(
                f"Every label is {self.classes_[0]}, so every row will be; label rows of other classes too.",
                UserWarning,
                stacklevel=3,
            )
        options = self._options_in_effect()
        known = gather(codes, *links, hard=options.hard_links)
        terms = self._terms()
        answer = solve(self._graph, known, len(self.classes_), terms, start)
        if options.adapt:
            answer = adapted(self._graph, known, answer, terms, options.adapt)
        self._finish(known, answer)

    def _terms(self) -> Terms:
        options = self._options_in_effect()
        weight = 0.1 * options.smoothness if options.link_weight == "auto" else float(options.link_weight)
        return Terms(options.smoothness, options.label_scale, weight, options.tol, options.max_iter)

    def _guess(self, n_rows: int) -> np.ndarray:
        """Return labels for some rows of each cluster, where a person gave none."""
        if n_rows < self.n_clusters_:
            raise InputError(
                f"n_samples={n_rows} should be >= n_clusters={self.n_clusters_}; ask for fewer or give more rows."
            )
        self.classes_ = np.arange(self.n_clusters_)
        warnings.warn(
            "FUCSMF has no labels: the rows were clustered on the graph, and rows in the middle of each cluster "
            "stand in for labels. The clusters have no names, and the answer is only as good as those rows.",
            UserWarning,
            stacklevel=4,
        )
        return pseudo_labels(self._graph.weights, self.n_clusters_, seed=self.seed_)

    def _finish(self, known: Knowledge, answer: Answer) -> None:
        solution = answer.solution
        self.is_convex_, self._objective, self._curvature = (
            answer.objective.is_convex(),
            answer.objective,
            None,
        )
        self.objective_, self.gradient_, self.history_ = solution.value, solution.gradient, solution.history
        codes = np.zeros((len(self._live), answer.rows.shape[1]))
        codes[self._live] = answer.anchor_codes
        self.anchor_codes_ = reach.speak_for_silent(codes, self.anchors_)
        rows = reach.label_unreached(
            answer.rows, known.codes < 0, self._graph.weights, self.anchor_codes_[self._live]
        )
        positions = rows.argmax(axis=1)
        self.labels_ = self.classes_[positions]
        self.label_distributions_ = memberships(rows)
        self.exemplar_indices_ = _surest(rows, known.codes >= 0)
        self._describe(positions)

    @property
    def curvature_(self) -> float:
        """The lowest curvature of the objective; computed when it is first asked for."""
        check_is_fitted(self, "labels_")
        if self._curvature is None:
            self._curvature = self._objective.curvature()
        return self._curvature

    def _describe(self, positions: np.ndarray) -> None:
        """Set the attributes that follow from others and from the positions of the rows' classes."""
        self.n_iter_ = max(1, len(self.history_))
        self.n_clusters_ = len(self.classes_)
        self._n_features_out = self.anchor_codes_.shape[1]
        self.cluster_sizes_ = np.bincount(positions, minlength=self._n_features_out)

    # Using a fitted model

    def transform(self, X: Any) -> np.ndarray:
        """Return what the anchors of rows say about the classes.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, c), float32
            The class of a row is the largest; labels of rows seen in `fit` are not looked up.
        """
        return np.concatenate([rows.astype(np.float32) for rows in self._over(X)])

    def assign(self, X: Any) -> Assignment:
        """Return the class of each row and how sure it is; labels of rows seen in `fit` are not looked up.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        Assignment
        """
        shares = self.predict_proba(X)
        return Assignment(self.classes_[shares.argmax(axis=1)], shares.max(axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, c)
            Rows sum to one.
        """
        return np.concatenate([memberships(rows) for rows in self._over(X)])

    def _over(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        for weights in self.anchors_.stream(data):
            yield weights @ self.anchor_codes_

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {
            "seed": self.seed_,
            "history": self.history_,
            "objective": self.objective_,
            "gradient": self.gradient_,
            "curvature": self.curvature_,
            "is_convex": self.is_convex_,
            "scale": list(self.scaler_.modes_),
            "names": [[number, name] for number, name in self.names_.items()],
            "views": [[view.space.kind, *view.axes.shape, len(view.anchors)] for view in self.anchors_.parts],
        }
        arrays = module_arrays("anchors.", self.anchors_)
        arrays |= {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        arrays |= {
            "labels": self.labels_,
            "classes": self.classes_,
            "label_distributions": self.label_distributions_,
            "anchor_codes": self.anchor_codes_,
            "exemplar_indices": self.exemplar_indices_,
        }
        return values, arrays

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.seed_, self.history_ = values["seed"], values["history"]
        self.objective_, self.gradient_ = values["objective"], values["gradient"]
        self._curvature, self.is_convex_ = values["curvature"], values["is_convex"]
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        with unfilled():
            views = [AnchorView(*shape) for shape in values["views"]]
        self.anchors_ = AnchorViews(self.scaler_, views, self.n_nearest)
        load_arrays("anchors.", self.anchors_, arrays)
        self.classes_ = arrays["classes"]
        self.names_ = {int(number): str(name) for number, name in values.get("names", [])}
        self.labels_, self.label_distributions_ = arrays["labels"], arrays["label_distributions"]
        self.anchor_codes_, self.exemplar_indices_ = arrays["anchor_codes"], arrays["exemplar_indices"]
        self._describe(np.searchsorted(self.classes_, self.labels_))


def _one_a_view(anchors: Any) -> list[Any]:
    """Return one array a view; a single table is that of a single view."""
    whole = np.ndim(anchors[0]) == 1 if len(anchors) else True
    return [anchors] if whole else list(anchors)


def _surest(rows: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the row with the largest entry for each class, (c,), of the unlabelled where there are any."""
    columns = rows.copy(order="F")
    if not labelled.all():
        columns[labelled] = -np.inf
    return columns.argmax(axis=0)
