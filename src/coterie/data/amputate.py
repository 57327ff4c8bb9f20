"""Random removal of views, for experiments with missing views."""

# n rows, v views

from __future__ import annotations

import numpy as np

from coterie.errors import InputError


def amputate(
    n_rows: int,
    n_views: int,
    rate: float,
    *,
    reading: str = "rows",
    random_state: int | np.random.Generator | None = None,
) -> np.ndarray:
    """Draw a mask of missing views at a given rate; every row keeps at least one view.

    A missing rate can mean two things, and papers rarely say which: with two views and one of them kept in
    each row, at most half of the entries can be missing, so a rate of 0.7 can only count rows
    (largemvc spec 3.10).

    Parameters
    ----------
    n_rows, n_views : int
        Size of the data.
    rate : float
        What it counts is decided by `reading`.
    reading : {"rows", "entries"}
        ``"rows"``: the share of rows that miss something; each of them misses a random set of views, any
        set that is neither empty nor all of them being equally likely. ``"entries"``: the share of
        (row, view) pairs that are missing; one random view of each row is safe and the missing pairs are
        drawn evenly from the others.
    random_state : int, Generator or None
        Decides the draw.

    Returns
    -------
    ndarray of bool (n, v)
        True where the view stays, as `as_views(..., mask=)` takes it. The rate is exact up to rounding to
        whole rows or pairs.

    Examples
    --------
    >>> present = amputate(1000, 3, 0.4, reading="entries", random_state=0)
    >>> print(1 - present.mean(), present.any(axis=1).all())
    0.4 True
    >>> print(1 - amputate(1000, 2, 0.7, random_state=0).all(axis=1).mean())
    0.7
    """
    if not 0.0 <= rate <= 1.0:
        raise InputError(f"rate={rate} is no share: give a number from 0 to 1.")
    if n_rows < 1 or n_views < 1:
        raise InputError(f"n_rows={n_rows} and n_views={n_views} must both be at least 1.")
    rng = np.random.default_rng(random_state)
    if reading == "rows":
        return _incomplete_rows(n_rows, n_views, rate, rng)
    if reading == "entries":
        return _missing_entries(n_rows, n_views, rate, rng)
    raise InputError(f"reading={reading!r} does not exist: choose 'rows' or 'entries'.")


def _incomplete_rows(n: int, v: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    count = round(rate * n)
    if count and v == 1:
        raise InputError("With one view no row can miss a view: rate must be 0.")
    present = np.ones((n, v), dtype=bool)
    incomplete = rng.choice(n, size=count, replace=False)
    # A fair coin for each view, tossed again when all agree, makes all proper subsets equally likely.
    while len(incomplete):
        present[incomplete] = rng.random((len(incomplete), v)) < 0.5
        kept = present[incomplete].sum(axis=1)
        incomplete = incomplete[(kept == 0) | (kept == v)]
    return present


def _missing_entries(n: int, v: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    if rate > (v - 1) / v:
        raise InputError(
            f"rate={rate} of the entries cannot be missing when each row keeps one of {v} views: "
            f"the most is {(v - 1) / v:.4g} (or count rows with reading='rows')."
        )
    safe = np.zeros((n, v), dtype=bool)
    safe[np.arange(n), rng.integers(v, size=n)] = True
    removable = np.flatnonzero(~safe)
    count = min(round(rate * n * v), len(removable))
    present = np.ones(n * v, dtype=bool)
    present[rng.choice(removable, size=count, replace=False)] = False
    return present.reshape(n, v)
