"""Whether a file is still the one that was opened: rows of two different files must not be mixed in one run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from coterie.errors import InputError


@dataclass(frozen=True)
class Stamp:
    """What tells a file from what it may become: its size, its place on the disk and when it was last written.

    Attributes
    ----------
    path : Path
    size, number, written : int
        Bytes, inode, and nanoseconds.

    Examples
    --------
    >>> path = Path(getfixture("tmp_path")) / "rows.bin"
    >>> _ = path.write_bytes(b"1234")
    >>> stamp = Stamp.of(path)
    >>> stamp.check()
    >>> _ = path.write_bytes(b"12")
    >>> stamp.check()
    Traceback (most recent call last):
    coterie.errors.InputError: ... changed while it was being read (it had 4 bytes and has 2): put it back, ...
    """

    path: Path
    size: int
    number: int
    written: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Return the stamp of a file as it is now."""
        found = os.stat(path)
        return cls(Path(path), found.st_size, found.st_ino, found.st_mtime_ns)

    def check(self, descriptor: int | None = None, *, may_be_written: bool = False) -> None:
        """Raise one sentence when the file is another one, or shorter.

        Parameters
        ----------
        descriptor : int, optional
            Of the file where it is open; its path is looked at otherwise.
        may_be_written : bool
            Whether only its length counts, for a file that somebody writes to on purpose.
        """
        try:
            found = os.stat(self.path if descriptor is None else descriptor)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read any more ({error.strerror}): put it back."
            ) from error
        same = (found.st_size, found.st_ino, found.st_mtime_ns) == (self.size, self.number, self.written)
        if not (same or (may_be_written and found.st_size >= self.size)):
            sizes = f"it had {self.size} bytes and has {found.st_size}"
            how = sizes if found.st_size != self.size else "somebody wrote to it"
            raise self.changed(how)

    def changed(self, how: str) -> InputError:
        """Return the sentence that says so."""
        return InputError(
            f"{self.path} changed while it was being read ({how}): put it back, or start anew with the file as it is."
        )
