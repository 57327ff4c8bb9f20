"""Targets of the fuzzing: the valid files of each reader, their mutations, and the reader."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzzing import seeds
from benchmarks.fuzzing.containers import odd_npy, odd_safetensors, odd_zip
from benchmarks.fuzzing.mutate import Random, mutate_bytes, mutate_json, random_bytes
from benchmarks.fuzzing.seeds import Files
from benchmarks.fuzzing.writers import odd_csv, odd_hdf5, odd_mat, odd_parquet

_SOME_BYTES = 4 * 2**20

Spoil = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """A reader under test.

    Attributes
    ----------
    seeds : callable
        Returns the valid files.
    odd : callable
        Returns one file of an input with its build respected and its content wrong.
    read : callable
        Reads the input in a folder.
    share : int
        How many of every hundred inputs it gets.
    swells : bool
        Whether its files may be compressed, so that they are larger in memory than on disk.
    unpacked_elsewhere : bool
        Whether other packages unpack its blocks, and ask for as much memory as a block says before they look further.
        What they ask for and do not get was not taken: only resident memory counts there.
    """

    seeds: Callable[[], list[Files]]
    odd: Spoil
    read: Callable[[Path], None]
    share: int
    swells: bool = False
    unpacked_elsewhere: bool = False

    def mutated(self, valid: list[Files], rng: Random) -> Files:
        """Return one input: bytes without meaning, a valid file with bytes changed, or one with odd content."""
        files = dict(rng.choice(valid))
        name = rng.choice(list(files))
        how = rng.random()
        if how < 0.05:
            files[name] = random_bytes(rng)
        elif how < 0.45:
            files[name] = mutate_bytes(files[name], rng)
        elif how < 0.5:
            del files[name]
        else:
            files[name] = self.odd(files[name], rng)
        return files


def input_of(name: str, valid: list[Files], seed: int, number: int) -> Files:
    """Return the input with this number, the same in every run."""
    return TARGETS[name].mutated(valid, random.Random(f"{seed} {name} {number}"))


def _read_views(folder: Path) -> None:
    from coterie.data import read_views

    path = next((p for p in sorted(folder.iterdir())), folder / "x")
    views = read_views(path)
    if 16 * sum(views.dims) > _SOME_BYTES:  # a row alone may be larger than the file
        return
    if views.nbytes <= _SOME_BYTES:
        views.check()
        views.read(slice(None))
    else:
        views.read(slice(0, 4))
        views.read(np.array([views.n_rows - 1, 0]))


def _read_labels(folder: Path) -> None:
    from coterie.data import read_labels, read_pairs, read_some_labels
    from coterie.errors import InputError

    path = next((p for p in sorted(folder.iterdir())), folder / "x.csv")
    refusals = []
    for read in (read_labels, lambda p: read_some_labels(p, 12), read_pairs):
        try:
            read(path)
        except InputError as error:
            refusals.append(error)
    if len(refusals) == 3:
        raise refusals[0]


def _read_metadata(folder: Path) -> None:
    from coterie.explore.live.metadata import Metadata

    path = next((p for p in sorted(folder.iterdir())), folder / "x.csv")
    table = Metadata.read(path, 12)
    table.row(3)
    table.search("name", 5)
    for column in range(len(table.names)):
        table.values(column, np.arange(12))


def _read_answers(folder: Path) -> None:
    from coterie.explore.live.log import AnswerLog

    AnswerLog(folder / "x.jsonl").close()


def _of_models(name: str) -> Callable[..., Any]:
    """Return a function of the file of models, which imports torch when it is called and not before."""
    return lambda *given: getattr(importlib.import_module("benchmarks.fuzzing.models"), name)(*given)


def _odd_array(data: bytes, rng: Random) -> bytes:
    return odd_npy(rng)


def _odd_npz(data: bytes, rng: Random) -> bytes:
    return odd_zip(data, rng, lambda name, body, r: odd_npy(r) if r.random() < 0.7 else mutate_bytes(body, r))


def _odd_archive(data: bytes, rng: Random) -> bytes:
    def odd(name: str, body: bytes, r: Random) -> bytes:
        if name.endswith(".json"):
            return mutate_json(json.loads(body), r).encode(errors="surrogatepass")
        return odd_safetensors(body, r)

    return odd_zip(data, rng, odd)


def _odd_json(data: bytes, rng: Random) -> bytes:
    """Change a JSON file (of a zarr store), or the bytes of anything else."""
    try:
        return mutate_json(json.loads(data), rng).encode(errors="surrogatepass")
    except ValueError:
        return mutate_bytes(data, rng)


def _odd_lines(data: bytes, rng: Random) -> bytes:
    lines = data.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = mutate_json(json.loads(lines[at]), rng).encode(errors="surrogatepass")
    if rng.random() < 0.3:
        rng.shuffle(lines)
    return b"\n".join(lines) + b"\n" * rng.randrange(2)


def _odd_labels(data: bytes, rng: Random) -> bytes:
    if data.startswith(b"\x93NUMPY"):
        return odd_npy(rng)
    if data.startswith(b"PK"):
        return _odd_npz(data, rng)
    return odd_mat(data, rng) if data.startswith(b"MATLAB") else odd_csv(data, rng)


def _odd_metadata(data: bytes, rng: Random) -> bytes:
    return odd_parquet(data, rng) if data.startswith(b"PAR1") else odd_csv(data, rng)


TARGETS: dict[str, Target] = {
    "npy": Target(seeds.npy_seeds, _odd_array, _read_views, 12),
    "folder of npy": Target(seeds.folder_seeds, _odd_array, _read_views, 8),
    "npz": Target(seeds.npz_seeds, _odd_npz, _read_views, 12, swells=True),
    "mat v5": Target(seeds.mat_seeds, odd_mat, _read_views, 10, swells=True),
    "mat v7.3 and hdf5": Target(seeds.hdf5_seeds, odd_hdf5, _read_views, 8, swells=True),
    "csv": Target(seeds.csv_seeds, odd_csv, _read_views, 10),
    "parquet": Target(seeds.parquet_seeds, odd_parquet, _read_views, 7, swells=True),
    "zarr": Target(seeds.zarr_seeds, _odd_json, _read_views, 4, swells=True, unpacked_elsewhere=True),
    "h5mu": Target(seeds.mudata_seeds, odd_hdf5, _read_views, 2, swells=True),
    "labels and pairs": Target(seeds.label_seeds, _odd_labels, _read_labels, 7, swells=True),
    "metadata": Target(seeds.metadata_seeds, _odd_metadata, _read_metadata, 4, swells=True),
    "model": Target(_of_models("model_seeds"), _odd_archive, _of_models("read_model"), 8),
    "checkpoint": Target(_of_models("checkpoint_seeds"), _odd_archive, _of_models("read_checkpoint"), 4),
    "answers": Target(seeds.answer_seeds, _odd_lines, _read_answers, 4),
}
"""Every reader; their shares add up to a hundred."""
