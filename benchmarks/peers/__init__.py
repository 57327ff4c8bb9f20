"""Peers: the methods that users have today, on the same rows as ours.

Every peer is a function of the views of the rows (unit length, gaps filled with the mean), which of them are there,
the number of clusters and the seed; it returns a label for each row, -1 where it gives none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from coterie.errors import InputError


@dataclass(frozen=True)
class Peer:
    """A method of others, or a baseline.

    Attributes
    ----------
    name : str
        What tables call it.
    function : str
        Where it lives: module of this package, dot, function.
    settings : dict
        Further arguments of the function; part of each record.
    several : bool
        Whether it is for several views only. The others get the concatenated views.
    gaps : bool
        Whether it knows what to do with a missing view. The others see the mean of the view there.
    most_rows : int
        Where memory for rows times rows would not suffice.
    package : str
        Package that must be installed.
    compiled : bool
        Whether numba compiles it at its first call, which is then counted apart.
    """

    name: str
    function: str
    settings: dict[str, Any] = field(default_factory=dict)
    several: bool = False
    gaps: bool = False
    most_rows: int = 10**9
    package: str = "sklearn"
    compiled: bool = False

    def check_installed(self) -> None:
        """Raise where its package is not installed."""
        if find_spec(self.package) is None:
            install = "pip install -c constraints.txt -e '.[bench,bench-gpl]'"
            raise InputError(f"{self.name} needs {self.package}: {install}, or leave it out with --methods.")

    def load(self) -> Callable[..., np.ndarray]:
        """Import the function, with the library it calls."""
        module, function = self.function.split(".")
        return getattr(importlib.import_module(f"benchmarks.peers.{module}"), function)


_N_X_N = 12_000
_DENSE = 6_000
_FLAT, _DEEP = ({"n_components": n, "n_neighbors": 15} for n in (2, 10))
_SCANPY = {"weights": "umap", "n_neighbors": 15}
_PHENOGRAPH = {"weights": "jaccard", "n_neighbors": 31}
_NUMBA = {"package": "umap", "compiled": True}
_LEIDEN = {"package": "leidenalg", "compiled": True}
TODAY = (
    Peer("UMAP 10-d + k-means", "maps.umap_kmeans", _DEEP, **_NUMBA),
    Peer("UMAP 10-d + mixture", "maps.umap_mixture", _DEEP, **_NUMBA),
    Peer("UMAP 10-d + HDBSCAN", "maps.umap_hdbscan", _DEEP, **_NUMBA),
    Peer("UMAP 2-d + k-means", "maps.umap_kmeans", _FLAT, **_NUMBA),
    Peer("UMAP 2-d + mixture", "maps.umap_mixture", _FLAT, **_NUMBA),
    Peer("UMAP 2-d + HDBSCAN", "maps.umap_hdbscan", _FLAT, **_NUMBA),
    Peer("PaCMAP + k-means", "maps.pacmap_kmeans", {"n_components": 2}, package="pacmap", compiled=True),
    Peer("Leiden", "communities.leiden", {**_SCANPY, "resolution": 1.0}, **_LEIDEN),
    Peer("Leiden for k", "communities.leiden", {**_SCANPY, "resolution": None}, **_LEIDEN),
    Peer("PhenoGraph", "communities.leiden", {**_PHENOGRAPH, "resolution": 1.0}, **_LEIDEN),
    Peer("PhenoGraph for k", "communities.leiden", {**_PHENOGRAPH, "resolution": None}, **_LEIDEN),
    Peer("EVoC", "density.evoc", {"told": False}, package="evoc", compiled=True),
    Peer("EVoC for k", "density.evoc", {"told": True}, package="evoc", compiled=True),
    Peer(
        "fast_hdbscan", "density.fast_hdbscan", {"min_cluster_size": 5}, package="fast_hdbscan", compiled=True
    ),
    Peer(
        "SNF",
        "snf.snf",
        {"n_neighbors": 20, "mu": 0.5, "rounds": 20},
        several=True,
        gaps=True,
        most_rows=_DENSE,
    ),
    Peer("UMAP union + k-means", "maps.several_umap", {**_DEEP, "join": "union"}, several=True, **_NUMBA),
    Peer(
        "UMAP intersection + k-means",
        "maps.several_umap",
        {**_DEEP, "join": "intersection"},
        several=True,
        **_NUMBA,
    ),
    Peer(
        "WNN + Leiden for k",
        "communities.weighted",
        {"n_neighbors": 20, "n_candidates": 200, "n_axes": 20},
        several=True,
        **_LEIDEN,
    ),
    Peer(
        "MOFA + k-means",
        "mofa.mofa",
        {"factors": 15, "most_columns": 2000},
        several=True,
        gaps=True,
        package="mofapy2",
    ),
)
"""What people run today; those that numba compiles share one process."""
CHEAP = (
    Peer("k-means", "classic.kmeans", {"n_init": 10}),
    Peer("MiniBatchKMeans", "classic.minibatch_kmeans", {"n_init": 10}),
    Peer("GaussianMixture", "classic.gaussian_mixture", {"most_axes": 32, "n_init": 3}),
    Peer("spectral", "classic.spectral", {"n_neighbors": 10}, most_rows=_N_X_N),
    Peer("HDBSCAN", "classic.hdbscan", {"min_cluster_size": 5}, most_rows=_N_X_N),
    Peer("anchor graph", "graphs.anchor_graph", {"n_nearest": 5}),
    Peer("kNN graph", "graphs.knn_graph", {"n_neighbors": 10}, most_rows=_N_X_N),
    Peer("LMVSC", "lmvsc.lmvsc", {"least_anchors": 50, "ridge": 0.01}, several=True),
    Peer(
        "co-regularised",
        "coregularised.coregularised",
        {"weight": 0.05, "rounds": 10},
        several=True,
        most_rows=_N_X_N,
    ),
)
DEAR = (
    Peer("SIMCADC", "incomplete.simcadc", several=True, gaps=True, package="imml"),
    Peer("NEMO", "incomplete.nemo", several=True, gaps=True, package="imml"),
    Peer("DAIMC", "incomplete.daimc", several=True, gaps=True, package="imml"),
    Peer("DEC", "deep.dec", package="clustpy"),
    Peer("IDEC", "deep.idec", package="clustpy"),
    Peer("DCN", "deep.dcn", package="clustpy"),
    Peer("VaDE", "deep.vade", package="clustpy"),
    Peer("N2D", "maps.n2d", {"n_neighbors": 20}, package="clustpy", compiled=True),
)
PEERS = {peer.name: peer for peer in (*TODAY, *CHEAP, *DEAR)}


def find_peer(name: str) -> Peer:
    """Return the peer with this name, in any case."""
    for peer in PEERS.values():
        if peer.name.lower() == name.lower():
            return peer
    raise InputError(f"There is no peer {name!r}; the peers are: {', '.join(PEERS)}.")
