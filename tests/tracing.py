"""Which of coterie's functions a call runs, and which ones a page names for an equation."""

import sys
from collections.abc import Callable
from pathlib import Path

from tests.test_equations import LINK, equations

import coterie

PACKAGE = str(Path(coterie.__file__).parent)


def called_by(action: Callable[[], object]) -> set[str]:
    """Return the functions that an action calls, each as its file's name, its class and its own."""
    called = set()

    def watch(frame, event, argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            called.add(f"{Path(path).stem}.{frame.f_code.co_qualname}")

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called


def not_run(page: str, called: set[str]) -> dict[str, list[str]]:
    """Return by equation the code that a page names and that was not called; of a class any method counts."""
    missing = {}
    for number, (_, _, code, *_) in equations(page).items():
        names = [words for words, _ in LINK.findall(code)]
        absent = [name for name in names if not any(f"{one}.".startswith(f"{name}.") for one in called)]
        if absent:
            missing[number] = absent
    return missing
