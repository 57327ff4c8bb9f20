"""How many files of coterie a fit runs through: what a reader opens to follow it."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import coterie
from benchmarks.making import make
from coterie.cli import run
from coterie.errors import counted
from coterie.methods.registry import METHODS, Method

SOURCE = Path(coterie.__file__).parent
SHORT: dict[str, dict[str, Any]] = {
    "PCX": {"max_epochs": 3},
    "MVSIB": {"max_epochs": 3},
    "SSCNet": {"max_epochs": 3, "n_atoms": 16},
}


def calls_of(call: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Return from which file of coterie to which other a call goes, and how many functions each calls of the other.

    What is called from outside of coterie counts as called by "".
    """
    calls: set[tuple[str, str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        callee = _file(frame)
        if event == "call" and callee:
            calls.add((_file(_caller(frame)), callee, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Counter((caller, callee) for caller, callee, _ in calls if caller != callee)


def _caller(frame: FrameType) -> FrameType | None:
    """Return the frame that called; a function decorated with a phase is called through contextlib."""
    back = frame.f_back
    while back is not None and back.f_code.co_filename == contextlib.__file__:
        back = back.f_back
    return back


def _file(frame: FrameType | None) -> str:
    """Return the file of coterie that a frame is in; empty where it is in none."""
    name = "" if frame is None else frame.f_code.co_filename
    return str(Path(name).relative_to(SOURCE)) if name.startswith(str(SOURCE)) else ""


def three_groups() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three groups, and the classes of the first ten."""
    rng = np.random.default_rng(0)
    kinds = np.arange(300) % 3
    rows = 4 * rng.normal(size=(3, 8))[kinds] + rng.normal(size=(300, 8))
    return rows.astype(np.float32), np.where(np.arange(300) < 10, kinds, -1)


def in_python(method: Method) -> Counter[tuple[str, str]]:
    """Return the calls from `fit` of an estimator, of an array, to its labels."""
    X, y = three_groups()
    model = make(method.load(), 3, random_state=0, **SHORT.get(method.name, {}))
    return calls_of(lambda: model.fit(X, y) if method.uses_labels else model.fit(X))


def at_the_command_line(method: Method) -> Counter[tuple[str, str]]:
    """Return the calls from `coterie fit`, of a .npy file, to the folder of the run."""
    X, y = three_groups()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        np.save(path / "rows.npy", X)
        np.save(path / "labels.npy", y)
        words = ["fit", str(path / "rows.npy"), "--method", method.key, "--out", str(path / "run"), "--quiet"]
        words += ["--labels", str(path / "labels.npy")] if method.uses_labels else ["--clusters", "3"]
        for name, value in SHORT.get(method.name, {}).items():
            known = name in method.load()._get_param_names()
            words += ["--set", f"{name if known else f'options.{name}'}={value}"]
        return calls_of(lambda: run(words))


def run_files() -> None:
    """Print for each method how many files a fit runs through, and which of them its own files call."""
    for module in pkgutil.walk_packages([str(SOURCE)], "coterie."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # so that nothing is traced that runs at import
    warnings.simplefilter("ignore")
    for method in METHODS:
        fit, command = in_python(method), at_the_command_line(method)
        files = {callee for _, callee in fit}
        own = {name for name in files if name.startswith(f"methods/{method.module.rsplit('.', 1)[1]}/")}
        called = {callee for caller, callee in fit if caller in own} - own
        print(
            f"{method.name}: {counted(len(own), 'file')} of its own, {len(called)} more these call; {len(files)} "
            f"in all from fit to labels, {len({callee for _, callee in command})} from the command line to the run"
        )
        print(f"  its own: {', '.join(sorted(own))}")
        print(f"  called by these: {', '.join(sorted(called))}")
        print(f"  further: {', '.join(sorted(files - own - called))}")
