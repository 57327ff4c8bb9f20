"""Proximal maps of the l1 norm and of the sum of row lengths."""

# n rows, d entries of a row

from __future__ import annotations

import torch
from torch import Tensor

_LEAST_LENGTH = 1e-12


def soft_threshold(x: Tensor, threshold: Tensor | float) -> Tensor:
    r"""Return every entry drawn towards zero by its threshold, and zero where it is smaller.

    .. math:: R(x; b) = \max(x - b, 0) - \max(-x - b, 0)
              = \operatorname*{arg\,min}_z \tfrac12 (z - x)^2 + b |z|

    (SSCNet, Eqs. 9 and 10.) A threshold below zero counts as zero, for there R has slope 2 around zero and shrinks
    nothing (spec sscnet E6); such a threshold gets no gradient, so one that is learnt should be kept above zero.

    Examples
    --------
    >>> soft_threshold(torch.tensor([-3.0, 0.5, 2.0]), 1.0)
    tensor([-2.,  0.,  1.])
    """
    b = _at_least_zero(threshold)
    return torch.relu(x - b) - torch.relu(-x - b)


def shrink_rows(x: Tensor, threshold: Tensor | float) -> Tensor:
    r"""Return every row shortened by its threshold, and zero where it is shorter.

    .. math:: x_i \leftarrow \max\Big(1 - \frac{b}{\lVert x_i \rVert_2}, 0\Big)\, x_i
              = \operatorname*{arg\,min}_e \tfrac12 \lVert e - x_i \rVert_2^2 + b \lVert e \rVert_2

    (SSCNet, Eq. 6, where samples are columns; the step that Eq. 2 asks for, spec sscnet E5.) A row of zeros stays
    zero and has a finite gradient. A threshold below zero counts as zero.

    Examples
    --------
    >>> shrink_rows(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([[2.4000, 3.2000],
            [0.0000, 0.0000]])
    """
    lengths = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp(min=_LEAST_LENGTH)
    return x * torch.relu(1 - _at_least_zero(threshold) / lengths)


def _at_least_zero(threshold: Tensor | float) -> Tensor | float:
    return threshold.clamp(min=0) if isinstance(threshold, Tensor) else max(threshold, 0.0)
