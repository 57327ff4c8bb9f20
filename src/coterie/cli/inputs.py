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
from typing import Annotated, Any, Literal, NamedTuple

import typer

from coterie.errors import InputError, InterruptedWarning, counted, listed
from coterie.progress import phase

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
        metavar="DATA",
        help=".npy, .npz, .mat, .csv, .parquet, .zarr, .h5ad, .h5mu, or a folder of .npy, pictures or texts.",
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

As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="KIND",
        help="What DATA holds, where it does not tell: texts, images, series, cells, table.",
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option("--text", metavar="COLUMN", help="The column of a CSV or Parquet file with texts."),
]
Layer = Annotated[str | None, typer.Option(metavar="NAME", help="The layer of a .h5ad file to take, not X.")]
Rep = Annotated[
    str | None,
    typer.Option(
        "--rep", metavar="NAME", help="Compare cells by this key of obsm, or by X; by default X_pca."
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="NAME=KIND",
        help="The kind of a column where the guess of coterie look is wrong; repeatable.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="The column that names the rows, for the labels; the first is found by itself. none: there is none.",
    ),
]
LabelsFormat = Annotated[
    Literal["csv", "parquet"], typer.Option("--labels-format", help="What the labels are written as.")
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

    with phase("recommending"):
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
    with printed_warnings(), phase("reading"):
        views = read_views(path, **options)
        return views.gaps_encoded(str(path)) if fits(views) else views


def read_rows(
    path: Path,
    drop: list[str] | None,
    quiet: bool,
    *,
    without: list[str] | None = None,
    kinds: list[str] | None = None,
    kind: str | None,
    column: str | None,
    layer: str | None,
    rep: str | None,
) -> tuple[Any, Any]:
    """Read the data as rows, and how they became rows; None where they are a table, then read `without` columns."""
    from coterie.data.describe.files import find_kind

    found = find_kind(path, kind, column)
    if found != "cells" and (layer or rep):
        raise InputError(
            f"--{'layer' if layer else 'rep'} is for cells (.h5ad, .h5mu), and {path} holds none."
        )
    if found == "table":
        return read_data(path, without or drop, kinds), None
    if drop or kinds:
        option = "drop" if drop else "kind"
        raise InputError(f"--{option} is for the columns of a table, and {path} is read as {found}.")
    from coterie.data.describe.reading import Reading

    with printed_warnings(), phase("reading"):
        reading, views = Reading.fitted(path, found, column=column, layer=layer, use_rep=rep)
    if not quiet and not is_follower():
        typer.echo(f"{path}: {reading.description.sentence}.")
    return views, reading


def reread(path: Path, reading: Any) -> Any:
    """Read other things as rows, as those of a fit were."""
    with printed_warnings():
        return reading.views(path)


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
    """Read rows for a model as in its fit, and say where columns have other names and are taken in their order."""
    from coterie.data import column_names

    if model.reading_ is not None:
        return reread(path, model.reading_)
    if the_run is None:
        return read_data(path, drop)
    fitted, columns = _names_in_fit(model), column_names(path)
    views = _read_matched(path, model, the_run, drop)
    if fitted and columns and not set(fitted) & set(columns):
        typer.echo(
            f"coterie: {path} has no column called {listed(fitted)}, as {the_run.folder} was fitted on: its columns "
            "are taken in their order.",
            err=True,
        )
    return views


class LabelledFile(NamedTuple):
    """The rows of a file, their clusters, and what names them."""

    views: Any
    assignment: Any
    identifiers: Any

    def columns(self, model: Any) -> tuple[Any, ...]:
        """Return what a file of labels holds."""
        return *self.assignment, getattr(model, "names_", None), self.identifiers

    def seen(self, reference: Any) -> Any:
        """Return what a report of drift needs to know of the rows."""
        values = None if self.identifiers is None else self.identifiers.values
        return reference.observe(self.views, *self.assignment, values)


def label_file(
    model: Any, the_run: Any, path: Path, drop: list[str] | None, id_column: str | None
) -> LabelledFile:
    """Label the rows of a file with a model, and with its run where there is one."""
    from coterie.data import column_names, read_identifiers

    if id_column is None and the_run is not None:
        fitted = the_run.read_note().get("id")
        id_column = fitted if path.exists() and fitted in column_names(path) else None
    identifiers = None if id_column == "none" else read_identifiers(path, id_column)
    views = read_new_rows(path, model, the_run, drop)
    with phase("labels"):
        return LabelledFile(views, model.assign(views), identifiers)


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


def read_shown_classes(path: Path, column: str | None) -> Any:
    """Read known classes as a person knows them: by the words of a text file; -1 where a row has none."""
    from coterie.data import read_label_names

    codes, words = read_classes(path, column), read_label_names(path, column or "y")
    return [words.get(code, -1) for code in codes.tolist()] if words else codes


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
    """Return the rows that the model of a run was fitted on."""
    facts = the_run.read_note()
    path = moved_to if moved_to is not None else Path(facts["data"])
    if not path.exists():
        raise InputError(f"The data are not at {path}; give --data the place where they are now.")
    reading = model.reading_
    views = _read_matched(path, model, the_run, None) if reading is None else reread(path, reading)
    if views.n_rows != facts["rows"]:
        raise InputError(
            f"The data have {views.n_rows} rows, the run had {facts['rows']}; give --data the same rows."
        )
    return views


def identified(
    path: Path, column: str | None, drop: list[str] | None, quiet: bool
) -> tuple[Any, list[str] | None]:
    """Return the identifiers of the rows, None where there are none, and the columns to leave out with theirs."""
    from coterie.data import read_identifiers

    if column == "none" or not path.exists():
        return None, drop
    identifiers = read_identifiers(path, column)
    if identifiers is None or identifiers.name in (drop or ()) or not identifiers.name:
        return identifiers, drop
    if column is None and not quiet and not is_follower():
        typer.echo(
            f"Column {identifiers.name!r} names the rows: it is left out of the fit and goes into the labels "
            "(--id none: nothing names them; --kind takes it as a column like any other)."
        )
    return identifiers, [*(drop or []), identifiers.name]


def need_packages(*names: str) -> None:
    """Say in one sentence how to install a package that the page needs and this machine lacks."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise InputError(f"coterie explore needs {name}: pip install 'coterie[explore]'.")


@contextmanager
def printed_warnings() -> Iterator[list[KeyboardInterrupt]]:
    """Print the warnings of a method as plain sentences; the list that is yielded gets what interrupted it."""
    interruptions: list[KeyboardInterrupt] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield interruptions
    found = [warning.message for warning in caught]
    interruptions += [one.by for one in found if isinstance(one, InterruptedWarning)]
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


def shape_of_rows(model: Any, text: str | None) -> Any:
    """Return the shape of rows that are images: the one given, or the model's own."""
    if text:
        return read_shape(text)
    return getattr(model, "image_shape", None) or (model.reading_ and model.reading_.image_shape)


def read_shape(text: str) -> tuple[int, ...]:
    """Parse the shape of an image."""
    try:
        return tuple(int(size) for size in text.lower().split("x"))
    except ValueError:
        raise InputError(
            f"--image-shape {text} is not sizes with x between them, such as 28x28 or 3x32x32."
        ) from None
