"""The scalings under which views, or halves of the columns of a table, agree most on who is near whom.

For several views also a sample of rows, and which of them count.
"""

# s rows of the sample, v views, k neighbours

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data import Scaler, Views, as_views
from coterie.data.scaling import resolve_modes
from coterie.data.subsets import some_rows
from coterie.graph.agreement import agreement, neighbours_of_present
from coterie.graph.neighbours import neighbour_count, neighbours_of_each
from coterie.graph.outliers import Guard, usable

SAMPLE_ROWS = 10_000
CANDIDATES = ("sample", "none", "feature", "feature-angle", "angle", "root")
SCALING_ROWS = 3000
TABLE_CANDIDATES = ("none", "feature", "minmax", "log")
_PROTOTYPES = 256
_ROUNDS = 5
_TABLE_ROWS = 500
_LEAST_ROWS = 8
_HALVINGS = 8
_MOST_COLUMNS = 64
_ERRORS = 2.0

Tables = dict[tuple[int, str], np.ndarray]


@dataclass(frozen=True)
class Sample:
    """Rows drawn evenly, in memory, for what is learned from a sample.

    Attributes
    ----------
    blocks : list of ndarray of shape (s, d)
        Raw rows.
    there : ndarray of bool, shape (s, v)
    sound : ndarray of bool, shape (s, v)
        Where a view counts: there, not empty, not corrupt.
    corrupt : ndarray of bool, shape (s, v)
    guards : list of Guard
    idle : ndarray of bool, shape (v,)
        Which views say nothing: they never change, or are empty.
    """

    blocks: list[np.ndarray]
    there: np.ndarray
    sound: np.ndarray
    corrupt: np.ndarray
    guards: list[Guard]
    idle: np.ndarray

    @property
    def complete(self) -> np.ndarray:
        """Which rows have every view that says something, (s,)."""
        return np.asarray(self.sound[:, ~self.idle].all(axis=1))

    def fingerprint(self) -> int:
        """Return a checksum that tells these data from others."""
        return zlib.crc32(b"".join(block.tobytes() for block in self.blocks))


def draw_sample(data: Views, *, guard: bool, seed: int, generator: torch.Generator) -> Sample:
    """Draw at most 10,000 rows; with `guard`, learn what a corrupt row looks like."""
    rows = some_rows(data.n_rows, SAMPLE_ROWS, seed)
    blocks, there = data.read(rows), data.present_rows(rows)
    guards = []
    for v, block in enumerate(blocks) if guard and data.n_views > 1 else ():
        own = torch.from_numpy(block[there[:, v] & block.any(axis=1)])
        guards.append(Guard(max(1, min(_PROTOTYPES, len(own))), block.shape[1]))
        if len(own):
            guards[v].fit(own, generator=generator)
    constant = np.array([_never_changes(block[there[:, v]]) for v, block in enumerate(blocks)])
    # A view that never changes is not idle where it is all that some row has.
    idle = np.logical_not(usable(blocks, there, (), constant)[0].any(axis=0))
    sound, corrupt = usable(blocks, there, guards, idle)
    return Sample(blocks, there, sound, corrupt, guards, idle)


def _never_changes(rows: np.ndarray) -> bool:
    return not len(rows) or bool((rows == rows[0]).all())


def fit_scaler(
    sample: Sample, scale: Any, names: Sequence[str], k: int, generator: torch.Generator
) -> Scaler:
    """Return the scaling asked for, or for "auto" the one under which the views agree most.

    A single view has nobody to agree with, and gets the scaling that any single table gets.
    """
    views = as_views(sample.blocks, mask=sample.sound, names=list(names))
    if scale != "auto":
        return Scaler(resolve_modes(scale, names)).fit(views)
    if views.n_views == 1:
        return fit_table_scaler(views, "auto")
    rows = np.sort(torch.randperm(len(sample.sound), generator=generator)[:SCALING_ROWS].numpy())
    few, tables = [block[rows] for block in sample.blocks], {}
    for mode in CANDIDATES:
        scaled = Scaler(mode).fit(views).transform(few, sample.sound[rows])
        for v, block in enumerate(scaled):
            tables[v, mode] = neighbours_of_present(block, sample.sound[rows, v], k)
    return Scaler(choose_scalings(tables, len(few))).fit(views)


def choose_scalings(tables: Tables, n_views: int) -> list[str]:
    """Choose the scaling of each view so that the views agree most on who is near whom; no label is needed.

    One view is changed at a time to the scaling whose neighbours agree most with those of the others, until
    nothing changes.

    Parameters
    ----------
    tables : dict
        The table of neighbours of each view under each candidate.
    n_views : int
    """
    modes = sorted({mode for _, mode in tables}, key=CANDIDATES.index)
    known: dict[frozenset[tuple[int, str]], float] = {}

    def agree(one: tuple[int, str], other: tuple[int, str]) -> float:
        pair = frozenset((one, other))
        if pair not in known:
            known[pair] = agreement(tables[one], tables[other])
        return known[pair]

    chosen = [modes[0]] * n_views
    for _ in range(_ROUNDS):
        before = list(chosen)
        for v in range(n_views):
            others = [(u, chosen[u]) for u in range(n_views) if u != v]

            def with_others(mode: str, v: int = v, others: Sequence[tuple[int, str]] = others) -> float:
                return sum(agree((v, mode), other) for other in others)

            chosen[v] = max(modes, key=with_others)
        if chosen == before:
            break
    return chosen


def fit_table_scaler(views: Views, scale: Any, collectives: Collectives = ALONE) -> Scaler:
    """Fit the scaling asked for, or for "auto" the one that `choose_table_scaling` chooses for each view by itself.

    Processes share the pass over the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pixels, units = rng.random((50, 20)), 10.0 ** np.arange(20)
    >>> sizes = (rng.random((50, 1)) + 0.1 * rng.random((50, 20))) * units  # twenty measurements of one thing
    >>> fit_table_scaler(as_views([pixels, sizes]), "auto").modes_
    ('none', 'minmax')
    """
    if scale == "auto":
        rows = np.linspace(0, views.n_rows - 1, min(_TABLE_ROWS, views.n_rows)).astype(int)
        sample, present = views.read(rows), views.present_rows(rows)
        scale = [choose_table_scaling(block[present[:, v]]) for v, block in enumerate(sample)]
    own = views if collectives.size == 1 else views.select(share_of(views.n_rows, collectives))
    return Scaler(scale).fit(own, collectives=collectives)


def choose_table_scaling(rows: np.ndarray) -> str:
    """Choose the scaling of one table (s, d), without labels: halves of its columns are two views of the same rows.

    A column that drowns all others leaves the half without it to itself, and columns of noise that are scaled up hide
    what the others share; in both cases halves of the columns agree less on who is near whom. Columns stay as they
    are unless another scaling is better by two standard errors of the difference, over eight random halvings; of a
    half at most 64 columns are read.
    """
    n_rows, n_columns = rows.shape
    if n_columns < 2 or n_rows < _LEAST_ROWS:
        return "none"
    rng, table, k = np.random.default_rng(0), as_views(rows), neighbour_count(n_rows)
    halvings = [np.array_split(rng.permutation(n_columns), 2) for _ in range(_HALVINGS)]
    agreements = {}
    for mode in TABLE_CANDIDATES:
        scaled = Scaler(mode).fit(table).transform([rows])[0]
        agreements[mode] = np.array([_halves_agree(scaled, halves, k) for halves in halvings])
    best = max(TABLE_CANDIDATES, key=lambda mode: float(agreements[mode].mean()))
    gains = agreements[best] - agreements["none"]
    return best if gains.mean() > _ERRORS * gains.std(ddof=1) / np.sqrt(_HALVINGS) else "none"


def _halves_agree(rows: np.ndarray, halves: Sequence[np.ndarray], k: int) -> float:
    one, other = (neighbours_of_each(rows[:, half[:_MOST_COLUMNS]], k)[1].indices for half in halves)
    return agreement(one, other)
