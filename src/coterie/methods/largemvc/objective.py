r"""The objective of LargeMvC-Net and the exact steps of its block coordinate descent (spec largemvc 2.1 to 2.3).

.. math:: J = \sum_i \sum_{v \in V_i} \mathrm{huber}_{\beta_v}\big(\|x_{iv} - h_i P_v\|\big)
          + \alpha |V_i| \|h_i\|_1, \qquad h_i \ge 0,\; P_v P_v^\top = I

This is the paper's Eq. 2 with the noise E_v minimised out: the smallest value of 1/2 |r - e|^2 + beta |e| is the
Huber loss of |r|, and the e that reaches it is (1 - w) r with w = min(1, beta / |r|). So a row costs one weight
per view instead of a second copy of the data. With those weights the steps are majorisation-minimisation:
w/2 |r|^2 + const is an upper bound of the Huber loss, tight where w was computed, and each step lowers it.
"""

# b rows, v views, m anchors, d columns of a view

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coterie.methods.largemvc.features import Rows, sums
from coterie.ops.polar import clip_spectrum, polar

_EPSILON = 1e-12


def through_anchors(codes: Tensor, anchors: Tensor) -> Tensor:
    """Return h P P', (b, m): the codes themselves where the anchors are orthonormal, m <= d."""
    return codes if anchors.shape[0] <= anchors.shape[1] else codes @ anchors @ anchors.T


def proposal(codes: Tensor, scores: Tensor, anchors: Tensor, weights: Tensor) -> Tensor:
    r"""Return the update of the codes that one view proposes, (b, m): (x - e) P' + h - h P P'.

    With x - e = h P + w (x - h P) that is :math:`h + w (x P^\top - h P P^\top)`: for orthonormal anchors the
    minimiser over h of the view's own term, for a view narrower than the anchors a gradient step of length one.
    `scores` are x P', (b, m); `weights` are (b, 1).
    """
    return codes + weights * (scores - through_anchors(codes, anchors))


def mean_present(parts: Sequence[Tensor], present: Tensor) -> Tensor:
    """Return the mean over the views that a row has, (b, m); zeros for a row that has none."""
    total = torch.stack([part * present[:, v : v + 1] for v, part in enumerate(parts)]).sum(0)
    return total / present.sum(1, keepdim=True).clamp(min=1)


def code_step(mean: Tensor, alpha: Tensor | float) -> Tensor:
    """Return relu(mean - alpha), the minimiser over h >= 0 of 1/2 |h - mean|^2 + alpha |h|_1 (Eq. 4, spec 3.1)."""
    return torch.relu(mean - alpha)


def two_sided_step(mean: Tensor, theta: Tensor | float, activation: Callable[[Tensor], Tensor]) -> Tensor:
    r"""Return the printed threshold :math:`\sigma(a - \theta) - \sigma(-a - \theta)` of Eq. 11.

    With ReLU it is the proximal map of the absolute value, which forgets that codes are not negative; with SELU it is
    none at all (spec 3.3).

    Examples
    --------
    >>> two_sided_step(torch.tensor([-3.0, 0.5, 3.0]), 1.0, torch.relu)
    tensor([-2.,  0.,  2.])
    """
    return activation(mean - theta) - activation(-mean - theta)


def residuals(squares: Tensor, codes: Tensor, scores: Tensor, anchors: Tensor) -> Tensor:
    """Return the residual norm |x - h P| of each row, (b,), from |x|^2 and x P', without forming h P."""
    quadratic = (codes * (through_anchors(codes, anchors) - 2 * scores)).sum(1)
    return (squares + quadratic).clamp(min=0).sqrt()


def row_weights(residuals: Tensor, beta: Tensor | float) -> Tensor:
    """Return w = min(1, beta / |r|), in (0, 1] (spec 2.2)."""
    return (beta / residuals.clamp(min=_EPSILON)).clamp(max=1)


def huber(residuals: Tensor, beta: Tensor | float) -> Tensor:
    """Return the Huber loss of residual norms: r^2 / 2 up to beta, beta r - beta^2 / 2 beyond (spec 2.3)."""
    near = residuals.clamp(max=beta)
    return near * (residuals - near / 2)


def objective(residuals: Tensor, codes: Tensor, present: Tensor, *, alpha: float, beta: Tensor) -> Tensor:
    """Return J summed over a batch, from residual norms (b, v), codes (b, m) and the mask (b, v).

    `beta`, (v,), is infinite where there is no noise term.
    """
    fit = (present * huber(residuals, beta)).sum()
    return fit + alpha * (present.sum(1) * codes.abs().sum(1)).sum()


def anchor_sums(codes: Tensor, rows: Rows, weights: Tensor, present: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sums of the anchor step over present rows: H' W X (m, d), H' (1 - W) H and H' H (m, m)."""
    present_codes = codes * present
    complement = (present_codes * (1 - weights)).T @ codes
    return sums(present_codes * weights, rows), complement, present_codes.T @ codes


def anchor_step(anchors: Tensor, weighted: Tensor, complement: Tensor, gram: Tensor) -> Tensor:
    r"""Return the anchors that minimise J for the present codes and noise (Eq. 9; narrow views: spec 3.4a).

    With N = H'(X - E) = H' W X + H'(1 - W) H P: the polar factor of N where m <= d; else one projected gradient
    step, P - (H'H P - N) / |H'H| with its singular values clipped at 1. The sums are those of `anchor_sums`.
    """
    cross = weighted + complement @ anchors
    if anchors.shape[0] <= anchors.shape[1]:
        # An anchor that no code uses stays where it is (spec 3.4): a term above rounding, below everything else.
        inertia = torch.finfo(cross.dtype).eps ** 0.75 * torch.linalg.matrix_norm(cross).clamp(min=_EPSILON)
        return polar(cross + inertia * anchors)
    size = torch.linalg.matrix_norm(gram, ord=2)
    return clip_spectrum(anchors - (gram @ anchors - cross) / size.clamp(min=_EPSILON))
