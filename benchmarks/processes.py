"""Many processes: two of them compared with one of two threads, and two hosts that are network namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import measured_apart, save_record
from benchmarks.turns import EPOCHS, WIDTH
from coterie.metrics import accuracy

METHODS = ("pcx", "sscnet", "mvsib", "largemvcnet")
_WAYS = ("one", "threads", "two")
_HOSTS = {"coterie-a": "10.77.0.1", "coterie-b": "10.77.0.2"}
_PORT = "29571"


def run_processes(names: Sequence[str], n_rows: int, batch_size: int, rounds: int) -> None:
    """Measure epochs or sweeps of one thread, of two threads and of two processes of one thread, which take turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(10, WIDTH))
        np.save(
            path, (centers[rng.integers(10, size=n_rows)] + rng.normal(size=(n_rows, WIDTH))).astype("f4")
        )
        for name in names:
            params: dict[str, Any] = {"batch_size": batch_size}
            params |= {"n_layers": 1} if name == "largemvcnet" else {"max_epochs": EPOCHS}
            turns = [_measure(name, path, params) for _ in range(rounds)]
            seconds = [np.concatenate([turn[way]["seconds"] for turn in turns]) for way in _WAYS]
            single, threads, two = (n_rows / float(np.median(each)) for each in seconds)
            record = {
                "method": name,
                "rows": n_rows,
                "batch_size": batch_size,
                "epochs": sum(len(turn["two"]["seconds"]) for turn in turns),
                "rows_per_second": round(single),
                "rows_per_second_of_two_threads": round(threads),
                "rows_per_second_of_two_processes": round(two),
                "same_clusters": round(
                    accuracy(*(np.array(turns[0][way]["labels"]) for way in ("one", "two"))), 4
                ),
            }
            save_record("processes", record)


def _measure(name: str, path: Path, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the seconds and the labels of one process, of one with two threads, and of two processes."""
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", _PORT]
    with ThreadPoolExecutor(len(_WAYS)) as pool:
        runs = {
            way: pool.submit(
                measured_apart,
                *(launch if way == "two" else []), "-m", "benchmarks.turns", name, path,
                json.dumps(params),
                env=_threads(2 if way == "threads" else 1),
            )
            for way in _WAYS
        }  # fmt: skip
        return {way: run.result() for way, run in runs.items()}


def _threads(count: int) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": str(count)}


def run_hosts(names: Sequence[str]) -> None:
    """Fit on two hosts, which are network namespaces joined by a cable, and compare the labels with those of one."""
    with tempfile.TemporaryDirectory() as folder, _two_hosts():
        path = Path(folder) / "rows.npy"
        rng = np.random.default_rng(0)
        kinds = np.arange(600) % 4
        np.save(path, (6 * rng.normal(size=(4, 16))[kinds] + rng.normal(size=(600, 16))).astype("f4"))
        for name in names:
            fit = ["fit", str(path), "-k", "4", "--method", name, "--quiet", *_short(name)]
            alone = [sys.executable, "-m", "coterie", *fit, "--out", f"{folder}/{name}-one"]
            subprocess.run(alone, check=True, env=_threads(1))
            parts = [
                subprocess.Popen(_on_host(host, rank, fit, f"{folder}/{name}-two"), env=_host_env(host))
                for rank, host in enumerate(_HOSTS)
            ]
            codes = [part.wait() for part in parts]
            single, two = (
                np.loadtxt(f"{folder}/{name}-{how}/labels.csv", delimiter=",", skiprows=1)[:, 1].astype(int)
                for how in ("one", "two")
            )
            same = round(accuracy(single, two), 4)
            save_record("hosts", {"method": name, "hosts": 2, "exit_codes": codes, "same_clusters": same})


def _short(name: str) -> list[str]:
    """Return settings with which a method that trains by epochs takes few of them."""
    return [] if name in ("fucsmf", "largemvcnet") else ["--set", "max_epochs=5"]


def _on_host(host: str, rank: int, fit: Sequence[str], out: str) -> list[str]:
    first = _HOSTS["coterie-a"]
    launch = [
        "ip", "netns", "exec", host, sys.executable, "-m", "torch.distributed.run", "--nnodes", "2",
        "--node-rank", str(rank), "--nproc-per-node", "1", "--master-addr", first, "--master-port", _PORT,
    ]  # fmt: skip
    return [*launch, "-m", "coterie", *fit, "--out", out]


def _host_env(host: str) -> dict[str, str]:
    return {**_threads(1), "GLOO_SOCKET_IFNAME": f"{host}-e"}


@contextmanager
def _two_hosts() -> Iterator[None]:
    """Create two connected network namespaces for the block; needs root."""
    names = list(_HOSTS)
    try:
        for name in names:
            _ip("netns", "add", name)
        ends = [f"{name}-e" for name in names]
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end in zip(names, ends, strict=True):
            _ip("link", "set", end, "netns", name)
            _ip("-n", name, "addr", "add", f"{_HOSTS[name]}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
