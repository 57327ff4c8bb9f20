"""The scaling of views when nobody says which: columns of one kind keep their units."""

# D features

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.scaling import Scaler
from coterie.data.views import Views

_MOSTLY = 0.8


def fit_scaler(views: Views, scale: Any, collectives: Collectives = ALONE) -> Scaler:
    """Fit a scaling; "auto" standardises the columns of a view only where a few of them drown the others.

    Columns of one kind (pixels, word weights, sensor features) keep their units, for their sizes carry meaning.
    They are taken to be of different kinds when few of them hold most of the variance,
    (sum v)^2 / sum v^2 < max(1.5, D / 10), unless most values are zeros, as in counts of words.

    Parameters
    ----------
    views : Views
    scale : "auto", or what `Scaler` takes
    collectives : Collectives, optional
        The processes that share the pass over the rows; one by default.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> rng = np.random.default_rng(0)
    >>> pixels, units = rng.random((50, 20)), rng.random((50, 20)) * 10.0 ** np.arange(20)
    >>> fit_scaler(as_views([pixels, units]), "auto").modes_
    ('none', 'feature')
    """
    mine = views if collectives.size == 1 else views.select(share_of(views.n_rows, collectives))
    if scale != "auto":
        return Scaler(scale).fit(mine, collectives=collectives)
    standard = Scaler("feature").fit(mine, collectives=collectives)
    sample = views.read(np.linspace(0, views.n_rows - 1, min(1000, views.n_rows)).astype(int))
    modes = [
        "feature" if _few_drown_the_others(deviations) and (rows == 0).mean() < _MOSTLY else "none"
        for deviations, rows in zip(standard.scales_, sample, strict=True)
    ]
    return standard if set(modes) == {"feature"} else Scaler(modes).fit(mine, collectives=collectives)


def _few_drown_the_others(deviations: np.ndarray) -> bool:
    variances = deviations[np.isfinite(deviations)].astype(np.float64) ** 2
    if variances.size == 0:
        return False
    in_effect = variances.sum() ** 2 / (variances**2).sum()
    return bool(in_effect < max(1.5, len(deviations) / 10) and variances.size > 1)
