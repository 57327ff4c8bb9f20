"""`recommend`: which method to take for some data, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.data import as_views
from coterie.errors import InputError
from coterie.methods.choosing.clusters import LEAST_ROWS
from coterie.methods.choosing.facts import Facts
from coterie.methods.choosing.recommendation import Alternative, Recommendation
from coterie.methods.params import check_params, cluster_count

# MVSIB was measured up to 70,000 rows only; LargeMvCNet took eight minutes for a million.
_MANY_ROWS = 100_000
# SSC compares each row with all others and refuses more.
_FEW_ROWS = 5000
# Below this, a method that starts from the neighbours of single rows hangs on each of them.
_VERY_FEW_ROWS = 500
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

    The rules are few, and stand on the measurements in the user guide: labels go to `FUCSMF`, one view to `PCX`,
    several views to `MVSIB`, and to `LargeMvCNet` where rows are too many for training. Nothing is fitted and no
    cluster is looked at; that takes a moment even on files larger than memory.

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
    ('PCX', {'n_clusters': 5})
    >>> recommend([X, X[:, :8]], n_clusters=5).method
    'MVSIB'
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
    found = _by_views(facts, settings, uneven)
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
    other = "PCX" if facts.views == 1 else "MVSIB"
    return Recommendation(
        "FUCSMF",
        {},
        " ".join(said),
        (
            Alternative(
                other,
                "takes no labels. With one to five a class its clusters, corrected afterwards by "
                "coterie.refine(model, X, labels), were as good on images where clusters are clear (MNIST, USPS); "
                "elsewhere FUCSMF was ahead.",
            ),
        ),
        facts,
    )


def _by_views(facts: Facts, settings: dict[str, Any], uneven: bool) -> Recommendation:
    if facts.views == 1:
        return _for_one_view(facts, settings, uneven)
    if facts.rows > _MANY_ROWS or not facts.fits_memory:
        return _for_many_rows(facts, settings)
    return _for_several_views(facts, settings, uneven)


def _for_one_view(facts: Facts, settings: dict[str, Any], uneven: bool) -> Recommendation:
    said = [
        f"{facts.rows:,} rows in one view{_width(facts)}{_some_labels(facts)}. PCX was "
        "the best coterie method or within three points of it on all eight single-view sets measured, and shows an "
        "exemplar of each cluster."
    ]
    if not facts.fits_memory:
        said.append("It reads rows from disk as it trains, so the file may be larger than memory.")
    if uneven:
        said.append(
            "Groups of very different size are where it does least well: a group of fewer rows than n_neighbors "
            "is not found, and a very large one may be cut."
        )
    others = []
    if settings["n_clusters"] == "auto" or settings["n_clusters"] < facts.rows:
        others.append(
            Alternative(
                "SSCNet", "level with it on images, at twice the time; take it to see what rows are made of."
            )
        )
    if facts.rows <= _FEW_ROWS:
        others.append(
            Alternative(
                "SSC", "exact, and for rows on low-dimensional subspaces alone; behind SSCNet on faces."
            )
        )
    others.append(
        Alternative(
            "LargeMvCNet",
            "takes seconds instead of minutes, and was up to thirty points behind on large image sets.",
        )
    )
    return Recommendation("PCX", settings, " ".join(said), tuple(others), facts)


def _for_several_views(facts: Facts, settings: dict[str, Any], uneven: bool) -> Recommendation:
    said = [
        f"{facts.rows:,} rows in {facts.views} views{_lacking(facts)}{_some_labels(facts)}. MVSIB learns "
        "from neighbours in any view; on nine of ten sets with several views it was the best coterie method or "
        "within three points of it, and it says which rows are ambiguous."
    ]
    if uneven:
        said.append("It searches for small groups that a large one hides (seek_small, on by default).")
    if facts.rows < _VERY_FEW_ROWS:
        said.append("With so few rows single neighbours decide much: try a few random_state.")
    return Recommendation(
        "MVSIB",
        settings,
        " ".join(said),
        (
            Alternative(
                "LargeMvCNet",
                "takes seconds, marks corrupt rows and restores missing views, at one to three points less accuracy "
                "on most sets.",
            ),
            Alternative("PCX", "puts views side by side and needs all of them."),
        ),
        facts,
    )


def _for_many_rows(facts: Facts, settings: dict[str, Any]) -> Recommendation:
    size = "" if facts.fits_memory else ", more than memory should hold"
    return Recommendation(
        "LargeMvCNet",
        settings,
        f"{facts.rows:,} rows in {facts.views} views{size}{_lacking(facts)}{_some_labels(facts)}. "
        "LargeMvCNet learns from a sample, then labels every row as it streams by: a million rows took eight minutes "
        "and 1.3 GB.",
        (
            Alternative(
                "MVSIB",
                "one to three points more accurate on most small sets, but it trains for twenty minutes and more on "
                "as many rows, and was measured up to 70,000 only.",
            ),
        ),
        facts,
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
