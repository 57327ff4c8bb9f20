"""Pairs of rows of a batch that attract or repel each other (for Eq. 44)."""

# b rows of a batch, l lines of a table of pairs

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Pairs(NamedTuple):
    """Some consecutive lines of the tables of attracting and repelling pairs of a batch."""

    # (2, m): attracting pairs, the line and the other row, a row and itself included
    places: Tensor
    weights: Tensor  # (m,): of the attraction
    negative: Tensor  # (l, b): weights omega of the repulsion; 0 where a pair does not repel
    start: int = 0  # the row of the first line

    def of_lines(self, lines: slice) -> Pairs:
        """Return some of the lines."""
        if lines == slice(0, len(self.negative)):
            return self
        line, other = self.places
        kept = (line >= lines.start) & (line < lines.stop)
        places = torch.stack([line[kept] - lines.start, other[kept]])
        return Pairs(places, self.weights[kept], self.negative[lines], self.start + lines.start)

    @property
    def lines(self) -> slice:
        """The rows of the lines."""
        return slice(self.start, self.start + len(self.negative))

    def among(self, rows: Tensor) -> Pairs:
        """Return the pairs among some rows of the batch, in ascending order."""
        lines = rows - self.start
        lines = lines[(lines >= 0) & (lines < len(self.negative))]
        place = _numbered(rows, self.negative.shape[1])
        places = torch.stack([_numbered(lines, len(self.negative))[self.places[0]], place[self.places[1]]])
        kept = (places >= 0).all(0)
        start = int((rows < self.start).sum())
        return Pairs(places[:, kept], self.weights[kept], self.negative[lines][:, rows], start)


def same_cluster(labels: Tensor, lines: slice = slice(None)) -> Tensor:
    """Return 1 for pairs of one cluster and 0 for others, (l, b); a line is copied, not compared."""
    kinds, kind = labels.unique(return_inverse=True)
    return (kinds[:, None] == labels).float()[kind[lines]]


def _numbered(rows: Tensor, n_rows: int) -> Tensor:
    """Return the places that all rows have among some, (n_rows,); -1 for those that are not there."""
    absent = torch.full((n_rows,), -1, device=rows.device)
    return absent.index_copy_(0, rows, torch.arange(len(rows), device=rows.device))


def spared_pairs(labels: Tensor, near: Tensor, false: Tensor) -> Tensor:
    """Return the neighbours in other clusters of which one is routed as a false negative, (2, s): FN(i).

    Parameters
    ----------
    labels : Tensor of shape (b,)
    near : Tensor of shape (2, m)
        Pairs of neighbours.
    false : Tensor of bool, shape (b,)
    """
    row, other = near
    return near[:, (labels[row] != labels[other]) & (false[row] | false[other])]


def sides_of(rows: Tensor, labels: Tensor, near: Tensor, spared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weights with which all b rows of the consensus, then of the view, enter the loss of some rows.

    Three tables (m, 2 b): of what attracts, of possible false negatives, of the rest of the denominator.

    Parameters
    ----------
    rows : Tensor of shape (m,)
        Different rows of the batch.
    labels : Tensor of shape (b,)
    near : Tensor of shape (2, p)
        Pairs of neighbours, as for `row_pairs`.
    spared : Tensor of shape (2, s)
        From `spared_pairs`.
    """
    line = _numbered(rows, len(labels))
    differing = 1 - same_cluster(labels)[rows]

    def table(pairs: Tensor) -> Tensor:
        asked = line[pairs[0]] >= 0
        return torch.zeros_like(differing).index_put_(
            (line[pairs[0, asked]], pairs[1, asked]), differing.new_ones(())
        )

    attract = table(near) * (1 - differing)
    attract[torch.arange(len(rows), device=rows.device), rows] = 1
    false = table(spared)
    rest = differing - false
    nothing = torch.zeros_like(rest)
    return torch.cat([attract, nothing], 1), false.repeat(1, 2), torch.cat([attract + rest, rest], 1)


def row_pairs(
    labels: Tensor,
    near: Tensor,
    false: Tensor,
    weight: Tensor,
    mode: str,
    mask: float,
    with_labels: bool,
    lines: slice | None = None,
) -> Pairs:
    """Return the attracting pairs, neighbours in one cluster, and the repelling ones, rows of other clusters.

    Parameters
    ----------
    labels : Tensor of shape (b,)
    near : Tensor of shape (2, m)
        Pairs of different rows that are neighbours in some view, each once in both directions.
    false : Tensor of bool, shape (b,)
        Rows routed as false negatives.
    weight : Tensor of shape () or (b,)
        g pi, what the repulsion of a possible false negative counts, for all rows or for each.
    mode : {"denominator", "numerator", "both"}
        Where that weight acts: on the repulsion of neighbours in other clusters (Theorem A), on the attraction of
        neighbours of the same cluster by the factor `mask` (Eq. 24), or on both (M12). What a row is to itself keeps
        its weight: otherwise all weights of a doubtful row would shrink alike, to no effect.
    mask : float
        pi.
    with_labels : bool
        Whether neighbours attract only in one cluster, and only other clusters repel. Without labels all neighbours
        attract and all others repel.
    lines : slice, optional
        Rows whose lines are returned; all by default.

    Examples
    --------
    >>> near, none = torch.tensor([[0, 1], [1, 0]]), torch.tensor([False, False])
    >>> pairs = row_pairs(torch.tensor([0, 1]), near, none, torch.tensor(0.1), "denominator", 0.1, True)
    >>> pairs.places, pairs.negative
    (tensor([[0, 1],
            [0, 1]]), tensor([[0., 1.],
            [1., 0.]]))
    """
    start, stop = (0, len(labels)) if lines is None else (lines.start, lines.stop)
    lines = slice(start, stop)
    near = near[:, (near[0] >= start) & (near[0] < stop)]
    itself = torch.arange(start, stop, device=labels.device).expand(2, -1)
    from_start = torch.tensor([[start], [0]], device=labels.device)
    if not with_labels:
        places = torch.cat([itself, near], 1) - from_start
        negative = torch.ones(stop - start, len(labels), device=labels.device)
        negative[places[0], places[1]] = 0
        return Pairs(places, torch.ones(places.shape[1], device=labels.device), negative, start)
    kin = near[:, labels[near[0]] == labels[near[1]]]
    weights = torch.ones(kin.shape[1], device=labels.device)
    if mode in ("numerator", "both"):
        weights[false[kin[0]] | false[kin[1]]] = mask
    negative = (1 - same_cluster(labels, lines)).to(weight.dtype)
    if mode in ("denominator", "both"):
        row, other = spared_pairs(labels, near, false)
        negative[row - start, other] = weight.expand(len(labels))[row]
    places = torch.cat([itself, kin], 1) - from_start
    weights = torch.cat([torch.ones(stop - start, device=labels.device), weights])
    return Pairs(places, weights, negative, start)
