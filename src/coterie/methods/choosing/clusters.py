"""`choose_k`: an estimate of the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any, Self

from scipy import sparse

from coterie.data import as_views
from coterie.errors import InputError
from coterie.graph.count import CountFigures, count_figures
from coterie.graph.model import build_graph
from coterie.methods.params import check_params, draw_seed, whole

LEAST_ROWS = 8
_CLEAR_STABILITY = 0.5
_CERTAIN_STABILITY = 0.95
_LARGEST_RATIO = 2.5
_ABOUT_AS_GOOD = 0.9
_SAMPLE_ROWS = 10_000
_ROWS_PER_CLUSTER = 8
_MOST_CLUSTERS = 130


@dataclass(frozen=True)
class KChoice:
    """An estimate of the number of clusters, with the evidence for every number tried.

    Attributes
    ----------
    figures : tuple of CountFigures
        The evidence for each number: `k`, `drop`, `stability`, `modularity` and the `score`.
    n_rows : int
        Number of rows in the sample.
    """

    figures: tuple[CountFigures, ...]
    n_rows: int

    @property
    def best(self) -> CountFigures:
        """The figures of the number with the highest score."""
        return max(self.figures, key=lambda figures: figures.score)

    @property
    def k(self) -> int:
        """The number of clusters with the highest score."""
        return self.best.k

    @property
    def near(self) -> tuple[int, ...]:
        """The other numbers whose score is at least 0.9 of the best."""
        least = _ABOUT_AS_GOOD * self.best.score
        return tuple(figures.k for figures in self.figures if figures.score >= least and figures.k != self.k)

    @property
    def clear(self) -> bool:
        """Whether the number is reliable.

        Its stability is at least 0.5, and of all numbers that are about as good the largest is at most 2.5 times the
        smallest; or its stability is at least 0.95.
        """
        rivals, stability = (*self.near, self.k), self.best.stability
        close = max(rivals) <= _LARGEST_RATIO * min(rivals)
        return stability >= _CERTAIN_STABILITY or (stability >= _CLEAR_STABILITY and close)

    @property
    def sentence(self) -> str:
        """The estimate in plain words."""
        agree = f"resampled graphs agree to {max(self.best.stability, 0):.2f} (1 is all, 0 is chance)"
        if not self.clear:
            return (
                f"The rows do not tell how many clusters there are: {self.k} does best, and {agree} on its clusters"
                f"{self._rivals()}. Take it as a guess, and give n_clusters where you know it."
            )
        return f"{self.k} clusters, on which {agree}{self._rivals()}{self._edge()}."

    def _rivals(self) -> str:
        if not self.near:
            return ""
        words = _runs(self.near, [figures.k for figures in self.figures])
        return f"; {words} {'is' if len(self.near) == 1 else 'are'} about as good"

    def _edge(self) -> str:
        tried = [figures.k for figures in self.figures]
        return "; it is the most that was tried" if self.k == max(tried) and len(tried) > 1 else ""

    def __str__(self) -> str:
        lines = [self.sentence, f"{'k':>5} {'score':>6} {'drop':>6} {'stability':>9} {'modularity':>10}"]
        lines += [
            f"{row.k:5d} {row.score:6.3f} {row.drop:6.3f} {row.stability:9.3f} {row.modularity:10.3f}"
            for row in self.figures
        ]
        return "\n".join(lines)

    def as_values(self) -> dict[str, Any]:
        """Return the choice as JSON values."""
        return {"figures": [list(astuple(figures)) for figures in self.figures], "n_rows": self.n_rows}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """Restore what `as_values` returned.

        Examples
        --------
        >>> choice = KChoice((CountFigures(2, 0.9, 0.8, 0.5),), 100)
        >>> KChoice.from_values(choice.as_values()) == choice
        True
        """
        return cls(tuple(CountFigures(*figures) for figures in values["figures"]), values["n_rows"])


def choose_k(
    X: Any,
    k_range: Iterable[int] | None = None,
    *,
    views: Any = None,
    sample_rows: int = _SAMPLE_ROWS,
    random_state: Any = None,
) -> KChoice:
    r"""Estimate the number of clusters, without any label.

    Communities of the kNN graph of a sample, over all views, are merged by average linkage down to one cluster. Where
    true clusters are merged, the linkage drops. The number wins with the largest

    .. math:: \log(h_{k+1} / h_k) \, \log(k) \, Q_k \, S_k

    where h_k is the linkage of the merge that leaves k - 1 clusters (the median over trees of the graph and of
    resampled graphs), Q_k the modularity of the k clusters and S_k how far resampled graphs agree on them.

    Parameters
    ----------
    X : array-like, views, or path
        What every estimator takes, missing views and files larger than memory included: rows are checked in one
        pass, and only the sample is kept.
    k_range : iterable of int, optional
        The numbers to try, from 2 on. By default every number up to 130, or to one cluster for every eight rows of
        the sample.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    sample_rows : int, default=10000
        Most rows in the sample. Clusters with fewer than about ten rows in it cannot be found.
    random_state : int, RandomState or None, default=None
        Seed of the sample and the trees.

    Returns
    -------
    KChoice
        `k`, `near` (what is about as good), `clear` (whether it is reliable), `sentence` and the `figures` of every
        number; `print` shows them as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import choose_k
    >>> rng = np.random.default_rng(0)
    >>> X = np.eye(4)[np.repeat(range(4), 50)] * 9 + rng.normal(size=(200, 4))
    >>> choice = choose_k(X, range(2, 9), random_state=0)
    >>> choice.k, choice.near, choice.clear
    (4, (), True)
    """
    check_params("choose_k", {"sample_rows": sample_rows}, {"sample_rows": whole(LEAST_ROWS)})
    data = as_views(X, views=views)
    if data.n_rows < LEAST_ROWS:
        raise too_few_to_count(data.n_rows)
    data.check()
    n_sampled = min(data.n_rows, sample_rows)
    tried = None if k_range is None else _checked_range(k_range, n_sampled)
    seed = draw_seed(random_state)
    reference = build_graph(data, max_rows=sample_rows, by_content=True, seed=seed)
    return count_clusters(reference.joined.matrix, tried, n_sampled, seed)


def too_few_to_count(n_rows: int) -> InputError:
    """Return the error for too few rows to estimate the number of clusters."""
    return InputError(
        f"X has {n_rows} rows, too few to tell how many clusters there are (n_clusters='auto' needs "
        f"{LEAST_ROWS}); say how many to find."
    )


def count_clusters(graph: sparse.csr_matrix, tried: Iterable[int] | None, n_rows: int, seed: int) -> KChoice:
    """Estimate the number of clusters of a graph on `n_rows` rows; None tries the default numbers."""
    numbers = _default_range(n_rows) if tried is None else list(tried)
    return KChoice(tuple(count_figures(graph, numbers, seed=seed)), n_rows)


def _default_range(n_rows: int) -> list[int]:
    """Return the numbers to try.

    Examples
    --------
    >>> _default_range(40)
    [2, 3, 4, 5]
    """
    return list(range(2, max(2, min(_MOST_CLUSTERS, n_rows // _ROWS_PER_CLUSTER)) + 1))


def _checked_range(k_range: Iterable[int], n_rows: int) -> list[int]:
    tried = sorted(set(k_range))
    if not tried:
        raise InputError("k_range is empty; give the numbers of clusters to try, such as range(2, 21).")
    accepts, words = whole(2, max(2, n_rows // 4))
    for k in tried:
        if not accepts(k):
            raise InputError(
                f"k_range has {k!r}, but each number must be {words} (a quarter of the rows looked at)."
            )
    return [int(k) for k in tried]


def _runs(numbers: Iterable[int], tried: list[int]) -> str:
    """Write numbers in words, consecutive ones among those tried as a range.

    Examples
    --------
    >>> _runs([2, 5, 6, 7, 9], [2, 3, 4, 5, 6, 7, 8, 9])
    '2, 5 to 7 and 9'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and tried.index(number) == tried.index(runs[-1][-1]) + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
