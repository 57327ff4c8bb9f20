"""What the commands read: data, runs, the machine; heavy packages are imported inside."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from coterie.errors import InputError


def is_follower() -> bool:
    """Whether torchrun started this process beside a first one, which speaks for all."""
    return os.environ.get("RANK", "0") != "0"


def load_run(folder: Path) -> tuple[Any, Any]:
    """Return the model of a finished run, and the run."""
    from coterie.methods.base import load
    from coterie.runs import Run

    the_run = Run(folder)
    the_run.check()
    return load(the_run.model), the_run


def recommended(views: Any, known: Any, quiet: bool) -> Any:
    """Return the method that is recommended for some rows, and name it."""
    from coterie.methods.choosing.recommend import recommend as recommend_method
    from coterie.methods.registry import find_method

    found = find_method(recommend_method(views, known).method)
    if not quiet and not is_follower():
        typer.echo(f"Method: {found.name}; coterie recommend says why, --method takes another.")
    return found


def read_data(path: Path, drop: list[str] | None) -> Any:
    """Read the data, and speak the reader's warnings as plain sentences."""
    from coterie.data import read_views

    with spoken_warnings():
        return read_views(path, **({"drop": drop} if drop else {}))


def in_memory_or_not(views: Any, path: Path, quiet: bool) -> Any:
    """Read rows into memory where they fit; leave them on disk, and say so, where they do not."""
    from coterie.data.memory import SHARE, fits, into_memory

    if fits(views):
        return into_memory(views)
    if not quiet and not is_follower():
        typer.echo(
            f"{path} would take {views.nbytes / 2**30:.1f} GB, more than {SHARE:.0%} of the free memory: "
            "its rows stay on disk."
        )
    return views


def data_of(the_run: Any, moved_to: Path | None) -> Any:
    """Return the rows that a run was fitted on."""
    facts = the_run.read_note()
    where = moved_to if moved_to is not None else Path(facts["data"])
    if not where.exists():
        raise InputError(f"The data are not at {where}; give --data the place where they are now.")
    views = read_data(where, the_run.dropped)
    if views.n_rows != facts["rows"]:
        raise InputError(
            f"The data have {views.n_rows} rows, the run had {facts['rows']}; give --data the same rows."
        )
    return views


def need_packages(*names: str) -> None:
    """Say in one sentence how to install what the page needs and this machine lacks."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise InputError(f"coterie explore needs {name}: pip install 'coterie[explore]'.")


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Print warnings of a method as plain sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    spoken = [] if is_follower() else [one for one in caught if issubclass(one.category, UserWarning)]
    for message in dict.fromkeys(str(one.message) for one in spoken):
        typer.echo(f"coterie: {message}", err=True)
