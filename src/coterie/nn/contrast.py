"""A loss that draws codes of neighbours together and pushes all others apart."""

# b rows of a batch, n = 2 b codes of rows and partners, d code features, l lines

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.collectives import ALONE, Collectives, share_of

_LINES = 512  # of the table of similarities at a time: what stays in the processor's cache


def neighbour_contrast(codes: Tensor, partners: Tensor, collectives: Collectives = ALONE) -> Tensor:
    r"""Return how well each code finds its partner among all the codes of the batch.

    .. math:: \frac{1}{2b} \sum_i \Big[ \log \sum_{j \ne i} q(z_i, z_j) - \log q(z_i, z_{m(i)}) \Big]

    over the 2 b codes of the rows and of their partners, where m(i) is the partner of i, and
    q(a, b) = 1 / (1 + ||a - b||^2).
    In none of the papers: it carries the accuracy of our defaults, and it needs no augmentation.

    Parameters
    ----------
    codes, partners : Tensor of shape (b, d)
    collectives : Collectives
        Processes that all have these codes and share the sum over i; each gets its part of the loss.

    Examples
    --------
    >>> z = torch.tensor([[0.0], [100.0]])
    >>> neighbour_contrast(z, z) < 1e-3
    tensor(True)
    """
    return _Contrast.apply(torch.cat([codes, partners]), collectives)


class _Contrast(torch.autograd.Function):
    """The contrast of n codes (n, d), the second half the partners of the first.

    Its gradient is written out and taken at once, a few lines of the table at a time: autograd would write a dozen
    tables (n, n). With S_i the sum over j of q_ij, the gradient for a squared distance is (q_ij, for the partner,
    - q_ij^2 / S_i) / n.
    """

    @staticmethod
    def forward(ctx: Any, codes: Tensor, collectives: Collectives) -> Tensor:
        n_codes, mine = len(codes), share_of(len(codes), collectives)
        loss, gradient = codes.new_zeros(()), torch.zeros_like(codes)
        # One place for all lines: made anew for every few, they would take longer than the products.
        place = codes.new_empty(min(_LINES, mine.stop - mine.start), n_codes)
        for start in range(mine.start, mine.stop, _LINES):
            lines = slice(start, min(start + _LINES, mine.stop))
            loss += _add_lines(codes, lines, gradient, place[: lines.stop - start])
        ctx.save_for_backward(gradient.div_(n_codes))
        return loss / n_codes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return above * gradient, None


def _add_lines(codes: Tensor, lines: slice, gradient: Tensor, table: Tensor) -> Tensor:
    """Add the gradient of some lines of the contrast, times n, and return their sum; `table` (l, n) is used up."""
    asked, squares = codes[lines], codes.square().sum(1)
    numbers = torch.arange(lines.start, lines.stop, device=codes.device)
    line, partner = numbers - lines.start, (numbers + len(codes) // 2) % len(codes)
    torch.addmm(squares, asked, codes.T, alpha=-2, out=table)
    table.add_(squares[lines, None] + 1).clamp_(min=1).reciprocal_()
    table[line, numbers] = 0
    pulls, totals = table[line, partner], table.sum(1)
    table.square_().div_(-totals[:, None])
    table[line, partner] += pulls
    # Narrow codes on the left: products with them on the right take three to eight times as long.
    gradient[lines] += 2 * (table.sum(1)[:, None] * asked - (codes.T @ table.T).T)
    gradient += 2 * (table.sum(0)[:, None] * codes - (asked.T @ table).T)
    return (totals.log() - pulls.log()).sum()
