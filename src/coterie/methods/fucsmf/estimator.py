"""`FUCSMF`: semi-supervised clustering by one convex solve on an anchor graph."""

# n rows, m anchors, c classes

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.collectives import Collectives
from coterie.data import Scaler, Views
from coterie.engine.distributed import current_collectives
from coterie.errors import InputError
from coterie.graph.metric import KINDS
from coterie.graph.scaling import fit_table_scaler
from coterie.methods.base import Assignment, Clusterer
from coterie.methods.fucsmf.adapt import adapt_as_printed, adapt_graph
from coterie.methods.fucsmf.anchors import PLACEMENTS, AnchorView, AnchorViews, check_anchors, fit_anchors
from coterie.methods.fucsmf.options import PRESETS, FUCSMFOptions
from coterie.methods.fucsmf.problem import (
    AnchorGraph,
    fill_unreached_anchors,
    fill_unreached_rows,
    highest_rows,
    memberships,
)
from coterie.methods.fucsmf.solver import Solution, solve
from coterie.methods.fucsmf.supervision import Supervision, as_pairs, combine, pseudo_labels, read_labels
from coterie.methods.fucsmf.weights import WeightRule
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, flag, one_of, whole
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.store import below, versions

_EVERY_ROW = 10_000
_MANY_ANCHORS = 5000
_VALUES = ("seed", "history", "objective", "gradient", "is_convex")
_ARRAYS = ("labels", "classes", "label_distributions", "anchor_codes", "exemplar_indices")


class FUCSMF(Clusterer):
    """Semi-supervised clustering by one convex solve on an anchor graph (FUCSMF [1]_).

    Each row is connected to its nearest anchors, and rows that share anchors are similar. Labelled rows keep their
    labels; the classes of the others are the unique minimum of a convex function, found by conjugate gradients whose
    cost per step does not depend on the number of rows.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters where no row is labelled; ``"auto"`` estimates it, as `coterie.choose_k` does. Otherwise
        the labels determine the classes, and a class without a label is not looked for.
    preset : {"paper"}, optional
        ``"paper"`` takes what the paper prints wherever a parameter is ``"auto"`` or an option was not given.
    classes : sequence of int, optional
        All classes, to check the labels against; by default those among the labels.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views. The graph is the mean of the views' graphs.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of the modes of `coterie.data.Scaler`. ``"auto"`` takes the one of ``"none"``,
        ``"feature"``, ``"minmax"`` and ``"log"`` under which halves of the columns agree most on who is near whom.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        Metric in which rows are compared. ``"auto"`` takes the one whose neighbours agree most, without any label.
    anchors : {"auto", "kmeans", "minibatch", "random"}, array or list of arrays, default="auto"
        How the anchors are placed, or the anchors themselves, one array per view. ``"auto"`` makes every row an
        anchor where `n_anchors` allows it, and otherwise places them by k-means.
    n_anchors : int or "auto", default="auto"
        Anchors per view. ``"auto"`` is 5,000, or every row up to 10,000 rows; half of those rows where `anchors` says
        how to place them; with the paper's preset 2,000, or half of the rows where those are fewer.
    n_nearest : int or "auto", default="auto"
        Anchors that a row is connected to in each view; ``"auto"`` is 8, and 5 with the paper's preset.
    allow_unlabelled : bool, default=False
        Whether a class may have no labelled row. No row will be of that class.
    options : FUCSMFOptions, optional
        Parameters of the paper and of the solver; None is ``FUCSMFOptions()``.
    random_state : int, RandomState or None, default=None
        Seed of the placement of anchors.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The class of each row; labelled rows keep theirs.
    classes_ : ndarray of shape (c,)
        The classes, ascending; the columns of all memberships.
    names_ : dict of int to str
        Names of classes, where a user gives them: empty after a fit, kept in a saved model, shown in reports.
    label_distributions_ : ndarray of shape (n, c)
        Memberships of the rows; they sum to one.
    anchor_codes_ : ndarray of shape (m, c)
        Class scores of the anchors; those of a new row are their weighted mean.
    is_convex_ : bool
        Whether the problem was convex, so that the solution is unique.
    curvature_ : float
        Lower bound of the objective's curvature; the problem is convex where it is not negative.
    objective_ : float
        The objective at the solution.
    gradient_ : float
        The norm of its gradient there.
    exemplar_indices_ : ndarray of shape (c,)
        The row with the highest score of each class, unlabelled where possible.
    n_clusters_ : int
        Number of classes.
    k_choice_ : KChoice or None
        Evidence for the number of clusters, where ``n_clusters="auto"`` and no row is labelled.
    cluster_sizes_ : ndarray of shape (c,)
    history_ : list of dict
        One record per iteration of the solve.
    anchors_ : AnchorViews
        The anchors and the metric of each view.
    scaler_ : Scaler
    seed_ : int
        Seed of this fit; ``random_state=model.seed_`` repeats it.
    n_iter_ : int
        Iterations of the solve; 1 where every row is labelled.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict
        Versions of the packages that the result depends on.

    Notes
    -----
    The reduction of the solve to the anchors, the choice of the metric, several views and the links are ours; the
    method's page lists our corrections of the paper.

    References
    ----------
    .. [1] "Fast Unconstraint Convex Symmetric Matrix for Semi-Supervised Learning", Symmetry 18(4), 2026,
       https://doi.org/10.3390/sym18040698

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
    _presets: ClassVar[Mapping[str | None, Mapping[str, Any]]] = PRESETS
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "preset": one_of(*PRESETS),
        "classes": either(one_of(None), a_kind_of((list, tuple, np.ndarray), "a list of whole numbers")),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "metric": one_of("auto", *KINDS),
        "anchors": either(
            one_of("auto", *PLACEMENTS),
            a_kind_of((np.ndarray, list, tuple), "an array, or one for each view"),
        ),
        "n_anchors": either(one_of("auto"), whole(1)),
        "n_nearest": either(one_of("auto"), whole(1)),
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
        preset: str | None = None,
        classes: Sequence[int] | None = None,
        views: Any = None,
        scale: Any = "auto",
        metric: str = "auto",
        anchors: Any = "auto",
        n_anchors: int | str = "auto",
        n_nearest: int | str = "auto",
        allow_unlabelled: bool = False,
        options: FUCSMFOptions | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
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
        together = current_collectives()
        self.anchors_ = self._compare(data, together)
        self._graph = AnchorGraph.of(self.anchors_.weights(data, together))
        self._distances = self.anchors_.distances(data, together) if self._adapts_as_printed() else None
        known = self._supervise(codes, must_link, cannot_link)
        solution = self._solve(known)
        self._label(known, solution)
        self._describe(solution)
        self.versions_, self.names_ = versions(), {}
        return self

    def relabel(self, y: Any, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Solve again for other labels and links of the same rows, on the same graph, from the last solution.

        Parameters
        ----------
        y : array-like of shape (n,)
        must_link, cannot_link : array-like of shape (pairs, 2), optional

        Returns
        -------
        self
        """
        graph = self._fitted_graph()
        self._check_params()
        if self.n_clusters != "auto":
            self.n_clusters_ = int(self.n_clusters)
        before, last = self.classes_, self.anchor_codes_[graph.used]
        codes = self._read_labels(y, len(self.labels_))
        start = np.zeros((len(last), len(self.classes_)))
        _, new, old = np.intersect1d(self.classes_, before, return_indices=True)
        start[:, new] = last[:, old]
        try:
            known = self._supervise(codes, must_link, cannot_link)
        except InputError:
            self.classes_ = before  # contradictions leave the last solution as it was
            raise
        solution = self._solve(known, None if (codes < 0).all() else start)
        self._label(known, solution)
        self._describe(solution)
        return self

    def nearest_anchor(self) -> np.ndarray:
        """Return the anchor of the largest weight of each fitted row, (n,)."""
        return self._fitted_graph().nearest

    def reach(self, rows: np.ndarray) -> np.ndarray:
        """Return how strongly labels reach some fitted rows: the highest class score of their anchors."""
        graph = self._fitted_graph()
        return (graph.weights[rows] @ self.anchor_codes_[graph.used]).max(axis=1)

    def _fitted_graph(self) -> AnchorGraph:
        check_is_fitted(self)
        if not hasattr(self, "_graph"):
            raise InputError("A loaded model has no graph of its rows any more; call fit with the rows.")
        return self._graph

    def _read_labels(self, y: Any, n_rows: int) -> np.ndarray:
        codes, self.classes_ = read_labels(y, n_rows, self.classes, allow_unlabelled=self.allow_unlabelled)
        return codes

    def _check_rows(self, data: Views) -> None:
        if self._adapts_as_printed() and data.n_views > 1:
            raise InputError(
                f"adaptation='printed' takes one view, but there are {data.n_views}; use adaptation='anchored'."
            )
        if self._options_in_effect().n_axes is None and self._resolved()["metric"] == "auto":
            raise InputError("n_axes=None needs a metric: use metric='euclidean', or n_axes='auto'.")
        if data.n_rows < 2:
            raise InputError("n_samples=1 should be at least 2 (1 sample is no cluster); give more rows.")
        if self.n_anchors != "auto" and int(self.n_anchors) > data.n_rows:
            raise InputError(
                f"n_anchors={self.n_anchors} is more than the {data.n_rows} rows; ask for fewer, or 'auto'."
            )

    def _compare(self, data: Views, collectives: Collectives) -> AnchorViews:
        """Scale the views, choose their metrics and place their anchors."""
        params = self._resolved()
        self.scaler_ = fit_table_scaler(data, params["scale"], collectives)
        by_name = isinstance(params["anchors"], str)
        anchors = params["anchors"] if by_name else check_anchors(self.anchors, data.dims, data.n_rows)
        n_anchors = params["n_anchors"]
        if self.n_anchors == "auto":
            n_anchors = _usual_anchors(data.n_rows, n_anchors, every_row=by_name and anchors == "auto")
        return fit_anchors(
            data,
            self.scaler_,
            metric=params["metric"],
            n_axes=params["options"].n_axes,
            anchors=anchors,
            n_anchors=int(n_anchors),
            rule=self._weight_rule(),
            seed=self.seed_,
            collectives=collectives,
        )

    def _weight_rule(self) -> WeightRule:
        params = self._resolved()
        return WeightRule(params["n_nearest"], params["options"].sigma, params["options"].gamma)

    def _adapts_as_printed(self) -> bool:
        options: FUCSMFOptions = self._options_in_effect()
        return options.adapt > 0 and options.adaptation == "printed"

    def _supervise(self, codes: np.ndarray, must_link: Any, cannot_link: Any) -> Supervision:
        """Check labels and links; where there is no label, cluster the graph for pseudo-labels."""
        n_rows = len(codes)
        must, cannot = as_pairs(must_link, n_rows, "must_link"), as_pairs(cannot_link, n_rows, "cannot_link")
        if (codes < 0).all():
            codes = self._pseudo_labels(n_rows)
        else:
            self.k_choice_ = None
        if len(self.classes_) == 1:
            warnings.warn(
                f"Every label is {self.classes_[0]}, so every row will be; label rows of other classes too.",
                UserWarning,
                stacklevel=3,
            )
        return combine(codes, must, cannot, hard=self._options_in_effect().hard_links)

    def _pseudo_labels(self, n_rows: int) -> np.ndarray:
        if n_rows < self.n_clusters_:
            raise InputError(
                f"n_samples={n_rows} should be >= n_clusters={self.n_clusters_}; ask for fewer or give more rows."
            )
        self.classes_ = np.arange(self.n_clusters_)
        warnings.warn(
            "FUCSMF has no labels: the rows were clustered on the graph, and the most central rows of each cluster "
            "are pseudo-labels. The clusters have no names, and the result is only as good as these rows.",
            UserWarning,
            stacklevel=4,
        )
        return pseudo_labels(self._graph.weights, self.n_clusters_, seed=self.seed_)

    def _solve(self, known: Supervision, start: np.ndarray | None = None) -> Solution:
        options: FUCSMFOptions = self._options_in_effect()
        solution = solve(self._graph, known, len(self.classes_), options, start)
        if self._distances is not None:
            return adapt_as_printed(self._graph, self._distances, known, solution, options)
        return adapt_graph(self._graph, known, solution, options) if options.adapt else solution

    def _label(self, known: Supervision, solution: Solution) -> None:
        """Label every row; anchors and rows that no label reaches follow the nearest that one does."""
        graph = self._graph
        codes = np.zeros((len(graph.used), len(self.classes_)))
        codes[graph.used] = solution.anchor_codes
        self.anchor_codes_ = fill_unreached_anchors(codes, self.anchors_)
        rows = fill_unreached_rows(
            solution.rows, known.labelled, graph.weights, self.anchor_codes_[graph.used]
        )
        self.labels_ = self.classes_[rows.argmax(axis=1)]
        self.label_distributions_ = memberships(rows)
        self.exemplar_indices_ = highest_rows(rows, known.labelled)

    def _describe(self, solution: Solution) -> None:
        minimum, self._objective, self._curvature = solution.minimum, solution.objective, None
        self.is_convex_ = solution.objective.is_convex()
        self.objective_, self.gradient_, self.history_ = (
            minimum.value,
            minimum.gradient_norm,
            minimum.history,
        )
        self._set_derived()

    def _set_derived(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = max(1, len(self.history_))
        self.n_clusters_ = self._n_features_out = len(self.classes_)
        positions = np.searchsorted(self.classes_, self.labels_)
        self.cluster_sizes_ = np.bincount(positions, minlength=self.n_clusters_)

    @property
    def curvature_(self) -> float:
        """Lower bound of the objective's curvature, computed on first access."""
        check_is_fitted(self, "labels_")
        if self._curvature is None:
            self._curvature = self._objective.curvature()
        return self._curvature

    # Using a fitted model

    def transform(self, X: Any) -> np.ndarray:
        """Return the class scores of rows, (n, c), float32; the class of a row has the highest."""
        return np.concatenate([scores.astype(np.float32) for scores in self._scores(X)])

    def assign(self, X: Any) -> Assignment:
        """Return the class of each row and its confidence; the labels of fitted rows are not looked up."""
        shares = self.predict_proba(X)
        return Assignment(self.classes_[shares.argmax(axis=1)], shares.max(axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows, (n, c), in the order of `classes_`; they sum to one."""
        return np.concatenate([memberships(scores) for scores in self._scores(X)])

    def _scores(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        for weights in self.anchors_.stream(data):
            yield weights @ self.anchor_codes_

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {name: getattr(self, f"{name}_") for name in (*_VALUES, "curvature")}
        values |= {
            "scale": list(self.scaler_.modes_),
            "names": [[number, name] for number, name in self.names_.items()],
            "views": [[view.space.kind, *view.axes.shape, len(view.anchors)] for view in self.anchors_.parts],
        }
        arrays = module_arrays("anchors.", self.anchors_)
        arrays |= {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        return values, arrays | {name: getattr(self, f"{name}_") for name in _ARRAYS}

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        stored = {name: values[name] for name in _VALUES} | {name: arrays[name] for name in _ARRAYS}
        for name, value in stored.items():
            setattr(self, f"{name}_", value)
        self._curvature = values["curvature"]
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        with unfilled():
            views = [AnchorView(*shape) for shape in values["views"]]
        self.anchors_ = AnchorViews(self.scaler_, views, self._weight_rule())
        load_arrays("anchors.", self.anchors_, arrays)
        self.names_ = {int(number): str(name) for number, name in values.get("names", [])}
        self._set_derived()


def _usual_anchors(n_rows: int, most: int | str, *, every_row: bool) -> int:
    """Return how many anchors a view gets where nobody says: as many as a preset has, or by the number of rows."""
    few = n_rows if every_row else max(1, n_rows // 2)
    if most != "auto":
        return min(few, int(most))
    return few if n_rows <= _EVERY_ROW else _MANY_ANCHORS
