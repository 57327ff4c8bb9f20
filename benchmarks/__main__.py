"""`python -m benchmarks`: the measurements, one command each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.sets import DEFAULT_FOLDER, SEVERAL, SINGLE

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def accuracy(
    method: Annotated[str, typer.Option(help="See coterie methods.")] = "pcx",
    sets: Annotated[
        str, typer.Option(help="Names with commas between them; the method's own by default.")
    ] = "",
    seeds: Annotated[int, typer.Option(help="How many, from 0.")] = 5,
    data: Annotated[Path, typer.Option(help="Folder with the data sets.")] = DEFAULT_FOLDER,
    tag: Annotated[str, typer.Option(help="Name of the file of results.")] = "accuracy",
    params: Annotated[str, typer.Option(help="Parameters other than the defaults, as JSON.")] = "{}",
) -> None:
    """ACC, NMI and ARI of a method with its defaults; goes on where it was stopped."""
    from benchmarks.accuracy import run_accuracy

    usual = [one.name for one in (SINGLE if method == "pcx" else SEVERAL)]
    names = sets.split(",") if sets else usual
    run_accuracy(method, names, range(seeds), data, tag=tag, params=json.loads(params))


@app.command()
def speed(rows: int = 14_000, rounds: int = 3) -> None:
    """Compare a training epoch with a bare torch loop and with the machine's peak."""
    from benchmarks.speed import run_speed

    run_speed(rows, rounds)


@app.command()
def disk(gigabytes: float = 4.0) -> None:
    """Memory and rate of training from a memory-mapped file."""
    from benchmarks.speed import run_disk

    run_disk(gigabytes)


if __name__ == "__main__":
    app()
