"""What a person said about rows: labels and links, checked for contradictions and made ready for the solve."""

# n rows, m anchors, e units, c classes

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.errors import InputError


@dataclass(frozen=True)
class Knowledge:
    """Labels and links of rows, without contradictions.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        The position of each row's class, -1 where it is not known; must-links have passed labels on.
    unit : ndarray of shape (n,)
        The number of the unit that a free row with links belongs to, else -1.
    together, apart : ndarray of shape (pairs, 2)
        Rows with soft links.
    """

    codes: np.ndarray
    unit: np.ndarray
    together: np.ndarray
    apart: np.ndarray

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.unit.max(initial=-1)) + 1


def as_pairs(pairs: Any, n_rows: int, name: str) -> np.ndarray:
    """Return pairs of row numbers as an array (pairs, 2).

    Examples
    --------
    >>> as_pairs([(0, 2)], 3, "must_link")
    array([[0, 2]])
    >>> as_pairs([(0, 9)], 3, "must_link")
    Traceback (most recent call last):
    coterie.errors.InputError: must_link names row 9, but the rows are 0 to 2.
    """
    given = np.asarray([] if pairs is None else pairs)
    if given.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InputError(
            f"{name} must be pairs of row numbers, an array of shape (pairs, 2), not of {given.shape}."
        )
    wrong = given[(given < 0) | (given >= n_rows)]
    if len(wrong):
        raise InputError(f"{name} names row {wrong[0]}, but the rows are 0 to {n_rows - 1}.")
    same = given[given[:, 0] == given[:, 1]]
    if len(same):
        raise InputError(f"{name} pairs row {same[0, 0]} with itself; leave that pair out.")
    return given.astype(np.int64)


def gather(codes: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray, *, hard: bool) -> Knowledge:
    """Join labels and links; raise where they contradict each other.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        -1 where a row has no label.
    must_link, cannot_link : ndarray of shape (pairs, 2)
    hard : bool
        Whether rows that must be together are one unit, or only drawn to each other.
    """
    group = _groups(must_link, len(codes))
    passed = _passed_on(codes, group)
    _check_apart(passed, group, cannot_link)
    known = passed if hard else codes
    free = known < 0
    tied = np.zeros(len(codes), dtype=bool)
    tied[np.concatenate([must_link.ravel(), cannot_link.ravel()])] = True
    tied &= free
    unit = np.full(len(codes), -1, dtype=np.int64)
    unit[tied] = np.unique(group[tied] if hard else np.flatnonzero(tied), return_inverse=True)[1]
    together = must_link[:0] if hard else must_link
    return Knowledge(known, unit, *(pairs[free[pairs].any(axis=1)] for pairs in (together, cannot_link)))


def _groups(pairs: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the number of the group that each row is tied into, its own where it is tied to none."""
    if not len(pairs):
        return np.arange(n_rows)
    ties = sparse.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(n_rows, n_rows))
    return connected_components(ties, directed=False)[1]


def _passed_on(codes: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the labels with every row of a group labelled as its labelled rows are."""
    labelled = np.flatnonzero(codes >= 0)
    first = np.full(group.max(initial=-1) + 1, -1, dtype=np.int64)
    first[group[labelled[::-1]]] = labelled[::-1]  # the lowest row number is written last
    clash = labelled[codes[labelled] != codes[first[group[labelled]]]]
    if len(clash):
        one, other = sorted((int(clash[0]), int(first[group[clash[0]]])))
        raise InputError(
            f"Rows {one} and {other} must be together by must_link but have different labels; "
            "take back one of the labels or a link between them."
        )
    return np.where(first[group] >= 0, codes[first[group]], -1)


def _check_apart(codes: np.ndarray, group: np.ndarray, cannot_link: np.ndarray) -> None:
    left, right = cannot_link.T
    joined = np.flatnonzero(group[left] == group[right])
    if len(joined):
        one, other = cannot_link[joined[0]]
        raise InputError(
            f"Rows {one} and {other} are in cannot_link, but must_link ties them; take back one of the links."
        )
    alike = np.flatnonzero((codes[left] >= 0) & (codes[left] == codes[right]))
    if len(alike):
        one, other = cannot_link[alike[0]]
        raise InputError(
            f"Rows {one} and {other} are in cannot_link but have the same label, given or passed on by must_link; "
            "take back the link or one of the labels."
        )
