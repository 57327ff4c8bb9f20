"""Selection of the views and labels among the named arrays of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.convert import table_of
from coterie.data.readers.files import natural_order
from coterie.data.readers.labels import LABEL_NAMES, labels_among
from coterie.data.views import Views
from coterie.errors import InputError

_TABLE_NAMES = ("x", "fea", "feature", "features", "data", "views", "view", "arr", "v")


def select_views(
    entries: Mapping[str, Any],
    where: str,
    *,
    may_transpose: bool = False,
    names: Sequence[str] | None = None,
    mask: Any = None,
) -> Views:
    """Build Views from the named arrays of a file; a cell array is a list of tables.

    `where` names the file in messages. With `may_transpose`, a table may have its rows in columns, as in some .mat
    files. View names are those in the file unless `names` are given.
    """
    labels = labels_among(entries, where)
    tables = _choose(entries, where)
    if may_transpose:
        transposed = find_transposed(
            [table.shape for table in tables.values()], None if labels is None else len(labels)
        )
        tables = {
            name: table.T if flag else table
            for (name, table), flag in zip(tables.items(), transposed, strict=True)
        }
    sources = [table_of(table, f"{where}, array '{name}'").source for name, table in tables.items()]
    try:
        return Views(sources, names=names or list(tables), mask=mask, labels=labels)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def find_transposed(shapes: Sequence[tuple[int, ...]], n_labels: int | None) -> list[bool]:
    """Return for each table whether its rows are in its columns.

    The number of rows is that of the labels, or else a side that all tables share. A square table follows the others.

    Examples
    --------
    >>> find_transposed([(20, 100), (30, 100)], None)
    [True, True]
    >>> find_transposed([(20, 100), (100, 100)], 100)
    [True, True]
    >>> find_transposed([(20, 100)], None)
    [False]
    """
    for n in shapes[0] if n_labels is None else (n_labels,):
        if all(n in shape for shape in shapes):
            oblong = [shape[0] != n for shape in shapes if shape[0] != shape[1]]
            square = bool(oblong) and all(oblong)
            return [square if shape[0] == shape[1] else shape[0] != n for shape in shapes]
    return [False] * len(shapes)


def _choose(entries: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the views: a cell array, numbered tables, a table with a usual name, or all tables."""
    tables = {
        name: entry
        for name, entry in entries.items()
        if name.lower() not in LABEL_NAMES and (_is_cell(entry) or _is_table(entry))
    }
    usual = [name for wanted in _TABLE_NAMES for name in tables if name.lower() == wanted]
    cells = [name for name in usual if _is_cell(tables[name])]
    cells = cells or [name for name in tables if _is_cell(tables[name])][:1]
    if cells:
        return {f"{cells[0]}{v}": table for v, table in enumerate(tables[cells[0]])}
    numbered = _numbered(tables)
    if numbered:
        return numbered
    if usual:
        return {usual[0]: tables[usual[0]]}
    wide = {name: table for name, table in tables.items() if min(table.shape) > 1}
    if wide:
        return wide
    contents = ", ".join(f"{name} {getattr(entry, 'shape', '')}".strip() for name, entry in entries.items())
    raise InputError(
        f"{where} has no table that could be a view (it holds: {contents or 'nothing'}): "
        "name the views X1, X2, ... or X."
    )


def _numbered(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables called view0, view1, ... or X1, X2, ..., in order of their numbers."""
    members: dict[str, list[str]] = {}
    for name in tables:
        match = re.fullmatch(r"([A-Za-z]+)[_-]?\d+", name)
        if match and match[1].lower() in _TABLE_NAMES:
            members.setdefault(match[1], []).append(name)
    if not members:
        return {}
    largest = max(members.values(), key=lambda names: len(names))
    return {name: tables[name] for name in sorted(largest, key=natural_order)}


def _is_cell(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) > 0 and all(_is_table(item) for item in entry)


def _is_table(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.ndim == 2 and entry.dtype.kind in "biuf" and entry.size > 0
    return sparse.issparse(entry) or (not isinstance(entry, list) and len(getattr(entry, "shape", ())) == 2)
