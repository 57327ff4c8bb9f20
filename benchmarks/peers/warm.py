"""numba compiles at the first call: done once, before anything is timed, and counted apart."""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import Peer, find_peer
from benchmarks.records import measured_apart, record_cases

MANY_ROWS = 4100
"""From here on UMAP searches neighbours by another code, which is compiled as well."""


def warm_up(peers: Sequence[Peer], *, many: bool) -> None:
    """Call each peer on planted rows, so that processes forked from this one have it compiled."""
    if peers:
        _one_thread()
    for peer in peers:
        for n_rows in (300, MANY_ROWS) if many else (300,):
            if n_rows == 300 or not peer.several:
                call(peer, n_rows)
        call(peer, 300, width=40)  # fast_hdbscan has another tree for wide tables


def _one_thread() -> None:
    """Give numba one thread of TBB, the layer that survives a fork and calls from several Python threads."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    library = Path(sys.prefix) / "lib" / "libtbb.so.12"
    if library.is_file():
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        os.environ.setdefault("NUMBA_THREADING_LAYER", "tbb")


def call(peer: Peer, n_rows: int, *, width: int = 6, seed: int = 0) -> None:
    """Run a peer on planted rows in two views."""
    rng = np.random.default_rng(seed)
    centres = [3 * rng.standard_normal((3, width)) for _ in range(2)]
    noise = [rng.standard_normal((n_rows, width)) for _ in range(2)]
    kind = np.arange(n_rows) % 3
    tables = [(c[kind] + z).astype(np.float32) for c, z in zip(centres, noise, strict=True)]
    given = (tables, np.ones((n_rows, 2), dtype=bool)) if peer.gaps else (tables,)
    peer.load()(*given, 3, seed, **peer.settings)


def run_compiling(names: Sequence[str]) -> None:
    """Record the CPU seconds of a first call with no compiled code on disk, import included, and of a second one."""

    def measure(case: dict[str, Any]) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as empty:
            return measured_apart(
                "-m", __name__, case["method"], env={**os.environ, "NUMBA_CACHE_DIR": empty}
            )

    record_cases("compiling", [{"method": find_peer(name).name} for name in names], measure)


def _measure(name: str) -> None:
    """Print what `run_compiling` reads."""
    _one_thread()
    peer, seconds = find_peer(name), []
    for seed in range(2):
        started = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            call(peer, 300, seed=seed)
        seconds.append(round(time.process_time() - started, 2))
    print(json.dumps({"cpu_seconds": seconds[0], "again": seconds[1]}))


if __name__ == "__main__":
    _measure(sys.argv[1])
