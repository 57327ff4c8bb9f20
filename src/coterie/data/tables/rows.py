"""Encoded tables as sources of rows, and the columns of new rows matched with those of a fit."""

# n rows, D encoded columns

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coterie.data.sources import DenseRows, Rows, Source
from coterie.data.subsets import RowSubset, take_columns
from coterie.data.tables.columns import Column, MixedTable, check_complete
from coterie.data.tables.encoding import TableEncoding
from coterie.data.tables.kinds import Kind
from coterie.data.tables.measure import measured
from coterie.errors import InputError

_SCANNED_VALUES = 4 * 2**20


class EncodedRows(DenseRows):
    """The rows of a table of words and numbers, encoded when they are first read.

    Parameters
    ----------
    table : MixedTable
    encoding : TableEncoding, optional
        That of a fit; by default it is fitted to the table.
    kinds : mapping from column to kind, optional
        Kinds that are not to be guessed.
    """

    def __init__(
        self,
        table: MixedTable,
        encoding: TableEncoding | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        self.table, self.kinds, self._given = table, kinds, encoding

    @property
    def n_rows(self) -> int:
        """Number of rows, known before they are encoded."""
        return self.table.n_rows

    @cached_property
    def encoding(self) -> TableEncoding:
        """The encoding of the fit, or of this table."""
        return self._given or TableEncoding.fit(self.table, self.kinds)

    @cached_property
    def array(self) -> np.ndarray:
        """The encoded rows, (n, D)."""
        return self.encoding.encode(self.table)

    def pick(self, names: Sequence[str]) -> EncodedRows:
        """Return some columns, encoded by themselves."""
        kinds = {name: kind for name, kind in (self.kinds or {}).items() if name in names}
        return EncodedRows(self.table.pick(names), kinds=kinds)


class ReadableRows:
    """Encoded rows in the units and words of their table: shares of words, years of dates."""

    on_disk = False
    known_finite = False

    def __init__(self, source: Source, encoding: TableEncoding) -> None:
        self.source, self.encoding = source, encoding

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and encoded columns."""
        return self.source.shape

    def read(self, rows: Rows) -> np.ndarray:
        """Return the rows as float32."""
        return self.encoding.readable(self.source.read(rows))


@dataclass(frozen=True)
class FittedColumns:
    """The columns of a view in a fit.

    Attributes
    ----------
    names : tuple of str or None
        Names of the columns that were used, where they had any.
    encoding : TableEncoding or None
        How they were encoded, where they were not plain numbers.
    """

    names: tuple[str, ...] | None
    encoding: TableEncoding | None


def fitted_columns(source: Source, names: Sequence[str] | None) -> FittedColumns:
    """Return what is remembered of the columns of a source."""
    encoding = encoding_of(source)
    used = names if encoding is None else encoding.names
    return FittedColumns(None if used is None else tuple(map(str, used)), encoding)


def encoding_of(source: Source) -> TableEncoding | None:
    """Return the encoding of a source of encoded rows, None of any other."""
    inner = source.source if isinstance(source, RowSubset) else source
    return inner.encoding if isinstance(inner, EncodedRows) else None


def whole_table(source: Source) -> EncodedRows | None:
    """Return encoded rows, or a subset of them, as encoded rows with their table; None for any other source."""
    if isinstance(source, RowSubset) and isinstance(source.source, EncodedRows):
        return EncodedRows(source.source.table.take(source.index), kinds=source.source.kinds)
    return source if isinstance(source, EncodedRows) else None


def _table_of(source: Source, names: Sequence[str] | None, where: str) -> MixedTable | None:
    """Return the rows of a source as a table with named columns; None where they have no names."""
    mixed = whole_table(source)
    if mixed is not None:
        return mixed.table
    if names is None:
        return None
    block = source.read(slice(0, source.shape[0]))
    return MixedTable(tuple(Column(str(name), block[:, j]) for j, name in enumerate(names)), where)


def gaps_encoded(source: Source, names: Sequence[str] | None, where: str) -> Source:
    """Return numbers in memory with empty cells as encoded rows, whose gaps are filled; any other source as it is."""
    if whole_table(source) is not None or source.known_finite:
        return source
    n_rows, step = source.shape[0], max(1, _SCANNED_VALUES // source.shape[1])
    if not any(_has_gaps(source.read(slice(i, min(i + step, n_rows)))) for i in range(0, n_rows, step)):
        return source
    block = source.read(slice(0, n_rows))
    known = names if names is not None else _numbered(block.shape[1])
    return EncodedRows(MixedTable(tuple(Column(str(n), block[:, j]) for j, n in enumerate(known)), where))


def _has_gaps(block: np.ndarray) -> bool:
    empty = np.isnan(block)
    return bool((empty.any(axis=1) & ~empty.all(axis=1)).any())


def _numbered(n_columns: int) -> list[str]:
    """Return what columns without names are called: their numbers from 0."""
    return [str(j) for j in range(n_columns)]


def matched(
    source: Source, names: Sequence[str] | None, fitted: FittedColumns, where: str
) -> tuple[Source, Any]:
    """Return new rows with the columns of a fit, by name in any order, and the names of these columns.

    Rows without names, or without any name of the fit, are taken in their order.
    """
    if fitted.encoding is not None:
        return _encoded(source, names, fitted.encoding, where)
    if isinstance(source, EncodedRows):  # words among the columns that the fit did not have, or gaps
        table = source.table
        if fitted.names is not None and set(fitted.names) & set(table.names):
            table = table.pick(fitted.names)
        numbers = np.hstack([measured(table, column, Kind("number")) for column in table.columns])
        _check_no_gap(table, numbers)
        return DenseRows(numbers), table.names
    if (
        names is None
        or fitted.names is None
        or not set(names) & set(fitted.names)
        or [*names] == [*fitted.names]
    ):
        return source, names
    place = {name: j for j, name in enumerate(names)}
    check_complete(place, fitted.names, where)
    return take_columns(source, np.array([place[name] for name in fitted.names])), list(fitted.names)


def _encoded(
    source: Source, names: Sequence[str] | None, encoding: TableEncoding, where: str
) -> tuple[Source, Any]:
    if _settled_encoding(source) is encoding:
        return source, encoding.features
    width = len(encoding.features)
    if (
        names is None
        and not isinstance(source, EncodedRows)
        and source.shape[1] == len(encoding.columns) != width
    ):
        raise InputError(
            f"{where} has no names of columns, but the fit had {', '.join(encoding.names[:12])}: give a "
            "DataFrame or a file with these names."
        )
    if (
        names is None
        and not isinstance(source, EncodedRows)
        and {*encoding.names} <= {*_numbered(source.shape[1])}
    ):
        names = _numbered(source.shape[1])
    table = _table_of(source, names, where)
    if table is None:
        return (
            source,
            None,
        )  # numbers of the width of encoded rows are taken for such; others are told by their width
    if not set(table.names) & set(encoding.names) and list(names or ()) == encoding.features:
        return source, names
    return EncodedRows(table, encoding), encoding.features


def _settled_encoding(source: Source) -> TableEncoding | None:
    """Return the encoding that a source was given, None where it was given none."""
    inner = source.source if isinstance(source, RowSubset) else source
    return inner.__dict__.get("encoding", inner._given) if isinstance(inner, EncodedRows) else None


def _check_no_gap(table: MixedTable, numbers: np.ndarray) -> None:
    """Raise for an empty cell where no row of the fit had one; a row that is all empty is a missing view."""
    empty = np.isnan(numbers)
    empty[empty.all(axis=1)] = False
    if empty.any():
        row, j = (int(place[0]) for place in np.nonzero(empty))
        raise InputError(
            f"{table.cell(table.names[j], row)} is empty, and the fit had no empty cells: fill it in, or fit again "
            "on rows that have such gaps."
        )
