"""How rows are compared: fixed maps into a space where Euclidean distance is the distance that is meant."""

# n rows, D features, k neighbours

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.graph.agreement import shared_neighbours
from coterie.graph.duplicates import first_of_equal, row_hashes
from coterie.graph.neighbours import neighbours_of_each
from coterie.ops.pca import principal_axes

KINDS = ("euclidean", "correlation", "whitened")
_AXES = (256, 64, 32)
_WIDEST_WHITENING = 4096
_LEAST_FEATURES = 16
_MOST_IN_MEANS = 0.25
_LEAST_NORM = 1e-12


class MetricSpace(nn.Module):
    """A fixed map of rows; what it learns from data is stored in buffers and never trained.

    - ``"euclidean"``: columns centred;
    - ``"correlation"``: each row less its own mean, divided by its length;
    - ``"whitened"``: rows of unit length, rotated to their principal axes, each axis divided by
      sqrt(variance + mean variance), rotated back, and again divided by their length. It makes a few strong
      directions, such as light on faces, count no more than the others.

    All results are divided by one number, so that their mean variance is 1.

    Parameters
    ----------
    kind : {"euclidean", "correlation", "whitened"}
    n_features : int

    Examples
    --------
    >>> space = MetricSpace("correlation", 3).fit(torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    >>> a, b = space(torch.tensor([[0.0, 1.0, 2.0], [10.0, 30.0, 50.0]]))
    >>> torch.allclose(a, b)
    True
    """

    center: Tensor
    rotation: Tensor
    spread: Tensor

    def __init__(self, kind: str, n_features: int) -> None:
        super().__init__()
        self.kind = kind
        width = n_features if kind == "whitened" else 0
        self.register_buffer("center", torch.zeros(n_features))
        self.register_buffer("rotation", torch.zeros(width, width))
        self.register_buffer("spread", torch.ones(()))

    @torch.no_grad()
    def fit(self, rows: Tensor) -> MetricSpace:
        """Learn the centre, the rotation and the spread from a sample of rows."""
        if self.kind == "euclidean":
            self.center.copy_(rows.mean(0))
        if self.kind == "whitened":
            rows = _unit(rows)
            self.center.copy_(rows.mean(0))
            self.rotation.copy_(_shrunk_whitening(rows - self.center))
        spread = self(rows).var(0, correction=0).mean().sqrt()
        self.spread.copy_(torch.where(spread > _LEAST_NORM, spread, torch.ones_like(spread)))
        return self

    @torch.no_grad()
    def forward(self, rows: Tensor) -> Tensor:
        """Return the rows in the space."""
        if self.kind == "correlation":
            return _unit(rows - rows.mean(1, keepdim=True)) / self.spread
        if self.kind == "whitened":
            return _unit((_unit(rows) - self.center) @ self.rotation) / self.spread
        return (rows - self.center) / self.spread

    @torch.no_grad()
    def directions(self, directions: Tensor) -> Tensor:
        """Return the directions among rows that directions of the space come from, as far as its map is linear."""
        if self.kind == "whitened":
            directions = torch.linalg.lstsq(self.rotation.double(), directions.double().T).solution.T.to(
                directions
            )
        return directions * self.spread

    def inverse(self, rows: Tensor) -> Tensor:
        """Return what the map of a "euclidean" space came from."""
        return rows * self.spread + self.center


@dataclass(frozen=True)
class MetricChoice:
    """The comparison of rows whose neighbours agree most.

    Attributes
    ----------
    kind : str
        Of the `MetricSpace`.
    n_axes : int
        How many of its principal axes the search for neighbours looks at.
    agreement : dict
        The agreement of every candidate, by kind and axes.
    """

    kind: str
    n_axes: int
    agreement: dict[tuple[str, int], float]

    def as_values(self) -> list[Any]:
        """Return the choice in a form JSON keeps."""
        return [self.kind, self.n_axes, [[*candidate, share] for candidate, share in self.agreement.items()]]

    @classmethod
    def from_values(cls, values: list[Any]) -> MetricChoice:
        """Take back what `as_values` gave.

        Examples
        --------
        >>> choice = MetricChoice("whitened", 64, {("whitened", 64): 0.5})
        >>> MetricChoice.from_values(choice.as_values()) == choice
        True
        """
        kind, n_axes, agreement = values
        return cls(kind, n_axes, {(one, axes): share for one, axes, share in agreement})


def choose_metric(
    rows: Tensor, *, n_neighbors: int, generator: torch.Generator, kinds: Sequence[str] = KINDS
) -> MetricChoice:
    """Choose how rows are compared, without labels: where neighbours of neighbours are neighbours most often.

    The agreement of a comparison is the mean share of neighbours that a row has in common with its neighbours.
    Candidates are the kinds of `MetricSpace`, each seen through its 32, 64 or 256 leading principal axes: few
    axes drop noise, and on faces or sensor data drop what matters; the agreement tells which. Fewer than
    32 are not tried, for in a few dimensions neighbours agree whatever the groups are; for the same reason
    rows of fewer than 16 features are compared as they are. Correlation forgets the mean of each row, so it is not
    tried where means hold a quarter of the variance: there they are no light or ink to see past, but what rows differ
    by (measured: .39 on tumours described by thirty sizes and shapes, ACC .63 by correlation and .94 without; .15 at
    most on the sets of the docs that are compared so, .31 on faces, which are not).

    Parameters
    ----------
    rows : Tensor of shape (n, D)
        A sample.
    n_neighbors : int
    generator : torch.Generator
    kinds : sequence of str

    Examples
    --------
    >>> generator = torch.Generator().manual_seed(0)
    >>> choose_metric(torch.rand(50, 2, generator=generator), n_neighbors=5, generator=generator).kind
    'euclidean'
    """
    n_features = rows.shape[1]
    present = np.ones((len(rows), 1), dtype=bool)
    rows = rows[
        torch.from_numpy(first_of_equal(row_hashes([rows.cpu().numpy()], present))[0]).to(rows.device)
    ]
    k = max(1, min(n_neighbors, len(rows) - 1))
    if len(rows) < 2:
        return MetricChoice(kinds[0], 1, {})
    agreement = {}
    for kind in kinds:
        if len(kinds) > 1 and not _is_worth_trying(kind, rows):
            continue
        space = MetricSpace(kind, n_features).to(rows.device).fit(rows)(rows)
        rotated = space @ principal_axes(space, _AXES[0], generator=generator)
        for n_axes in sorted({min(most, rotated.shape[1]) for most in _AXES}, reverse=True):
            table = neighbours_of_each(rotated[:, :n_axes].cpu().numpy(), k)[1].indices
            agreement[kind, n_axes] = float(shared_neighbours(torch.from_numpy(table)).mean())
    kind, n_axes = max(agreement, key=lambda candidate: agreement[candidate])
    return MetricChoice(kind, n_axes, agreement)


def axis_map(
    space: Callable[[Tensor], Tensor], sample: Tensor, n_axes: int, generator: torch.Generator
) -> Callable[[Tensor], Tensor]:
    """Return what maps scaled rows (n, D) along the principal axes of a space, (n, r), on the sample's device."""
    axes = principal_axes(space(sample), n_axes, generator=generator)
    return lambda rows: space(rows.to(sample.device)) @ axes


def _is_worth_trying(kind: str, rows: Tensor) -> bool:
    if kind == "euclidean":
        return True
    if rows.shape[1] < _LEAST_FEATURES or (kind == "whitened" and rows.shape[1] > _WIDEST_WHITENING):
        return False
    return kind == "whitened" or share_in_means(rows) <= _MOST_IN_MEANS


def share_in_means(rows: Tensor) -> float:
    """Return the share of the variance of rows (n, D) that lies in how their means differ.

    Examples
    --------
    >>> share_in_means(torch.tensor([[1.0, 1.0], [3.0, 3.0]])), share_in_means(torch.tensor([[1.0, 3.0], [3.0, 1.0]]))
    (1.0, 0.0)
    """
    whole = float(rows.var(0, correction=0).sum())
    return rows.shape[1] * float(rows.mean(1).var(correction=0)) / whole if whole > 0 else 0.0


def fit_metric(sample: Tensor, metric: str, n_neighbors: int, generator: torch.Generator) -> MetricChoice:
    """Return the metric asked for, or the one whose neighbours agree most."""
    k = min(n_neighbors, len(sample) - 1)
    if k < 1:
        return MetricChoice("euclidean" if metric == "auto" else metric, 1, {})
    if metric == "auto":
        return choose_metric(sample, n_neighbors=k, generator=generator)
    return choose_metric(sample, n_neighbors=k, generator=generator, kinds=(metric,))


def _unit(rows: Tensor) -> Tensor:
    return F.normalize(rows, dim=1, eps=_LEAST_NORM)


def _shrunk_whitening(centered: Tensor) -> Tensor:
    """Return V diag(1 / sqrt(w + mean w)) V' of the covariance V diag(w) V', (D, D).

    It is c I + V diag(1 / sqrt(w + mean w) - c) V' with c = 1 / sqrt(mean w), so axes without variance need not be
    known: those of fewer rows than features come from the rows' inner products.
    """
    n_rows, n_features = centered.shape
    rows = centered.double()
    if n_rows < n_features:
        variances, weights = torch.linalg.eigh(rows @ rows.T / n_rows)
        known = variances > variances[-1].clamp(min=_LEAST_NORM) * n_features * torch.finfo(rows.dtype).eps
        variances = variances[known]
        axes = rows.T @ (weights[:, known] / (n_rows * variances).sqrt())
    else:
        variances, axes = torch.linalg.eigh(rows.T @ rows / n_rows)
        variances = variances.clamp(min=0)
    mean = variances.sum() / n_features
    spherical = 1 / mean.clamp(min=_LEAST_NORM).sqrt()
    shrunk = 1 / (variances + mean).clamp(min=_LEAST_NORM).sqrt() - spherical
    whitening = (axes * shrunk) @ axes.T
    whitening.diagonal().add_(spherical)
    return whitening.to(centered.dtype)
