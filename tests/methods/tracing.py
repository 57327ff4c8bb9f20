"""Which of coterie's functions an action runs, and which a page's table of equations names."""

import sys
from pathlib import Path

from tests.test_equations import LINK, equations


def called_by(action) -> set[str]:
    """Return the functions that an action runs, each as module.name."""
    called = set()

    def watch(frame, event, argument):
        if event == "call" and "coterie" in frame.f_code.co_filename:
            called.add(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}")

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called


def not_run(page: str, called: set[str]) -> list[str]:
    """Return the numbers whose line names code of which none was called, and does not say why: "not in the preset"."""
    missing = []
    for number, (_, _, code, _, otherwise) in equations(page).items():
        names = [words for words, _ in LINK.findall(code)]
        run = any(one == name or one.startswith(f"{name}.") for name in names for one in called)
        if names and not run and "not in the preset" not in otherwise:
            missing.append(number)
    return missing
