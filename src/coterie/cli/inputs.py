"""What commands share: options, and how data, runs and corrections are read; heavy packages are imported inside."""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.errors import InputError, counted, listed

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

Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="NAME=KIND",
        help="The kind of a column where the guess of coterie look is wrong; repeatable.",
    ),
]
ClassColumn = Annotated[
    str | None,
    typer.Option("--column", metavar="NAME", help="The column of --truth that holds the classes."),
]


def is_follower() -> bool:
    """Whether torchrun started this process next to a first one, which prints for all."""
    return os.environ.get("RANK", "0") != "0"


def load_run(folder: Path) -> tuple[Any, Any]:
    """Return the model of a finished run, and the run."""
    from coterie.methods.base import load
    from coterie.runs import Run

    the_run = Run(folder)
    the_run.check()
    return load(the_run.model), the_run


def load_model(path: Path) -> tuple[Any, Any]:
    """Return the model of a finished run or of a file, and the run; None where it is a file."""
    from coterie.methods.base import load

    return (load(path), None) if path.is_file() else load_run(path)


def read_corrections(
    model: Any, labels: Path | None, links: list[Path | None], answers: Path | None
) -> tuple[dict[str, Any], dict[int, str]]:
    """Read corrections of a model as arguments of `Refinement.update`, and the names of classes after them."""
    from coterie.data import read_pairs, read_some_labels

    if labels is None and answers is None and not any(links):
        raise InputError("Say what you know with --labels, --must-link, --cannot-link or --answers.")
    names, n_rows = getattr(model, "names_", {}), len(model.labels_)
    update: dict[str, Any] = {"y": None, "must_link": None, "cannot_link": None}
    if answers is not None:
        need_packages("pydantic")
        from coterie.explore.live.answers import combine, labels_digest, read_answers

        corrections = combine(read_answers(answers, labels_digest(model.labels_)), names)
        update, names = corrections.for_update(), corrections.names
    if labels is not None:
        given = enumerate(read_some_labels(labels, n_rows, words=False).tolist())
        update["y"] = (update["y"] or {}) | {row: label for row, label in given if label != -1}
    for kind, path in zip(("must_link", "cannot_link"), links, strict=True):
        if path is not None:
            update[kind] = [*(update[kind] or []), *read_pairs(path).tolist()]
    return update, names


def recommended(views: Any, known: Any, labels: Path | None, quiet: bool) -> Any:
    """Return the method that is recommended for some rows and the labels of a file, and print its name."""
    from coterie.methods.choosing.recommend import recommend
    from coterie.methods.registry import find_method

    method = find_method(recommend(views, known).method)
    if labels is not None and not method.uses_labels:
        raise InputError(
            f"{labels} has labels of fewer than two classes, which steer nothing: label rows of other classes too, "
            "or leave --labels out and say --clusters."
        )
    if not quiet and not is_follower():
        typer.echo(f"Method: {method.name}; coterie recommend says why, --method takes another.")
    return method


def read_data(path: Path, drop: list[str] | None, kinds: list[str] | None = None) -> Any:
    """Read the data, with gaps in tables of numbers filled, and print the reader's warnings as plain sentences."""
    from coterie.data import read_views
    from coterie.data.memory import fits

    options: dict[str, Any] = {"drop": drop} if drop else {}
    if kinds:
        options["kinds"] = read_kinds(kinds)
    with printed_warnings():
        views = read_views(path, **options)
        return views.gaps_encoded(str(path)) if fits(views) else views


def read_kinds(given: list[str]) -> dict[str, str]:
    """Parse NAME=KIND pairs.

    Examples
    --------
    >>> read_kinds(["plz=category", "a=b=S<M<L"])
    {'plz': 'category', 'a=b': 'S<M<L'}
    """
    kinds = {}
    for item in given:
        name, equals, kind = item.rpartition("=")
        if not equals or not name or not kind:
            raise InputError(f"--kind {item} is not NAME=KIND, such as plz=category.")
        kinds[name] = kind
    return kinds


def describe_sizes(sizes: Sequence[int]) -> str:
    """Say how many clusters have rows, and how many have none.

    Examples
    --------
    >>> describe_sizes([3, 4]), describe_sizes([7, 0, 0])
    ('2 clusters', '1 cluster (2 of the 3 asked for are empty)')
    """
    empty = sum(size == 0 for size in sizes)
    used = counted(len(sizes) - empty, "cluster")
    are = "is" if empty == 1 else "are"
    return used if not empty else f"{used} ({empty} of the {len(sizes)} asked for {are} empty)"


def describe_columns(views: Any) -> str:
    """List the columns of a table with their kinds and gaps, or the views."""
    from coterie.data.tables.describe import describe_gaps, describe_table

    if views.n_views > 1:
        widths = [f"{name} ({dim:,})" for name, dim in zip(views.names, views.dims, strict=True)]
        return f"Views and their columns: {listed(widths)}."
    table = describe_table(views) or f"{counted(views.dims[0], 'column')} of numbers"
    return "\n".join(filter(None, (table, describe_gaps(views))))


def read_new_rows(path: Path, model: Any, the_run: Any, drop: list[str] | None) -> Any:
    """Read rows for the model of a run, and say where their columns have other names and are taken in their order."""
    from coterie.data import column_names

    fitted, columns = _names_in_fit(model), column_names(path)
    views = _read_matched(path, model, the_run, drop)
    if fitted and columns and not set(fitted) & set(columns):
        typer.echo(
            f"coterie: {path} has no column called {listed(fitted)}, as {the_run.folder} was fitted on: its columns "
            "are taken in their order.",
            err=True,
        )
    return views


def _names_in_fit(model: Any) -> Sequence[str]:
    """Return the names of the columns of one table that a model was fitted on, where they have any."""
    columns = model._fitted_columns
    return (columns[0].names or ()) if len(columns) == 1 else ()


def _read_matched(path: Path, model: Any, the_run: Any, drop: list[str] | None) -> Any:
    """Read rows with the columns of a fit: by name where they have names, words and gaps taken as in the fit."""
    from coterie.data import column_names

    fitted, columns = _names_in_fit(model), column_names(path)
    if drop is None:
        drop = [name for name in the_run.dropped if name in columns or not (columns or fitted)]
    views = read_data(path, drop)
    with printed_warnings():
        views = views.matched(model._fitted_columns, str(path))
        views.check()  # the model would call them by the name of the file it was fitted on
    return views


def read_classes(path: Path, column: str | None) -> Any:
    """Read known classes from a file, from the column of that name where one is given."""
    from coterie.data import column_names, read_labels

    if column is None:
        return read_labels(path)
    columns = column_names(path)
    if columns and column not in columns:
        raise InputError(f"--column {column}: {path} has no such column; it has {listed(columns)}.")
    return read_labels(path, column)


def load_if_it_fits(views: Any, path: Path, quiet: bool) -> Any:
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


def fitted_data(model: Any, the_run: Any, moved_to: Path | None) -> Any:
    """Return the rows that a run was fitted on."""
    facts = the_run.read_note()
    path = moved_to if moved_to is not None else Path(facts["data"])
    if not path.exists():
        raise InputError(f"The data are not at {path}; give --data the place where they are now.")
    views = _read_matched(path, model, the_run, None)
    if views.n_rows != facts["rows"]:
        raise InputError(
            f"The data have {views.n_rows} rows, the run had {facts['rows']}; give --data the same rows."
        )
    return views


def need_packages(*names: str) -> None:
    """Say in one sentence how to install a package that the page needs and this machine lacks."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise InputError(f"coterie explore needs {name}: pip install 'coterie[explore]'.")


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print the warnings of a method as plain sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    sentences = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    for sentence in dict.fromkeys([] if is_follower() else sentences):
        typer.echo(f"coterie: {sentence}", err=True)


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
