"""The human loop: a person corrects the clusters of any fitted model, and every row follows."""

# n rows, d code features, c classes

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from coterie.errors import InputError
from coterie.methods.active_learning import Regions, in_turn, worth_asking
from coterie.methods.base import Assignment, Clusterer
from coterie.methods.fucsmf import FUCSMF
from coterie.methods.fucsmf.supervision import as_pairs, whole_numbers
from coterie.methods.refined_model import Grounds, RefinedModel, rows_for_solver

_SEEDS = 10
# Every row an anchor makes each answer wait; this many serve 70,000 rows of MNIST.
_MOST_ANCHORS = 5000
_REGIONS_A_CLASS = 3
# Of the gradient: at most 3 of 70,000 labels of MNIST differ from the exact ones, and a click costs two thirds.
ENOUGH = 1e-3


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
    """Correct the clusters of a fitted model by labels and links.

    The rows are embedded by the model; the code and the rows' own views are tied to anchors once, and solved for what
    was said; `Refinement.update` answers the next labels without doing that again. The rows' own views are there
    because a code that was trained to tell the clusters apart may have lost what splits one.

    Parameters
    ----------
    model : estimator
        Any fitted coterie model. A refined one goes on from what was said before, links included, except where
        `y` says something else of a row; classes keep their numbers and names.
    X : array-like, views, or path
        The rows that are to be labelled, as `model.predict` takes them; those of a refined model are the rows that
        were corrected.
    y : array-like of shape (n,), or mapping from row to class, optional
        What a person said: a cluster's number, or any other whole number for a new class; -1 where nothing.
    must_link, cannot_link : array-like of shape (pairs, 2), optional
        Rows that are, or are not, of one class.
    keep : bool, default=True
        Whether the model's clusters go on: the ten surest rows of each, of those nobody spoke of, stand for it, until
        rows of its surer half are labelled and none of them with its number. So a cluster is merged into another by
        labelling a typical row of it with the other's number, and split by labelling some rows with a new one; a
        label on a row at the edge only corrects the edge. False lets only `y` and the links count.
    n_ask : int, default=10
        How many rows to name that are worth asking about next.

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
        The class of each row; rows that a person labelled keep their labels.
    memberships : ndarray of shape (n, c)
        Of the classes, in the order of `classes`.
    classes : ndarray of shape (c,)
    ask : ndarray of shape (at most n_ask,)
        Rows worth asking about next, in turn: those that stand for regions nobody spoke of, and uncertain ones, of
        different classes, in different places.
    clusters : ndarray of shape (n,)
        What the model said.
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
        base = model.base if isinstance(model, RefinedModel) else model
        self._corrected, self._rows = base, rows_for_solver(base, X)
        self.clusters, confidence = model.assign(X) if self._earlier is None else self._go_on(self._earlier)
        own = isinstance(base, FUCSMF)
        few = min(_MOST_ANCHORS, len(self.clusters))
        self._solver = clone(base).set_params(classes=None, views=None) if own else FUCSMF(n_anchors=few)
        self._solver.set_params(options__tol=ENOUGH, random_state=0)
        self._members = _surest_first(self.clusters, confidence)
        self._surer = {cluster: _surer_half(confidence[rows]) for cluster, rows in self._members.items()}
        self._standing = {
            cluster: _SEEDS if self._earlier is None else self._earlier.grounds.standing(rows)
            for cluster, rows in self._members.items()
        }

    def _go_on(self, earlier: RefinedModel) -> Assignment:
        """Return the classes of a refined model; no row is surer of its class than those that it goes by."""
        if len(earlier.labels_) != self._rows.n_rows:
            raise InputError(
                f"X has {self._rows.n_rows} rows, but {len(earlier.labels_)} rows were corrected; give the same rows."
            )
        sure = earlier.solver.label_distributions_.max(axis=1)
        return Assignment(earlier.labels_, np.where(earlier.grounds.labels >= 0, np.inf, sure))

    def update(
        self,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        merged: Mapping[int, int] | None = None,
    ) -> Self:
        """Answer all that a person has said so far; it replaces what was said before.

        Parameters
        ----------
        y : array-like of shape (n,), or mapping from row to class, optional
        must_link, cannot_link : array-like of shape (pairs, 2), optional
        merged : mapping from cluster to class, optional
            The clusters that a person made one with another class, with `keep` only; -1 for a cluster of which
            only `y` should speak. All others go on then, whatever is said about their rows: no label is taken for a
            merge.

        Returns
        -------
        self
        """
        said = as_labels(y, len(self.clusters))
        if self._earlier is not None and self.keep:
            said = np.where(said >= 0, said, self._earlier.grounds.said(merged or {}))
        labels = self._with_seeds(said, (must_link, cannot_link), merged) if self.keep else said
        if (labels < 0).all():
            raise InputError("There is nothing to go by: give labels y, or keep=True.")
        links = self._links(must_link, cannot_link)
        with warnings.catch_warnings():
            # One class left is what a person may ask for; far-off rows are among those worth asking about.
            warnings.simplefilter("ignore", UserWarning)
            if hasattr(self._solver, "labels_"):
                self._relabel(labels, links)
            else:
                self._solver.fit(self._rows, labels, **links)
                self._first = self._solver.classes_, self._solver.anchor_codes_
                self._regions = Regions(self._rows, _REGIONS_A_CLASS * len(self._solver.classes_))
        self.labels, self.classes = self._solver.labels_, self._solver.classes_
        self.memberships = self._solver.label_distributions_
        self._grounds = Grounds(labels, said >= 0, **links)
        self.ask = self._worth_asking(said >= 0)
        return self

    def _links(self, must_link: Any, cannot_link: Any) -> dict[str, np.ndarray]:
        """Return the pairs that were given, after those of a refined model that goes on."""
        n_rows = len(self.clusters)
        links = {
            "must_link": as_pairs(must_link, n_rows, "must_link"),
            "cannot_link": as_pairs(cannot_link, n_rows, "cannot_link"),
        }
        if self._earlier is None or not self.keep:
            return links
        return {
            name: np.concatenate([getattr(self._earlier.grounds, name), pairs])
            for name, pairs in links.items()
        }

    def _worth_asking(self, known: np.ndarray) -> np.ndarray:
        unsure = worth_asking(self.memberships, self._solver.nearest_anchor(), known, self.n_ask)
        unspoken = self._regions.unspoken(self._solver.reach(self._regions.rows), known)
        return in_turn(unspoken, unsure, self.n_ask)

    def _relabel(self, labels: np.ndarray, links: dict[str, Any]) -> None:
        """Solve from the first answer, so that the same words give the same classes in whatever order they came.

        Starting from the last answer would be no faster: MNIST, 70,000 rows, 1.0 and 1.1 s on a busy core.
        """
        solver = self._solver
        last = solver.classes_, solver.anchor_codes_
        solver.classes_, solver.anchor_codes_ = self._first
        try:
            solver.relabel(labels, **links)
        except InputError:
            solver.classes_, solver.anchor_codes_ = last
            raise

    def model(self, names: Mapping[int, str] | None = None) -> RefinedModel:
        """Return the present answer as a model that can label new rows and be saved.

        It shares its arrays with the refinement: save it, or use it, before the next `update`.

        Parameters
        ----------
        names : mapping from class to str, optional
            What a person calls the classes; by default as the refined model that was corrected called them.
        """
        if names is None and self._earlier is not None:
            names = self._earlier.names_
        return RefinedModel(self._corrected, self._solver, self._grounds, names)

    def _with_seeds(
        self, said: np.ndarray, links: Iterable[Any], merged: Mapping[int, int] | None
    ) -> np.ndarray:
        """Add the surest rows of the clusters that go on, of those nobody spoke of."""
        labels, silent = said.copy(), said < 0
        for pairs in links:
            silent[as_pairs(pairs, len(said), "a link").ravel()] = False
        for cluster, members in self._members.items():
            half = said[members[: self._surer[cluster]]]
            if merged is None and (half >= 0).any() and not (half == cluster).any():
                continue
            # A cluster of which every row is linked still has rows that stand for it.
            rows = members[silent[members]] if silent[members].any() else members[said[members] < 0]
            labels[rows[: self._standing[cluster]]] = (merged or {}).get(cluster, cluster)
        return labels


def as_labels(y: Any, n_rows: int) -> np.ndarray:
    """Return labels of all rows, -1 where nothing was said, from an array or from a mapping of some rows.

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


def _surer_half(confidence: np.ndarray) -> int:
    """Return how many of the rows, the surest first, are no less sure than the one in the middle.

    Examples
    --------
    >>> _surer_half(np.array([0.9, 0.8, 0.7, 0.6])), _surer_half(np.ones(4))
    (2, 4)
    """
    return int((confidence >= confidence[(len(confidence) - 1) // 2]).sum())


def _surest_first(clusters: np.ndarray, confidence: np.ndarray) -> dict[int, np.ndarray]:
    """Return the rows of each cluster, the surest first."""
    order = np.argsort(-confidence, kind="stable")
    return {int(cluster): order[clusters[order] == cluster] for cluster in np.unique(clusters)}
