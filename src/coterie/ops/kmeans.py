"""k-means with greedy k-means++ seeds, for one process and many by one code path."""

# n rows, k clusters, d features

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.errors import InputError
from coterie.ops.distances import nearest, squared_distances


@dataclass(frozen=True)
class TensorRows:
    """Rows of one tensor; with many processes, the rows `start` to `start + len(rows)` of `n_rows`."""

    rows: Tensor
    n_rows: int
    start: int = 0

    @classmethod
    def of(cls, rows: Tensor) -> TensorRows:
        """Wrap a tensor that holds all the rows."""
        return cls(rows, len(rows))

    def chunks(self) -> Iterator[Tensor]:
        """Yield pieces of 65,536 rows."""
        yield from self.rows.split(65_536)

    def take(self, rows: Tensor) -> Tensor:
        """Return the rows with these global numbers, zeros where this process has none."""
        local = rows - self.start
        own = (local >= 0) & (local < len(self.rows))
        taken = self.rows.new_zeros(len(rows), self.rows.shape[1])
        taken[own] = self.rows[local[own]]
        return taken


@dataclass(frozen=True)
class KMeansResult:
    """Centres and convergence of a run of k-means.

    Attributes
    ----------
    centers : Tensor of shape (k, d)
    inertia : float
        Sum of the squared distances to the nearest centre.
    n_iter : int
    converged : bool
    """

    centers: Tensor
    inertia: float
    n_iter: int
    converged: bool


def kmeans(
    data: Tensor | TensorRows,
    n_clusters: int,
    *,
    generator: torch.Generator,
    start: Tensor | None = None,
    n_init: int = 10,
    max_iter: int = 300,
    tol: float = 1e-4,
    seed_rows: int = 50_000,
    quiet: bool = False,
    collectives: Collectives = ALONE,
) -> KMeansResult:
    """Find `n_clusters` centres by Lloyd's algorithm, the best of `n_init` seedings.

    Minimises sum_n min_k ||x_n - c_k||^2. Seeds are drawn by greedy k-means++ on a uniform sample of at most
    `seed_rows` rows (all rows when there are fewer); Lloyd's steps see every row. All processes draw the same
    sample from the same generator and add up sums and counts in float64, so that any number of processes
    gives the same centres.

    Parameters
    ----------
    data : Tensor of shape (n, d) or TensorRows
    n_clusters : int
    generator : torch.Generator
        The same state on every process.
    start : Tensor of shape (n_clusters, d), optional
        Centres to begin from instead of seeds; then there is one try.
    n_init : int
        Seedings tried; the lowest inertia wins.
    max_iter, tol : int, float
        Stop after so many steps, or when the centres move less than `tol` times the mean variance.
    seed_rows : int
        Size of the sample that seeds are drawn from.
    quiet : bool
        Whether not to warn when `max_iter` ends the search, for callers that need only rough centres.
    collectives : Collectives

    Returns
    -------
    KMeansResult

    Warns
    -----
    ConvergenceWarning
        When no seeding converged within `max_iter` steps.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.2], [9.0], [9.2]])
    >>> kmeans(rows, 2, generator=torch.Generator().manual_seed(0)).centers.sort(0).values
    tensor([[0.1000],
            [9.1000]])
    """
    source: TensorRows = TensorRows.of(data) if isinstance(data, Tensor) else data
    if source.n_rows < n_clusters:
        raise InputError(
            f"n_clusters={n_clusters} is more than the {source.n_rows} rows; ask for fewer clusters."
        )
    sample = _sample(source, max(seed_rows, n_clusters), generator, collectives)
    threshold = tol * float(sample.double().var(0, correction=0).mean())
    best: KMeansResult | None = None
    for _ in range(n_init if start is None else 1):
        seeds = kmeans_plus_plus(sample, n_clusters, generator) if start is None else start
        result = _lloyd(source, seeds, max_iter, threshold, collectives)
        # A relative difference below 1e-6 is rounding: the first to reach an optimum wins on every machine.
        if best is None or result.inertia < best.inertia * (1 - 1e-6):
            best = result
    if best is None:
        raise InputError("n_init=0 tries no seeding; give at least 1.")
    if not (best.converged or quiet):
        warnings.warn(
            f"k-means did not converge in max_iter={max_iter} steps.", ConvergenceWarning, stacklevel=2
        )
    return best


def kmeans_plus_plus(rows: Tensor, n_clusters: int, generator: torch.Generator) -> Tensor:
    """Draw `n_clusters` seeds by greedy k-means++.

    Each seed is the best of 2 + log(k) candidates drawn with probability proportional to the squared distance
    to the seeds so far: best means the lowest sum of squared distances that remains.

    Examples
    --------
    >>> kmeans_plus_plus(torch.tensor([[0.0], [0.0], [5.0]]), 2, torch.Generator().manual_seed(0)).sort(0).values
    tensor([[0.],
            [5.]])
    """
    trials = 2 + int(math.log(n_clusters))
    first = torch.randint(len(rows), (1,), generator=generator).to(rows.device)
    seeds = [rows[first]]
    left = squared_distances(rows, seeds[0]).squeeze(1)
    for _ in range(n_clusters - 1):
        candidates = _draw(left, trials, generator)
        remaining = torch.minimum(left, squared_distances(rows[candidates], rows))
        best = remaining.double().sum(1).argmin()
        seeds.append(rows[candidates[best]][None])
        left = remaining[best]
    return torch.cat(seeds)


def spread_seeds(rows: Tensor, n_seeds: int, generator: torch.Generator, rounds: int = 64) -> Tensor:
    """Draw many seeds in rounds, as k-means|| does.

    A round draws rows with probability proportional to the squared distance to the seeds of earlier rounds. Greedy
    k-means++ passes over all rows for every seed, too slow for thousands of seeds. Rows must be distinct.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.1], [5.0], [9.0]])
    >>> spread_seeds(rows, 4, torch.Generator().manual_seed(0)).sort(0).values.T
    tensor([[0.0000, 0.1000, 5.0000, 9.0000]])
    """
    each = -(-n_seeds // rounds)
    chosen = torch.randperm(len(rows), generator=generator)[:each]
    left = nearest(rows, rows[chosen])[1]
    while len(chosen) < n_seeds:
        weights = left.double().cpu() + torch.finfo(torch.float64).tiny
        weights[chosen] = 0
        drawn = torch.multinomial(weights, min(each, n_seeds - len(chosen)), generator=generator)
        chosen = torch.cat([chosen, drawn])
        left = torch.minimum(left, nearest(rows, rows[drawn])[1])
    return rows[chosen]


def match_centers(old: Tensor, new: Tensor) -> Tensor:
    """Return `new` centres in the order of the old ones they are matched with, so that clusters keep their numbers.

    The matching is the Hungarian one on squared distances.

    Examples
    --------
    >>> match_centers(torch.tensor([[0.0], [5.0]]), torch.tensor([[5.5], [0.5]]))
    tensor([[0.5000],
            [5.5000]])
    """
    _, partner = linear_sum_assignment(squared_distances(old, new).double().cpu().numpy())
    return new[torch.as_tensor(partner, device=new.device)]


def _draw(weights: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Draw indices with probability proportional to the weights, uniformly where all of them are zero."""
    cumulative = weights.double().cumsum(0)
    total = cumulative[-1]
    if total <= 0:
        return torch.randint(len(weights), (size,), generator=generator).to(weights.device)
    points = torch.rand(size, generator=generator, dtype=torch.float64).to(weights.device) * total
    return torch.searchsorted(cumulative, points).clamp_(max=len(weights) - 1)


def _sample(source: TensorRows, size: int, generator: torch.Generator, collectives: Collectives) -> Tensor:
    if source.n_rows <= size:
        sampled = torch.arange(source.n_rows)
    else:
        sampled = torch.randperm(source.n_rows, generator=generator)[:size].sort().values
    return collectives.sum(source.take(sampled))


def _lloyd(
    source: TensorRows, centers: Tensor, max_iter: int, threshold: float, collectives: Collectives
) -> KMeansResult:
    for n_iter in range(1, max_iter + 1):
        sums, counts, inertia, farthest = _totals(source, centers, collectives)
        moved = _relocate_empty(sums / counts.clamp(min=1)[:, None], counts, farthest)
        shift = float((moved - centers.double()).square().sum())
        centers = moved.to(centers.dtype)
        if shift <= threshold:
            return KMeansResult(centers, _totals(source, centers, collectives)[2], n_iter, True)
    return KMeansResult(centers, inertia, max_iter, False)


def _totals(
    source: TensorRows, centers: Tensor, collectives: Collectives
) -> tuple[Tensor, Tensor, float, Callable[[int], Tensor]]:
    """Return the sums, counts and inertia of one assignment, and a function that returns the farthest rows."""
    sums = torch.zeros(centers.shape, dtype=torch.float64, device=centers.device)
    counts = torch.zeros(len(centers), dtype=torch.float64, device=centers.device)
    inertia = torch.zeros((), dtype=torch.float64, device=centers.device)
    for chunk in source.chunks():
        labels, distances = nearest(chunk, centers)
        sums.index_add_(0, labels, chunk.double())
        counts += torch.bincount(labels, minlength=len(centers))
        inertia += distances.double().sum()

    def farthest(size: int) -> Tensor:
        return _farthest_rows(source, centers, size, collectives)

    return collectives.sum(sums), collectives.sum(counts), float(collectives.sum(inertia)), farthest


def _relocate_empty(centers: Tensor, counts: Tensor, farthest: Callable[[int], Tensor]) -> Tensor:
    """Move each empty centre to one of the rows farthest from their centres."""
    empty = (counts == 0).nonzero().squeeze(1)
    if len(empty):
        centers[empty] = farthest(len(empty)).to(centers.dtype)
    return centers


def _farthest_rows(source: TensorRows, centers: Tensor, size: int, collectives: Collectives) -> Tensor:
    """Return the `size` rows with the largest distance to their centre, the same ones on every process."""
    values = centers.new_zeros(0)
    rows = centers.new_zeros(0, centers.shape[1])
    for chunk in source.chunks():
        values = torch.cat([values, nearest(chunk, centers)[1]])
        rows = torch.cat([rows, chunk])
        top = values.topk(min(size, len(values))).indices
        values, rows = values[top], rows[top]
    shared = centers.new_full((collectives.size, size, 1 + centers.shape[1]), 0)
    shared[collectives.rank, : len(values), 0] = values
    shared[collectives.rank, : len(values), 1:] = rows
    everyone = collectives.sum(shared).flatten(0, 1)
    return everyone[everyone[:, 0].topk(size).indices, 1:]
