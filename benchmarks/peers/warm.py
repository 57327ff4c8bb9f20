"""numba compiles at the first call: done once, before anything is timed, and counted apart."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers import Peer

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
