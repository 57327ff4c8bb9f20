"""Contrastive loss on pairs of neighbours, with its gradient by blocks."""

# b rows of a batch, n = 2 b codes of rows and partners, d code features, l rows of a block

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from coterie.collectives import ALONE, Collectives, share_of

_BLOCK_ROWS = 512  # of the similarity matrix at a time: what fits into the cache


def neighbour_contrast(codes: Tensor, partners: Tensor, collectives: Collectives = ALONE) -> Tensor:
    r"""Return the contrastive loss (InfoNCE with a Student kernel) of codes and their positives.

    .. math:: \frac{1}{2b} \sum_i \Big[ \log \sum_{j \ne i} q(z_i, z_j) - \log q(z_i, z_{m(i)}) \Big]

    over the 2 b codes of the rows and of their partners, where m(i) is the partner of i, and
    q(a, b) = 1 / (1 + ||a - b||^2). In none of the papers: it needs no augmentation. Processes that all have these
    codes (b, d) share the sum over i; each gets its part of the loss.

    Examples
    --------
    >>> z = torch.tensor([[0.0], [100.0]])
    >>> neighbour_contrast(z, z) < 1e-3
    tensor(True)
    """
    return _Contrast.apply(torch.cat([codes, partners]), collectives)


class _Contrast(torch.autograd.Function):
    """The loss of n codes (n, d), the second half the partners of the first.

    The gradient is computed in the forward pass by blocks of rows: autograd would store a dozen (n, n) matrices. With
    S_i the sum over j of q_ij, the gradient for a squared distance is (q_ij, for the partner, - q_ij^2 / S_i) / n.
    """

    @staticmethod
    def forward(ctx: Any, codes: Tensor, collectives: Collectives) -> Tensor:
        n_codes, share = len(codes), share_of(len(codes), collectives)
        loss, gradient = codes.new_zeros(()), torch.zeros_like(codes)
        # One buffer for all blocks: allocating takes longer than the products.
        buffer = codes.new_empty(min(_BLOCK_ROWS, share.stop - share.start), n_codes)
        for start in range(share.start, share.stop, _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, share.stop))
            loss += _add_block(codes, rows, gradient, buffer[: rows.stop - start])
        ctx.save_for_backward(gradient.div_(n_codes))
        return loss / n_codes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return above * gradient, None


def _add_block(codes: Tensor, rows: slice, gradient: Tensor, q: Tensor) -> Tensor:
    """Add the gradient of a block of rows, times n, and return the sum of their losses; overwrites `q` (l, n)."""
    block, squares = codes[rows], codes.square().sum(1)
    numbers = torch.arange(rows.start, rows.stop, device=codes.device)
    local, partner = numbers - rows.start, (numbers + len(codes) // 2) % len(codes)
    torch.addmm(squares, block, codes.T, alpha=-2, out=q)
    q.add_(squares[rows, None] + 1).clamp_(min=1).reciprocal_()
    q[local, numbers] = 0
    positives, totals = q[local, partner], q.sum(1)
    q.square_().div_(-totals[:, None])
    q[local, partner] += positives
    # Narrow codes on the left: products with them on the right take three to eight times as long.
    gradient[rows] += 2 * (q.sum(1)[:, None] * block - (codes.T @ q.T).T)
    gradient += 2 * (q.sum(0)[:, None] * codes - (block.T @ q).T)
    return (totals.log() - positives.log()).sum()
