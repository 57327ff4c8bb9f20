"""Scaling of each view, fitted in one streaming pass."""

# n rows, d columns of a view, b rows of a batch

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.collectives import ALONE, Collectives
from coterie.data.views import Views
from coterie.errors import InputError

MODES = ("feature", "minmax", "sample", "none", "angle", "feature-angle", "root", "log")
_FITTED = ("feature", "minmax", "angle", "feature-angle", "log")

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
          histograms;
        - ``"log"``: each value x of a column becomes ``sign(x) log(1 + abs(x) / m)``, where m is the geometric mean
          of abs(x) in the column, zeros left out, and then each column gets mean 0 and standard deviation 1; for
          incomes, sizes and counts.

        A column that never changed while fitting becomes 0, whatever it holds later.

    Attributes
    ----------
    modes_ : tuple of str
        The mode of each view.
    shifts_, scales_ : list of ndarray (d_v,)
        What is subtracted from each column, and by what the difference is divided, in float32. A constant
        column is divided by infinity.
    magnitudes_ : list of ndarray (d_v,)
        The geometric mean of abs(x) in each column of a ``"log"`` view, in float32; empty for others.

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
    magnitudes_: list[np.ndarray]

    def __init__(self, mode: Mode = "feature") -> None:
        self.mode = mode

    def fit(self, views: Views, *, collectives: Collectives = ALONE) -> Scaler:
        """Compute the statistics in one pass over the rows, two for ``"log"``; missing views do not count.

        Parameters
        ----------
        views : Views
            The rows, or this process's share of them.
        collectives : Collectives, optional
            Joins the statistics of several processes. One process by default.
        """
        self.modes_ = resolve_modes(self.mode, views.names)
        logged = [v for v, mode in enumerate(self.modes_) if mode == "log"]
        means = _geometric_means(views, logged, collectives)
        self.magnitudes_ = [means.get(v, np.empty(0, np.float32)) for v in range(views.n_views)]
        fitted = [v for v, mode in enumerate(self.modes_) if mode in _FITTED]
        moments = _moments(views, fitted, self._compressed, collectives)
        shifts_and_scales = [
            _shift_and_scale(mode, moments[v]) if v in moments else _untouched(d)
            for v, (mode, d) in enumerate(zip(self.modes_, views.dims, strict=True))
        ]
        self.shifts_, self.scales_ = (
            [pair[0] for pair in shifts_and_scales],
            [pair[1] for pair in shifts_and_scales],
        )
        return self

    def _compressed(self, v: int, block: np.ndarray) -> np.ndarray:
        """Return ``sign(x) log(1 + abs(x) / m)`` for the values x of a "log" view, and other rows as they are."""
        if self.modes_[v] != "log":
            return block
        return np.copysign(np.log1p(np.abs(block) / self.magnitudes_[v]), block)

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
        scaled = self._compressed(v, block) - self.shifts_[v]
        scaled /= self.scales_[v]
        return unit_rows(scaled) if mode.endswith("angle") else scaled

    def _backward(self, v: int, block: np.ndarray) -> np.ndarray:
        if self.modes_[v] in ("none", "sample"):
            return block.copy()
        if self.modes_[v] == "root":
            return np.sign(block) * np.square(block)
        restored = block * np.where(np.isinf(self.scales_[v]), np.float32(0.0), self.scales_[v])
        restored += self.shifts_[v]
        if self.modes_[v] == "log":
            return np.copysign(np.expm1(np.abs(restored)) * self.magnitudes_[v], restored)
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
            if len(self.magnitudes_[v]):
                arrays[f"view{v}.magnitude"] = self.magnitudes_[v]
        return arrays

    @classmethod
    def from_state(cls, mode: Mode, state: Mapping[str, np.ndarray]) -> Scaler:
        """Return a fitted Scaler from its mode and what `state` returned."""
        scaler = cls(mode)
        scaler.modes_ = tuple(MODES[int(code)] for code in state["modes"])
        views = range(len(scaler.modes_))
        scaler.shifts_ = [np.asarray(state[f"view{v}.shift"], np.float32) for v in views]
        scaler.scales_ = [np.asarray(state[f"view{v}.scale"], np.float32) for v in views]
        scaler.magnitudes_ = [np.asarray(state.get(f"view{v}.magnitude", ()), np.float32) for v in views]
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


def unit_rows(block: np.ndarray) -> np.ndarray:
    """Divide each row by its Euclidean length, as float32; rows of zeros stay zeros."""
    # Squares of float32 values neither overflow nor vanish in float64.
    length = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    length[length == 0.0] = 1.0
    return (block / length[:, None]).astype(np.float32)


def _present_blocks(views: Views, which: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the rows of some views in chunks, without those that lack the view."""
    for rows in views.chunks() if which else ():
        present = views.present_rows(rows)
        for v in which:
            block = views.read_view(v, rows)
            yield v, block if present[:, v].all() else block[present[:, v]]


def _moments(
    views: Views,
    which: Sequence[int],
    of: Callable[[int, np.ndarray], np.ndarray],
    collectives: Collectives,
) -> dict[int, Moments]:
    """Return the moments of a function of the rows of some views, over the rows of all processes."""
    moments = {v: Moments.of(np.empty((0, views.dims[v]), dtype=np.float32)) for v in which}
    for v, block in _present_blocks(views, which):
        moments[v] = moments[v].merge(Moments.of(of(v, block)))
    return {v: view.reduce(collectives) for v, view in moments.items()}


def _geometric_means(views: Views, which: Sequence[int], collectives: Collectives) -> dict[int, np.ndarray]:
    """Return the geometric mean of the sizes of the values of each column that are not zero; 1 where all are."""
    sums = {v: np.zeros((2, views.dims[v])) for v in which}
    for v, block in _present_blocks(views, which):
        sizes = np.abs(block.astype(np.float64))
        sums[v] += np.log(sizes, out=np.zeros_like(sizes), where=sizes > 0).sum(0), (sizes > 0).sum(0)
    together = {v: collectives.sum(of_view) for v, of_view in sums.items()}
    return {
        v: np.exp(logs / np.maximum(count, 1)).astype(np.float32) for v, (logs, count) in together.items()
    }


def _untouched(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(d, np.float32), np.ones(d, np.float32)


def _shift_and_scale(mode: str, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Return what is subtracted from the columns of a view, and what they are divided by."""
    if mode == "angle":
        shift, scale = moments.mean, np.ones_like(moments.mean)
    elif mode != "minmax":
        shift, scale = moments.mean, np.sqrt(moments.m2 / max(moments.count, 1.0))
    else:
        shift, scale = moments.low, moments.high - moments.low
    # A spread below the smallest normal float32 (1e-38) is noise, and dividing by it would overflow later.
    tiny = np.finfo(np.float32).tiny
    constant = moments.high - moments.low < tiny
    scale = np.where(constant, np.inf, np.maximum(scale, tiny))
    return np.where(np.isfinite(shift), shift, 0.0).astype(np.float32), scale.astype(np.float32)
