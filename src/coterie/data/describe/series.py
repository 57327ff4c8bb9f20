"""Series as rows: how often many small patterns, at several widths, are found along a series."""

# n series, t times, c channels, p patterns, q thresholds

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.data.describe.base import Description
from coterie.errors import InputError

_TAPS = 9
_HIGH = 3
_SHARES = (0.25, 0.5, 0.75)
_EXAMPLES = 8
_LEAST_TIMES = 9
_TIE = 1e-5  # flat parts of a series meet a threshold up to rounding
_MOST_SUMS = 4 * 10**6
_PATTERNS = np.array(list(combinations(range(_TAPS), _HIGH)))


class SeriesRows(Description):
    r"""Series as rows of numbers: shares of times at which patterns match, after MiniRocket [1]_.

    Each channel gets mean 0 and variance 1 (`z_normalise`). A pattern has nine values, six of -1 and three of 2, and
    is laid over every time of a series at the dilations 1, 2, 4, ... that fit. The feature is the share of times at
    which the sum exceeds a threshold,

    .. math:: x_{pq} = \frac{1}{t} \sum_s \Big[ \sum_i w_{pi} \, z_{s + d (i - 4)} > b_{pq} \Big]

    with the thresholds b at the quartiles of that sum over eight series of the fit. So series are alike that have the
    same shapes in them, wherever these are; channels are described one by one.

    Parameters
    ----------
    z_normalise : bool, default=True
        False where level and size of a series tell what it is.

    Attributes
    ----------
    n_times_, n_channels_ : int
    thresholds_ : ndarray of shape (c, dilations, 84, 3)

    References
    ----------
    .. [1] Dempster, Schmidt and Webb, "MiniRocket: a very fast (almost) deterministic transform for time series
       classification", KDD 2021, https://doi.org/10.1145/3447548.3467231

    Examples
    --------
    >>> times = np.arange(64)
    >>> slow, fast = [np.sin(times * f + np.arange(5)[:, None]) for f in (0.2, 0.9)]
    >>> rows = SeriesRows().fit_transform(np.vstack([slow, fast]))
    >>> gaps = np.linalg.norm(rows[:, None] - rows, axis=2)
    >>> rows.shape, bool(gaps[:5, :5].max() < gaps[:5, 5:].min())
    ((10, 756), True)
    """

    _values: ClassVar[tuple[str, ...]] = ("n_times_", "n_channels_")
    _arrays: ClassVar[tuple[str, ...]] = ("thresholds_",)

    def __init__(self, *, z_normalise: bool = True) -> None:
        self.z_normalise = z_normalise

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the thresholds from eight series."""
        series = checked_series(X)
        self.n_times_, self.n_channels_ = series.shape[1], series.shape[2]
        chosen = np.random.default_rng(0).permutation(len(series))[:_EXAMPLES]
        self.thresholds_ = np.stack(
            [
                np.stack(
                    [np.quantile(sums, _SHARES, axis=(1, 2)).T for sums in self._sums(series[chosen, :, c])]
                )
                for c in range(self.n_channels_)
            ]
        ).astype(np.float32)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return series as rows, (n, channels x dilations x 84 x 3).

        Parameters
        ----------
        X : array of shape (n, t) or (n, t, channels)
            As long as those of `fit`.
        """
        check_is_fitted(self)
        series = checked_series(X)
        if series.shape[1:] != (self.n_times_, self.n_channels_):
            raise InputError(
                f"The series have shape {series.shape[1:]} (times, channels), but those of the fit had "
                f"{(self.n_times_, self.n_channels_)}: cut or resample them to that."
            )
        step = max(1, _MOST_SUMS // (len(_PATTERNS) * self.n_times_))
        return np.concatenate([self._shares(series[i : i + step]) for i in range(0, len(series), step)])

    def _shares(self, series: np.ndarray) -> np.ndarray:
        columns = []
        for c in range(self.n_channels_):
            for sums, thresholds in zip(self._sums(series[:, :, c]), self.thresholds_[c], strict=True):
                for own, limits in zip(sums, thresholds, strict=True):
                    columns += [(own > limit + _TIE).mean(axis=1, dtype=np.float32) for limit in limits]
        return np.column_stack(columns)

    def _sums(self, series: np.ndarray) -> Iterator[np.ndarray]:
        """Yield for each dilation the sum of every pattern at every time of one channel (n, t), (84, n, t)."""
        if self.z_normalise:
            spread = series.std(axis=1, keepdims=True)
            series = (series - series.mean(axis=1, keepdims=True)) / np.where(spread > 1e-9, spread, 1.0)
        for dilation in dilations(series.shape[1]):
            reach = _TAPS // 2 * dilation
            padded = np.pad(series, ((0, 0), (reach, reach)))
            taps = np.stack([padded[:, i * dilation :][:, : series.shape[1]] for i in range(_TAPS)])
            low = -taps.sum(axis=0)
            yield np.stack([low + _HIGH * taps[own].sum(axis=0) for own in _PATTERNS])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns: channel, dilation, pattern and threshold."""
        return np.array(
            [
                f"channel {c}, every {d}: "
                + "".join("+" if i in own else "-" for i in range(_TAPS))
                + f" > {q:g}"
                for c in range(self.n_channels_)
                for d in dilations(self.n_times_)
                for own in _PATTERNS
                for q in _SHARES
            ],
            dtype=object,
        )

    @property
    def sentence(self) -> str:
        """What was done to the series."""
        normalised = "brought to mean 0 and variance 1, and " if self.z_normalise else ""
        shares = f"{self.thresholds_.size:,} pattern shares"
        return f"series of {self.n_times_} times were {normalised}described by {shares}"


def dilations(n_times: int) -> list[int]:
    """Return the widths at which patterns of nine values fit into a series.

    Examples
    --------
    >>> dilations(24), dilations(9)
    ([1, 2], [1])
    """
    return [d for d in (2**e for e in range(8)) if (_TAPS - 1) * d < n_times] or [1]


def checked_series(X: Any) -> np.ndarray:
    """Return series as (n, t, channels) in float64; an error names the first value that is none."""
    try:
        series = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "X is no array of numbers, but series are (n, times) or (n, times, channels), all of one length."
        ) from None
    series = series[:, :, None] if series.ndim == 2 else series
    if series.ndim != 3 or not series.size:
        raise InputError(f"X has shape {np.shape(X)}, but series are (n, times) or (n, times, channels).")
    if series.shape[1] < _LEAST_TIMES:
        raise InputError(
            f"The series have {series.shape[1]} times, but patterns need {_LEAST_TIMES}: cluster them as a table."
        )
    bad = np.argwhere(~np.isfinite(series))
    if len(bad):
        row, time, channel = bad[0]
        raise InputError(
            f"Series {row} is {series[row, time, channel]} at time {time}, channel {channel}: fill the gap, or leave "
            "the series out."
        )
    return series
