"""An adversary's day: data files in disguise, and models that were tampered with."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from benchmarks.fuzzing.containers import CANARY, pack_zip, unpack_zip
from benchmarks.fuzzing.disguises import READS, REFUSED, SPECIAL, table
from benchmarks.records import save_record
from coterie import cli, load, store
from coterie.data import read_views
from coterie.errors import InputError

FILE = "adversary"
_SECONDS, _MEMORY = 30, 4 * 2**30
Outcome = dict[str, Any]


def run_adversary(seeds: int) -> None:
    """Read every disguise of some tables, fit those that are read, and load every tampered model; keep the counts."""
    faults = []
    for what, outcomes in (("data files", _data_files(seeds)), ("models", _tampered_models())):
        counts = Counter(outcome["came"] for outcome in outcomes)
        wrong = [outcome for outcome in outcomes if "fault" in outcome]
        faults += wrong
        save_record(
            FILE,
            {
                "what": what,
                "kinds": len({outcome["kind"] for outcome in outcomes}),
                "inputs": len(outcomes),
                "refused": counts["refused"],
                "read": counts["read"],
                "faults": wrong,
            },
        )
    if faults:
        sys.exit(1)


def _data_files(seeds: int) -> list[Outcome]:
    cases: list[tuple[str, Any, Any]] = [
        (kind, make, table(seed) if kinds is READS else None)
        for kinds in (READS, REFUSED)
        for kind, make in kinds.items()
        for seed in range(seeds)
    ]
    outcomes = []
    for number, (kind, make, wanted) in enumerate(cases):
        name, body = make(table(number % seeds) if wanted is None else wanted)
        outcomes.append({"kind": kind, **_apart(lambda n=name, b=body, w=wanted: _read(n, b, w))})
    for kind, special in SPECIAL.items():
        outcomes.append({"kind": kind, **_apart(lambda s=special: _read_special(s))})
    return outcomes


def _apart(work: Callable[[], Outcome]) -> Outcome:
    """Return what comes of some work in a process of its own, with limits, in a folder of its own."""
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            signal.alarm(2 * _SECONDS)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    outcome = work()
            except BaseException as error:
                outcome = {"came": "fault", "fault": f"{type(error).__name__}: {error}"[:300]}
            os.write(writing, json.dumps(outcome).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        if any(path.name == CANARY for path in Path(folder).rglob("*")):
            return {"came": "fault", "fault": "something was executed"}
    return json.loads(said) if said else {"came": "fault", "fault": "it ended its process, or hung"}


def _read(name: str, body: bytes, wanted: np.ndarray | None) -> Outcome:
    path = Path.cwd() / name
    path.write_bytes(body)
    try:
        views = read_views(path)
        views.check()
        found = np.hstack(views.read(slice(None)))
    except InputError as error:
        return _refused(str(error), name)
    if wanted is None:
        return {"came": "read", "fault": f"read as a table of {found.shape}"}
    if found.shape != wanted.shape or not np.array_equal(found, wanted.astype("f4")):
        return {"came": "read", "fault": f"read as another table, of {found.shape}"}
    return _fitted(path)


def _read_special(make: Callable[[Path], None]) -> Outcome:
    path = Path.cwd() / "x.csv"
    make(path)
    try:
        read_views(path).check()
    except InputError as error:
        return _refused(str(error), path.name)
    return {"came": "read", "fault": "read as a table"}


def _refused(sentence: str, name: str) -> Outcome:
    good = "\n" not in sentence.strip() and (name in sentence or f"View '{Path(name).stem}'" in sentence)
    return {"came": "refused"} | ({} if good else {"fault": f"no sentence about the file: {sentence[:200]}"})


def _fitted(path: Path) -> Outcome:
    """Fit a table that was read at the command line."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = cli.run(["fit", str(path), "--out", "run", "-k", "2", "--method", "largemvcnet", "--quiet"])
    if code not in (0, 2) or "Traceback" in said.getvalue():
        return {"came": "read", "fault": f"coterie fit ended with {code}: {said.getvalue()[-200:]}"}
    return {"came": "read"}


# Models

Manifest, Arrays = dict[str, Any], dict[str, np.ndarray]


def _first(arrays: Arrays, kind: str = "f") -> str:
    """Return the name of the largest array of a kind of number."""
    return max(
        (name for name in arrays if arrays[name].dtype.kind == kind), key=lambda name: arrays[name].size
    )


def _swap(arrays: Arrays) -> None:
    by_shape: dict[Any, str] = {}
    for name, array in arrays.items():
        other = by_shape.setdefault((array.shape, array.dtype.str), name)
        if other != name:
            arrays[name], arrays[other] = arrays[other], arrays[name]
            return
    arrays[_first(arrays)] = arrays[_first(arrays)][::-1].copy()


def _on(change: Callable[[np.ndarray], np.ndarray], kind: str = "f") -> Callable[[Manifest, Arrays], None]:
    def tamper(manifest: Manifest, arrays: Arrays) -> None:
        name = _first(arrays, kind)
        arrays[name] = np.ascontiguousarray(change(arrays[name].copy()))

    return tamper


def _filled(value: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.full_like(array, value)


def _key(*path: str, value: Any) -> Callable[[Manifest, Arrays], None]:
    def tamper(manifest: Manifest, arrays: Arrays) -> None:
        holder = manifest
        for part in path[:-1]:
            holder = holder.setdefault(part, {})
        holder[path[-1]] = value

    return tamper


def _every_number(manifest: Manifest, arrays: Arrays) -> None:
    def up(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: up(one) for key, one in value.items()}
        if isinstance(value, list):
            return [up(one) for one in value]
        return value + 1 if isinstance(value, int) and not isinstance(value, bool) else value

    manifest.update({key: up(one) for key, one in manifest.items() if key not in ("schema", "digests")})


def _without_last(manifest: Manifest, arrays: Arrays) -> None:
    arrays.pop(sorted(arrays)[-1])


TAMPERINGS: dict[str, Callable[[Manifest, Arrays], None]] = {
    "two arrays exchanged": lambda m, a: _swap(a),
    "rows turned round": _on(lambda a: a[::-1]),
    "negative": _on(lambda a: -a),
    "all zero": _on(_filled(0)),
    "not a number": _on(_filled(np.nan)),
    "infinite": _on(_filled(np.inf)),
    "huge": _on(_filled(3e38)),
    "tiny": _on(_filled(1e-45)),
    "half precision": _on(lambda a: a.astype("f2")),
    "double precision": _on(lambda a: a.astype("f8")),
    "whole numbers": _on(lambda a: a.astype("i8")),
    "a row less": _on(lambda a: a[:-1]),
    "a row more": _on(lambda a: np.concatenate([a, a[-1:]])),
    "flat": _on(lambda a: a.reshape(-1)),
    "an axis more": _on(lambda a: a[None]),
    "empty": _on(lambda a: a[:0]),
    "labels out of range": _on(_filled(10**6), "i"),
    "labels below zero": _on(_filled(-7), "i"),
    "labels all one": _on(_filled(0), "i"),
    "labels turned round": _on(lambda a: a[::-1], "i"),
    "an array less": _without_last,
    "an array more": lambda m, a: a.__setitem__("../../etc/passwd", np.zeros(3)),
    "another class": _key("class", value="LargeMvCNet"),
    "a class of another module": _key("class", value="os.system"),
    "another kind": _key("kind", value="checkpoint"),
    "an older schema": _key("schema", value=1),
    "a schema to come": _key("schema", value=99),
    "every whole number one more": _every_number,
    "parameters of nothing": _key("params", value={}),
    "values of nothing": _key("values", value={}),
    "all keys gone": lambda m, a: [m.pop(key) for key in list(m) if key not in ("format", "schema")] and None,
    "deep values": _key("fitted", value=json.loads("[" * 500 + "]" * 500)),
}
"""What is done to the manifest and the arrays of a model."""


def _tampered_models() -> list[Outcome]:
    from benchmarks.fuzzing.models import model_seeds
    from benchmarks.fuzzing.seeds import A
    from coterie import GraphClustering

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.coterie"
        GraphClustering(3, random_state=0).fit(A).save(path)
        models = [*(files["x.coterie"] for files in model_seeds()), path.read_bytes()]
    return [
        {"kind": kind, **_apart(lambda b=body, t=tamper, s=signed: _load(b, t, s))}
        for body in models
        for kind, tamper in TAMPERINGS.items()
        for signed in (False, True)
    ]


def _load(body: bytes, tamper: Callable[[Manifest, Arrays], None], signed: bool) -> Outcome:
    """Load a tampered model and label rows with it; `signed` ones have digests that fit what they hold now."""
    members = unpack_zip(body)
    manifest = json.loads(members["manifest.json"])
    arrays = {k: np.array(v) for k, v in safetensors.numpy.load(members["tensors.safetensors"]).items()}
    before = copy.deepcopy(manifest), {name: array.copy() for name, array in arrays.items()}
    tamper(manifest, arrays)
    same = manifest == before[0] and arrays.keys() == before[1].keys()
    same = same and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in ((arrays[name], before[1][name]) for name in arrays)
    )
    if signed and "digests" in manifest:
        manifest["digests"] = store._digests(manifest, arrays)
    packed = {
        "manifest.json": json.dumps(manifest).encode(),
        "tensors.safetensors": safetensors.numpy.save(arrays),
    }
    path = Path.cwd() / "x.coterie"
    path.write_bytes(pack_zip(packed))
    try:
        model = load(path)
    except InputError as error:
        return _refused(str(error), path.name)
    if not (signed or same):
        return {"came": "read", "fault": "loaded though it is not what was written"}
    rows = np.random.default_rng(0).normal(size=(5, sum(model.view_dims_in_)))
    views = np.split(rows, np.cumsum(model.view_dims_in_)[:-1], axis=1)
    try:
        labels = model.predict(views if len(views) > 1 else rows)
    except InputError:
        return {"came": "read"}
    if len(labels) != 5 or labels.dtype.kind != "i":
        return {"came": "read", "fault": f"labels {labels!r}"}
    return {"came": "read"}
