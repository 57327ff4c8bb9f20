"""A run of the command line: a folder with the model, its labels, a note of what was run, and the report.

The note holds the digests of the model and the labels it was written for. A new result is written whole into a
folder of its own first and then moved into place, so that a finished run is replaced by another or stays as it is.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import InputError
from coterie.store import atomic_path, file_digest, lock, remove_drafts, text_cell


class Run:
    """The files of one run.

    Attributes
    ----------
    model, labels, report : Path
        The fitted model, the cluster and the confidence of each row, and the HTML report.
    note : Path
        What was run on which data.
    checkpoint : Path
        The state from which an unfinished fit resumes.
    refined : Path
        The class and the confidence of each row after a person's corrections.
    maps : Path
        The maps of the rows, so that the report and the explorer show the same.
    explored : Path
        The folder of the explorer: answers, the map, exports.

    Examples
    --------
    >>> Run(Path("digits-run")).model.as_posix()
    'digits-run/model.coterie'
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = folder / "model.coterie"
        self.labels = folder / "labels.csv"
        self.report = folder / "report.html"
        self.note = folder / "run.json"
        self.checkpoint = folder / "checkpoint.coterie"
        self.refined = folder / "refined.csv"
        self.maps = folder / "maps.coterie"
        self.explored = folder / "explore"
        self._next = folder / ".next"

    @property
    def dropped(self) -> list[str]:
        """The columns of the data that were left out of the fit."""
        return list(self.read_note().get("drop", []))

    @property
    def finished(self) -> bool:
        """Whether the run is complete: the note is written last."""
        return self.model.exists() and self.note.exists()

    @property
    def interrupted(self) -> bool:
        """Whether the run is complete, but its fit was ended early."""
        return self.finished and bool(self.read_note().get("interrupted", False))

    def check_free(self, replace: bool) -> None:
        """Raise an `InputError` when there is a finished run that is not to be replaced; one ended early goes on."""
        self._move_into_place()
        if self.finished and not replace and not self.interrupted:
            raise InputError(f"{self.folder} already holds a finished run; give another --out, or --replace.")

    @contextmanager
    def created(self, replace: bool, *, alone: bool = True) -> Iterator[None]:
        """Make the folder and keep other processes from writing in it for a block.

        If the block fails before it wrote anything, no new folder is left behind. An interruption is told what it
        leaves. `alone` is False in a process that works on a run with others, of which one keeps the folder.
        """
        existed = self.folder.exists()
        self.check_free(replace)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot make the folder {self.folder}: {error.strerror}.") from error
        try:
            with _locked(self.folder) if alone else nullcontext():
                if alone:
                    self._remove_leftovers()
                yield
        except BaseException as error:
            if not existed:
                with suppress(OSError):  # something is in it, or another process was faster
                    self.folder.rmdir()
            if not isinstance(error, Exception):
                error.args = (self._what_is_left(),)
            raise

    def _remove_leftovers(self) -> None:
        """Remove what a killed process left half written, and find out whether anything can be written."""
        try:
            remove_drafts(self.folder)
            self._remove_next()
            self._next.mkdir()
            self._next.rmdir()
        except OSError as error:
            raise InputError(f"Cannot write in the folder {self.folder}: {error.strerror}.") from error

    def _remove_next(self) -> None:
        shutil.rmtree(self._next, ignore_errors=True)  # another process may be removing it too

    def _what_is_left(self) -> str:
        """Say what an interrupted fit leaves."""
        kept = f"{self.folder} keeps its finished run" if self.finished else ""
        resumes = "the same command goes on from the last checkpoint" if self.checkpoint.exists() else ""
        return " and ".join(filter(None, (kept, resumes))) or f"nothing was written to {self.folder}"

    def check(self) -> None:
        """Raise an `InputError` when there is no finished run, or its files are not of one run."""
        if self.folder.is_file():
            raise InputError(f"{self.folder} is a file; give the folder of a run, which knows its rows too.")
        self._move_into_place()
        if not self.model.is_file():
            raise InputError(
                f"{self.folder} holds no finished run (no {self.model.name}); make one with coterie fit."
            )
        digests = self.read_note().get("digests", {}) if self.note.exists() else {}
        for path, remedy in (
            (self.model, "put the right one back, or run coterie fit again with --replace"),
            (self.labels, "put the right one back, or move it away"),
        ):
            if path.name in digests and path.exists() and file_digest(path) != digests[path.name]:
                raise InputError(
                    f"{path} is not the file of this run: it was changed, or {self.note.name} is of another run; "
                    f"{remedy}."
                )

    def write(
        self,
        model: Any,
        labels: np.ndarray,
        confidence: np.ndarray,
        names: Mapping[int, str] | None,
        facts: dict[str, Any],
    ) -> None:
        """Write the model, its labels and, last, the note with their digests; an earlier run stays until then."""
        new = Run(self._next)
        try:
            self._remove_next()
            self._next.mkdir()
            model.save(new.model)
            write_labels(new.labels, labels, confidence, names)
            digests = {path.name: file_digest(path) for path in (new.model, new.labels)}
            new.write_note(facts | {"digests": digests})
        except BaseException as error:
            shutil.rmtree(self._next, ignore_errors=True)
            if isinstance(error, OSError):
                raise InputError(f"Cannot write in the folder {self.folder}: {error.strerror}.") from error
            raise
        self._move_into_place()
        if not facts.get("interrupted"):
            self.checkpoint.unlink(missing_ok=True)

    def _move_into_place(self) -> None:
        """Let a new result that is whole take the place of the earlier one, also after a crash in the midst of it.

        Answers about the earlier clusters do not fit others, so their file is renamed.
        """
        new = Run(self._next)
        if not new.note.is_file():
            return
        try:
            if new.model.exists():
                self._put_answers_aside()
            for path in (new.model, new.labels, new.note):
                with suppress(FileNotFoundError):  # moved before a crash
                    os.replace(path, self.folder / path.name)
            self._remove_next()
        except OSError as error:
            raise InputError(f"Cannot write in the folder {self.folder}: {error.strerror}.") from error

    def _put_answers_aside(self) -> None:
        answers, number = self.explored / "answers.jsonl", 1
        while (aside := answers.with_name(f"answers-{number}.jsonl")).exists():
            number += 1
        if answers.exists():
            answers.rename(aside)

    def write_note(self, facts: dict[str, Any]) -> None:
        """Write the facts of the run."""
        with atomic_path(self.note) as draft:
            draft.write_text(json.dumps(facts, indent=1) + "\n")

    def read_note(self) -> dict[str, Any]:
        """Read the facts of the run."""
        try:
            facts = json.loads(self.note.read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{self.note} cannot be read; run coterie fit again.") from error
        whole = isinstance(facts, dict) and {"data", "rows"} <= facts.keys()
        if not whole or not isinstance(facts.get("digests", {}), dict):
            raise InputError(f"{self.note} is not the note of a run; run coterie fit again.")
        return facts


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a folder from other processes for a block, where the system can; a killed process gives it back."""
    if os.name != "posix":  # folders cannot be opened elsewhere
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock(
            handle,
            f"Another coterie is writing to {folder}; wait until it has finished, or give another --out.",
        )
        yield
    finally:
        os.close(handle)


def write_labels(
    path: Path, labels: np.ndarray, confidence: np.ndarray, names: Mapping[int, str] | None = None
) -> None:
    """Write row, cluster and confidence as CSV, atomically, and names of clusters where there are any.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> write_labels(path, np.array([1, 0]), np.array([0.5, 0.25]))
    >>> print(path.read_text().strip())
    row,cluster,confidence
    0,1,0.5
    1,0,0.25
    >>> write_labels(path, np.array([1, 0]), np.array([0.5, 0.25]), {1: "cats"})
    >>> print(path.read_text().strip())
    row,cluster,confidence,name
    0,1,0.5,cats
    1,0,0.25,
    """
    with atomic_path(path) as draft, draft.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["row", "cluster", "confidence", *(["name"] if names else [])])
        writer.writerows(
            (row, int(label), f"{value:.6g}", *([text_cell(names.get(int(label), ""))] if names else []))
            for row, (label, value) in enumerate(zip(labels, confidence, strict=True))
        )


def read_confidence(path: Path, n_rows: int) -> np.ndarray | None:
    """Read the confidence of each row from the file of `write_labels`; None where there is none of that length.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> write_labels(path, np.array([1, 0]), np.array([0.5, 0.25]))
    >>> read_confidence(path, 2)
    array([0.5 , 0.25], dtype=float32)
    >>> read_confidence(path, 3) is None
    True
    """
    try:
        confidence = np.loadtxt(path, delimiter=",", skiprows=1, usecols=2, dtype=np.float32, ndmin=1)
    except (OSError, ValueError, IndexError):
        return None
    return confidence if len(confidence) == n_rows and np.isfinite(confidence).all() else None
