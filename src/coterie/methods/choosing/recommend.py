"""`recommend`: which method to take for some data, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.data import as_views
from coterie.errors import InputError
from coterie.graph.model import MAX_ROWS
from coterie.methods.choosing.clusters import LEAST_ROWS
from coterie.methods.choosing.facts import Facts
from coterie.methods.choosing.recommendation import Alternative, Recommendation
from coterie.methods.params import check_params, cluster_count

# SSC compares each row with all others and refuses more.
_FEW_ROWS = 5000
_UNEVEN = 10
_UNCOUNTED = (
    f"Fewer than {LEAST_ROWS} rows do not tell how many clusters there are: 2 is a guess, give your number."
)


def recommend(
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str = "auto",
    views: Any = None,
    uneven: bool | None = None,
) -> Recommendation:
    """Say which method suits some data, with which settings, and why.

    The rules are few: labels go to `FUCSMF`, everything else to `GraphClustering`, with what the other methods would
    add. Nothing is fitted and no cluster is looked at; that takes a moment even on files larger than memory.

    Parameters
    ----------
    X : array-like, views, or path
        What every estimator takes.
    y : array-like of shape (n,), optional
        Known classes as whole numbers from 0; -1 where a row has no label.
    n_clusters : int or "auto", default="auto"
        How many clusters to find, where you know it.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    uneven : bool, optional
        Whether you expect groups of very different size. By default the labels say it, where there are any.

    Returns
    -------
    Recommendation
        `print` shows it as text; `make()` gives the estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import recommend
    >>> X = np.random.default_rng(0).normal(size=(1000, 20))
    >>> found = recommend(X, n_clusters=5)
    >>> found.method, found.settings
    ('GraphClustering', {'n_clusters': 5})
    >>> [other.method for other in recommend([X, X[:, :8]], n_clusters=5).alternatives]
    ['MVSIB', 'LargeMvCNet', 'PCX']
    >>> y = np.full(1000, -1)
    >>> y[:6] = [0, 1, 2, 0, 1, 2]
    >>> recommend(X, y).python
    'model = coterie.FUCSMF().fit(X, y)'
    """
    check_params("recommend", {"n_clusters": n_clusters}, {"n_clusters": cluster_count()})
    facts = Facts.of(as_views(X, views=views), y)
    if uneven is None:
        uneven = facts.imbalance >= _UNEVEN
    if facts.classes > 1:
        return _by_labels(facts)
    settings = {"n_clusters": _count(facts, n_clusters)}
    found = _by_graph(facts, settings, uneven)
    if settings["n_clusters"] == n_clusters:
        return found
    return replace(found, reasons=f"{found.reasons} {_UNCOUNTED}")


def _count(facts: Facts, n_clusters: int | str) -> int | str:
    """Return how many clusters to ask a method for, so that it does not refuse the rows."""
    if facts.rows < 2:
        raise InputError("X has 1 row, and no method finds clusters in fewer than 2; give more rows.")
    if n_clusters == "auto":
        return "auto" if facts.rows >= LEAST_ROWS else 2
    if int(n_clusters) > facts.rows:
        raise InputError(
            f"n_clusters={n_clusters} is more than the {facts.rows} rows of X; ask for fewer clusters or give "
            "more rows."
        )
    return int(n_clusters)


def _by_labels(facts: Facts) -> Recommendation:
    said = [
        f"{facts.labelled:,} rows of {facts.rows:,} have a label, of {facts.classes} classes. FUCSMF lets "
        "them steer everything, by one convex solve in seconds; what was labelled stays, and no class is looked for "
        "beyond those."
    ]
    if facts.labelled == facts.rows:
        said.append(
            "As every row has one, it only serves to label new rows; leave y out to look for clusters."
        )
    if facts.imbalance >= _UNEVEN:
        said.append(
            "The classes have very different numbers of labels; by default each class counts the same."
        )
    return Recommendation(
        "FUCSMF",
        {},
        " ".join(said),
        (
            Alternative(
                "GraphClustering",
                "takes no labels; where its clusters are clear, coterie.refine(model, X, labels) corrects them "
                "afterwards.",
            ),
        ),
        facts,
    )


def _by_graph(facts: Facts, settings: dict[str, Any], uneven: bool) -> Recommendation:
    views = f"one view{_width(facts)}" if facts.views == 1 else f"{facts.views} views{_lacking(facts)}"
    size = "" if facts.fits_memory else ", more than memory should hold"
    said = [
        f"{facts.rows:,} rows in {views}{size}{_some_labels(facts)}. GraphClustering finds the communities of a "
        "nearest-neighbour graph in the seconds of k-means, labels new rows, and keeps the tree of all numbers of "
        "clusters (labels_at)."
    ]
    if facts.rows > MAX_ROWS or not facts.fits_memory:
        said.append(
            f"It clusters a sample of {MAX_ROWS:,} rows; the others follow their nearest neighbours in it."
        )
    if uneven:
        said.append("A group with fewer rows than n_neighbors is not found, and a very large one may be cut.")
    others = _for_one_view(facts, settings) if facts.views == 1 else _for_several_views()
    return Recommendation("GraphClustering", settings, " ".join(said), others, facts)


def _for_one_view(facts: Facts, settings: dict[str, Any]) -> tuple[Alternative, ...]:
    others = [
        Alternative(
            "PCX",
            "trains a network, in minutes: take it for decoded exemplars of each cluster, a code of a few numbers "
            "for each row, or a stream (partial_fit).",
        )
    ]
    if settings["n_clusters"] == "auto" or settings["n_clusters"] < facts.rows:
        others.append(Alternative("SSCNet", "trains a network: take it to see which rows a row is made of."))
    if facts.rows <= _FEW_ROWS:
        others.append(Alternative("SSC", "for rows on low-dimensional subspaces alone, by an exact solver."))
    return tuple(others)


def _for_several_views() -> tuple[Alternative, ...]:
    return (
        Alternative("MVSIB", "trains a network: take it to learn which rows are ambiguous, or for a stream."),
        Alternative("LargeMvCNet", "marks corrupt rows and restores missing views."),
        Alternative("PCX", "concatenates views and needs all of them."),
    )


def _lacking(facts: Facts) -> str:
    return (
        "" if facts.incomplete == 0 else f", {max(facts.incomplete, 0.01):.0%} of the rows without some view"
    )


def _width(facts: Facts) -> str:
    return "" if facts.columns == 1 else f" of {facts.columns:,} columns"


def _some_labels(facts: Facts) -> str:
    if not facts.labelled:
        return ""
    return "; labels that are all of one class say nothing about the others"
