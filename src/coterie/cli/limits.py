"""What a fit will need, said before it starts, and a limit of memory that is kept or refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from coterie.cli.inputs import is_follower, load_if_it_fits
from coterie.cli.patience import current
from coterie.data.memory import fits, into_memory
from coterie.errors import InputError
from coterie.methods.graph_clustering.resources import Size, estimate, keep_within

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def prepared(
    model: Any, parameters: dict[str, Any], views: Any, path: Path, memory: str | None, quiet: bool
) -> Any:
    """Return the rows in memory or on disk as the limit asks, lower `max_rows` if need be, and say so.

    Only GraphClustering knows beforehand what it will need: training ends when nothing moves.
    """
    if type(model).__name__ != "GraphClustering":
        if memory is not None:
            raise InputError(
                f"--memory is kept by GraphClustering, and {type(model).__name__} promises no limit: leave one of "
                "them out."
            )
        return load_if_it_fits(views, path, quiet)
    size = Size(
        views.n_rows,
        views.dims,
        model.max_rows,
        views.in_memory or fits(views),
    )
    if memory is not None:
        kept = _limited(size, path, memory, on_disk=not views.in_memory, quiet=quiet)
        if kept.max_rows != size.max_rows:
            parameters["max_rows"] = kept.max_rows
            model.set_params(max_rows=kept.max_rows)
        size = kept
    needs = estimate(size)
    current().expected = needs.seconds
    if not quiet and not is_follower():
        typer.echo(needs.sentence())
    if not size.in_memory and fits(views):
        return views  # the limit leaves them on disk, though the machine has room
    return into_memory(views) if size.in_memory else load_if_it_fits(views, path, quiet)


def _limited(size: Size, path: Path, memory: str, *, on_disk: bool, quiet: bool) -> Size:
    kept = keep_within(size, parse_bytes(memory), on_disk=on_disk)
    if kept is None:
        least = estimate(size._replace(in_memory=size.in_memory and not on_disk, max_rows=1000)).memory
        hint = "" if on_disk else ", or save the rows as .npy or Parquet, which stay on disk"
        raise InputError(
            f"--memory {memory} is too little for {path}: with a graph of 1,000 rows it still needs about "
            f"{least / 1e9:.1f} GB, and a margin; give more{hint}."
        )
    if kept.max_rows != size.max_rows and not quiet and not is_follower():
        typer.echo(
            f"To stay within {memory} the graph has {kept.graph_rows:,} of the {size.n_rows:,} rows; the others "
            "take the cluster of their nearest neighbours."
        )
    return kept


def parse_bytes(text: str) -> float:
    """Parse an amount of memory.

    Examples
    --------
    >>> parse_bytes("2GB"), parse_bytes("500 MB"), parse_bytes("1.5g")
    (2000000000.0, 500000000.0, 1500000000.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text.lower())
    if match is None or not float(match[1]):
        raise InputError(f"--memory {text} is no amount of memory, such as 2GB or 500MB.")
    return float(match[1]) * _UNITS[match[2]]
