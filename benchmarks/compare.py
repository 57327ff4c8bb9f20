"""Our methods and their peers on the same rows, one process each, with a time limit; resumable."""

# n rows, v views

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import settings_of
from benchmarks.forked import forked
from benchmarks.peers import CHEAP, DEAR, PEERS, TODAY, Peer, find_peer
from benchmarks.peers.kept import FOLDER, charged
from benchmarks.peers.warm import MANY_ROWS, warm_up
from benchmarks.records import (
    add_record,
    machine,
    measured,
    print_means,
    read_records,
    write_records,
)
from benchmarks.sets import SETS, scaled_tables
from coterie import amputate, as_views
from coterie.data import Views
from coterie.errors import InputError
from coterie.methods.registry import METHODS, find_method
from coterie.metrics import accuracy, score_all

TAG = "peers"
OURS = {
    "one": ("GraphClustering", "LargeMvCNet", "PCX", "SSCNet"),
    "several": ("GraphClustering", "LargeMvCNet", "MVSIB"),
}


def run_peers(
    names: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    *,
    rates: Sequence[float] = (0.0,),
    limit: int = 600,
    retry: bool = False,
    tag: str = TAG,
) -> None:
    """Measure each method on each data set with each seed that has no record yet; say how much is left.

    A run that failed has a record too, which says why; `retry` forgets those first.
    """
    with tempfile.TemporaryDirectory() as shared:
        os.environ[FOLDER] = shared
        cases = list(_cases(names, methods, seeds, folder, rates))
        if retry:
            _forget_failures(cases, tag)
        known = read_records(tag)
        todo = [case for case in cases if not any(case.items() <= record.items() for record in known)]
        print(f"{len(cases) - len(todo)} of {len(cases)} are recorded", flush=True)
        asked = {case["method"] for case in todo}
        compiled = [peer for peer in PEERS.values() if peer.compiled and peer.name in asked]
        warm_up(compiled, many=any(case["rows"] >= MANY_ROWS for case in todo))
        started = time.perf_counter()
        for done, case in enumerate(todo, start=1):
            result = _measure(case, folder, limit)
            add_record(tag, {**case, **result, "machine": machine()})
            left = (time.perf_counter() - started) / done * (len(todo) - done)
            print(f"[{done}/{len(todo)}, about {left / 60:.0f} min left] {_line(case, result)}", flush=True)
        del os.environ[FOLDER]
    print_peers(tag, names)


def _forget_failures(cases: Sequence[dict[str, Any]], tag: str) -> None:
    again = [r for r in read_records(tag) if "failed" in r and any(c.items() <= r.items() for c in cases)]
    write_records(tag, [record for record in read_records(tag) if record not in again])


GROUPS = {"today": TODAY, "cheap": CHEAP, "dear": DEAR}
"""Names of several peers at once."""


def usual_methods(n_views: int) -> list[str]:
    """Return our methods and the peers for so many views, cheap ones first."""
    names = _expanded(["cheap", "today", "ours", "dear"], n_views)
    return [name for name in names if n_views > 1 or name not in PEERS or not PEERS[name].several]


def _cases(
    names: Sequence[str], methods: Sequence[str], seeds: Sequence[int], folder: Path, rates: Sequence[float]
) -> Iterable[dict[str, Any]]:
    """Yield what describes each run, seeds outermost so that every data set soon has a figure."""
    sizes = {}
    for name in names:
        views, _ = SETS[name].load(folder)
        sizes[name] = (views.n_rows, views.n_views)
    for seed in seeds:
        for name, (n_rows, n_views) in sorted(sizes.items(), key=itemgetter(1)):
            for method in _expanded(methods, n_views) or usual_methods(n_views):
                if n_views == 1 and method in PEERS and PEERS[method].several:
                    continue
                for rate in rates if n_views > 1 else (0.0,):
                    case = {"data": name, "rows": n_rows, **_method(method), "seed": seed}
                    scale = SETS[name].scale
                    yield {**case, "missing": rate, **({} if scale == "unit" else {"scale": scale})}


def _expanded(methods: Sequence[str], n_views: int) -> list[str]:
    """Return the methods, each group with all of its peers, "ours" with our methods for so many views."""
    groups: dict[str, Sequence[str]] = {"ours": OURS["several" if n_views > 1 else "one"]}
    groups |= {name: [peer.name for peer in some] for name, some in GROUPS.items()}
    return [method for name in methods for method in groups.get(name, [name])]


def _method(name: str) -> dict[str, Any]:
    if any(name.lower() == method.key for method in METHODS):
        estimator = find_method(name).load()
        return {"method": estimator.__name__, "ours": True, "settings": settings_of(estimator, {})}
    peer = find_peer(name)
    peer.check_installed()
    return {"method": peer.name, "ours": False, "settings": peer.settings}


def _measure(case: dict[str, Any], folder: Path, limit: int) -> dict[str, Any]:
    """Return scores and costs, or why there are none: too many rows, too slow, or an error."""
    peer = PEERS.get(case["method"])
    if peer is not None and case["rows"] > peer.most_rows:
        return {"failed": f"needs rows times rows: more than {peer.most_rows:,} rows"}
    return forked(fit_one, case, folder, limit=limit, compiled=peer is not None and peer.compiled)


def _line(case: dict[str, Any], result: dict[str, Any]) -> str:
    who = f"{case['data']} {case['method']} seed {case['seed']}"
    who += f" missing {case['missing']:g}" if case["missing"] else ""
    if "failed" in result:
        return f"{who}: {result['failed']}"
    return f"{who}: ACC {result['scores']['accuracy']:.3f} in {result['cpu_seconds']:.1f} processor seconds"


def fit_one(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Do one run and return its scores and costs."""
    views, truth = SETS[case["data"]].load(folder)
    mask = amputate(views.n_rows, views.n_views, case["missing"], random_state=case["seed"])
    k, seed = len(np.unique(truth)), case["seed"]
    given = as_views(views, mask=mask) if case["missing"] else views
    if case["ours"]:
        model = find_method(case["method"]).load()(k, random_state=seed)
        with measured() as costs:
            labels = model.fit(given).labels_
    else:
        peer, scale = PEERS[case["method"]], case.get("scale", "unit")
        labels, costs = _peer_labels(peer, views, mask, scale, k, seed)
    return {
        "scores": scores_of(truth, labels),
        "used_clusters": len(np.unique(labels[labels >= 0])),
        "clusters": k,
        **costs,
    }


def _peer_labels(
    peer: Peer, views: Views, mask: np.ndarray, scale: str, k: int, seed: int
) -> tuple[np.ndarray, dict[str, float]]:
    run = peer.load()
    with charged() as costs:
        tables = scaled_tables(views, mask, scale)
        given = (tables, mask) if peer.gaps else (tables,)
        labels = np.asarray(run(*given, k, seed, **peer.settings))
    if len(labels) != views.n_rows:
        raise InputError(f"{peer.name} returned {len(labels)} labels for {views.n_rows} rows.")
    return labels, costs


def print_peers(tag: str, names: Sequence[str]) -> None:
    """Print the means over seeds of the records of some data sets."""
    records = [r for r in read_records(tag) if r["data"] in names and "failed" not in r]
    scores = {
        "ACC": lambda r: r["scores"]["accuracy"],
        "NMI": lambda r: r["scores"]["nmi"],
        "CPU s": lambda r: r["cpu_seconds"],
        "peak MB": lambda r: r["peak_mb"],
    }
    records.sort(key=lambda r: (r["data"], r["missing"]))
    print_means(tag, records, ("data", "missing", "method"), scores)


def scores_of(truth: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return all scores; rows without a label are wrong in ACC and one cluster more in the other scores."""
    scores = score_all(truth, labels)
    kept = labels >= 0
    if not kept.all():
        scores["accuracy"] = float(kept.mean() * accuracy(truth[kept], labels[kept])) if kept.any() else 0.0
    return {key: round(float(value), 4) for key, value in scores.items()}
