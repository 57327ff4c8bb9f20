"""How many files of coterie a fit runs through: what a reader opens to follow it."""

from __future__ import annotations

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
from coterie.methods.registry import METHODS, Method

SOURCE = Path(coterie.__file__).parent
SHORT: dict[str, dict[str, Any]] = {
    "PCX": {"max_epochs": 3},
    "MVSIB": {"max_epochs": 3},
    "SSCNet": {"max_epochs": 3, "n_atoms": 16},
}


def files_run(call: Callable[[], object]) -> Counter[str]:
    """Return the files of coterie of which a call runs functions, and how many functions of each."""
    functions: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            functions.add((str(Path(code.co_filename).relative_to(SOURCE)), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Counter(file for file, _ in functions)


def three_groups() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three groups, and the classes of the first ten."""
    rng = np.random.default_rng(0)
    kinds = np.arange(300) % 3
    rows = 4 * rng.normal(size=(3, 8))[kinds] + rng.normal(size=(300, 8))
    return rows.astype(np.float32), np.where(np.arange(300) < 10, kinds, -1)


def in_python(method: Method) -> Counter[str]:
    """Return the files from `fit` of an estimator, of an array, to its labels."""
    X, y = three_groups()
    model = make(method.load(), 3, random_state=0, **SHORT.get(method.name, {}))
    return files_run(lambda: model.fit(X, y) if method.uses_labels else model.fit(X))


def at_the_command_line(method: Method) -> Counter[str]:
    """Return the files from `coterie fit`, of a .npy file, to the folder of the run."""
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
        return files_run(lambda: run(words))


def run_files() -> None:
    """Print for each method how many files a fit runs through, and which."""
    for module in pkgutil.walk_packages([str(SOURCE)], "coterie."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # so that nothing is traced that runs at import
    warnings.simplefilter("ignore")
    for method in METHODS:
        fit, command = in_python(method), at_the_command_line(method)
        own = [name for name in fit if name.startswith(f"methods/{method.module.rsplit('.', 1)[1]}/")]
        graph = [name for name in fit if name.startswith("graph/")]
        print(
            f"{method.name}: {len(fit)} files from fit to labels ({len(own)} of the method, {len(graph)} of the "
            f"graph core), {len(command)} from the command line to the run"
        )
        print("  " + ", ".join(f"{name} {count}" for name, count in sorted(fit.items())))
