"""The process that reads damaged files, with memory, time and system calls watched."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.fuzzing.containers import CANARY
from benchmarks.fuzzing.seeds import Files
from benchmarks.fuzzing.targets import TARGETS, Target, input_of
from benchmarks.records import peak_mb
from coterie.errors import InputError

FLOOR_BYTES = 64 * 2**20
PLAIN, SWELLING = 32, 3300
"""Times the size of the input that reading may take beyond the floor: of plain files, and of compressed ones.

Deflate packs at most 1,032 to 1; reading holds what it unpacks in up to three forms.
"""
CPU_SECONDS, WALL_SECONDS = 20, 300
BLOCK = 100
"""Inputs after which a worker says how far it is."""

_RUNS = {"pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen"}
_RUNS |= {"socket.connect", "os.symlink"}
_CHANGES = {"os.chmod", "os.remove", "os.rename", "os.truncate", "os.mkdir", "os.rmdir"}


class Guard:
    """Notes what a reader does that no reader should: run something, or write outside its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.on, self.attempt = str(folder), False, ""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.on:
            return
        writes = event in _CHANGES or (event == "open" and self._is_writing(details[2]))
        if event in _RUNS or (writes and not str(details[0]).startswith((self.folder, "/dev/null"))):
            self.attempt = f"{event} {details!r}"[:200]

    @staticmethod
    def _is_writing(flags: object) -> bool:
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def run(name: str, seed: int, start: int, stop: int, skipped: set[int], progress: Path) -> None:
    """Read the inputs from `start` to `stop`; print the outcomes of every hundred as a line."""
    target, valid = TARGETS[name], TARGETS[name].seeds()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as place, progress.open("r+b", buffering=0) as note:
        os.chdir(place)
        guard = Guard(Path(place))
        for files in valid:  # so that imports, pools and caches are there before anything is measured
            _write(Path(place) / "in", files)
            target.read(Path(place) / "in")
        for begin in range(start, stop, BLOCK):
            tally = _Tally()
            for number in range(begin, min(begin + BLOCK, stop)):
                if number in skipped:
                    continue
                os.pwrite(note.fileno(), b"%20d" % number, 0)
                files = input_of(name, valid, seed, number)
                tally.add(number, *_once(target, files, Path(place), guard))
            gc.collect()
            print(json.dumps({"until": min(begin + BLOCK, stop), **vars(tally)}), flush=True)


class _Tally:
    """What came of some inputs."""

    def __init__(self) -> None:
        self.read = self.refused = 0
        self.faults: list[dict[str, Any]] = []
        self.most_bytes = self.bytes_there = 0
        self.most_seconds = 0.0

    def add(
        self, number: int, fault: str | None, refused: bool, used: int, size: int, seconds: float
    ) -> None:
        if fault is not None:
            self.faults.append({"number": number, "what": fault})
        self.refused += refused
        self.read += not refused and fault is None
        if used > self.most_bytes:
            self.most_bytes, self.bytes_there = used, size
        self.most_seconds = max(self.most_seconds, round(seconds, 3))


def _once(
    target: Target, files: Files, place: Path, guard: Guard
) -> tuple[str | None, bool, int, int, float]:
    """Read one input; return its fault, whether it was refused, the memory it took, its size and its seconds."""
    folder, size = place / "in", sum(map(len, files.values()))
    _write(folder, files)
    allowed = FLOOR_BYTES + (SWELLING if target.swells else PLAIN) * size
    before, started = _reset_peak(), time.process_time()
    resource.setrlimit(resource.RLIMIT_AS, (_pages(0) + allowed, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.alarm(WALL_SECONDS)
    guard.on, guard.attempt = True, ""
    fault, refused = None, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(folder)
    except InputError as error:
        asked = _asked_too_much(error)
        refused, fault = True, None if asked and target.unpacked_elsewhere else _complaint(error, asked)
    except BaseException as error:
        fault = f"{type(error).__name__}: {error}"[:300]
    finally:
        guard.on = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if guard.attempt or (place / CANARY).exists() or (folder / CANARY).exists():
        fault = f"did more than reading: {guard.attempt}"
    return fault, refused, max(0, _peak() - before), size, time.process_time() - started


def _asked_too_much(error: BaseException) -> bool:
    """Whether only the limit of memory brought about a refusal."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or "allocate" in str(cause):
            return True
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False


def _complaint(error: InputError, asked: bool) -> str | None:
    """Return what is wrong with a refusal: it wanted too much memory, or is no single sentence."""
    if asked:
        return f"wanted too much memory: {error}"[:300]
    return f"not one line: {str(error)[:200]!r}" if "\n" in str(error).strip() or not str(error) else None


def _write(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    folder.mkdir(exist_ok=True)


def _pages(column: int) -> int:
    return int(Path("/proc/self/statm").read_text().split()[column]) * resource.getpagesize()


def _reset_peak() -> int:
    """Reset the peak of resident memory; return what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _pages(1)


def _peak() -> int:
    return round(2**20 * peak_mb())


if __name__ == "__main__":
    _, reader, seed, start, stop, skipped, progress = sys.argv
    run(reader, int(seed), int(start), int(stop), set(json.loads(skipped)), Path(progress))
