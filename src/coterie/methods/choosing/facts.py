"""What can be told of data at a glance: their size, their views, their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.data import Views
from coterie.data.memory import fits
from coterie.data.subsets import some_rows
from coterie.methods.fucsmf.supervision import read_labels

_LOOKED_AT = 5000


@dataclass(frozen=True)
class Facts:
    """What a recommendation goes by.

    Attributes
    ----------
    rows, columns, views : int
    missing : float
        Share of the entries (a view of a row) that are missing, estimated from 5,000 rows.
    incomplete : float
        Share of the rows that lack a view.
    fits_memory : bool
        Whether the rows are in memory, or would take no more than a quarter of what is free.
    labelled, classes : int
        Rows with a label, and how many classes are among them.
    imbalance : float
        Labels of the commonest class over those of the rarest; 1 without labels.
    """

    rows: int
    columns: int
    views: int
    missing: float
    incomplete: float
    fits_memory: bool
    labelled: int
    classes: int
    imbalance: float

    @classmethod
    def of(cls, data: Views, y: Any = None) -> Facts:
        """Look at data, and at labels where there are any."""
        there = data.present_rows(some_rows(data.n_rows, _LOOKED_AT, seed=0))
        codes, classes = read_labels(y, data.n_rows)
        counts = np.bincount(codes[codes >= 0], minlength=1)
        return cls(
            rows=data.n_rows,
            columns=sum(data.dims),
            views=data.n_views,
            missing=float(1 - there.mean()),
            incomplete=float(1 - there.all(axis=1).mean()),
            fits_memory=fits(data),
            labelled=int((codes >= 0).sum()),
            classes=len(classes),
            imbalance=float(counts.max() / max(1, counts.min())) if len(classes) else 1.0,
        )
