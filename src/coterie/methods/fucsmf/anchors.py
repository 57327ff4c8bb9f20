"""Anchors of each view: how rows are compared with them, where they are placed, and the weights of rows on them."""

# n rows, d columns of a view, r axes, m anchors, p anchors of a row

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

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
from coterie.methods.fucsmf.weights import WeightRule
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.anchors import tied
from coterie.ops.distances import closest
from coterie.ops.distributed_rows import agreed
from coterie.ops.kmeans import TensorRows, kmeans, spread_seeds
from coterie.ops.pca import principal_axes
from coterie.ops.sparse import gathered_rows

PLACEMENTS = ("kmeans", "minibatch", "random")
CHUNK = 16 * FORWARD_ROWS
_METRIC_ROWS = 5000
_PLACEMENT_ROWS = 50_000
_LLOYD_STEPS = 10
_SEED_ROWS = 10_000
# With this many anchors and rows per anchor, k-means++ draws many seeds at a time and few Lloyd steps are enough.
_MANY_ANCHORS = 1000
_ROWS_PER_ANCHOR = 5
_LLOYD_STEPS_OF_MANY = 4


class AnchorView(nn.Module):
    r"""The anchors of one view, in the metric space in which rows are compared with them.

    The distance of a row to an anchor is :math:`1 - \exp(-\|x - a\|^2 / 2 \sigma^2)`, the correntropy-induced metric,
    with :math:`\sigma^2` by default a fixed share of the median squared distance to the (p + 1)-th anchor, so that
    nothing depends on units (spec fucsmf 2.4). In this metric even an outlier has several anchors.
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
    def fit(
        cls, rows: Tensor, *, metric: str, n_axes: str | None, n_neighbors: int, generator: torch.Generator
    ) -> AnchorView:
        """Choose the metric and the axes of scaled rows, or keep all columns; `place` adds the anchors."""
        if n_axes is None:
            view = cls(metric, rows.shape[1], rows.shape[1])
            view.space.fit(rows)
            view.axes = torch.eye(rows.shape[1])
            return view
        choice = fit_metric(rows, metric, n_neighbors, generator)
        view = cls(choice.kind, rows.shape[1], min(choice.n_axes, *rows.shape))
        view.space.fit(rows)
        view.axes = principal_axes(view.space(rows), choice.n_axes, generator=generator)
        return view

    @torch.no_grad()
    def embed(self, rows: Tensor) -> Tensor:
        """Map scaled rows to the space in which they are compared, (n, r)."""
        return self.space(rows) @ self.axes

    def place(self, anchors: Tensor, sample: Tensor, rule: WeightRule) -> None:
        """Set the anchors, and the bandwidth from a sample; both are embedded."""
        self.anchors = anchors
        p = min(rule.n_nearest, len(anchors) - 1)
        last = torch.cat([self._nearest(part, p)[0][:, -1] for part in sample.split(CHUNK)])
        self.width.fill_(rule.width(last))

    def nearest(self, embedded: Tensor, p: int, rule: WeightRule) -> tuple[Tensor, Tensor]:
        """Return the distances to the p + 1 nearest anchors, nearest first, and their indices."""
        squares, indices = self._nearest(embedded, p)
        return rule.distances(squares, self.width), indices

    def _nearest(self, embedded: Tensor, p: int) -> tuple[Tensor, Tensor]:
        squares, indices = closest(embedded, self.anchors, p + 1)
        return squares.double(), indices

    def weights(self, block: np.ndarray, rule: WeightRule) -> sparse.csr_matrix:
        """Return the weights of scaled rows on their anchors, (n, m)."""
        return self._over_nearest(block, rule, rule.weights)

    def distances(self, block: np.ndarray, rule: WeightRule) -> sparse.csr_matrix:
        """Return the distances of scaled rows to their nearest anchors, (n, m), those of zero stored too."""
        return self._over_nearest(block, rule, lambda distances: distances[:, :-1])

    def _over_nearest(
        self, block: np.ndarray, rule: WeightRule, entry: Callable[[Tensor], Tensor]
    ) -> sparse.csr_matrix:
        """Return what follows from the distances; rows are padded, so that a row alone gets the same."""
        p = min(rule.n_nearest, len(self.anchors) - 1)
        if p < 1:
            return sparse.csr_matrix(np.ones((len(block), 1)))
        columns, entries = [], []
        for first in range(0, len(block), FORWARD_ROWS):
            rows = torch.tensor(block[first : first + FORWARD_ROWS], device=self.anchors.device)
            short = FORWARD_ROWS - len(rows)
            padded = nn.functional.pad(rows, (0, 0, 0, short)) if short else rows
            distances, indices = self.nearest(self.embed(padded), p, rule)
            columns.append(indices[: len(rows), :p].cpu().numpy())
            entries.append(entry(distances[: len(rows)]).cpu().numpy())
        return tied(np.concatenate(columns), np.concatenate(entries), len(self.anchors))


class AnchorViews(nn.Module):
    """The anchors of all views, and the weights of raw rows on them."""

    def __init__(self, scaler: Scaler, views: Sequence[AnchorView], rule: WeightRule) -> None:
        super().__init__()
        self.scaler, self.rule = scaler, rule
        self.views = nn.ModuleList(views)

    @property
    def parts(self) -> list[AnchorView]:
        """The anchors of each view."""
        return [cast(AnchorView, view) for view in self.views]

    @property
    def counts(self) -> list[int]:
        """Number of anchors of each view."""
        return [len(view.anchors) for view in self.parts]

    def weights(self, data: Views, collectives: Collectives = ALONE) -> sparse.csr_matrix:
        """Return Z, (n, m), over the anchors of all views; rows sum to one.

        The weight of a row is split evenly over the views it has. Z diag(Z'1)^-1 Z' is then the mean of the views'
        graphs where no view is missing, and always symmetric, positive semidefinite and row-stochastic. Each process
        computes a share of the rows, and all of them get the whole.
        """
        mine = list(self.stream(data, share_of(data.n_rows, collectives)))
        share = sparse.vstack(mine, format="csr") if mine else sparse.csr_matrix((0, sum(self.counts)))
        return gathered_rows(share, data.n_rows, collectives)

    def distances(self, data: Views, collectives: Collectives = ALONE) -> sparse.csr_matrix:
        """Return the distances of the rows of one view to their nearest anchors, (n, m)."""
        (view,), parts = self.parts, []
        mine = share_of(data.n_rows, collectives)
        for start in range(mine.start, mine.stop, CHUNK):
            rows = slice(start, min(start + CHUNK, mine.stop))
            (block,) = self.scaler.transform(data.read(rows), data.present_rows(rows))
            parts.append(view.distances(block, self.rule))
        share = sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, len(view.anchors)))
        return gathered_rows(share, data.n_rows, collectives)

    def stream(self, data: Views, among: slice = slice(None)) -> Iterator[sparse.csr_matrix]:
        """Yield a range of the rows of Z, chunk by chunk."""
        first, stop, _ = among.indices(data.n_rows)
        for start in range(first, stop, CHUNK):
            rows = slice(start, min(start + CHUNK, stop))
            present = data.present_rows(rows)
            blocks = self.scaler.transform(data.read(rows), present)
            share = 1 / present.sum(axis=1)
            parts = [
                sparse.diags(share * present[:, v]) @ view.weights(block, self.rule)
                for v, (view, block) in enumerate(zip(self.parts, blocks, strict=True))
            ]
            whole = sparse.hstack(parts, format="csr") if len(parts) > 1 else parts[0].tocsr()
            whole.eliminate_zeros()
            yield whole


def fit_anchors(
    data: Views,
    scaler: Scaler,
    *,
    metric: str,
    n_axes: str | None,
    anchors: str | Sequence[np.ndarray],
    n_anchors: int,
    rule: WeightRule,
    seed: int,
    collectives: Collectives = ALONE,
) -> AnchorViews:
    """Choose the metric of each view and place its anchors, by name or where the user says.

    With as many anchors as rows, every distinct row is an anchor.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = some_rows(data.n_rows, _PLACEMENT_ROWS if n_anchors < data.n_rows else data.n_rows, seed)
    present = data.present_rows(rows)
    blocks = _read_scaled(data, scaler, rows, present)
    given = None if isinstance(anchors, str) else scaler.transform(list(anchors))
    views = []
    for v in range(data.n_views):
        block = blocks.pop(0)
        own = torch.from_numpy(block if present[:, v].all() else block[present[:, v]])
        sample = torch.from_numpy(some_rows(len(own), _METRIC_ROWS, seed))
        view = AnchorView.fit(
            own[sample], metric=metric, n_axes=n_axes, n_neighbors=rule.n_nearest, generator=generator
        )
        # In chunks: the rows are already in memory once, and embedding them makes copies.
        embedded = torch.cat([view.embed(part) for part in own.split(CHUNK)])
        del block, own  # freed before the anchors are placed
        if given is not None:
            placed = view.embed(torch.from_numpy(given[v]))
        else:
            n_placed = min(n_anchors, len(embedded))
            placed = _place(embedded, n_placed, str(anchors), generator, collectives)
        view.place(placed, embedded[sample], rule)
        views.append(view)
    return AnchorViews(scaler, views, rule)


def _read_scaled(data: Views, scaler: Scaler, rows: np.ndarray, present: np.ndarray) -> list[np.ndarray]:
    """Read and scale rows of all views chunk by chunk, so that only one copy is held."""
    blocks = [np.empty((len(rows), dim), dtype=np.float32) for dim in data.dims]
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        for block, scaled in zip(blocks, scaler.transform(data.read(rows[part]), present[part]), strict=True):
            block[part] = scaled
    return blocks


def _place(
    rows: Tensor, n_anchors: int, placement: str, generator: torch.Generator, collectives: Collectives
) -> Tensor:
    """Place distinct anchors among embedded rows; duplicates would have no neighbours but each other."""
    rows = torch.unique(rows, dim=0)
    if n_anchors >= len(rows):
        return rows
    if placement == "random":
        return rows[torch.randperm(len(rows), generator=generator)[:n_anchors].to(rows.device)]
    if placement == "minibatch":
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        fitted = MiniBatchKMeans(n_anchors, n_init=1, random_state=seed).fit(rows.cpu().numpy())
        return agreed(torch.from_numpy(fitted.cluster_centers_).to(rows), collectives)
    many = n_anchors >= _MANY_ANCHORS and len(rows) >= _ROWS_PER_ANCHOR * n_anchors
    start = None
    if many:
        sample = torch.randperm(len(rows), generator=generator)[: max(_SEED_ROWS, 2 * n_anchors)]
        start = spread_seeds(rows[sample.to(rows.device)], n_anchors, generator)
    share = share_of(len(rows), collectives)
    return kmeans(
        TensorRows(rows[share], len(rows), share.start),
        n_anchors,
        generator=generator,
        start=start,
        n_init=1,
        max_iter=_LLOYD_STEPS_OF_MANY if many else _LLOYD_STEPS,
        seed_rows=_SEED_ROWS,
        quiet=True,
        collectives=collectives,
    ).centers


def check_anchors(anchors: Any, dims: Sequence[int], n_rows: int) -> list[np.ndarray]:
    """Return the anchors that a user gave, one array per view; raise one sentence where they do not fit."""
    single = np.ndim(anchors[0]) == 1 if len(anchors) else True
    tables = [np.asarray(table, dtype=np.float32) for table in ([anchors] if single else anchors)]
    if len(tables) != len(dims):
        raise InputError(f"anchors has {len(tables)} arrays for {len(dims)} views; give one for each view.")
    for v, (table, d) in enumerate(zip(tables, dims, strict=True)):
        if table.ndim != 2 or table.shape[1] != d or not np.isfinite(table).all():
            raise InputError(
                f"anchors of view {v} have shape {table.shape}; they must be finite rows of {d} columns."
            )
        if not 1 <= len(table) <= n_rows:
            raise InputError(
                f"anchors of view {v} are {len(table)}, but there are {n_rows} rows; give fewer."
            )
    return tables
