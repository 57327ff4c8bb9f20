"""What is done to a data set before a fit: rows drawn, views lost or noisy, classes cut, labels given."""

# n rows

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.labels import draws
from benchmarks.robustness import degraded
from benchmarks.sets import cut_classes
from coterie import amputate, as_views
from coterie.data import Views
from coterie.errors import InputError

CONDITIONS = ("complete", "uneven", "missing", "noisy", "absent", "columns", "shifted", "labels")


class Given(NamedTuple):
    """What a fit gets: views, and for methods that take them labels (n,), -1 where there is none; and the classes."""

    views: Views
    truth: np.ndarray
    labels: np.ndarray | None = None


def drawn(views: Views, truth: np.ndarray, n_rows: int | None) -> tuple[Views, np.ndarray]:
    """Return at most so many rows, always the same ones, in their order."""
    if n_rows is None or n_rows >= views.n_rows:
        return views, truth
    rows = np.sort(np.random.default_rng(0).permutation(views.n_rows)[:n_rows])
    return views.select(rows), truth[rows]


def under(condition: str, views: Views, truth: np.ndarray, seed: int) -> Given:
    """Return the data under a condition, which is a name and perhaps a number, as in "missing 0.5".

    "uneven" cuts three classes to that share of their rows (0.05), "missing" makes that share of the rows incomplete
    (0.5), "noisy" adds noise as large as the view to that share of the rows of the first view (0.5), "absent" takes
    the first view from that share of them (0.5), "columns" sets that share of its columns to zero (0.5), "shifted"
    scales and shifts that share of its rows (0.5), and "labels" gives so many labels a class, or that share of each
    (5).
    """
    name, _, number = condition.partition(" ")
    if name not in CONDITIONS:
        raise InputError(f"There is no condition {name!r}; the conditions are: {', '.join(CONDITIONS)}.")
    if name == "uneven":
        cut, classes, _ = cut_classes(views, truth, share=float(number or 0.05), seed=seed)
        return Given(cut, classes)
    if name == "missing":
        mask = amputate(views.n_rows, views.n_views, float(number or 0.5), random_state=seed)
        return Given(as_views(views, mask=mask), truth)
    if name == "noisy":
        return Given(degraded(views, float(number or 0.5), 1.0, seed), truth)
    if name in ("absent", "columns", "shifted"):
        return Given(weakened(views, name, float(number or 0.5), seed), truth)
    if name == "labels":
        codes = np.unique(truth, return_inverse=True)[1]
        *_, last = draws(codes, float(number or 5), seed + 1)
        return Given(views, codes, last)
    return Given(views, truth)


def weakened(views: Views, how: str, share: float, seed: int) -> Views:
    """Return views of which the first is worse, as in Fig. 14 of MVSIB: absent, with empty columns, or shifted."""
    rng = np.random.default_rng([seed, 17])
    blocks, present = views.read(slice(None)), views.present_rows(slice(None))
    first = blocks[0] = blocks[0].copy()
    rows = rng.choice(len(first), round(share * len(first)), replace=False)
    if how == "absent":
        present = present.copy()
        present[rows, 0] = False
    elif how == "columns":
        first[:, rng.choice(first.shape[1], round(share * first.shape[1]), replace=False)] = 0
    else:
        first[rows] = 1.5 * first[rows] + first.std()
    return as_views(blocks, mask=present)
