"""`coterie predict RUN 'shards/*.parquet' --out labels/`: many files, one after the other or in parallel processes.

A shard is done when its labels and a note of what they were made from are on disk; the note is written last. The same
command leaves such a shard as it is, so that it goes on where it was stopped.
"""

from __future__ import annotations

import glob
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from coterie.errors import InputError, counted, listed
from coterie.progress import phase, step

_NOTES = ".shards"
_KIND = "labelled shard"


def find_shards(data: Sequence[Path]) -> list[Path]:
    """Return the files that paths and patterns name, in the order of their names."""
    found: list[Path] = []
    for path in data:
        if path.exists():
            found.append(path)
            continue
        matching = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
        if not matching:
            raise InputError(f"There is no file {path}.")
        found += matching
    found = list(dict.fromkeys(found))
    stems = [path.stem for path in found]
    twice = (
        next((stem for stem in stems if stems.count(stem) > 1), None)
        if len(set(stems)) < len(stems)
        else None
    )
    if twice is not None:
        raise InputError(
            f"Several shards are called {twice!r}, and their labels would be one file: label them into two folders."
        )
    return found


def is_pattern(data: Sequence[Path]) -> bool:
    """Whether paths name several files, or may."""
    return len(data) > 1 or (glob.has_magic(str(data[0])) and not data[0].exists())


@dataclass(frozen=True)
class Labelling:
    """What is done with each shard.

    Parameters
    ----------
    run : Path
        The run or the model.
    digest : str
        Of the model; labels of another are made again.
    out : Path
        Folder of the labels.
    suffix : str
        ``".csv"`` or ``".parquet"``.
    drop : tuple of str, optional
    id_column : str, optional
    """

    run: Path
    digest: str
    out: Path
    suffix: str
    drop: tuple[str, ...] | None = None
    id_column: str | None = None

    def labels_of(self, shard: Path) -> Path:
        """Return where the labels of a shard are."""
        return self.out / f"{shard.stem}{self.suffix}"

    def note_of(self, shard: Path) -> Path:
        """Return where it is noted what these were made from."""
        return self.out / _NOTES / f"{shard.stem}.coterie"

    def facts(self, shard: Path) -> dict[str, Any]:
        """Return what the labels of a shard are made from."""
        state = shard.stat()
        options = {"drop": None if self.drop is None else list(self.drop), "id": self.id_column}
        return {
            "model": self.digest,
            "shard": str(shard),
            "bytes": state.st_size,
            "time": state.st_mtime_ns,
        } | options

    def read(self, shard: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return what was noted of a shard that is done; None where it is not, or was of something else."""
        from coterie.store import file_digest, read_archive

        labels = self.labels_of(shard)
        with suppress(InputError, OSError):
            values, arrays = read_archive(self.note_of(shard))
            same = values["kind"] == _KIND and values["facts"] == self.facts(shard)
            if same and file_digest(labels) == values["labels"]:
                return values, arrays
        return None

    def label(self, shard: Path) -> None:
        """Label a shard; write the labels and then the note."""
        from coterie.cli.inputs import label_file
        from coterie.runs import write_labels
        from coterie.store import file_digest, write_archive

        facts, labels = self.facts(shard), self.labels_of(shard)
        model, the_run, reference = _loaded(self.run, self.digest)
        drop = None if self.drop is None else list(self.drop)
        found = label_file(model, the_run, shard, drop, self.id_column)
        write_labels(labels, *found.columns(model))
        seen = None if reference is None else found.seen(reference)
        values, arrays = ({}, {}) if seen is None else seen.contents()
        head = {"kind": _KIND, "facts": facts, "labels": file_digest(labels), "rows": found.views.n_rows}
        write_archive(self.note_of(shard), head | {"seen": values}, arrays)


@lru_cache(maxsize=1)
def _loaded(run: Path, digest: str) -> tuple[Any, Any, Any]:
    """Load a model once in a process."""
    from coterie.cli.inputs import load_model

    model, the_run = load_model(run)
    return model, the_run, None if the_run is None else the_run.read_reference()


def label_shards(task: Labelling, shards: Sequence[Path], jobs: int) -> tuple[int, dict[str, Any] | None]:
    """Label the shards that are not done and write drift.json.

    Return the rows of all shards and the report of drift; None where the run keeps no rows to compare with.
    """
    from coterie.runs import locked
    from coterie.store import remove_drafts

    try:
        (task.out / _NOTES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {task.out}: {error.strerror}.") from error
    with locked(task.out), phase("labelling"):
        remove_drafts(task.out)
        remove_drafts(task.out / _NOTES)
        left = [shard for shard in shards if task.read(shard) is None]
        failed: dict[Path, str] = {}
        for done, (shard, why) in enumerate(_labelled(task, left, jobs), 1):
            step(done, len(left))
            if why is not None:
                failed[shard] = why
        if failed:
            first, *rest = sorted(failed)
            others = f" (also {listed([str(path) for path in rest])})" if rest else ""
            raise InputError(
                f"{len(failed)} of {counted(len(shards), 'shard')} could not be labelled: "
                f"{failed[first].rstrip('.')}{others}; the others are done, and the same command goes on with these."
            )
        return _report(task, shards)


def _labelled(task: Labelling, shards: Sequence[Path], jobs: int) -> Iterator[tuple[Path, str | None]]:
    """Label shards and yield each that is done, with what went wrong."""
    if jobs == 1 or len(shards) < 2:
        for shard in shards:
            yield shard, _try(task, shard)
        return
    jobs = min(jobs, len(shards))
    threads = max(1, (os.cpu_count() or 1) // jobs)
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads of torch and faiss half
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(threads,))
    try:
        waiting = {pool.submit(_try, task, shard): shard for shard in shards}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BrokenProcessPool:
        raise InputError(
            "A process that labelled a shard was ended, by the system if memory ran out: the shards that are done "
            "are kept, and the same command goes on, with fewer --jobs if need be."
        ) from None
    except BaseException:  # Ctrl-C, SIGTERM, or nobody waits for more
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(threads: int) -> None:
    """Prepare a process: it shares the cores with the others, and the first process alone hears Ctrl-C."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _try(task: Labelling, shard: Path) -> str | None:
    try:
        task.label(shard)
    except (InputError, OSError) as error:
        return str(error)
    return None


def _report(task: Labelling, shards: Sequence[Path]) -> tuple[int, dict[str, Any] | None]:
    """Count the rows, and write drift.json from the notes of all shards."""
    from coterie.methods.drift import Seen
    from coterie.store import atomic_path

    reference, notes = _loaded(task.run, task.digest)[2], [task.read(shard) for shard in shards]
    n_rows = sum(note[0]["rows"] for note in notes if note is not None)
    if reference is None:
        return n_rows, None
    seen = [Seen.from_contents(note[0]["seen"], note[1]) for note in notes if note is not None]
    report: dict[str, Any] = reference.report(seen, [str(shard) for shard in shards])
    with atomic_path(task.out / "drift.json") as draft:
        draft.write_text(json.dumps(report, indent=1) + "\n")
    return n_rows, report
