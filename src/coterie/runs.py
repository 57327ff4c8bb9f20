"""A run of the command line: a folder with the model, its labels, a note of what was run, and the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import InputError
from coterie.store import atomic_path, remove_drafts


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
        self.explored = folder / "explore"

    @property
    def dropped(self) -> list[str]:
        """The columns of the data that were left out of the fit."""
        return list(self.read_note().get("drop", []))

    @property
    def finished(self) -> bool:
        """Whether the run is complete: the note is written last."""
        return self.model.exists() and self.note.exists()

    def check_free(self, replace: bool) -> None:
        """Raise an `InputError` when there is a finished run that is not to be replaced."""
        if self.finished and not replace:
            raise InputError(f"{self.folder} already holds a finished run; give another --out, or --replace.")

    def create(self, replace: bool) -> None:
        """Make the folder; a finished run is replaced only with `replace`."""
        self.check_free(replace)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            remove_drafts(self.folder)
        except OSError as error:
            raise InputError(f"Cannot make the folder {self.folder}: {error.strerror}.") from error

    @contextmanager
    def created(self, replace: bool) -> Iterator[None]:
        """Make the folder for a block; if the block fails before it wrote anything, no new folder is left behind."""
        existed = self.folder.exists()
        self.create(replace)
        try:
            yield
        except BaseException:
            if not existed:
                with suppress(OSError):  # something is in it, or another process was faster
                    self.folder.rmdir()
            raise

    def check(self) -> None:
        """Raise an `InputError` when there is no finished run."""
        if self.folder.is_file():
            raise InputError(f"{self.folder} is a file; give the folder of a run, which knows its rows too.")
        if not self.model.is_file():
            raise InputError(
                f"{self.folder} holds no finished run (no {self.model.name}); make one with coterie fit."
            )

    def write(
        self,
        model: Any,
        labels: np.ndarray,
        confidence: np.ndarray,
        names: Mapping[int, str] | None,
        facts: dict[str, Any],
    ) -> None:
        """Write the model, its labels and, last, the note: a run without one is unfinished."""
        self._unfinish()
        model.save(self.model)
        write_labels(self.labels, labels, confidence, names)
        self.write_note(facts)
        self.checkpoint.unlink(missing_ok=True)

    def _unfinish(self) -> None:
        """Remove the note of an earlier run, before its other files are replaced one by one.

        Answers about its clusters do not fit others, so their file is renamed.
        """
        self.note.unlink(missing_ok=True)
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
        if not isinstance(facts, dict) or not {"data", "rows"} <= facts.keys():
            raise InputError(f"{self.note} is not the note of a run; run coterie fit again.")
        return facts


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
            (row, int(label), f"{value:.6g}", *([names.get(int(label), "")] if names else []))
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
