"""Many processes: the rate of two beside that of one, and two hosts that are network namespaces of this machine."""

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

from benchmarks.records import add_record, machine, measured_apart
from coterie.engine.distributed import process_group
from coterie.methods.registry import find_method
from coterie.metrics import accuracy

METHODS = ("pcx", "sscnet", "mvsib", "largemvcnet")
_WIDTH = 784
_HOSTS = {"coterie-a": "10.77.0.1", "coterie-b": "10.77.0.2"}
_PORT = "29571"


def run_processes(names: Sequence[str], n_rows: int, batch_size: int, rounds: int) -> None:
    """Measure the fastest epoch or sweep of two processes and of one, in turn, one thread each.

    Two processes that know nothing of each other say what the machine gives: its cores share memory and clock.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(10, _WIDTH))
        np.save(
            path, (centers[rng.integers(10, size=n_rows)] + rng.normal(size=(n_rows, _WIDTH))).astype("f4")
        )
        for name in names:
            params: dict[str, Any] = {"batch_size": batch_size}
            # The first sweep, in which rows meet the landmarks; later ones find them kept.
            params |= {"n_layers": 1} if name == "largemvcnet" else {"max_epochs": 4}
            turns = [
                [_measure(name, path, params), _measure(name, path, params, together=2)]
                for _ in range(rounds)
            ]
            one, two = (max(turn[place]["rate"] for turn in turns) for place in (0, 1))
            apart = max(_rate_apart(name, path, params) for _ in range(rounds))
            record = {
                "method": name,
                "rows": n_rows,
                "batch_size": batch_size,
                "rows_per_second": round(one),
                "rows_per_second_of_two": round(two),
                "rows_per_second_of_two_apart": round(apart),
                "ratio": round(two / one, 3),
                "most_possible": round(apart / one, 3),
                "same_clusters": round(accuracy(*(np.array(one["labels"]) for one in turns[0])), 4),
            }
            print(record, flush=True)
            add_record("processes", {**record, "machine": machine()})


def _measure(name: str, path: Path, params: dict[str, Any], together: int = 1) -> dict[str, Any]:
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", str(together)] if together > 1 else []
    arguments = ["-m", "benchmarks.processes", name, path, json.dumps(params)]
    return measured_apart(*launch, *arguments, env=_single())


def _rate_apart(name: str, path: Path, params: dict[str, Any]) -> float:
    """Return the sum of the rates of two processes at the same time, each with all the rows."""
    with ThreadPoolExecutor(2) as pool:
        return sum(one["rate"] for one in pool.map(lambda _: _measure(name, path, params), range(2)))


def _single() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


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
            subprocess.run(alone, check=True, env=_single())
            parts = [
                subprocess.Popen(_on_host(host, rank, fit, f"{folder}/{name}-two"), env=_host_env(host))
                for rank, host in enumerate(_HOSTS)
            ]
            codes = [part.wait() for part in parts]
            one, two = (
                np.loadtxt(f"{folder}/{name}-{how}/labels.csv", delimiter=",", skiprows=1)[:, 1].astype(int)
                for how in ("one", "two")
            )
            record = {
                "method": name,
                "hosts": 2,
                "exit_codes": codes,
                "same_clusters": round(accuracy(one, two), 4),
            }
            print(record, flush=True)
            add_record("hosts", {**record, "machine": machine()})


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
    return {**_single(), "GLOO_SOCKET_IFNAME": f"{host}-e"}


@contextmanager
def _two_hosts() -> Iterator[None]:
    """Make two network namespaces with a cable between them; they need root, and are gone afterwards."""
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


def _child(method: str, path: Path, params: dict[str, Any]) -> None:
    """Fit, in as many processes as there are, and print the rate of the fastest epoch and the labels."""
    rows = np.load(path)
    views = (
        [slice(0, _WIDTH // 2), slice(_WIDTH // 2, _WIDTH)] if method in ("mvsib", "largemvcnet") else None
    )
    with process_group() as together:
        model = find_method(method).load()(10, views=views, random_state=0, n_threads=1, **params).fit(rows)
    if together.rank == 0:
        steps = [record["seconds"] for record in model.history_]
        print(json.dumps({"rate": len(rows) / min(steps), "labels": model.labels_.tolist()}))


if __name__ == "__main__":
    _child(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
