"""Texts, pictures, series and cells: ACC of GraphClustering and of k-means by what they are described by.

Descriptions were chosen on the sets that `CHOSEN_ON` names, and confirmed on the others.
"""

# n rows, k clusters

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

from benchmarks.packaged import DOCUMENTED, LOADERS, _documented, _folder, _series
from benchmarks.records import record_cases
from benchmarks.sets import SETS
from coterie import GraphClustering, cluster_graph
from coterie.data.describe.cells import CellRows
from coterie.data.describe.images import ImageRows
from coterie.data.describe.series import SeriesRows
from coterie.data.describe.texts import TextRows
from coterie.metrics import accuracy

KINDS = {
    "texts": ("scipy-docs", "3sources", "webkb", "docs-words", "sklearn-docs", "bbcsport", "reuters-top10"),
    "series": (
        "gunpoint",
        "arrowhead",
        "trace",
        "motions",
        "osuleaf",
        "italy-power",
        "pig-pressure",
        "ACSF1",
    ),
    "images": ("coil20", "mnist-10k", "usps", "yaleb"),
    "cells": ("pbmc68k",),
}
CHOSEN_ON = {
    "scipy-docs",
    "3sources",
    "webkb",
    "gunpoint",
    "arrowhead",
    "trace",
    "motions",
    "coil20",
    "mnist-10k",
}
WAYS = {
    "texts": ("word weights", "TextRows"),
    "series": ("values", "SeriesRows"),
    "images": ("pixels", "hog"),
    "cells": ("X", "X_pca", "connectivities"),
}
_MATRICES = {"3sources": 0, "webkb": 1, "bbcsport": 0, "reuters-top10": 0}
_FILES = {"reuters-top10": "reuters21578_top10_tfidf2000"}
_MODULES = {
    "scipy-docs": "stats signal linalg special ndimage optimize sparse interpolate",
    "sklearn-docs": "cluster decomposition ensemble linear_model metrics preprocessing datasets model_selection",
}
_SIDES = {"coil20": 32, "mnist-10k": 28, "usps": 16, "yaleb": 32}


def run_describe(kinds: Sequence[str], seeds: Sequence[int], folder: Path) -> None:
    """ACC and NMI of GraphClustering, and ACC of k-means, on the same rows; CPU seconds of describing and fitting."""
    cases = [
        {"kind": kind, "data": name, "way": way, "seed": seed}
        for kind in kinds
        for name in KINDS[kind]
        for way in WAYS[kind]
        for seed in seeds
    ]
    record_cases("describe", cases, lambda case: _measure(case, folder))


def _measure(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    things, truth = _load(case["kind"], case["data"], folder)
    k, started = len(np.unique(truth)), time.process_time()
    if case["way"] == "connectivities":
        labels = cluster_graph(things.obsp["connectivities"], k, random_state=case["seed"]).labels
        rows = things.obsm["X_pca"]
    else:
        rows = _describe(case["kind"], case["way"], things)
        settings = TextRows().settings if case["way"] == "TextRows" else {}
        settings = {"scale": "none"} if case["way"] == "X_pca" else settings  # as `CellRows` says
        labels = GraphClustering(k, random_state=case["seed"], **settings).fit(rows).labels_
    seconds = time.process_time() - started
    means = KMeans(k, n_init=10, random_state=case["seed"]).fit_predict(rows)
    return {
        "rows": len(truth),
        "accuracy": round(accuracy(truth, labels), 4),
        "nmi": round(float(normalized_mutual_info_score(truth, labels)), 4),
        "k-means": round(accuracy(truth, means), 4),
        "cpu_seconds": round(seconds, 2),
    }


def _describe(kind: str, way: str, things: Any) -> Any:
    if kind == "texts" and sparse.issparse(things):  # word weights that came as a matrix
        if way == "word weights":
            return things
        size = min(TextRows().n_axes, min(things.shape) - 1)
        return normalize(TruncatedSVD(size, random_state=0).fit_transform(things)).astype(np.float32)
    if kind == "texts":
        described = TextRows().fit(things)
        return described.weights(things) if way == "word weights" else described.transform(things)
    if kind == "series":
        return SeriesRows().fit_transform(things) if way == "SeriesRows" else things.reshape(len(things), -1)
    if kind == "images":
        return ImageRows(descriptor=way).fit_transform(things)
    return CellRows(way).fit_transform(things)


def _load(kind: str, name: str, folder: Path) -> tuple[Any, np.ndarray]:
    if name in _MATRICES:
        return _word_weights(name, folder)
    if kind == "texts":
        return _docstrings(name)
    if kind == "series":
        blocks, truth = LOADERS[name]() if name in LOADERS else _series(name)
        return np.stack(blocks, axis=2), truth
    if kind == "images":
        views, truth = SETS[name].load(folder)
        return views.read(slice(None))[0].reshape(-1, _SIDES[name], _SIDES[name]), truth
    import anndata

    cells = anndata.read_h5ad(_folder("scanpy") / "datasets" / "10x_pbmc68k_reduced.h5ad")
    return cells, cells.obs["bulk_labels"].cat.codes.to_numpy()


def _word_weights(name: str, folder: Path) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return one view of a set that comes as a matrix; counts of words are weighed as `TextRows` weighs them."""
    with np.load(folder / f"{_FILES.get(name, name)}.npz", allow_pickle=False) as file:
        v = _MATRICES[name]
        parts = [file[f"view{v}_{part}"] for part in ("data", "indices", "indptr")]
        shape, truth = tuple(file[f"view{v}_shape"]), file["y"]
    weights = sparse.csr_matrix((parts[0], parts[1].astype(np.int32), parts[2]), shape=shape)
    if (weights.data == np.round(weights.data)).all():
        weights = TfidfTransformer(sublinear_tf=True).fit_transform(weights)
    return sparse.csr_matrix(normalize(weights), dtype=np.float32), truth


def _docstrings(name: str) -> tuple[list[str], np.ndarray]:
    """Return docstrings and their package, or the module of one package."""
    texts: list[str] = []
    truth: list[int] = []
    if name == "docs-words":
        for number, (package, most) in enumerate(DOCUMENTED.items()):
            own = [text for text, _ in _documented(_folder(package), most)]
            texts, truth = texts + own, truth + [number] * len(own)
        return texts, np.array(truth)
    package = name.removesuffix("-docs")
    for number, module in enumerate(_MODULES[name].split()):
        library = importlib.import_module(f"{package}.{module}")
        for item in sorted(getattr(library, "__all__", dir(library))):
            thing = vars(library).get(item)
            text = inspect.getdoc(thing) or ""
            if callable(thing) and len(text) > 400 and text not in texts:
                texts.append(text)
                truth.append(number)
    return texts, np.array(truth)
