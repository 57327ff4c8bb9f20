"""The same seed in other circumstances, and the same rows in another order: how far labels agree."""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.making import make
from benchmarks.records import measured_apart, record_cases
from benchmarks.sets import DEFAULT_FOLDER, SETS
from coterie.methods.registry import METHODS, find_method

FILE, ORDERS = "determinism", "row-order"
_OLDER = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "FAISS_OPT_LEVEL": "avx2",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
}
CIRCUMSTANCES: dict[str, dict[str, str]] = {
    "one thread": {},
    "another process": {},
    "a thread beside another fit": {"BESIDE": "1"},
    "two threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
    "without AVX-512": _OLDER,
    "without AVX": _OLDER
    | {
        "ATEN_CPU_CAPABILITY": "default",
        "OPENBLAS_CORETYPE": "Nehalem",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "DNNL_MAX_CPU_ISA": "SSE41",
        "FAISS_OPT_LEVEL": "generic",
        "NPY_DISABLE_CPU_FEATURES": _OLDER["NPY_DISABLE_CPU_FEATURES"] + " AVX2 FMA3 F16C AVX",
    },
}
"""Environments of the process that fits; the first is what the others are compared with."""
_SHORT = {"PCX": 20, "MVSIB": 20, "SSCNet": 20}
_KNOWN = 10


def run_determinism(sets: list[str], others: list[str], data: Path) -> None:
    """Fit in every circumstance, GraphClustering to all the sets, the other methods to some of them."""
    runs = {name: _fitted_apart(sets, others, data, env) for name, env in CIRCUMSTANCES.items()}
    wanted = runs["one thread"]
    cases = [
        {"method": method, "data": data_set, "circumstance": name}
        for name in list(CIRCUMSTANCES)[1:]
        for method, data_set in _cases(sets, others)
    ]

    def compared(case: dict[str, Any]) -> dict[str, Any]:
        key = f"{case['method']} {case['data']}"
        return _agreement(wanted[key], runs[case["circumstance"]][key])

    record_cases(FILE, cases, compared)


def _agreement(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    same = np.asarray(one["labels"]) == np.asarray(other["labels"])
    return {
        "rows": len(same),
        "other_labels": int((~same).sum()),
        "ari": round(float(adjusted_rand_score(one["labels"], other["labels"])), 4),
        "largest_difference_of_confidence": float(
            np.abs(np.subtract(one["confidence"], other["confidence"])).max()
        ),
    }


def _cases(sets: Iterable[str], others: Iterable[str]) -> list[tuple[str, str]]:
    names = [method.name for method in METHODS if method.name != "GraphClustering"]
    return [("GraphClustering", name) for name in sets] + [
        (method, name) for name in others for method in names
    ]


def _fitted_apart(sets: list[str], others: list[str], data: Path, env: dict[str, str]) -> dict[str, Any]:
    usual = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    given = json.dumps(_cases(sets, others))
    return measured_apart("-m", "benchmarks.determinism", given, data, env={**os.environ, **usual, **env})


def run_orders(sets: list[str], others: list[str], graph_orders: int, orders: int, data: Path) -> None:
    """Fit permuted rows; record the least and the mean ARI with the labels of the rows as they are."""
    cases = [
        {"method": method, "data": name, "orders": graph_orders if method == "GraphClustering" else orders}
        for method, name in _cases(sets, others)
    ]
    record_cases(ORDERS, cases, lambda case: _permuted(case["method"], case["data"], case["orders"], data))


def _permuted(method: str, name: str, orders: int, folder: Path) -> dict[str, Any]:
    views, truth = SETS[name].load(folder)
    wanted, scores = _fit(method, views, truth)["labels"], []
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(views.n_rows)
        labels = _fit(method, views.select(order), truth[order], _known(truth)[order])["labels"]
        scores.append(float(adjusted_rand_score(np.asarray(wanted)[order], labels)))
    return {"rows": views.n_rows, "least_ari": min(scores), "mean_ari": float(np.mean(scores))}


def _known(truth: np.ndarray) -> np.ndarray:
    """Return the classes of the first rows of each, -1 elsewhere."""
    known = np.full(len(truth), -1)
    for kind in np.unique(truth):
        some = np.flatnonzero(truth == kind)[:_KNOWN]
        known[some] = kind
    return known


def _fit(method: str, X: Any, truth: np.ndarray, known: np.ndarray | None = None) -> dict[str, Any]:
    info = find_method(method)
    short = {"max_epochs": _SHORT[method]} if method in _SHORT else {}
    model = make(info.load(), len(np.unique(truth)), random_state=0, **short)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if info.uses_labels:
            model.fit(X, _known(truth) if known is None else known)
        else:
            model.fit(X)
        return {"labels": model.labels_.tolist(), "confidence": model.assign(X).confidence.tolist()}


def _fit_all(cases: list[tuple[str, str]], folder: Path) -> dict[str, Any]:
    """Fit every case; in a thread beside another fit where the environment says so."""
    found: dict[str, Any] = {}
    loaded = {name: SETS[name].load(folder) for _, name in cases}

    def work() -> None:
        for method, name in cases:
            found[f"{method} {name}"] = _fit(method, *loaded[name])

    if "BESIDE" not in os.environ:
        work()
        return found
    done = threading.Event()

    def disturb() -> None:
        rows = np.random.default_rng(1).normal(size=(300, 5))
        while not done.is_set():
            for method in ("PCX", "GraphClustering"):
                _fit(method, rows, np.arange(300) % 3)

    threads = [threading.Thread(target=disturb), threading.Thread(target=work)]
    for thread in threads:
        thread.start()
    threads[1].join()
    done.set()
    threads[0].join()
    return found


if __name__ == "__main__":
    print(
        json.dumps(
            _fit_all(json.loads(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else DEFAULT_FOLDER))
        )
    )
