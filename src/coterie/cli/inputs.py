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

from coterie.errors import InputError, InterruptedWarning, counted, listed

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
Fill = Annotated[
    bool, typer.Option("--fill", help="Put the median of its column into each empty cell of a table.")
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


def read_data(path: Path, drop: list[str] | None) -> Any:
    """Read the data, and print the reader's warnings as plain sentences."""
    from coterie.data import read_views

    with printed_warnings():
        return read_views(path, **({"drop": drop} if drop else {}))


def read_rows(
    path: Path,
    drop: list[str] | None,
    quiet: bool,
    *,
    kind: str | None,
    column: str | None,
    layer: str | None,
    rep: str | None,
) -> tuple[Any, Any]:
    """Read the data as rows, and how they became rows; None where they are a table."""
    from coterie.data.describe.files import find_kind

    found = find_kind(path, kind, column)
    if found != "cells" and (layer or rep):
        raise InputError(
            f"--{'layer' if layer else 'rep'} is for cells (.h5ad, .h5mu), and {path} holds none."
        )
    if found == "table":
        return read_data(path, drop), None
    if drop:
        raise InputError(f"--drop is for the columns of a table, and {path} is read as {found}.")
    from coterie.data.describe.reading import Reading

    with printed_warnings():
        reading, views = Reading.fitted(path, found, column=column, layer=layer, use_rep=rep)
    if not quiet and not is_follower():
        typer.echo(f"{path}: {reading.description.sentence}.")
    return views, reading


def reread(path: Path, reading: Any) -> Any:
    """Read other things as rows, as those of a fit were."""
    with printed_warnings():
        return reading.views(path)


def fill_values(views: Any, fill: bool) -> list[list[float]] | None:
    """Return the medians that fill the empty cells of each column; None where they are not to be filled."""
    from coterie.data.imputation import column_medians

    return column_medians(views) if fill else None


def filled(views: Any, values: list[list[float]] | None) -> Any:
    """Fill the empty cells of rows, where there are values to fill them with."""
    from coterie.data.imputation import impute

    return views if values is None else impute(views, values)


def describe_gaps(views: Any) -> str:
    """Say how many cells of a table are empty, and where; nothing where none is."""
    from coterie.data.imputation import count_empty_cells
    from coterie.data.memory import fits

    counts = count_empty_cells(views) if fits(views) else []  # a larger file takes too long
    total = int(sum(count.sum() for count in counts))
    if not total:
        return ""
    columns = [
        str(j) if views.feature_names[v] is None else repr(views.feature_names[v][j])
        for v, count in enumerate(counts)
        for j in count.nonzero()[0]
    ]
    cells = "1 cell is empty" if total == 1 else f"{total:,} cells are empty"
    return (
        f"{cells} ({listed(columns)}): --fill puts the median of the column there. If a gap means something, drop "
        "the column or write what it means."
    )


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
    """List the columns of a table, or the views."""
    if views.n_views > 1:
        widths = [f"{name} ({dim:,})" for name, dim in zip(views.names, views.dims, strict=True)]
        return f"Views and their columns: {listed(widths)}."
    names = views.feature_names[0]
    return (
        f"Columns used: {f'all {views.dims[0]:,}; they have no names' if names is None else listed(names)}."
    )


def read_new_rows(path: Path, model: Any, the_run: Any, drop: list[str] | None) -> Any:
    """Read rows for a model: things described as in its fit; in a run columns matched by name, gaps filled."""
    from coterie.data import as_views, column_names

    if model.reading_ is not None:
        return reread(path, model.reading_)
    if the_run is None:
        return read_data(path, drop)
    facts = the_run.read_note()
    fitted, columns = facts.get("columns"), column_names(path)
    by_name = _can_match(fitted, columns)
    if fitted and columns and not set(fitted) & set(columns):
        typer.echo(
            f"coterie: {path} has no column called {listed(fitted)}, as {the_run.folder} was fitted on: its columns "
            "are taken in their order.",
            err=True,
        )
    if by_name:
        missing = [repr(name) for name in fitted if name not in columns]
        if missing:
            raise InputError(
                f"{path} lacks {listed(missing)}: new rows need every column that {the_run.folder} was fitted on."
            )
        drop = [name for name in columns if name not in fitted]
    elif drop is None:
        drop = [name for name in the_run.dropped if name in columns or not (columns or fitted)]
    views = filled(read_data(path, drop), facts.get("fill"))
    if by_name and list(views.feature_names[0]) != fitted:
        views = as_views(views, views={views.names[0]: fitted})
    views.check()  # the model would call them by the name of the file it was fitted on
    return views


def _can_match(fitted: list[str] | None, columns: Sequence[str]) -> bool:
    """Whether the columns of a fit can be matched with those of a file by name."""
    return bool(fitted and set(fitted) & set(columns)) and len(set(columns)) == len(columns)


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
    from coterie.data import column_names

    facts = the_run.read_note()
    path = moved_to if moved_to is not None else Path(facts["data"])
    if not path.exists():
        raise InputError(f"The data are not at {path}; give --data the place where they are now.")
    columns = column_names(path) if model.reading_ is None else ()
    if model.reading_ is not None:
        views = reread(path, model.reading_)
    elif _can_match(facts.get("columns"), columns) and not set(the_run.dropped) <= set(columns):
        views = read_new_rows(path, model, the_run, None)  # a file from which columns were removed since
    else:
        views = filled(read_data(path, the_run.dropped), facts.get("fill"))
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
