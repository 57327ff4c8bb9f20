"""Checks and error messages that all readers share."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import InputError, listed

_FREE_BYTES = 16 * 2**20
_MAX_RATIO = 1100  # deflate compresses at most 1,032 to 1


def check_room(wanted: int, held: int) -> None:
    """Refuse to allocate `wanted` bytes for a file of `held` bytes that cannot contain them: a decompression bomb.

    Examples
    --------
    >>> check_room(8 * 10**12, 500)
    Traceback (most recent call last):
    ValueError: it would take 8,000.0 GB in memory, which 500 bytes cannot hold
    """
    if wanted > _FREE_BYTES + _MAX_RATIO * held:
        raise ValueError(f"it would take {wanted / 1e9:,.1f} GB in memory, which {held:,} bytes cannot hold")


def check_own_values(node: Any) -> None:
    """Refuse an HDF5 dataset whose values are those of other files: whoever wrote it could read any file with it."""
    if node.external or node.is_virtual:
        raise ValueError(f"{node.name} holds values of other files")


def check_compressed(indices: np.ndarray, starts: np.ndarray, n_minor: int) -> None:
    """Check the indices and index pointers of a CSR or CSC matrix; SciPy does not check an empty one.

    Examples
    --------
    >>> check_compressed(np.array([], dtype=int), np.array([0, 9, 0]), 3)
    Traceback (most recent call last):
    ValueError: a sparse matrix with values outside of it
    """
    valid = len(starts) > 0 and starts[0] == 0 and (np.diff(starts) >= 0).all() and starts[-1] == len(indices)
    if not valid or (len(indices) and not 0 <= indices.min() <= indices.max() < n_minor):
        raise ValueError("a sparse matrix with values outside of it")


def need(module: str, extra: str, suffix: str) -> Any:
    """Import an optional package; raise with how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(f"Reading {suffix} files needs {package}: pip install 'coterie[{extra}]'") from None


@contextmanager
def parsing(path: Path, kind: str) -> Iterator[None]:
    """Turn any exception of a parser into one sentence that names the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # parsers raise anything from KeyError to zlib.error on broken bytes
        if "Python objects" in str(error) or "pickle" in str(error):  # the name of a codec of old zarr arrays
            raise InputError(
                f"{path} is damaged or holds Python objects, which could run code and are never loaded: "
                "save plain arrays of numbers."
            ) from None
        if isinstance(error, UnicodeDecodeError) and kind.startswith("UTF-8"):
            raise InputError(
                f"{path} is not UTF-8 text (byte {error.start}): save it as CSV UTF-8 in the spreadsheet, or convert "
                f"it (iconv -f WINDOWS-1252 -t UTF-8 {shlex.quote(str(path))} > new.csv)."
            ) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{path} is damaged or not a {kind} file ({reason}): write it again.") from error


def columns_to_drop(
    drop: str | int | Sequence[str | int], names: Sequence[str], n_columns: int, path: Path
) -> list[int]:
    """Return the numbers of the columns to leave out, given by name (every column of that name) or number from 0.

    Examples
    --------
    >>> columns_to_drop(["city", 0], ["id", "size", "city"], 3, Path("t.csv"))
    [2, 0]
    >>> columns_to_drop("1", [], 3, Path("t.csv"))  # a number may come as text, from the command line
    [1]
    """
    columns = []
    for column in [drop] if isinstance(drop, str | int) else drop:
        if column in names:
            columns += [j for j, name in enumerate(names) if name == column]
        elif str(column).isdigit() and int(column) < n_columns:
            columns.append(int(column))
        else:
            known = f"its columns are {listed(names)}" if names else f"it has {n_columns:,} without names"
            raise InputError(f"drop= names the column {column!r}, which {path} does not have: {known}.")
    return columns


def natural_order(name: str) -> tuple[list[str], list[int]]:
    """Return a sort key that puts view2 before view10."""
    return re.split(r"\d+", name), [int(number) for number in re.findall(r"\d+", name)]
