"""The single-view data sets that PCX is measured on, read where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coterie.data import Views, load_digits, read_views
from coterie.errors import InputError

DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "datasets"


@dataclass(frozen=True)
class BenchmarkSet:
    """A data set with its name on disk, the rows used, and the baselines of the project's brief.

    Attributes
    ----------
    kmeans, graph : float
        ACC of k-means and of the better of the anchor-graph and kNN-graph baselines (l2-normalised rows, mean of
        three seeds), as measured before the project began.
    """

    name: str
    file: str | None
    rows: int | None
    kmeans: float
    graph: float | None

    def load(self, folder: Path) -> tuple[Views, np.ndarray]:
        """Return the rows and their classes."""
        if self.file is None:
            digits = load_digits()
            return digits.views, digits.target
        path = folder / self.file
        if not path.is_file():
            raise InputError(f"{path} is not there; give --data the folder with the data sets.")
        views = read_views(path)
        chosen = views if self.rows is None else views.select(slice(0, self.rows))
        if chosen.labels is None:
            raise InputError(f"{path} has no classes to compare with.")
        return chosen, chosen.labels


SETS = {
    one.name: one
    for one in (
        BenchmarkSet("digits", None, None, 0.792, 0.877),
        BenchmarkSet("mnist-10k", "mnist.npz", 10_000, 0.542, 0.714),
        BenchmarkSet("usps", "usps.npz", None, 0.666, 0.716),
        BenchmarkSet("coil20", "coil20.npz", None, 0.597, 0.785),
        BenchmarkSet("har", "har_rederived561.npz", 10_000, 0.691, 0.771),
        BenchmarkSet("reuters", "reuters21578_top10_tfidf2000.npz", None, 0.458, 0.543),
        BenchmarkSet("letter", "letter_uci.npz", 10_000, 0.264, 0.354),
        BenchmarkSet("yaleb", "yaleb.npz", None, 0.078, 0.276),
        BenchmarkSet("mnist", "mnist.npz", None, 0.55, None),
    )
}
