"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.errors import InputError

Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite a finished run.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that coterie fit wrote.")]
RunOrModel = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="The folder that coterie fit wrote, or a model, such as refined.coterie."
    ),
]
Clusters = Annotated[
    str | None,
    typer.Option("--clusters", "-k", metavar="K", help="How many clusters to find, or auto."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides everything random.")]
MovedData = Annotated[Path | None, typer.Option(help="Where the data are now, if they were moved.")]
ShownClasses = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Known classes, to be shown with the clusters.")
]
ImageShape = Annotated[str | None, typer.Option(metavar="HxW", help="Rows are images, for instance 28x28.")]
DataPath = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help=".npy, .npz, .mat, .csv, .parquet, .zarr, .h5mu or a folder of .npy."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="A column of a CSV or Parquet file to leave out, by name or number from 0; repeatable.",
    ),
]

Fill = Annotated[
    bool, typer.Option("--fill", help="Put the median of its column into each empty cell of a table.")
]
ClassColumn = Annotated[
    str | None,
    typer.Option("--column", metavar="NAME", help="The column of --truth that holds the classes."),
]


def cluster_count(text: str | None) -> int | str:
    """Parse the number of clusters, or auto."""
    if text is None or text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--clusters {text} is neither a whole number nor auto.") from None


def read_settings(method: Any, given: list[str]) -> dict[str, Any]:
    """Parse NAME=VALUE pairs as parameters; values are read as JSON where they are JSON.

    An option is written with a dot, as options.tau=2.
    """
    from coterie.methods.moved import is_option, refuse_gone

    known = {name.replace("__", "."): name for name in method().get_params()}
    parameters = {}
    for item in given:
        name, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"--set {item} is not NAME=VALUE.")
        if is_option(method, name):
            raise InputError(f"{name} is now an option: --set options.{item}.")
        refuse_gone(method, name)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "see the method's page for its parameters."
            raise InputError(f"{method.__name__} has no parameter {name!r}; {hint}")
        parameters[known[name]] = _value(text)
    return parameters


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return {"None": None, "True": True, "False": False}.get(text, text)
    return tuple(value) if isinstance(value, list) else value


def read_shape(text: str) -> tuple[int, ...]:
    """Parse the shape of an image."""
    try:
        return tuple(int(size) for size in text.lower().split("x"))
    except ValueError:
        raise InputError(
            f"--image-shape {text} is not sizes with x between them, such as 28x28 or 3x32x32."
        ) from None
