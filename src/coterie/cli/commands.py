"""The commands. Heavy packages are imported inside them, so that --help answers at once."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from coterie.cli.inputs import (
    As,
    ClassColumn,
    Clusters,
    DataPath,
    Drop,
    IdColumn,
    ImageShape,
    Kinds,
    LabelsFormat,
    Layer,
    MovedData,
    Quiet,
    Rep,
    Replace,
    RunFolder,
    RunOrModel,
    Seed,
    ShownClasses,
    TextColumn,
    cluster_count,
    describe_columns,
    describe_sizes,
    fitted_data,
    identified,
    is_follower,
    label_file,
    load_model,
    load_run,
    need_packages,
    printed_warnings,
    read_classes,
    read_corrections,
    read_data,
    read_rows,
    read_settings,
    read_shown_classes,
    recommended,
    shape_of_rows,
)
from coterie.cli.patience import current
from coterie.errors import InputError, Terminated, counted, interruption
from coterie.progress import phase


class Stopped(BaseException):
    """Ctrl-C or SIGTERM came: the command ends, and says what it leaves."""

    def __init__(self, by: KeyboardInterrupt, left: str = "") -> None:
        super().__init__(left or str(by))
        self.why, self.code = interruption(by), 143 if isinstance(by, Terminated) else 130

    @property
    def sentence(self) -> str:
        """Why the command ended, and what it leaves where that is known."""
        return f"{self.why}; {self}." if str(self) else f"{self.why}."


class _Commands(TyperGroup):
    """The commands; typer alone would end an interrupted one without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Stopped(error) from error


app = typer.Typer(
    cls=_Commands,
    help="Find the groups in large, messy data and show why.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def methods() -> None:
    """List the clustering methods and when to pick each."""
    from coterie.methods.registry import METHODS

    for method in METHODS:
        typer.echo(f"{method.key:12} {method.summary}\n{'':12} pick it when: {method.pick_when}")


@app.command()
def recommend(
    data: DataPath,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known classes of some rows, as for coterie fit.")
    ] = None,
    clusters: Clusters = "auto",
    uneven: Annotated[
        bool | None,
        typer.Option("--uneven/--even", help="Whether you expect groups of very different size."),
    ] = None,
    drop: Drop = None,
    kinds: Kinds = None,
    kind: As = None,
    text: TextColumn = None,
    layer: Layer = None,
    rep: Rep = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say which method suits DATA, with which settings, and why."""
    from coterie.data import read_some_labels
    from coterie.methods.choosing.recommend import recommend as recommend_method

    views, _ = read_rows(data, drop, as_json, kinds=kinds, kind=kind, column=text, layer=layer, rep=rep)
    known = None if labels is None else read_some_labels(labels, views.n_rows)
    with phase("recommending"):
        advice = recommend_method(views, known, n_clusters=cluster_count(clusters), uneven=uneven)
    given = {"--as": kind, "--text": text, "--layer": layer, "--rep": rep}
    more = [word for option, value in given.items() if value is not None for word in (option, value)]
    more += [word for item in kinds or () for word in ("--kind", item)]
    command = advice.command(str(data), None if labels is None else str(labels), drop or (), more=more)
    if as_json:
        typer.echo(json.dumps(advice.as_values() | {"command": command}))
        return
    typer.echo(f"{advice}\n\n{describe_columns(views)}\n\nNext:\n  {command}")
    if views.labels is not None and labels is None:
        typer.echo("The labels in the data were not used; --labels FILE lets labels steer the method.")


@app.command()
def look(data: DataPath, drop: Drop = None, kinds: Kinds = None) -> None:
    """Say what DATA holds: the kind and the values of each column, what is left out, and what is empty."""
    views = read_data(data, drop, kinds)
    views.check()
    typer.echo(f"{data}: {counted(views.n_rows, 'row')}\n\n{describe_columns(views)}")
    if views.n_views == 1 and views.feature_names[0] is not None:
        typer.echo("\n--kind NAME=KIND corrects a kind, --drop NAME leaves a column out; here and for fit.")


@app.command()
def fit(
    data: DataPath,
    out: Annotated[
        Path, typer.Option("--out", metavar="RUN", help="Folder for the model, labels and report.")
    ],
    clusters: Clusters = None,
    method: Annotated[
        str, typer.Option(help="See coterie methods; auto takes the one that coterie recommend suggests.")
    ] = "auto",
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known classes of some rows, for methods that use them."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the method, or options.NAME; repeatable."
        ),
    ] = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    kinds: Kinds = None,
    kind: As = None,
    text: TextColumn = None,
    layer: Layer = None,
    rep: Rep = None,
    labels_format: LabelsFormat = "csv",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Most memory to take, such as 2GB; kept by GraphClustering, or refused."
        ),
    ] = None,
    seed: Seed = 0,
    replace: Replace = False,
    quiet: Quiet = False,
) -> None:
    """Cluster DATA and keep the result in the folder RUN; run it again to go on after a crash."""
    from coterie.cli.limits import prepared
    from coterie.data import read_label_names, read_some_labels
    from coterie.engine.distributed import process_group
    from coterie.methods.drift import Reference
    from coterie.methods.registry import find_method
    from coterie.runs import Run

    the_run, n_clusters = Run(out), cluster_count(clusters)
    the_run.check_free(replace)
    if clusters is None and labels is None:
        raise InputError(
            "Say how many clusters to find with --clusters (a number, or auto), or give some rows' classes with "
            "--labels."
        )
    chosen = None if method == "auto" else find_method(method)
    with phase("reading"):
        # The first column may be the texts themselves.
        named_by = "none" if text is not None and id_column is None else id_column
        identifiers, without = identified(data, named_by, drop, quiet)
        views, reading = read_rows(
            data, drop, quiet, without=without, kinds=kinds, kind=kind, column=text, layer=layer, rep=rep
        )
        drop = without if reading is None else None
    if reading is None and not quiet and not is_follower():
        typer.echo(f"{describe_columns(views)}\n")
    known = None if labels is None else read_some_labels(labels, views.n_rows)
    names = {} if labels is None else read_label_names(labels)
    if chosen is None:
        chosen = recommended(views, known, labels, quiet)
    if labels is not None and not chosen.uses_labels:
        raise InputError(
            f"--labels goes with a method that uses labels, and {chosen.name} does not; see coterie methods."
        )
    estimator = chosen.load()
    parameters = read_settings(estimator, settings or [])
    usual = {"random_state": seed, "checkpoint": str(the_run.checkpoint), "verbose": int(not quiet)}
    usual |= {} if clusters is None else {"n_clusters": n_clusters}
    usual |= {} if reading is None else reading.description.settings
    model = estimator(**{name: value for name, value in usual.items() if name in estimator().get_params()})
    model.set_params(**parameters)
    with phase("reading"):
        views = prepared(model, parameters, views, data, memory, quiet)
    started = time.perf_counter()
    with the_run.created(replace, alone=not is_follower()):
        with process_group() as group, printed_warnings() as interruptions, phase("fit"):
            model.fit(views, known)
        if group.rank > 0:
            return
        seconds = time.perf_counter() - started
        model.reading_ = reading
        if reading is not None and not names:
            names = reading.names(data, model.labels_)
        if names:
            model.names_ = names
        facts = {
            "data": str(data.resolve()),
            "drop": drop or [],
            "kinds": kinds or [],
            "columns": list(model._fitted_columns[0].names or []) if views.n_views == 1 else [],
            "id": None if identifiers is None else identifiers.name,
            "read as": None if reading is None else {"kind": reading.kind, "text": reading.column},
            "rows": views.n_rows,
            "method": chosen.name,
            "clusters": len(model.cluster_sizes_),
            "labels": None if labels is None else str(labels.resolve()),
            "settings": {
                name.replace("__", "."): value for name, value in parameters.items() if name != "checkpoint"
            },
            "random_state": seed,
            "seed": model.seed_,
            "seconds": round(seconds, 3),
            "interrupted": bool(interruptions),
            "versions": model.versions_,
        }
        with phase("labels"):
            confidence = model.assign(views).confidence
            reference = Reference.of(views, model.labels_, confidence, len(model.cluster_sizes_))
        with phase("writing"):
            the_run.write(
                model,
                model.labels_,
                confidence,
                names,
                facts,
                identifiers=identifiers,
                labels_format=labels_format,
                reference=reference,
            )
    if labels is not None and n_clusters not in ("auto", len(model.cluster_sizes_)):
        typer.echo(
            f"coterie: --clusters {clusters} was not followed: the labels are of "
            f"{counted(len(model.cluster_sizes_), 'class', 'classes')}, and {chosen.name} looks for no other.",
            err=True,
        )
    if interruptions:
        raise Stopped(
            interruptions[0],
            f"{out} holds the model that there was, and the same command goes on to a whole one",
        )
    if not quiet:
        if model.k_choice_ is not None and model.k_choice_.clear:
            typer.echo(model.k_choice_.sentence)
        clusters_found = describe_sizes(model.cluster_sizes_)
        typer.echo(
            f"{counted(views.n_rows, 'row')} in {clusters_found} by {chosen.name} in {seconds:.1f} s: {out}"
        )
        typer.echo(f"Seconds: {current().summary()}.")


@app.command()
def predict(
    run: RunOrModel,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...", help="A file, or several: shards, or a pattern such as 'shards/*.parquet'."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="CSV or Parquet to write, of one file.")
    ] = Path("labels.csv"),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", help="Where the labels of several files go, a file for each."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that label several files.")] = 1,
    drop: Drop = None,
    id_column: IdColumn = None,
    labels_format: LabelsFormat = "csv",
    quiet: Quiet = False,
) -> None:
    """Label the rows of DATA with the model of RUN; named columns are matched by name."""
    from coterie.cli.shards import Labelling, find_shards, is_pattern, label_shards
    from coterie.runs import write_labels
    from coterie.store import file_digest

    model, the_run = load_model(run)
    if out is None and is_pattern(data):
        raise InputError("Say where the labels of several files go with --out FOLDER.")
    if out is None:
        found = label_file(model, the_run, data[0], drop, id_column)
        write_labels(output, *found.columns(model))
        reference = None if the_run is None else the_run.read_reference()
        report = None if reference is None else reference.report([found.seen(reference)])
        n_rows, where = found.views.n_rows, str(output)
    else:
        digest = file_digest(run if the_run is None else the_run.model)
        shards = find_shards(data)
        kept = None if drop is None else tuple(drop)
        task = Labelling(run, digest, out, f".{labels_format}", kept, id_column)
        n_rows, report = label_shards(task, shards, jobs)
        where = f"{out} ({counted(len(shards), 'file')})"
    if not quiet:
        typer.echo(f"{counted(n_rows, 'row')} labelled: {where}")
        for sentence in [] if report is None else report["sentences"]:
            typer.echo(f"Drift: {sentence}")


@app.command()
def compare(
    run: RunOrModel,
    other: Annotated[Path, typer.Argument(metavar="RUN2", help="The run to compare with.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="CSV or Parquet to write, with the rows that moved."),
    ] = None,
) -> None:
    """Say what differs between the clusters of two runs: which became which, and which rows moved."""
    from coterie.cli.compare import compare_runs, describe, write_changes

    comparison = compare_runs(run, other)
    if out is not None:
        write_changes(out, comparison)
    typer.echo(describe(comparison))
    if out is not None:
        typer.echo(f"\n{counted(len(comparison.changes.moved), 'row')} moved: {out}")


@app.command()
def evaluate(
    run: RunOrModel,
    truth: Annotated[
        Path, typer.Option("--truth", metavar="FILE", help="Known classes, one per row of the data.")
    ],
    column: ClassColumn = None,
) -> None:
    """Compare the clusters of RUN with known classes."""
    from coterie.metrics import score_all

    model, _ = load_model(run)
    classes = read_classes(truth, column)
    if len(classes) != len(model.labels_):
        have, need = counted(len(classes), "class", "classes"), counted(len(model.labels_), "row")
        raise InputError(
            f"{truth} has {have} but {run} has {need}; "
            "give one class per row of the data that were fitted, in the same order."
        )
    for name, value in score_all(classes, model.labels_).items():
        typer.echo(f"{name:16} {value:.4f}")


@app.command()
def refine(
    run_folder: RunFolder,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What you know: columns row and label (the number of a cluster, or a new one), or one label a row.",
        ),
    ] = None,
    must_link: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pairs of rows that are in one class, two columns.")
    ] = None,
    cannot_link: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pairs of rows that are not in one class.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The answers given on the page of coterie explore: its export answers.json."
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Whether to keep clusters without labels of yours.")
    ] = True,
    ask: Annotated[int, typer.Option(min=0, help="How many rows worth labelling next to list.")] = 10,
    data: MovedData = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="CSV to write; RUN/refined.csv by default."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="NEW", help="Folder for a run of its own with the refined model."),
    ] = None,
    replace: Replace = False,
    quiet: Quiet = False,
) -> None:
    """Correct the clusters of RUN by what you know of some rows."""
    from coterie.methods.refine import Refinement
    from coterie.runs import Run, write_labels

    model, the_run = load_run(run_folder)
    views = fitted_data(model, the_run, data)
    update, names = read_corrections(model, labels, [must_link, cannot_link], answers)
    new_run = None if out is None else Run(out)
    with nullcontext() if new_run is None else new_run.created(replace):
        with phase("refining"):
            refined = Refinement(model, views, keep=keep, n_ask=ask).update(**update)
        result = refined.labels, refined.memberships.max(axis=1), names
        identifiers = the_run.read_identifiers()
        written = the_run.refined if output is None and new_run is None else output
        if written is not None:
            write_labels(written, *result, identifiers)
        if new_run is not None:
            new_model, facts = refined.model(names), the_run.read_note()
            facts |= {
                "method": new_model.method_,
                "clusters": len(refined.classes),
                "refined": str(run_folder.resolve()),
            }
            facts |= {} if data is None else {"data": str(data.resolve())}
            labels_format = the_run.labels.suffix.removeprefix(".")
            new_run.write(new_model, *result, facts, identifiers=identifiers, labels_format=labels_format)
    if not quiet:
        moved = int((refined.labels != refined.clusters).sum())
        rows, classes = counted(views.n_rows, "row"), counted(len(refined.classes), "class", "classes")
        typer.echo(f"{moved:,} of {rows} changed, {classes}: {out or written}")
        if len(refined.ask):
            typer.echo(f"Worth labelling next: rows {', '.join(map(str, refined.ask))}")


@app.command()
def report(
    run_folder: RunFolder,
    data: MovedData = None,
    truth: ShownClasses = None,
    column: ClassColumn = None,
    image_shape: ImageShape = None,
    quiet: Quiet = False,
) -> None:
    """Write report.html of RUN, one file to look at in a browser."""
    from coterie.explore import write_report

    model, the_run = load_run(run_folder)
    views = fitted_data(model, the_run, data)
    shape = shape_of_rows(model, image_shape)
    known = read_shown_classes(truth, column) if truth else None
    with phase("report"):
        written = write_report(
            model,
            views,
            the_run.report,
            truth=known,
            image_shape=shape,
            title=Path(the_run.read_note()["data"]).stem,
            maps=the_run.maps,
        )
    if not quiet:
        typer.echo(f"Report: {written} ({current().summary()})")


@app.command()
def explore(
    run_folder: RunFolder,
    data: MovedData = None,
    metadata: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV or Parquet, one line per row, to colour by and to search."),
    ] = None,
    truth: ShownClasses = None,
    column: ClassColumn = None,
    image_shape: ImageShape = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows the map shows at most.")] = 5000,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
) -> None:
    """Open RUN as a page on this machine: explore, name, correct, export."""
    need_packages("fastapi", "uvicorn", "plotly", "pyarrow")
    from coterie.explore.live.metadata import Metadata
    from coterie.explore.live.server import serve
    from coterie.explore.live.session import Session
    from coterie.runs import read_confidence

    model, the_run = load_run(run_folder)
    views = fitted_data(model, the_run, data)
    session = Session(
        model,
        views,
        the_run.explored,
        confidence=read_confidence(the_run.labels, views.n_rows),
        metadata=None if metadata is None else Metadata.read(metadata, views.n_rows),
        truth=read_shown_classes(truth, column) if truth else views.labels,
        image_shape=shape_of_rows(model, image_shape),
        title=Path(the_run.read_note()["data"]).stem,
        max_rows=rows,
        maps=the_run.maps,
    )
    serve(session, port, typer.echo)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the report goes.")] = Path(
        "demo"
    ),
    seed: Seed = 0,
    pcx: Annotated[
        bool, typer.Option("--pcx/--no-pcx", help="Whether PCX shows what a network adds.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Cluster scikit-learn's handwritten digits, compare with k-means, write a report."""
    from coterie.demo import run_demo

    run_demo(out, seed=seed, verbose=not quiet, pcx=pcx)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from coterie import __version__

        typer.echo(f"coterie {__version__}")
        raise typer.Exit
