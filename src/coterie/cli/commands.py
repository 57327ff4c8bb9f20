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
    Fill,
    ImageShape,
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
    describe_gaps,
    describe_sizes,
    fill_values,
    filled,
    fitted_data,
    is_follower,
    load_if_it_fits,
    load_model,
    load_run,
    need_packages,
    printed_warnings,
    read_classes,
    read_corrections,
    read_new_rows,
    read_rows,
    read_settings,
    recommended,
    shape_of_rows,
)
from coterie.errors import InputError, counted


class Stopped(BaseException):
    """Ctrl-C or SIGTERM came: the command ends at once, and says what it leaves."""

    def __init__(self, left: str = "", why: str = "Interrupted", code: int = 130) -> None:
        super().__init__(left)
        self.why, self.code = why, code

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
        except KeyboardInterrupt as interruption:
            raise Stopped(str(interruption)) from interruption


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
    kind: As = None,
    text: TextColumn = None,
    layer: Layer = None,
    rep: Rep = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say which method suits DATA, with which settings, and why."""
    from coterie.data import read_some_labels
    from coterie.methods.choosing.recommend import recommend as recommend_method

    views, _ = read_rows(data, drop, as_json, kind=kind, column=text, layer=layer, rep=rep)
    known = None if labels is None else read_some_labels(labels, views.n_rows)
    advice = recommend_method(views, known, n_clusters=cluster_count(clusters), uneven=uneven)
    gaps = describe_gaps(views)
    given = {"--as": kind, "--text": text, "--layer": layer, "--rep": rep}
    more = [word for option, value in given.items() if value is not None for word in (option, value)]
    more += ["--fill"] * bool(gaps)
    command = advice.command(str(data), None if labels is None else str(labels), drop or (), more=more)
    if as_json:
        typer.echo(json.dumps(advice.as_values() | {"command": command}))
        return
    columns = "\n".join(filter(None, (describe_columns(views), gaps)))
    typer.echo(f"{advice}\n\n{columns}\n\nNext:\n  {command}")
    if views.labels is not None and labels is None:
        typer.echo("The labels in the data were not used; --labels FILE lets labels steer the method.")


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
    fill: Fill = False,
    kind: As = None,
    text: TextColumn = None,
    layer: Layer = None,
    rep: Rep = None,
    seed: Seed = 0,
    replace: Replace = False,
    quiet: Quiet = False,
) -> None:
    """Cluster DATA and keep the result in the folder RUN; run it again to go on after a crash."""
    from coterie.data import read_label_names, read_some_labels
    from coterie.engine.distributed import process_group
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
    views, reading = read_rows(data, drop, quiet, kind=kind, column=text, layer=layer, rep=rep)
    values = fill_values(views, fill)
    views = filled(views, values)
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
    views = load_if_it_fits(views, data, quiet)
    usual = {"random_state": seed, "checkpoint": str(the_run.checkpoint), "verbose": int(not quiet)}
    usual |= {} if clusters is None else {"n_clusters": n_clusters}
    usual |= {} if reading is None else reading.description.settings
    model = estimator(**{name: value for name, value in usual.items() if name in estimator().get_params()})
    model.set_params(**parameters)
    started = time.perf_counter()
    with the_run.created(replace, alone=not is_follower()):
        with process_group() as group, printed_warnings():
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
            "columns": list(views.feature_names[0] or []) if views.n_views == 1 else [],
            "fill": values,
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
            "versions": model.versions_,
        }
        the_run.write(model, model.labels_, model.assign(views).confidence, names, facts)
    if labels is not None and n_clusters not in ("auto", len(model.cluster_sizes_)):
        typer.echo(
            f"coterie: --clusters {clusters} was not followed: the labels are of "
            f"{counted(len(model.cluster_sizes_), 'class', 'classes')}, and {chosen.name} looks for no other.",
            err=True,
        )
    if not quiet:
        if model.k_choice_ is not None and model.k_choice_.clear:
            typer.echo(model.k_choice_.sentence)
        clusters_found = describe_sizes(model.cluster_sizes_)
        typer.echo(
            f"{counted(views.n_rows, 'row')} in {clusters_found} by {chosen.name} in {seconds:.1f} s: {out}"
        )


@app.command()
def predict(
    run: RunOrModel,
    data: DataPath,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="CSV to write.")] = Path(
        "labels.csv"
    ),
    drop: Drop = None,
    quiet: Quiet = False,
) -> None:
    """Label the rows of DATA with the model of RUN; named columns are matched by name."""
    from coterie.runs import write_labels

    model, the_run = load_model(run)
    views = read_new_rows(data, model, the_run, drop)
    labels, confidence = model.assign(views)
    write_labels(output, labels, confidence, getattr(model, "names_", None))
    if not quiet:
        typer.echo(f"{counted(views.n_rows, 'row')} labelled: {output}")


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
        refined = Refinement(model, views, keep=keep, n_ask=ask).update(**update)
        result = refined.labels, refined.memberships.max(axis=1), names
        written = the_run.refined if output is None and new_run is None else output
        if written is not None:
            write_labels(written, *result)
        if new_run is not None:
            new_model, facts = refined.model(names), the_run.read_note()
            facts |= {
                "method": new_model.method_,
                "clusters": len(refined.classes),
                "refined": str(run_folder.resolve()),
            }
            new_run.write(new_model, *result, facts | ({} if data is None else {"data": str(data.resolve())}))
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
    known = read_classes(truth, column) if truth else None
    written = write_report(
        model,
        views,
        the_run.report,
        truth=known,
        image_shape=shape,
        title=Path(the_run.read_note()["data"]).stem,
    )
    if not quiet:
        typer.echo(f"Report: {written}")


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
        truth=read_classes(truth, column) if truth else views.labels,
        image_shape=shape_of_rows(model, image_shape),
        title=Path(the_run.read_note()["data"]).stem,
        max_rows=rows,
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
