"""The encoding of a table as rows of numbers in which every column counts once."""

# n rows, D encoded columns, w width of a column's part, L levels

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from coterie.data.tables.columns import Column, MixedTable
from coterie.data.tables.gaps import fill_from_similar
from coterie.data.tables.kinds import NUMBERS, USED, Kind, guess_kinds
from coterie.data.tables.measure import OTHER, measured
from coterie.data.tables.skew import is_skewed, log_scale, predicted_share
from coterie.errors import InputError, listed

# Two values of a standardised number differ by about 1 in the median (0.95 of normal ones), so two words do too
# before they are weighted: one-hot vectors of this length are 1 apart.
_WORD = 0.5**0.5
_LEAST_WEIGHT = 0.35
_NEIGHBOURS = 10
_MOST_LEVELS = 100
_SAMPLE_ROWS = 1000


@dataclass(frozen=True)
class ColumnEncoding:
    """How a column becomes numbers.

    Attributes
    ----------
    name : str
    kind : Kind
    levels : tuple of str
        The words of a category, the commonest first, or of a grade from the lowest, or of a boolean.
    log : bool
        Whether the logarithm is taken.
    smallest : float
        The smallest positive value of a column with zeros whose logarithm is taken, else 0.
    shift, scale : float
        What is subtracted, and by what the difference is divided.
    weight : float
        By what the result is multiplied: below 1 for words next to numbers.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    log: bool = False
    smallest: float = 0.0
    shift: float = 0.0
    scale: float = 1.0
    weight: float = 1.0

    @property
    def features(self) -> list[str]:
        """Names of its encoded columns."""
        if self.kind.name == "category":
            return [f"{self.name} = {level}" for level in self.levels]
        if self.kind.name == "boolean":
            return [f"{self.name} = {self.levels[1]}"]
        if self.kind.name == "grade":
            return [f"{self.name} (1 {self.levels[0]} to {len(self.levels)} {self.levels[-1]})"]
        return [f"{self.name} (year)"] if self.kind.name == "date" else [self.name]

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return values of `measured` as encoded columns (n, w)."""
        if self.kind.name == "category":
            codes = values[:, 0]
            part = (codes[:, None] == np.arange(len(self.levels))) * (_WORD * self.weight)
            part[np.isnan(codes)] = np.nan
            return part
        return (self.on_scale(values) - self.shift) * (self.weight / self.scale)

    def on_scale(self, values: np.ndarray) -> np.ndarray:
        """Return numbers, or their logarithms where these are compared."""
        return log_scale(values, self.smallest) if self.log else values

    def readable(self, part: np.ndarray) -> np.ndarray:
        """Return encoded columns (n, w) in the units of the table: shares of words, years of dates."""
        if self.kind.name == "category":
            return part / (_WORD * self.weight)
        values = part * (self.scale / self.weight) + self.shift
        if self.log:
            values = np.expm1(values) * self.smallest if self.smallest else np.exp(values)
        return values


@dataclass(frozen=True)
class TableEncoding:
    """The encoding of a whole table, fitted.

    Numbers are standardised, skewed positive ones after their logarithm where near rows agree more on it; grades are
    ranks and dates are days, standardised; a category has a column for each word. Words and grades are weighted so
    that they are no wall between near numbers. A table of numbers alone keeps its units, for an estimator's `scale`.

    Attributes
    ----------
    columns : tuple of ColumnEncoding
        The columns that are used.
    left_out : dict of str to str
        The kind of each other column.
    donors : ndarray (r, D)
        Encoded rows, with their gaps, that gaps are filled from.
    n_gaps : dict of str to int
        Empty cells of each column that has some, in the fit.
    """

    columns: tuple[ColumnEncoding, ...]
    left_out: dict[str, str]
    donors: np.ndarray
    n_gaps: dict[str, int]

    @property
    def names(self) -> list[str]:
        """Names of the columns that are used."""
        return [column.name for column in self.columns]

    @property
    def features(self) -> list[str]:
        """Names of the encoded columns, (D,)."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def in_units(self) -> bool:
        """Whether all columns are numbers in their own units."""
        return all(column.kind.name in NUMBERS for column in self.columns)

    @classmethod
    def fit(cls, table: MixedTable, kinds: Mapping[str, str] | None = None) -> TableEncoding:
        """Guess the kinds of the columns, except those given, and learn their encoding."""
        table.check_names()
        guesses = guess_kinds(table, kinds)
        left_out = {
            column.name: kind.name
            for column, kind in zip(table.columns, guesses, strict=True)
            if kind.name not in USED
        }
        used = [(c, k) for c, k in zip(table.columns, guesses, strict=True) if k.name in USED]
        if not used:
            raise InputError(_nothing_left(table, left_out))
        columns = [ColumnEncoding(column.name, kind, _levels(column, kind)) for column, kind in used]
        values = [
            measured(table, column, encoding.kind, encoding.levels)
            for (column, _), encoding in zip(used, columns, strict=True)
        ]
        if not all(column.kind.name in NUMBERS for column in columns):
            columns = _standardised(columns, values)
        encoded = np.hstack([column.encode(value) for column, value in zip(columns, values, strict=True)])
        gaps = {
            column.name: int(np.isnan(value[:, 0]).sum())
            for column, value in zip(columns, values, strict=True)
        }
        n_gaps = {name: count for name, count in gaps.items() if count}
        return cls(tuple(columns), left_out, encoded[_donor_rows(encoded)].astype(np.float32), n_gaps)

    def encode(self, table: MixedTable) -> np.ndarray:
        """Return the rows of a table as float32 (n, D); a row without any known cell is all NaN.

        An empty cell, and a word that the fit did not have, get the mean of the ten most similar rows of the fit.
        """
        table = table.pick(self.names)
        values = [
            measured(table, column, encoding.kind, encoding.levels)
            for column, encoding in zip(table.columns, self.columns, strict=True)
        ]
        parts = [column.encode(value) for column, value in zip(self.columns, values, strict=True)]
        rows = np.hstack(parts)
        if np.isnan(rows).any():
            donors = self.donors.astype(np.float64)
            spread = _deviations(donors) if self.in_units else np.ones(donors.shape[1])
            rows = fill_from_similar(rows / spread, donors / spread) * spread
        return rows.astype(np.float32)

    def readable(self, rows: np.ndarray) -> np.ndarray:
        """Return encoded rows (n, D) in the units of the table."""
        ends = np.cumsum([len(column.features) for column in self.columns])
        parts = np.split(rows.astype(np.float64), ends[:-1], axis=1)
        return np.hstack([c.readable(part) for c, part in zip(self.columns, parts, strict=True)]).astype(
            np.float32
        )

    def state(self) -> tuple[dict[str, Any], np.ndarray]:
        """Return what a file keeps: values that JSON can hold, and the donors."""
        columns = [asdict(column) for column in self.columns]
        return {"columns": columns, "left_out": self.left_out, "n_gaps": self.n_gaps}, self.donors

    @classmethod
    def from_state(cls, values: Mapping[str, Any], donors: np.ndarray) -> TableEncoding:
        """Take back what `state` gave."""
        columns = []
        for column in values["columns"]:
            kind = Kind(**(column["kind"] | {"levels": tuple(column["kind"]["levels"])}))
            columns.append(ColumnEncoding(**(column | {"kind": kind, "levels": tuple(column["levels"])})))
        return cls(tuple(columns), dict(values["left_out"]), donors, dict(values["n_gaps"]))


def _levels(column: Column, kind: Kind) -> tuple[str, ...]:
    if kind.name != "category":
        return kind.levels
    counts = Counter(word for word in column.words() if word is not None)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(ordered) if len(ordered) <= _MOST_LEVELS else (*ordered[:_MOST_LEVELS], OTHER)


def _standardised(columns: list[ColumnEncoding], values: list[np.ndarray]) -> list[ColumnEncoding]:
    """Return the encodings with the scale of each column learned."""
    skewed = [j for j, c in enumerate(columns) if c.kind.name in NUMBERS and is_skewed(values[j][:, 0])]
    by_log = [_scaled(c, v, log=j in skewed) for j, (c, v) in enumerate(zip(columns, values, strict=True))]
    for j in skewed if len(columns) > 1 else ():
        sample = _spread(len(values[j]))
        plain = _scaled(columns[j], values[j], log=False)
        others = [by_log[i].encode(values[i][sample]) for i in range(len(columns)) if i != j]
        rows = np.hstack(others)
        there = ~np.isnan(values[j][sample][:, 0]) & ~np.isnan(rows).all(axis=1)
        if there.sum() < 3:
            continue
        rows = fill_from_similar(rows[there], rows[there])
        log_share, plain_share = (
            predicted_share(way.encode(values[j][sample][there])[:, 0], rows) for way in (by_log[j], plain)
        )
        if plain_share > log_share:
            by_log[j] = plain
    return _weighted(by_log, values)


def _weighted(columns: list[ColumnEncoding], values: list[np.ndarray]) -> list[ColumnEncoding]:
    r"""Return the encodings with the weight of words and grades next to numbers.

    Two different words are a step, while near numbers differ by little: at full weight no row has a neighbour with
    other words, and groups fall apart by them. The nearer neighbours are by numbers, the less words weigh:

    .. math:: w = \min(1, \max(0.35, R^2))

    where R is the median distance of a row to its tenth neighbour by numbers and dates; two words are w apart.
    """
    sample, pairs = _spread(len(values[0])), list(zip(columns, values, strict=True))
    parts = [column.encode(value[sample]) for column, value in pairs]
    in_steps = [_is_in_steps(column, value) for column, value in pairs]
    smooth = [part for part, steps in zip(parts, in_steps, strict=True) if not steps]
    if not smooth or not any(in_steps):
        return columns
    rows = np.hstack(smooth)
    rows = rows[~np.isnan(rows).all(axis=1)]
    rows = fill_from_similar(rows, rows)
    distances = np.sort(cdist(rows, rows), axis=1)[:, min(_NEIGHBOURS, len(rows) - 1)]
    weight = float(np.clip(np.median(distances) ** 2, _LEAST_WEIGHT, 1.0))
    return [
        replace(column, weight=weight) if steps else column
        for column, steps in zip(columns, in_steps, strict=True)
    ]


def _is_in_steps(column: ColumnEncoding, values: np.ndarray) -> bool:
    """Whether a column has words, grades, or two numbers alone."""
    if column.kind.name in ("category", "boolean", "grade"):
        return True
    return len(np.unique(values[~np.isnan(values)])) == 2


def _scaled(column: ColumnEncoding, values: np.ndarray, *, log: bool) -> ColumnEncoding:
    """Return an encoding with mean and deviation of its values; two different values alone are 1 apart."""
    if column.kind.name == "category":
        return column
    known = values[~np.isnan(values)]
    smallest = float(known[known > 0].min()) if log and known.min() <= 0 else 0.0
    column = replace(column, log=log, smallest=smallest)
    known = column.on_scale(known)
    spread = float(known.max() - known.min()) if len(np.unique(known)) == 2 else float(known.std())
    return replace(column, shift=float(known.mean()), scale=spread or 1.0)


def _deviations(rows: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column (D,) without its gaps, 1 where it is constant."""
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, rows - np.where(known, rows, 0).sum(axis=0) / count, 0)
    deviations = np.sqrt(np.square(centred).sum(axis=0) / count)
    return np.where(deviations > 0, deviations, 1.0)


def _spread(n_rows: int) -> np.ndarray:
    """Return row numbers spread evenly, at most as many as a sample has."""
    return np.linspace(0, n_rows - 1, min(_SAMPLE_ROWS, n_rows)).astype(int)


def _donor_rows(encoded: np.ndarray) -> np.ndarray:
    """Return rows spread evenly, and for each column the first rows that have it, so that every gap can be filled."""
    known = ~np.isnan(encoded)
    first = [np.flatnonzero(column)[:10] for column in known.T]
    return np.unique(np.concatenate([_spread(len(encoded)), *first]))


def _nothing_left(table: MixedTable, left_out: Mapping[str, str]) -> str:
    texts = [name for name, kind in left_out.items() if kind == "text"]
    if texts:
        return (
            f"{table.where} has free text only ({listed(texts)}), which has no distances yet: turn it into numbers "
            f"first, or take it as words (--kind {texts[0]}=category, kinds= in Python)."
        )
    why = listed([f"{name}: {kind}" for name, kind in left_out.items()], 6)
    return (
        f"{table.where} has no column that tells rows apart ({why}): nothing can be clustered; --kind NAME=KIND "
        "(kinds= in Python) corrects a guess."
    )
