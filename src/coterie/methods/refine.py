"""`refine`: interactive correction of the clusters of any fitted model by labels and links."""

# n rows, c classes

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from coterie.errors import InputError
from coterie.methods.active_learning import Regions, interleave, uncertain_rows
from coterie.methods.base import Assignment, Clusterer
from coterie.methods.fucsmf import FUCSMF
from coterie.methods.fucsmf.supervision import as_pairs, whole_numbers
from coterie.methods.refined_model import Constraints, RefinedModel, rows_for_solver

_PSEUDO_LABELS_PER_CLUSTER = 10
_MOST_ANCHORS = 5000  # with every row an anchor, an update of a large data set would not be interactive
_REGIONS_PER_CLASS = 3
TOLERANCE = 1e-3


def refine(
    model: Clusterer | RefinedModel,
    X: Any,
    y: Any = None,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    keep: bool = True,
    n_ask: int = 10,
) -> Refinement:
    """Correct the clusters of a fitted model by labels and links of some rows.

    The model's embedding and the rows' own views are connected to anchors once, and `FUCSMF` solves for the classes;
    `Refinement.update` solves for the next labels on the same graph. The rows' own views are included because an
    embedding that was trained to separate the clusters may have lost what splits one.

    Parameters
    ----------
    model : estimator
        Any fitted coterie model. A refined model continues from its earlier labels and links, except where `y` labels
        a row differently; classes keep their numbers and names.
    X : array-like, views, or path
        The rows to label, as `model.predict` takes them; for a refined model, the rows that were corrected.
    y : array-like of shape (n,), or mapping from row to class, optional
        Labels: a cluster's number, or any other whole number for a new class; -1 where unlabelled.
    must_link, cannot_link : array-like of shape (pairs, 2), optional
        Pairs of rows that are, or are not, of one class.
    keep : bool, default=True
        Whether the model's clusters are kept: the ten most confident rows of each, among those without labels and
        links, are pseudo-labels of it, until rows of its more confident half are labelled and none of them with its
        number. So a cluster is merged into another by labelling a typical row with the other's number, and split by
        labelling some rows with a new one; a label on a row at the edge only corrects the edge. With False only `y`
        and the links count.
    n_ask : int, default=10
        Number of rows to suggest for labelling next.

    Returns
    -------
    Refinement

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import PCX, refine
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0, 0.0], [5.0, 0.0], [5.0, 5.0]], 40, axis=0) + 0.5 * rng.normal(size=(120, 2))
    >>> model = PCX(n_clusters=2, hidden=(16,), max_epochs=10, random_state=0).fit(X)
    >>> refined = refine(model, X, {45: 7, 85: 8, 5: 9}, keep=False)  # a person sees three kinds
    >>> refined.classes.tolist(), np.bincount(refined.labels)[7:].tolist()
    ([7, 8, 9], [40, 40, 40])
    >>> refined.update({45: 7, 85: 7, 5: 9}).classes.tolist()  # and then two
    [7, 9]
    """
    return Refinement(model, X, keep=keep, n_ask=n_ask).update(
        y, must_link=must_link, cannot_link=cannot_link
    )


class _Cluster(NamedTuple):
    """The rows of a cluster, most confident first; how many of them are typical, and how many are pseudo-labels."""

    rows: np.ndarray
    n_typical: int
    n_pseudo_labels: int


class Refinement:
    """A corrected clustering that can be corrected again.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array-like, views, or path
    keep : bool
    n_ask : int

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The class of each row; labelled rows keep their labels.
    memberships : ndarray of shape (n, c)
        Memberships, in the order of `classes`.
    classes : ndarray of shape (c,)
    ask : ndarray of shape (at most n_ask,)
        Rows to label next: medoids of regions without labels, and uncertain rows of different classes and places, in
        turn.
    clusters : ndarray of shape (n,)
        The labels of the model.
    """

    labels: np.ndarray
    memberships: np.ndarray
    classes: np.ndarray
    ask: np.ndarray

    def __init__(
        self, model: Clusterer | RefinedModel, X: Any, *, keep: bool = True, n_ask: int = 10
    ) -> None:
        self.keep, self.n_ask = keep, n_ask
        self._earlier = model if isinstance(model, RefinedModel) else None
        self._base = model.base if isinstance(model, RefinedModel) else model
        self._rows = rows_for_solver(self._base, X)
        self.clusters, confidence = (
            model.assign(X) if self._earlier is None else self._earlier_classes(self._earlier)
        )
        if isinstance(self._base, FUCSMF):
            self._solver = clone(self._base).set_params(classes=None, views=None)
        else:
            self._solver = FUCSMF(n_anchors=min(_MOST_ANCHORS, len(self.clusters)))
        self._solver.set_params(options__tol=TOLERANCE, random_state=0)
        order = np.argsort(-confidence, kind="stable")
        members = {int(number): order[self.clusters[order] == number] for number in np.unique(self.clusters)}
        self._clusters = {
            number: _Cluster(rows, _confident_half(confidence[rows]), self._n_pseudo_labels(rows))
            for number, rows in members.items()
        }

    def _earlier_classes(self, earlier: RefinedModel) -> Assignment:
        """Return the classes of a refined model, with infinite confidence where they were given."""
        if len(earlier.labels_) != self._rows.n_rows:
            raise InputError(
                f"X has {self._rows.n_rows} rows, but {len(earlier.labels_)} rows were corrected; give the same rows."
            )
        confidence = earlier.solver.label_distributions_.max(axis=1)
        given = earlier.constraints.labels >= 0
        return Assignment(earlier.labels_, np.where(given, np.inf, confidence))

    def _n_pseudo_labels(self, rows: np.ndarray) -> int:
        if self._earlier is None:
            return _PSEUDO_LABELS_PER_CLUSTER
        return self._earlier.constraints.n_pseudo_labels(rows)

    def update(
        self,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        merged: Mapping[int, int] | None = None,
    ) -> Self:
        """Solve for all labels and links given so far; they replace those of the last update.

        Parameters
        ----------
        y : array-like of shape (n,), or mapping from row to class, optional
        must_link, cannot_link : array-like of shape (pairs, 2), optional
        merged : mapping from cluster to class, optional
            The clusters that are merged into another class, with `keep` only; -1 for a cluster that only `y` should
            label. All other clusters are kept then, whatever the labels of their rows: no label counts as a merge.

        Returns
        -------
        self
        """
        n_rows = len(self.clusters)
        given = as_labels(y, n_rows)
        links = {
            "must_link": as_pairs(must_link, n_rows, "must_link"),
            "cannot_link": as_pairs(cannot_link, n_rows, "cannot_link"),
        }
        labels = given
        if self.keep:
            if self._earlier is not None:
                given = np.where(given >= 0, given, self._earlier.constraints.given_labels(merged or {}))
            labels = self._with_pseudo_labels(given, links, merged)
        if (labels < 0).all():
            raise InputError("There is nothing to go by: give labels y, or keep=True.")
        if self.keep and self._earlier is not None:
            earlier = self._earlier.constraints
            links = {
                "must_link": np.concatenate([earlier.must_link, links["must_link"]]),
                "cannot_link": np.concatenate([earlier.cannot_link, links["cannot_link"]]),
            }
        self._solve(labels, links)
        self.labels, self.classes = self._solver.labels_, self._solver.classes_
        self.memberships = self._solver.label_distributions_
        self._constraints = Constraints(labels, given >= 0, **links)
        self.ask = self._suggest(given >= 0)
        return self

    def _with_pseudo_labels(
        self, given: np.ndarray, links: Mapping[str, np.ndarray], merged: Mapping[int, int] | None
    ) -> np.ndarray:
        """Add the most confident rows of the clusters that are kept, among those without labels and links."""
        labels, free = given.copy(), given < 0
        for pairs in links.values():
            free[pairs.ravel()] = False
        for number, cluster in self._clusters.items():
            typical = given[cluster.rows[: cluster.n_typical]]
            if merged is None and (typical >= 0).any() and not (typical == number).any():
                continue
            # A cluster of which every row is linked still has pseudo-labels.
            candidates = free if free[cluster.rows].any() else given < 0
            rows = cluster.rows[candidates[cluster.rows]]
            labels[rows[: cluster.n_pseudo_labels]] = (merged or {}).get(number, number)
        return labels

    def _solve(self, labels: np.ndarray, links: Mapping[str, np.ndarray]) -> None:
        """Solve from the first solution, so that the order of updates does not matter."""
        solver = self._solver
        with warnings.catch_warnings():
            # A single class may be intended; rows that no label reaches are among the suggestions.
            warnings.simplefilter("ignore", UserWarning)
            if not hasattr(solver, "labels_"):
                solver.fit(self._rows, labels, **links)
                self._first = solver.classes_, solver.anchor_codes_
                self._regions = Regions(self._rows, _REGIONS_PER_CLASS * len(solver.classes_))
                return
            last = solver.classes_, solver.anchor_codes_
            solver.classes_, solver.anchor_codes_ = self._first
            try:
                solver.relabel(labels, **links)
            except InputError:
                solver.classes_, solver.anchor_codes_ = last
                raise

    def _suggest(self, labelled: np.ndarray) -> np.ndarray:
        uncertain = uncertain_rows(self.memberships, self._solver.nearest_anchor(), labelled, self.n_ask)
        unlabelled = self._regions.unlabelled(self._solver.reach(self._regions.rows), labelled)
        return interleave(unlabelled, uncertain, self.n_ask)

    def model(self, names: Mapping[int, str] | None = None) -> RefinedModel:
        """Return the present solution as a model that labels new rows and can be saved.

        It shares its arrays with the refinement: save it, or use it, before the next `update`.

        Parameters
        ----------
        names : mapping from class to str, optional
            Names of the classes; by default those of the refined model that was corrected.
        """
        if names is None and self._earlier is not None:
            names = self._earlier.names_
        return RefinedModel(self._base, self._solver, self._constraints, names)


def as_labels(y: Any, n_rows: int) -> np.ndarray:
    """Return labels of all rows, -1 where unlabelled, from an array or from a mapping of some rows.

    Examples
    --------
    >>> as_labels({2: 5}, 4)
    array([-1, -1,  5, -1])
    """
    labels = np.full(n_rows, -1, dtype=np.int64)
    if y is None:
        return labels
    if not isinstance(y, Mapping):
        return whole_numbers(y, n_rows)
    for row, label in y.items():
        if not (isinstance(row, (int, np.integer)) and 0 <= row < n_rows):
            raise InputError(f"y labels row {row!r}, but the rows are 0 to {n_rows - 1}.")
        if not (isinstance(label, (int, float, np.number)) and float(label).is_integer()):
            raise InputError(
                f"y gives row {row} the label {label!r}: a label is the number of a cluster, or a new number for a "
                "new class; model() takes names."
            )
        labels[row] = int(label)
    return labels


def _confident_half(confidence: np.ndarray) -> int:
    """Return how many rows, in descending confidence, have at least the median's.

    Examples
    --------
    >>> _confident_half(np.array([0.9, 0.8, 0.7, 0.6])), _confident_half(np.ones(4))
    (2, 4)
    """
    return int((confidence >= confidence[(len(confidence) - 1) // 2]).sum())
