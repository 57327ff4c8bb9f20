"""Anchor graphs of views: how rows are compared, where the anchors are, and how rows hang on them."""

# n rows, D features, r axes, m anchors, p anchors of a row, v views

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor, nn

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data import Scaler, Views
from coterie.data.subsets import some_rows
from coterie.errors import InputError
from coterie.graph.metric import MetricSpace, fit_metric
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.anchors import simplex_weights, tied
from coterie.ops.distances import closest
from coterie.ops.distributed_rows import agreed
from coterie.ops.kmeans import TensorRows, kmeans, spread_seeds
from coterie.ops.pca import principal_axes
from coterie.ops.sparse import gathered_rows

PLACES = ("kmeans", "minibatch", "random")
_METRIC_ROWS = 5000
_ANCHOR_ROWS = 50_000
_LLOYD_STEPS = 10
_SEED_ROWS = 10_000
# So many anchors among so many rows each are drawn many at a time, and few steps settle them: 30,000 rows of MNIST
# with ten labels a class lose nothing. With two rows an anchor it costs: hdigit, ten answers, 0.975 for 0.985.
_MANY = 1000
_ROWS_EACH = 5
_STEPS_OF_MANY = 4
_NARROW = 0.3  # of the median: 1 and 0.1 did worse on average over six data sets
CHUNK = 16 * FORWARD_ROWS


class AnchorView(nn.Module):
    r"""The anchors of one view and the space in which rows are compared with them.

    A row's distance to an anchor is :math:`1 - \exp(-\|x - a\|^2 / 2 \sigma^2)`, the correntropy-induced distance;
    :math:`\sigma^2` is 0.3 times the median squared distance to the (p + 1)-th anchor, so that nothing depends on
    units (spec fucsmf 2.4). In this distance a row far from everything still hangs on several anchors.

    Parameters
    ----------
    kind : str
        Of the `MetricSpace`.
    n_features, n_axes, n_anchors : int
    """

    axes: Tensor
    anchors: Tensor
    width: Tensor

    def __init__(self, kind: str, n_features: int, n_axes: int, n_anchors: int = 0) -> None:
        super().__init__()
        self.space = MetricSpace(kind, n_features)
        self.register_buffer("axes", torch.zeros(n_features, n_axes))
        self.register_buffer("anchors", torch.zeros(n_anchors, n_axes))
        self.register_buffer("width", torch.ones((), dtype=torch.float64))

    @classmethod
    def fit(cls, rows: Tensor, *, metric: str, n_neighbors: int, generator: torch.Generator) -> AnchorView:
        """Choose how scaled rows are compared; the anchors are placed later."""
        chosen = fit_metric(rows, metric, n_neighbors, generator)
        view = cls(chosen.kind, rows.shape[1], min(chosen.n_axes, *rows.shape))
        view.space.fit(rows)
        view.axes = principal_axes(view.space(rows), chosen.n_axes, generator=generator)
        return view

    @torch.no_grad()
    def embed(self, rows: Tensor) -> Tensor:
        """Return scaled rows where Euclidean distance is the distance that is meant, (n, r)."""
        return self.space(rows) @ self.axes

    def place(self, anchors: Tensor, sample: Tensor, p: int) -> None:
        """Take the anchors, in the space of `embed`, and set the width by embedded rows."""
        self.anchors = anchors
        last = torch.cat([self._closest(part, p)[0][:, -1] for part in sample.split(CHUNK)])
        width = last.median()
        self.width.fill_(_NARROW * float(width) if width > 0 else 1.0)

    def near(self, embedded: Tensor, p: int) -> tuple[Tensor, Tensor]:
        """Return the distances to the p + 1 nearest anchors, nearest first, and their numbers."""
        squares, numbers = self._closest(embedded, p)
        return -torch.expm1(-squares / (2 * self.width)), numbers

    def _closest(self, embedded: Tensor, p: int) -> tuple[Tensor, Tensor]:
        squares, numbers = closest(embedded, self.anchors, p + 1)
        return squares.double(), numbers


class AnchorViews(nn.Module):
    """The anchors of all views; rows come in as users have them.

    Parameters
    ----------
    scaler : Scaler
        Fitted.
    views : sequence of AnchorView
    n_nearest : int
        How many anchors a row hangs on in each view.
    """

    def __init__(self, scaler: Scaler, views: Sequence[AnchorView], n_nearest: int) -> None:
        super().__init__()
        self.scaler, self.n_nearest = scaler, n_nearest
        self.views = nn.ModuleList(views)

    @property
    def parts(self) -> list[AnchorView]:
        """The views."""
        return [cast(AnchorView, one) for one in self.views]

    @property
    def counts(self) -> list[int]:
        """How many anchors each view has."""
        return [len(one.anchors) for one in self.parts]

    def weights(self, data: Views, collectives: Collectives = ALONE) -> sparse.csr_matrix:
        """Return Z, (n, m): the anchors of the views side by side, rows that sum to one.

        A row's weight is shared by the views it has. Z diag(Z'1)^-1 Z' is then the mean of the views' graphs where
        no view is missing, and in any case symmetric, positive semidefinite and row-stochastic. Several processes
        hang a share of the rows each, and all of them get the whole.
        """
        mine = list(self.stream(data, share_of(data.n_rows, collectives)))
        found = sparse.vstack(mine, format="csr") if mine else sparse.csr_matrix((0, sum(self.counts)))
        return gathered_rows(found, data.n_rows, collectives)

    def stream(self, data: Views, among: slice = slice(None)) -> Iterator[sparse.csr_matrix]:
        """Yield the rows of Z in a range, a piece at a time."""
        first, stop, _ = among.indices(data.n_rows)
        for start in range(first, stop, CHUNK):
            rows = slice(start, min(start + CHUNK, stop))
            there = data.present_rows(rows)
            blocks = self.scaler.transform(data.read(rows), there)
            share = 1 / there.sum(axis=1)
            parts = [
                sparse.diags(share * there[:, v]) @ self._hang(view, block)
                for v, (view, block) in enumerate(zip(self.parts, blocks, strict=True))
            ]
            whole = sparse.hstack(parts, format="csr") if len(parts) > 1 else parts[0].tocsr()
            whole.eliminate_zeros()
            yield whole

    def _hang(self, view: AnchorView, block: np.ndarray) -> sparse.csr_matrix:
        """Return the weights of one view's rows; padded, so that a row's are the same in any company."""
        n_rows, device = len(block), view.anchors.device
        p = min(self.n_nearest, len(view.anchors) - 1)
        if p < 1:
            return sparse.csr_matrix(np.ones((n_rows, 1)))
        columns, weights = [], []
        for first in range(0, n_rows, FORWARD_ROWS):
            rows = torch.tensor(block[first : first + FORWARD_ROWS], device=device)
            short = FORWARD_ROWS - len(rows)
            padded = nn.functional.pad(rows, (0, 0, 0, short)) if short else rows
            distances, numbers = view.near(view.embed(padded), p)
            columns.append(numbers[: len(rows), :p].cpu().numpy())
            weights.append(simplex_weights(distances[: len(rows)]).cpu().numpy())
        return tied(np.concatenate(columns), np.concatenate(weights), len(view.anchors))


def _read_scaled(data: Views, scaler: Scaler, rows: np.ndarray, there: np.ndarray) -> list[np.ndarray]:
    """Read rows of all views and scale them, a piece at a time, so that they are held once only."""
    blocks = [np.empty((len(rows), dim), dtype=np.float32) for dim in data.dims]
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        for block, scaled in zip(blocks, scaler.transform(data.read(rows[part]), there[part]), strict=True):
            block[part] = scaled
    return blocks


def fit_views(
    data: Views,
    scaler: Scaler,
    *,
    metric: str,
    anchors: str | Sequence[np.ndarray],
    n_anchors: int,
    n_nearest: int,
    seed: int,
    collectives: Collectives = ALONE,
) -> AnchorViews:
    """Choose the comparison of each view and place its anchors.

    Parameters
    ----------
    data : Views
    scaler : Scaler
        Fitted.
    metric : str
    anchors : {"auto", "kmeans", "minibatch", "random"} or list of ndarray of shape (m, d)
        How they are placed, or where they are, in the user's units, for each view.
    n_anchors : int
        Of each view; as many as there are rows makes every row an anchor.
    n_nearest : int
    seed : int
    collectives : Collectives
    """
    generator = torch.Generator().manual_seed(seed)
    rows = some_rows(data.n_rows, _ANCHOR_ROWS if n_anchors < data.n_rows else data.n_rows, seed)
    there = data.present_rows(rows)
    blocks = _read_scaled(data, scaler, rows, there)
    given = None if isinstance(anchors, str) else scaler.transform(list(anchors))
    views = []
    for v in range(data.n_views):
        block = blocks.pop(0)
        own = torch.from_numpy(block if there[:, v].all() else block[there[:, v]])
        few = torch.from_numpy(some_rows(len(own), _METRIC_ROWS, seed))
        view = AnchorView.fit(own[few], metric=metric, n_neighbors=n_nearest, generator=generator)
        # In pieces: the rows are held once already, and comparing them makes copies.
        embedded = torch.cat([view.embed(part) for part in own.split(CHUNK)])
        del block, own  # not held while the anchors are placed
        if given is not None:
            placed = view.embed(torch.from_numpy(given[v]))
        else:
            n_placed = min(n_anchors, len(embedded))
            placed = _place(embedded, n_placed, str(anchors), generator, collectives)
        view.place(placed, embedded[few], min(n_nearest, len(placed) - 1))
        views.append(view)
    return AnchorViews(scaler, views, n_nearest)


def _place(
    rows: Tensor, n_anchors: int, how: str, generator: torch.Generator, collectives: Collectives
) -> Tensor:
    """Return anchors among embedded rows, no two of them alike: copies of a row would only hang on each other."""
    rows = torch.unique(rows, dim=0)
    if n_anchors >= len(rows):
        return rows
    if how == "random":
        return rows[torch.randperm(len(rows), generator=generator)[:n_anchors].to(rows.device)]
    if how == "minibatch":
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        found = MiniBatchKMeans(n_anchors, n_init=1, random_state=seed).fit(rows.cpu().numpy())
        return agreed(torch.from_numpy(found.cluster_centers_).to(rows), collectives)
    # Seeds drawn far apart: random ones cost one to three points of accuracy.
    many = n_anchors >= _MANY and len(rows) >= _ROWS_EACH * n_anchors
    share = share_of(len(rows), collectives)
    placed = kmeans(
        TensorRows(rows[share], len(rows), share.start),
        n_anchors,
        generator=generator,
        start=_spread(rows, n_anchors, generator) if many else None,
        n_init=1,
        max_iter=_STEPS_OF_MANY if many else _LLOYD_STEPS,
        seed_rows=_SEED_ROWS,
        quiet=True,
        collectives=collectives,
    )
    return placed.centers


def _spread(rows: Tensor, n_anchors: int, generator: torch.Generator) -> Tensor:
    few = torch.randperm(len(rows), generator=generator)[: max(_SEED_ROWS, 2 * n_anchors)]
    return spread_seeds(rows[few.to(rows.device)], n_anchors, generator)


def check_anchors(anchors: Sequence[np.ndarray], dims: Sequence[int], n_rows: int) -> None:
    """Raise one sentence where anchors that a user gave do not fit the views."""
    if len(anchors) != len(dims):
        raise InputError(f"anchors has {len(anchors)} arrays for {len(dims)} views; give one for each view.")
    for v, (one, d) in enumerate(zip(anchors, dims, strict=True)):
        if one.ndim != 2 or one.shape[1] != d or not np.isfinite(one).all():
            raise InputError(
                f"anchors of view {v} have shape {one.shape}; they must be finite rows of {d} columns."
            )
        if not 1 <= len(one) <= n_rows:
            raise InputError(f"anchors of view {v} are {len(one)}, but there are {n_rows} rows; give fewer.")
