"""Work that is killed at random moments (SIGKILL), ended (SIGTERM) or left without room, and begun again.

Every try is a process forked from this one, so that what takes time is the work and not the imports.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import machine, read_records, write_records
from coterie import cli, load
from coterie.errors import InputError
from coterie.methods.registry import METHODS
from coterie.runs import Run

FILE = "faults"
_ROWS, _COLUMNS, _GROUPS = 600, 8, 4
_FULL = 4
_SETTINGS = {
    "pcx": ["max_epochs=12", "hidden=[16]"],
    "mvsib": ["max_epochs=12", "hidden=[16]"],
    "sscnet": ["max_epochs=12", "n_atoms=16"],
    "largemvcnet": ["max_epochs=3"],
    "fucsmf": ["n_anchors=40"],
    "ssc": ["tol=0.1"],
}
_OTHERS = {
    "refine": "refined",
    "refine --out": "new",
    "report": "report",
    "predict": "new.csv",
    "export": "explore",
}
WORKS = [*(method.key for method in METHODS), *_OTHERS]
"""Fits, and what is done with a finished run."""
Work = Callable[[Path], int]


def run_faults(names: list[str], kills: int, stops: int, seed: int) -> None:
    """Disturb each work so many times, begin it again, and compare its results with those of an undisturbed one."""
    for name in names:
        if name not in WORKS:
            raise InputError(f"There is no work {name!r} to disturb; use some of {', '.join(WORKS)}.")
    with tempfile.TemporaryDirectory() as place:
        _prepare(Path(place))
        for name in names:
            record = {"method": name, "seed": seed, **_disturbed(name, Path(place), kills, stops, seed)}
            record["machine"] = machine()
            print({key: value for key, value in record.items() if key != "machine"}, flush=True)
            write_records(FILE, [*(old for old in read_records(FILE) if old["method"] != name), record])
    if any(_failures(record) for record in read_records(FILE)):
        sys.exit(1)


def _failures(record: dict[str, Any]) -> int:
    return int(record["kills"] + record["stops"] + record["full"] - record["ended_alike"]) + len(
        record["faults"]
    )


def _prepare(place: Path) -> None:
    """Write rows, some of their classes, and a finished run of them."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(_GROUPS, size=_ROWS)
    rows = 4 * rng.normal(size=(_GROUPS, _COLUMNS))[kinds] + rng.normal(size=(_ROWS, _COLUMNS))
    np.save(place / "rows.npy", rows.astype("f4"))
    some = "".join(f"{row},{kinds[row]}\n" for row in range(0, _ROWS, 20))
    (place / "some.csv").write_text("row,label\n" + some)
    (place / "base").mkdir()
    if _work("graphclustering", place)(place / "base"):
        raise RuntimeError("the run to begin with could not be made")


def _work(name: str, place: Path) -> Work:
    """Return what makes the files of a work in a folder, and returns its exit code."""
    rows, some = str(place / "rows.npy"), str(place / "some.csv")
    settings = [part for one in _SETTINGS.get(name, []) for part in ("--set", one)]
    fit = ["fit", rows, "--method", name, "-k", str(_GROUPS), "--quiet", *settings]
    fit += ["--labels", some] if name == "fucsmf" else []

    def run(folder: Path) -> int:
        base, out = str(folder / "base"), str(folder / "new")
        commands = {
            "refine": ["refine", base, "--labels", some],
            "refine --out": ["refine", base, "--labels", some, "--out", out, "--replace"],
            "report": ["report", base],
            "predict": ["predict", base, rows, "-o", str(folder / "new.csv")],
        }
        if name == "export":
            return _export(folder / "base", rows)
        if name in commands:
            return cli.run([*commands[name], "--quiet"])
        return cli.run([*fit, "--out", base, "--replace"])

    return run


def _export(run: Path, rows: str) -> int:
    """Name a cluster and write every export of the page."""
    from coterie.data import read_views
    from coterie.explore.live.export import EXPORTS
    from coterie.explore.live.session import Session

    try:
        session = Session(load(run / "model.coterie"), read_views(rows), run / "explore", embedding="pca")
        session.prepare()
        if not session.log.answers:
            session.label([0, 1, 2], 1)
        for export in EXPORTS.values():
            session.export(export.write, export.file)
    except InputError as error:
        print(f"coterie: {error}", file=sys.stderr)
        return 2
    return 0


def _disturbed(name: str, place: Path, kills: int, stops: int, seed: int) -> dict[str, Any]:
    work, rng = _work(name, place), np.random.default_rng(seed)
    with _folder(name, place) as folder:
        work(folder)  # what is imported late is imported now
    with _folder(name, place) as folder:
        started = time.perf_counter()
        code, said = _forked(work, folder)
        usual = time.perf_counter() - started
        if code:
            raise RuntimeError(f"{name} fails undisturbed: {said}")
        wanted = _results(folder)
    tally = _Tally(name, wanted, work)
    for number in range(kills + stops):
        with _folder(name, place) as folder:
            tally.try_once(
                folder, rng.uniform(0, usual), signal.SIGKILL if number < kills else signal.SIGTERM
            )
    need = sum(len(body) for body in wanted.values())
    for number in range(_FULL):
        with _folder(name, place, room=int(need * (number + 0.5) / _FULL)) as folder:
            tally.try_without_room(folder)
    return {"kills": kills, "stops": stops, "full": _FULL, **tally.figures}


class _Tally:
    """Counts what becomes of disturbed work."""

    def __init__(self, name: str, wanted: dict[str, bytes], work: Work) -> None:
        self.name, self.wanted, self.work = name, wanted, work
        counts = ("killed_before_the_end", "resumed_from_a_checkpoint", "files_wrongly_loaded")
        self.figures: dict[str, Any] = dict.fromkeys(
            (*counts, "stopped", "models_left_by_a_stop", "refused_without_room", "ended_alike"), 0
        )
        self.figures["faults"] = []

    def try_once(self, folder: Path, moment: float, how: signal.Signals) -> None:
        """Send a signal after some seconds, look at what is left, and begin again."""
        code, said = _forked(self.work, folder, moment, how)
        base = Run(folder / "base")
        if how == signal.SIGKILL:
            self.figures["killed_before_the_end"] += code != 0
            self.figures["resumed_from_a_checkpoint"] += base.checkpoint.exists() and self.name not in _OTHERS
        elif code:
            self.figures["stopped"] += 1
            self._check_words(code, said, 143)
            if base.finished and self.name not in _OTHERS:
                base.check()
                self.figures["models_left_by_a_stop"] += 1
        self._look(folder)
        self._again(folder)

    def try_without_room(self, folder: Path) -> None:
        """Work on a disk that is too small, then on one that is large enough."""
        code, said = _forked(self.work, folder)
        if code:
            self.figures["refused_without_room"] += 1
            self._check_words(code, said, 2)
        self._look(folder)
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
        self._again(folder)

    def _check_words(self, code: int, said: str, wanted: int) -> None:
        """Note an exit code that is not the one for this, or anything but sentences of coterie."""
        lines = said.splitlines()
        if code != wanted or not lines or not all(re.match(r"coterie: .*\.$", line) for line in lines):
            self.figures["faults"].append(f"code {code}: {said[-300:]!r}")

    def _look(self, folder: Path) -> None:
        """Count files that load though they are not a finished model, and results that are not whole."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.figures["files_wrongly_loaded"] += _loads_wrongly(path)
        if self.name in _OTHERS:
            with suppress(InputError):
                Run(folder / "base").check()
                return
            self.figures["faults"].append("the run it works on is spoilt")

    def _again(self, folder: Path) -> None:
        code, said = _forked(self.work, folder)
        results = _results(folder)
        alike = code == 0 and results == self.wanted
        self.figures["ended_alike"] += alike
        if not alike:
            differ = [name for name in self.wanted | results if self.wanted.get(name) != results.get(name)]
            self.figures["faults"].append(f"code {code}: {said[-300:]!r}, other {differ}")


@contextmanager
def _folder(name: str, place: Path, room: int | None = None) -> Iterator[Path]:
    """Make a folder to work in, on a disk with this much room beside the run that is there."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        there = Path(folder)
        if room is not None:
            there_already = [path for path in (place / "base").rglob("*") if name in _OTHERS]
            used = sum(path.stat().st_size + 4096 for path in there_already)
            blocks = (used + room) // 4096 + 3
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={4096 * blocks}", "none", folder], check=True
            )
        try:
            if name in _OTHERS:
                shutil.copytree(place / "base" / "base", there / "base")
            yield there
        finally:
            if room is not None:
                subprocess.run(["umount", folder], check=True)


def _forked(
    work: Work, folder: Path, moment: float | None = None, how: signal.Signals = signal.SIGKILL
) -> tuple[int, str]:
    """Do some work in a process of its own, to which a signal is sent; return its exit code and what it said."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(said.fileno(), 2)
                signal.signal(signal.SIGTERM, cli._stop)
                code = work(folder)
            finally:
                sys.stderr.flush()
                os._exit(code)
        if moment is not None:
            time.sleep(moment)
            os.kill(child, how)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return code, said.read()


def _results(folder: Path) -> dict[str, bytes]:
    """Return the files that a work left, but for those that hold the time of day or seconds."""
    timed = ("run.json", "answers.jsonl", "answers.json", "model.coterie", "refined.coterie", "report.html")
    return {
        str(path.relative_to(folder)): b"" if path.name in timed else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def _loads_wrongly(path: Path) -> bool:
    """Whether `load` takes a file that is not the finished model."""
    try:
        load(path)
    except InputError:
        return False
    return path.name not in ("model.coterie", "refined.coterie")
