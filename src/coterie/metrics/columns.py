"""Labels as columns of whole numbers."""

# n rows

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import InputError


def as_column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as a 1-D array in which no two different labels became equal."""
    column = np.asarray(values)
    if column.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # numpy turns [1, "1"] into two equal strings; objects keep them apart.
        column = np.asarray(values, dtype=object)
    if column.ndim != 1:
        raise InputError(f"{name} must be one value per row, but it has {column.ndim} dimensions.")
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise InputError(
            f"{name} is NaN at row {int(np.flatnonzero(np.isnan(column))[0])}; write -1 if unknown."
        )
    return column


def as_codes(column: NDArray[Any]) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
    """Return the distinct values of a column and, per row, which of them it holds."""
    try:
        values, codes = np.unique(column, return_inverse=True)
        return tuple(values.tolist()), codes
    except TypeError:  # values of several types have no order: number them as they appear
        numbers: dict[Hashable, int] = {}
        codes = np.fromiter(
            (numbers.setdefault(value, len(numbers)) for value in column), np.intp, len(column)
        )
        return tuple(numbers), codes
