"""The methods by name: what the command line lists and what a saved model may be. Imports nothing heavy."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from coterie.errors import InputError


@dataclass(frozen=True)
class Method:
    """One clustering method."""

    name: str  # the class
    module: str  # where it lives
    summary: str  # what it does, in one line
    pick_when: str  # the data or task it is for
    uses_labels: bool = False  # whether `fit` uses labels

    @property
    def key(self) -> str:
        """The name on the command line."""
        return self.name.lower()

    def load(self) -> Any:
        """Import and return the class."""
        return getattr(importlib.import_module(self.module), self.name)


METHODS = (
    Method(
        "GraphClustering",
        "coterie.methods.graph_clustering",
        "communities of a nearest-neighbour graph, merged to clusters",
        "any table or views, some missing, unknown number of clusters: a good answer in the seconds of k-means",
    ),
    Method(
        "PCX",
        "coterie.methods.pcx",
        "deep clustering with slow exemplars",
        "one view of any kind; you want exemplars you can look at; data too large for memory",
    ),
    Method(
        "LargeMvCNet",
        "coterie.methods.largemvc",
        "anchors shared by several views, by unfolded block descent",
        "many rows, several views, noisy or missing views",
    ),
    Method(
        "MVSIB",
        "coterie.methods.mvsib",
        "contrast of neighbours in any view, with care for ambiguous rows and small clusters",
        "several views that partly disagree, some missing; clusters of very different size",
    ),
    Method(
        "SSCNet",
        "coterie.methods.sscnet",
        "learned sparse codes, a spectral embedding of landmarks, a classifier",
        "rows lie on low-dimensional subspaces; new rows keep arriving",
    ),
    Method(
        "SSC",
        "coterie.methods.sscnet",
        "sparse codes of each row over the others, solved exactly",
        "up to 5,000 rows that lie on low-dimensional subspaces, such as faces under many lights",
    ),
    Method(
        "FUCSMF",
        "coterie.methods.fucsmf",
        "labels spread over an anchor graph by one convex solve",
        "a few labels are known, or pairs that belong together, and should steer everything",
        uses_labels=True,
    ),
)


def find_method(name: str) -> Method:
    """Return the method with this name, in any case.

    Examples
    --------
    >>> find_method("pcx").name
    'PCX'
    """
    for method in METHODS:
        if method.key == name.lower():
            return method
    known = ", ".join(method.key for method in METHODS)
    raise InputError(f"There is no method {name!r}; the methods are: {known}.")
