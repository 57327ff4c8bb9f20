"""The append-only file of a person's answers: one JSON line each, on disk before anything is shown."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from coterie.errors import InputError
from coterie.explore.live.answers import ANSWER, Answer
from coterie.store import lock


@dataclass(frozen=True)
class Entry:
    """An answer and when it was given, in UTC."""

    at: str
    answer: Answer


class AnswerLog:
    """Answers that survive a crash, about one clustering: each line says about which.

    Undo is a line of its own, so that nothing is ever lost. A last line that a crash cut short is dropped, and
    `notice` says so. Only one process may have the file open.

    Parameters
    ----------
    path : Path
    of : str, optional
        The digest of the labels that the answers are about; answers about others are refused.

    Attributes
    ----------
    entries : list of Entry
        The answers that count, oldest first.
    undone : list of Entry
        Those that were undone and can be redone, the next one last.
    notice : str or None
    steps : int
        How many answers, undos and redos there are in all.

    Examples
    --------
    >>> import tempfile
    >>> from coterie.explore.live.answers import Name
    >>> path = Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> log = AnswerLog(path)
    >>> log.add(Name(cluster=2, name="cats"))
    >>> log.undo()
    >>> log.close()
    >>> again = AnswerLog(path)
    >>> again.answers, again.undone[0].answer.name
    ([], 'cats')
    """

    def __init__(self, path: Path, of: str | None = None) -> None:
        self.path, self.of = path, of
        self.notice: str | None = None
        self.steps = 0
        self.entries: list[Entry] = []
        self.undone: list[Entry] = []
        try:
            self._file: IO[bytes] = path.open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}).") from error
        lock(self._file, f"Another coterie explore has this run open ({path}); use that one, or stop it.")
        self._read()

    @property
    def answers(self) -> list[Answer]:
        """The answers that count, oldest first."""
        return [entry.answer for entry in self.entries]

    def add(self, answer: Answer) -> None:
        """Write an answer; what was undone before can no longer be redone."""
        self._write({"answer": answer.model_dump()})

    def undo(self) -> None:
        """Undo the last answer."""
        if not self.entries:
            raise InputError("There is no answer to undo.")
        self._write({"step": "undo"})

    def redo(self) -> None:
        """Redo the answer that was undone last."""
        if not self.undone:
            raise InputError("There is no answer to redo.")
        self._write({"step": "redo"})

    def close(self) -> None:
        """Close the file, so that others can open it."""
        self._file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        about = {} if self.of is None else {"of": self.of}
        entry = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **about, **entry}
        line = json.dumps(entry).encode() + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._size)  # half a line would spoil the next one
            raise InputError(f"{self.path} cannot be written ({error.strerror}); nothing changed.") from error
        self._size += len(line)
        self._apply(entry)

    def _read(self) -> None:
        self._file.seek(0)
        good, lines = 0, self._file.read().splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("cut short")
                entry = json.loads(line)
                self._apply(entry)
            except (ValueError, LookupError, TypeError, RecursionError) as error:  # of pydantic too
                if number < len(lines):
                    raise InputError(
                        f"{self.path}, line {number} is not an answer; correct it, or move the file away."
                    ) from error
                self.notice = (
                    "The last answer had not been written whole when the program ended; it is dropped."
                )
                self._file.truncate(good)
                break
            if self.of is not None and entry.get("of", self.of) != self.of:
                raise InputError(
                    f"{self.path}, line {number} is an answer about the clusters of another run; move the file away, "
                    "or put the model back that it is about."
                )
            good += len(line)
        self._size = good

    def _apply(self, entry: dict[str, Any]) -> None:
        """Apply one line of the file."""
        if "answer" in entry:
            self.entries.append(Entry(str(entry["at"]), ANSWER.validate_python(entry["answer"])))
            self.undone = []
        elif entry["step"] == "undo":
            self.undone.append(self.entries.pop())
        elif entry["step"] == "redo":
            self.entries.append(self.undone.pop())
        else:
            raise ValueError("an unknown step")
        self.steps += 1
