"""Scaling of each view, fitted in one streaming pass."""

# n rows, d columns of a view, b rows of a batch

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data.views import Views
from coterie.errors import InputError

MODES = ("feature", "minmax", "sample", "none", "angle", "feature-angle", "root")
_FITTED = ("feature", "minmax", "angle", "feature-angle")
_SPARSE = 0.8  # share of zeros from which on a table is taken for counts
_SAMPLE_ROWS = 1000

Mode = str | Sequence[str] | Mapping[str, str]


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations, minimum and maximum of each column, in float64."""

    count: float
    mean: np.ndarray
    m2: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, block: np.ndarray) -> Moments:
        """Return the moments of the rows of one block."""
        if not len(block):
            d = block.shape[1]
            return cls(0.0, np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))
        block = block.astype(np.float64)
        low, high, mean = block.min(axis=0), block.max(axis=0), block.mean(axis=0)
        block -= mean
        return cls(float(len(block)), mean, np.einsum("ij,ij->j", block, block), low, high)

    def merge(self, other: Moments) -> Moments:
        r"""Return the moments of two disjoint sets of rows together (Chan, Golub and LeVeque 1979).

        .. math:: \bar x = \bar x_a + \delta n_b / n, \qquad
                  M_2 = M_{2a} + M_{2b} + \delta^2 n_a n_b / n

        where :math:`\delta` is the difference of the two means (d,) and n the number of rows of both.
        """
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        delta = other.mean - self.mean
        return Moments(
            count,
            self.mean + delta * (other.count / count),
            self.m2 + other.m2 + delta**2 * (self.count * other.count / count),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def reduce(self, collectives: Collectives) -> Moments:
        """Return the moments over the rows of all processes."""
        count = float(collectives.sum(np.array([self.count]))[0])
        mean = collectives.sum(self.mean * self.count) / max(count, 1.0)
        m2 = collectives.sum(self.m2 + self.count * (self.mean - mean) ** 2)
        return Moments(count, mean, m2, collectives.min(self.low), collectives.max(self.high))


class Scaler:
    """Scales the columns or the rows of each view.

    Parameters
    ----------
    mode : str, or list of str, or mapping from view name to str
        One mode for all views, or one for each:

        - ``"feature"``: each column gets mean 0 and standard deviation 1;
        - ``"minmax"``: each column runs from 0 to 1;
        - ``"sample"``: each row is divided by its Euclidean length; a row of zeros stays;
        - ``"none"``: nothing;
        - ``"angle"``: each column gets mean 0, then each row length 1;
        - ``"feature-angle"``: ``"feature"``, then each row length 1;
        - ``"root"``: each value becomes its square root, with its sign, then each row length 1; for counts and
          histograms.

        A column that never changed while fitting becomes 0, whatever it holds later.

    Attributes
    ----------
    modes_ : tuple of str
        The mode of each view.
    shifts_, scales_ : list of ndarray (d_v,)
        What is subtracted from each column, and by what the difference is divided, in float32. A constant
        column is divided by infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.data import Scaler, as_views
    >>> views = as_views(np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]]))
    >>> scaler = Scaler("minmax").fit(views)
    >>> scaler.transform(views.read(slice(None)))[0]
    array([[0. , 0. ],
           [0.5, 0. ],
           [1. , 0. ]], dtype=float32)
    >>> scaler.inverse_transform([np.array([[0.25, 0.0]])])[0]
    array([[1., 7.]], dtype=float32)
    """

    modes_: tuple[str, ...]
    shifts_: list[np.ndarray]
    scales_: list[np.ndarray]

    def __init__(self, mode: Mode = "feature") -> None:
        self.mode = mode

    def fit(self, views: Views, *, collectives: Collectives = ALONE) -> Scaler:
        """Compute the statistics in one pass over the rows; missing views do not count.

        Parameters
        ----------
        views : Views
            The rows, or this process's share of them.
        collectives : Collectives, optional
            Joins the statistics of several processes. One process by default.
        """
        self.modes_ = resolve_modes(self.mode, views.names)
        moments = self._pass(views)
        self.shifts_, self.scales_ = [], []
        for mode, view in zip(self.modes_, moments, strict=True):
            shift, scale = _shift_and_scale(mode, view.reduce(collectives) if mode in _FITTED else view)
            self.shifts_.append(shift)
            self.scales_.append(scale)
        return self

    def _pass(self, views: Views) -> list[Moments]:
        fitted = [v for v, mode in enumerate(self.modes_) if mode in _FITTED]
        moments = [Moments.of(np.empty((0, d), dtype=np.float32)) for d in views.dims]
        for rows in views.chunks() if fitted else ():
            present = views.present_rows(rows)
            for v in fitted:
                block = views.read_view(v, rows)
                moments[v] = moments[v].merge(
                    Moments.of(block if present[:, v].all() else block[present[:, v]])
                )
        return moments

    def transform(self, blocks: Sequence[np.ndarray], present: np.ndarray | None = None) -> list[np.ndarray]:
        """Scale a batch of rows of every view.

        Parameters
        ----------
        blocks : sequence of ndarray (b, d_v)
            As `Views.read` gives them.
        present : ndarray of bool (b, v), optional
            The missing ones come out as zeros.

        Returns
        -------
        list of ndarray (b, d_v)
            New float32 arrays.
        """
        self._check_blocks(blocks)
        scaled = [self._forward(v, np.asarray(block, np.float32)) for v, block in enumerate(blocks)]
        if present is not None:
            for v, block in enumerate(scaled):
                block[~present[:, v]] = 0.0
        return scaled

    def inverse_transform(self, blocks: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Undo `transform`; the lengths of rows, which some modes remove, do not come back."""
        self._check_blocks(blocks)
        return [self._backward(v, np.asarray(block, np.float32)) for v, block in enumerate(blocks)]

    def _forward(self, v: int, block: np.ndarray) -> np.ndarray:
        mode = self.modes_[v]
        if mode == "none":
            return block.copy()
        if mode == "sample":
            return unit_rows(block)
        if mode == "root":
            return unit_rows(np.sign(block) * np.sqrt(np.abs(block)))
        scaled = block - self.shifts_[v]
        scaled /= self.scales_[v]
        return unit_rows(scaled) if mode.endswith("angle") else scaled

    def _backward(self, v: int, block: np.ndarray) -> np.ndarray:
        if self.modes_[v] in ("none", "sample"):
            return block.copy()
        if self.modes_[v] == "root":
            return np.sign(block) * np.square(block)
        restored = block * np.where(np.isinf(self.scales_[v]), np.float32(0.0), self.scales_[v])
        restored += self.shifts_[v]
        return restored

    def _check_blocks(self, blocks: Sequence[np.ndarray]) -> None:
        if not hasattr(self, "modes_"):
            raise InputError("This Scaler has not seen any data: call fit first.")
        if len(blocks) != len(self.modes_):
            raise InputError(f"The Scaler was fitted on {len(self.modes_)} views but got {len(blocks)}.")
        for v, (block, shift) in enumerate(zip(blocks, self.shifts_, strict=True)):
            if block.shape[1] != len(shift):
                raise InputError(
                    f"View {v} has {block.shape[1]} columns but the Scaler was fitted on {len(shift)}."
                )

    def state(self) -> dict[str, np.ndarray]:
        """Return the fitted parameters as arrays."""
        arrays = {"modes": np.array([MODES.index(mode) for mode in self.modes_], dtype=np.int64)}
        for v, (shift, scale) in enumerate(zip(self.shifts_, self.scales_, strict=True)):
            arrays[f"view{v}.shift"] = shift
            arrays[f"view{v}.scale"] = scale
        return arrays

    @classmethod
    def from_state(cls, mode: Mode, state: Mapping[str, np.ndarray]) -> Scaler:
        """Return a fitted Scaler from its mode and what `state` returned."""
        scaler = cls(mode)
        scaler.modes_ = tuple(MODES[int(code)] for code in state["modes"])
        views = range(len(scaler.modes_))
        scaler.shifts_ = [np.asarray(state[f"view{v}.shift"], np.float32) for v in views]
        scaler.scales_ = [np.asarray(state[f"view{v}.scale"], np.float32) for v in views]
        return scaler


def resolve_modes(mode: Mode, names: Sequence[str]) -> tuple[str, ...]:
    """Return the mode of each view; raise for an unknown or missing one.

    Examples
    --------
    >>> resolve_modes({"image": "minmax", "text": "sample"}, ["image", "text"])
    ('minmax', 'sample')
    """
    if isinstance(mode, str):
        modes: tuple[str, ...] = (mode,) * len(names)
    elif isinstance(mode, Mapping):
        if set(mode) != set(names):
            raise InputError(f"The scaling modes are for {sorted(mode)} but the views are {sorted(names)}.")
        modes = tuple(mode[name] for name in names)
    else:
        modes = tuple(mode)
        if len(modes) != len(names):
            raise InputError(f"There are {len(modes)} scaling modes for {len(names)} views: give one a view.")
    for name in modes:
        if name not in MODES:
            raise InputError(f"The scaling mode {name!r} does not exist: choose one of {', '.join(MODES)}.")
    return modes


def fit_table_scaler(views: Views, scale: Any, collectives: Collectives = ALONE) -> Scaler:
    """Fit a `Scaler`; "auto" standardises a view only where a few columns hold most of its variance.

    Columns in one unit (pixels, word weights, sensor features) keep it, for their variances carry meaning. Columns
    are taken to be in different units where their effective number (sum v)^2 / sum v^2, for variances v, is below
    max(1.5, d / 10), unless most values are zeros, as in word counts. Processes share the pass over the rows.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> rng = np.random.default_rng(0)
    >>> pixels, units = rng.random((50, 20)), rng.random((50, 20)) * 10.0 ** np.arange(20)
    >>> fit_table_scaler(as_views([pixels, units]), "auto").modes_
    ('none', 'feature')
    """
    own = views if collectives.size == 1 else views.select(share_of(views.n_rows, collectives))
    if scale != "auto":
        return Scaler(scale).fit(own, collectives=collectives)
    standard = Scaler("feature").fit(own, collectives=collectives)
    sample = views.read(np.linspace(0, views.n_rows - 1, min(_SAMPLE_ROWS, views.n_rows)).astype(int))
    modes = [
        "feature" if _few_columns_dominate(deviations) and (rows == 0).mean() < _SPARSE else "none"
        for deviations, rows in zip(standard.scales_, sample, strict=True)
    ]
    return standard if set(modes) == {"feature"} else Scaler(modes).fit(own, collectives=collectives)


def _few_columns_dominate(deviations: np.ndarray) -> bool:
    variances = deviations[np.isfinite(deviations)].astype(np.float64) ** 2
    if variances.size < 2:
        return False
    return bool(variances.sum() ** 2 / (variances**2).sum() < max(1.5, len(deviations) / 10))


def unit_rows(block: np.ndarray) -> np.ndarray:
    """Divide each row by its Euclidean length, as float32; rows of zeros stay zeros."""
    # Squares of float32 values neither overflow nor vanish in float64.
    length = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    length[length == 0.0] = 1.0
    return (block / length[:, None]).astype(np.float32)


def _shift_and_scale(mode: str, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Return what is subtracted from the columns of a view, and what they are divided by."""
    if mode not in _FITTED:
        d = len(moments.mean)
        return np.zeros(d, np.float32), np.ones(d, np.float32)
    if mode == "angle":
        shift, scale = moments.mean, np.ones_like(moments.mean)
    elif mode.startswith("feature"):
        shift, scale = moments.mean, np.sqrt(moments.m2 / max(moments.count, 1.0))
    else:
        shift, scale = moments.low, moments.high - moments.low
    # A spread below the smallest normal float32 (1e-38) is noise, and dividing by it would overflow later.
    tiny = np.finfo(np.float32).tiny
    constant = moments.high - moments.low < tiny
    scale = np.where(constant, np.inf, np.maximum(scale, tiny))
    return np.where(np.isfinite(shift), shift, 0.0).astype(np.float32), scale.astype(np.float32)
