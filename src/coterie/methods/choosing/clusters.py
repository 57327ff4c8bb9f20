"""`choose_k`: how many clusters the rows speak for."""

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

_CLEAR = 0.5
_SURE = 0.95
_APART = 2.5
_ABOUT_AS_GOOD = 0.9
_SAMPLE_ROWS = 10_000
LEAST_ROWS = 8
_ROWS_A_CLUSTER = 8
_MOST = 130


@dataclass(frozen=True)
class KChoice:
    """What the rows say about the number of clusters.

    Attributes
    ----------
    figures : tuple of CountFigures
        What speaks for each number that was tried: `k`, `drop`, `stability`, `modularity` and the `score`.
    n_rows : int
        How many rows were looked at.
    """

    figures: tuple[CountFigures, ...]
    n_rows: int

    @property
    def best(self) -> CountFigures:
        """The figures of the number with the highest score."""
        return max(self.figures, key=lambda one: one.score)

    @property
    def k(self) -> int:
        """The number of clusters with the highest score."""
        return self.best.k

    @property
    def near(self) -> tuple[int, ...]:
        """The other numbers that are about as good: their score is at least 0.9 of the best."""
        least = _ABOUT_AS_GOOD * self.best.score
        return tuple(one.k for one in self.figures if one.score >= least and one.k != self.k)

    @property
    def clear(self) -> bool:
        """Whether the number can be told.

        Resampled graphs agree on its clusters, to 0.5 at least, and of all numbers that are about as good the
        largest is at most 2.5 times the smallest; or they agree to 0.95, whatever else does well.
        """
        rivals, agree = (*self.near, self.k), self.best.stability
        return agree >= _SURE or (agree >= _CLEAR and max(rivals) <= _APART * min(rivals))

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
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
        words = _runs(self.near, [one.k for one in self.figures])
        return f"; {words} {'is' if len(self.near) == 1 else 'are'} about as good"

    def _edge(self) -> str:
        tried = [one.k for one in self.figures]
        return "; it is the most that was tried" if self.k == max(tried) and len(tried) > 1 else ""

    def __str__(self) -> str:
        lines = [
            self.sentence,
            f"{'k':>5} {'score':>6} {'drop':>6} {'stability':>9} {'modularity':>10}",
        ]
        lines += [
            f"{one.k:5d} {one.score:6.3f} {one.drop:6.3f} {one.stability:9.3f} {one.modularity:10.3f}"
            for one in self.figures
        ]
        return "\n".join(lines)

    def as_values(self) -> dict[str, Any]:
        """Return the choice in a form JSON keeps."""
        return {"figures": [list(astuple(one)) for one in self.figures], "n_rows": self.n_rows}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """Take back what `as_values` gave.

        Examples
        --------
        >>> choice = KChoice((CountFigures(2, 0.9, 0.8, 0.5),), 100)
        >>> KChoice.from_values(choice.as_values()) == choice
        True
        """
        return cls(tuple(CountFigures(*one) for one in values["figures"]), values["n_rows"])


def choose_k(
    X: Any,
    k_range: Iterable[int] | None = None,
    *,
    views: Any = None,
    sample_rows: int = _SAMPLE_ROWS,
    random_state: Any = None,
) -> KChoice:
    r"""Say how many clusters the rows speak for, without any label.

    A sample of rows becomes a graph of nearest neighbours, over all the views that a row has. Its communities are
    merged by average linkage down to one cluster. Where true clusters are merged, the linkage drops; the number wins
    with the largest :math:`\log(h_{k+1} / h_k) \log k`, where h_k is the linkage of the merge that leaves k - 1
    clusters, as the median over trees of the graph and of resampled ones. The user guide has a table of what this
    finds on data with known classes.

    Parameters
    ----------
    X : array-like, views, or path
        What every estimator takes, missing views and files larger than memory included: rows are checked in one
        pass, and only the sample is held.
    k_range : iterable of int, optional
        The numbers to try, from 2 on. By default every number up to 130, or to one cluster for every eight rows of
        the sample.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    sample_rows : int, default=10000
        The most rows to look at. Clusters with fewer than about ten rows among them cannot be seen.
    random_state : int, RandomState or None, default=None
        Decides the sample and the trees.

    Returns
    -------
    KChoice
        `k`, `near` (what is about as good), `clear` (whether it can be told at all), `sentence` and the `figures`
        of every number; `print` shows them as a table.

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
    looked_at = min(data.n_rows, sample_rows)
    tried = _default_range(looked_at) if k_range is None else _checked_range(k_range, looked_at)
    seed = draw_seed(random_state)
    reference = build_graph(data, max_rows=sample_rows, seed=seed)
    return count_clusters(reference.joined.matrix, tried, looked_at, seed)


def too_few_to_count(n_rows: int) -> InputError:
    """Return the error for rows that are too few to tell how many clusters there are."""
    return InputError(
        f"X has {n_rows} rows, too few to tell how many clusters there are (n_clusters='auto' needs "
        f"{LEAST_ROWS}); say how many to find."
    )


def count_clusters(graph: sparse.csr_matrix, tried: Iterable[int] | None, n_rows: int, seed: int) -> KChoice:
    """Say how many clusters a graph on `n_rows` rows speaks for; None tries the default numbers."""
    numbers = _default_range(n_rows) if tried is None else list(tried)
    return KChoice(tuple(count_figures(graph, numbers, seed=seed)), n_rows)


def _default_range(n_rows: int) -> list[int]:
    """Return the numbers to try.

    Examples
    --------
    >>> _default_range(40)
    [2, 3, 4, 5]
    """
    return list(range(2, max(2, min(_MOST, n_rows // _ROWS_A_CLUSTER)) + 1))


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
    """Write numbers in words, those that follow each other among the tried ones as from-to.

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
