"""`recommend`: which method suits some data, and why."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from coterie.data import Views, as_views
from coterie.data.memory import fits
from coterie.data.subsets import some_rows
from coterie.errors import InputError
from coterie.graph.model import MAX_ROWS
from coterie.methods.choosing.clusters import LEAST_ROWS
from coterie.methods.fucsmf.supervision import read_labels
from coterie.methods.params import check_params, cluster_count
from coterie.methods.registry import find_method

_SAMPLE_ROWS = 5000
_SSC_ROWS = 5000  # SSC compares each row with all others and refuses more
_UNEVEN = 10
_TEXT_WIDTH = 100


@dataclass(frozen=True)
class Facts:
    """The facts that a recommendation depends on."""

    rows: int
    columns: int
    views: int
    missing: float  # share of the entries (a view of a row) that are missing, in a sample
    incomplete: float  # share of the rows that lack a view, in a sample
    fits_memory: bool  # whether the rows are in memory, or would take no more than a quarter of what is free
    labelled: int  # rows with a label
    classes: int  # classes among the labels
    imbalance: float  # labels of the most common class over those of the rarest; 1 without labels

    @classmethod
    def of(cls, data: Views, y: Any = None) -> Facts:
        """Collect the facts of data, and of labels where there are any."""
        present = data.present_rows(some_rows(data.n_rows, _SAMPLE_ROWS, seed=0))
        codes, classes = read_labels(y, data.n_rows)
        counts = np.bincount(codes[codes >= 0], minlength=1)
        return cls(
            rows=data.n_rows,
            columns=sum(data.dims),
            views=data.n_views,
            missing=float(1 - present.mean()),
            incomplete=float(1 - present.all(axis=1).mean()),
            fits_memory=fits(data),
            labelled=int((codes >= 0).sum()),
            classes=len(classes),
            imbalance=float(counts.max() / max(1, counts.min())) if len(classes) else 1.0,
        )


@dataclass(frozen=True)
class Alternative:
    """Another method, and what it is for."""

    method: str
    why_not: str


@dataclass(frozen=True)
class Recommendation:
    """A recommended method with its parameters and reasons.

    Attributes
    ----------
    method : str
        Name of the class.
    settings : dict
        Its parameters that differ from the defaults.
    reasons : str
        The reasons, in one paragraph.
    alternatives : tuple of Alternative
        Other suitable methods, the next best first.
    facts : Facts
        The facts that the choice depends on.
    """

    method: str
    settings: dict[str, Any]
    reasons: str
    alternatives: tuple[Alternative, ...]
    facts: Facts

    def make(self, **more: Any) -> Any:
        """Return the unfitted estimator with these settings and `more`."""
        return find_method(self.method).load()(**{**self.settings, **more})

    @property
    def python(self) -> str:
        """The line of Python that fits it."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"model = coterie.{self.method}({given}).fit(X{', y' if self._by_labels else ''})"

    def command(
        self,
        data: str = "DATA",
        labels: str | None = None,
        drop: Sequence[str] = (),
        *,
        more: Sequence[str] = (),
    ) -> str:
        """Return the command line that fits it.

        Parameters
        ----------
        data : str
            Path of the data.
        labels : str, optional
            Path of the labels.
        drop : sequence of str
            Columns of the data to leave out.
        more : sequence of str
            Other options, such as ``--fill``.
        """
        words = ["coterie", "fit", data, "--method", find_method(self.method).key]
        if "n_clusters" in self.settings:
            words += ["--clusters", str(self.settings["n_clusters"])]
        if self._by_labels:
            words += ["--labels", labels or "LABELS"]
        words += [word for column in drop for word in ("--drop", column)]
        return shlex.join([*words, *more, "--out", "run"])

    def as_values(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self) | {"python": self.python}

    @property
    def _by_labels(self) -> bool:
        return find_method(self.method).uses_labels

    def __str__(self) -> str:
        others = [_wrapped(f"{other.method}: {other.why_not}", "  ") for other in self.alternatives]
        lines = [_wrapped(f"{self.method}: {self.reasons}"), "", f"  {self.python}", "", "Not:", *others]
        return "\n".join(lines)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _TEXT_WIDTH, initial_indent=indent, subsequent_indent=2 * indent)


_FOR_SEVERAL_VIEWS = (
    Alternative("MVSIB", "trains a network: take it to learn which rows are ambiguous, or for a stream."),
    Alternative("LargeMvCNet", "marks corrupt rows and restores missing views."),
    Alternative("PCX", "concatenates views and needs all of them."),
)


def recommend(
    X: Any, y: Any = None, *, n_clusters: int | str = "auto", views: Any = None, uneven: bool | None = None
) -> Recommendation:
    """Recommend a method for some data, with its settings and the reasons.

    Labels call for `FUCSMF`, everything else for `GraphClustering`; alternatives say what other methods would add.
    Nothing is fitted, so that it takes a moment even on files larger than memory.

    Parameters
    ----------
    X : array-like, views, or path
        What every estimator takes.
    y : array-like of shape (n,), optional
        Known classes as whole numbers from 0; -1 where a row has no label.
    n_clusters : int or "auto", default="auto"
        Number of clusters, where you know it.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    uneven : bool, optional
        Whether you expect clusters of very different size. By default the labels decide, where there are any.

    Returns
    -------
    Recommendation
        `print` shows it as text; `make()` gives the estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import recommend
    >>> X = np.random.default_rng(0).normal(size=(1000, 20))
    >>> advice = recommend(X, n_clusters=5)
    >>> advice.method, advice.settings
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
    if facts.classes > 1:
        return _by_labels(facts)
    uneven = facts.imbalance >= _UNEVEN if uneven is None else uneven
    return _by_graph(facts, n_clusters, uneven)


def _cluster_count(facts: Facts, n_clusters: int | str) -> int | str:
    """Return the `n_clusters` of the recommended method; 2 where the rows are too few for "auto"."""
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
    reasons = [
        f"{facts.labelled:,} rows of {facts.rows:,} have a label, of {facts.classes} classes. FUCSMF lets "
        "them steer everything, by one convex solve in seconds; what was labelled stays, and no class is looked for "
        "beyond those."
    ]
    if facts.labelled == facts.rows:
        reasons.append(
            "As every row has one, it only serves to label new rows; leave y out to look for clusters."
        )
    if facts.imbalance >= _UNEVEN:
        reasons.append(
            "The classes have very different numbers of labels; by default each class counts the same."
        )
    return Recommendation(
        "FUCSMF",
        {},
        " ".join(reasons),
        (
            Alternative(
                "GraphClustering",
                "takes no labels; where its clusters are clear, coterie.refine(model, X, labels) corrects them "
                "afterwards.",
            ),
        ),
        facts,
    )


def _by_graph(facts: Facts, n_clusters: int | str, uneven: bool) -> Recommendation:
    count = _cluster_count(facts, n_clusters)
    if facts.views == 1:
        views = "one view" if facts.columns == 1 else f"one view of {facts.columns:,} columns"
    elif facts.incomplete == 0:
        views = f"{facts.views} views"
    else:
        views = f"{facts.views} views, {max(facts.incomplete, 0.01):.0%} of the rows without some view"
    size = "" if facts.fits_memory else ", more than memory should hold"
    labels = "; labels that are all of one class say nothing about the others" if facts.labelled else ""
    reasons = [
        f"{facts.rows:,} rows in {views}{size}{labels}. GraphClustering finds the communities of a "
        "nearest-neighbour graph in the seconds of k-means, labels new rows, and keeps the tree of all numbers of "
        "clusters (labels_at)."
    ]
    if facts.rows > MAX_ROWS or not facts.fits_memory:
        reasons.append(
            f"It clusters a sample of {MAX_ROWS:,} rows; the others follow their nearest neighbours in it."
        )
    if uneven:
        reasons.append(
            "A group with fewer rows than n_neighbors is not found, and a very large one may be cut."
        )
    if count != n_clusters:
        reasons.append(
            f"Fewer than {LEAST_ROWS} rows do not tell how many clusters there are: 2 is a guess, give your number."
        )
    others = _for_one_view(facts, count) if facts.views == 1 else _FOR_SEVERAL_VIEWS
    return Recommendation("GraphClustering", {"n_clusters": count}, " ".join(reasons), others, facts)


def _for_one_view(facts: Facts, n_clusters: int | str) -> tuple[Alternative, ...]:
    others = [
        Alternative(
            "PCX",
            "trains a network, in minutes: take it for decoded exemplars of each cluster, a code of a few numbers "
            "for each row, or a stream (partial_fit).",
        )
    ]
    if n_clusters == "auto" or int(n_clusters) < facts.rows:
        others.append(Alternative("SSCNet", "trains a network: take it to see which rows a row is made of."))
    if facts.rows <= _SSC_ROWS:
        others.append(Alternative("SSC", "for rows on low-dimensional subspaces alone, by an exact solver."))
    return tuple(others)
