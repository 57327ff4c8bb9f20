"""The exception for a user's mistakes, and parts of its messages."""

from collections.abc import Sequence


class InputError(ValueError):
    """A mistake in what the user gave: an argument, a row or a file.

    The message is one sentence that names the culprit and says what to do. The command line prints it
    without a traceback; in Python it is a `ValueError`, as scikit-learn's users expect.
    """


class Terminated(KeyboardInterrupt):
    """SIGTERM came: what Ctrl-C ends, it ends in the same way."""


class InterruptedWarning(UserWarning):
    """A part of a fit was ended by Ctrl-C or SIGTERM, and the model is finished with what there was."""

    def __init__(self, where: str, by: KeyboardInterrupt) -> None:
        super().__init__(f"{interruption(by)} {where}; the model is finished as it is.")
        self.by = by


def interruption(by: KeyboardInterrupt) -> str:
    """Say what ended the work.

    Examples
    --------
    >>> interruption(KeyboardInterrupt()), interruption(Terminated())
    ('Interrupted', 'Stopped by SIGTERM')
    """
    return "Stopped by SIGTERM" if isinstance(by, Terminated) else "Interrupted"


def lost_process(reason: str) -> InputError:
    """Return the error of a run in which another process has died."""
    return InputError(
        f"Another process of this run was lost ({reason}): start the same command again, and it goes on from "
        "the last checkpoint."
    )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as a list in a sentence, at most `most` of them, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
