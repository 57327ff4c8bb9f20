"""The bottom eigenvectors of a linear map by descent over orthonormal columns, differentiable."""

# n rows, k columns

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

Product = Callable[[Tensor], Tensor]
"""Y -> L Y for a symmetric positive semi-definite L (n, n), which need not be stored anywhere."""

_FARTHEST = 0.8
_NEGLIGIBLE = 1e-14


@dataclass(frozen=True)
class Curve:
    r"""A curve Y(t) = Y - t P Y + t^2 P^2 Y / 2 through Y with orthonormal columns, P = T Y' - Y T' skew.

    With T = 2 L Y it starts as steepest descent of tr(Y' L Y) (SSCNet, Eqs. 19 and 27 with r = 2). The curve leaves
    the manifold by Y(t)' Y(t) - I = t^4 (P^2 Y)' (P^2 Y) / 4 only, so that one Cholesky factor brings it back.

    Attributes
    ----------
    start, tangent : Tensor of shape (n, k)
        Y and T.
    first, second : Tensor of shape (n, k)
        P Y and P^2 Y, for which the (n, n) matrix P is never formed (spec sscnet 2.5).
    """

    start: Tensor
    tangent: Tensor
    first: Tensor
    second: Tensor

    @classmethod
    def along(cls, Y: Tensor, tangent: Tensor) -> Curve:
        """Return the curve through Y that starts along minus the tangent."""

        def turned(M: Tensor) -> Tensor:
            return tangent @ (Y.T @ M) - Y @ (tangent.T @ M)

        first = turned(Y)
        return cls(Y, tangent, first, turned(first))

    def at(self, t: float) -> Tensor:
        """Return Y(t), not yet orthonormal."""
        return self.start - t * self.first + (0.5 * t * t) * self.second

    @torch.no_grad()
    def quartic(self, image: Tensor, product: Product) -> np.ndarray:
        r"""Return c0 to c4 of tr(Y(t)' L Y(t)) = c0 + c1 t + c2 t^2 + c3 t^3 + c4 t^4, which holds exactly, (5,).

        :math:`c_0 = \langle Y, LY \rangle`, :math:`c_1 = -2 \langle LY, Y_1 \rangle`,
        :math:`c_2 = \langle Y_1, L Y_1 \rangle + \langle LY, Y_2 \rangle`, :math:`c_3 = -\langle Y_1, L Y_2 \rangle`,
        :math:`c_4 = \langle Y_2, L Y_2 \rangle / 4` with Y_1 = P Y, Y_2 = P^2 Y. Twice c2 is the second derivative
        that Eq. 27 needs and misprints (spec sscnet E18). `image` is L Y.
        """
        k = self.start.shape[1]
        first, second = product(torch.cat([self.first, self.second], 1)).split(k, 1)
        return np.array(
            [
                _dot(self.start, image),
                -2 * _dot(image, self.first),
                _dot(self.first, first) + _dot(image, self.second),
                -_dot(self.first, second),
                _dot(self.second, second) / 4,
            ]
        )


def best_time(quartic: np.ndarray, most: float) -> float:
    """Return where c0 + c1 t + ... + c4 t^4 is lowest for t from 0 to `most`: at an end or a root of its derivative.

    The paper's step, one Newton step at most 0.01 long, may go uphill and hardly moves (spec sscnet E12, E19).

    Examples
    --------
    >>> round(best_time(np.array([9.0, -4.0, 2.0, 0.0, 0.0]), most=5.0), 6)
    1.0
    """
    scaled = quartic[1:] * most ** np.arange(1, 5)
    if not np.isfinite(scaled).all():
        return 0.0
    slope = scaled * np.arange(1, 5)
    slope[np.abs(slope) < _NEGLIGIBLE * np.abs(slope).max()] = 0  # as leading ones they overflow in `roots`
    # The real part of a complex root is a candidate like any other, and never the lowest.
    candidates = np.concatenate([[0.0, 1.0], np.clip(np.roots(slope[::-1]).real, 0, 1)])
    values = (scaled * candidates[:, None] ** np.arange(1, 5)).sum(1)
    return float(most * candidates[values.argmin()])


def orthonormalise(Y: Tensor) -> Tensor:
    """Return Y R^{-1} with the Cholesky factor Y'Y = R'R: the Q of a QR with a positive diagonal of R.

    For nearly orthonormal columns, where it is as exact as Householder's and has a stable gradient.

    Examples
    --------
    >>> orthonormalise(torch.tensor([[2.0, 1.0], [0.0, 3.0], [0.0, 0.0]]))
    tensor([[1., 0.],
            [0., 1.],
            [0., 0.]])
    """
    factor = torch.linalg.cholesky(Y.T @ Y)
    return torch.linalg.solve_triangular(factor, Y.T, upper=False).T


@dataclass(frozen=True)
class Step:
    """Result of an eigen-layer.

    Attributes
    ----------
    columns : Tensor of shape (n, k)
        The new Y, orthonormal.
    tangent, gradient : Tensor of shape (n, k)
        Direction of the step and the gradient, both less their part in the span of the old Y.
    trace, fall : float
        tr(Y' L Y) before the layer, and by how much the curve lowered it.
    """

    columns: Tensor
    tangent: Tensor
    gradient: Tensor
    trace: float
    fall: float


def stiefel_step(
    product: Product, Y: Tensor, skew: Tensor | None = None, *, last: Step | None = None
) -> Step:
    r"""Lower tr(Y' L Y) over orthonormal columns by one eigen-layer.

    .. math:: T = 2 L Y + \tfrac12 Y S + \beta D, \quad P = T Y^\top - Y T^\top, \quad
              Y \leftarrow \mathrm{orth}\big(Y - t P Y + \tfrac12 t^2 P^2 Y\big)

    Eq. 27 of SSCNet without its additional P (spec sscnet E20), with a step t that minimises the trace along the
    curve exactly, over t from 0 to ``0.8 / |P Y|``, instead of one Newton step (E12, E18, E19), and with orthonormal
    columns after every layer. S = W2 - W2' is skew, for any other adds to P a part that shrinks Y (E15). D is the
    tangent of the `last` layer, less its part in the span of Y, and beta is that of Polak and Ribière, at least 0:
    the layers make conjugate instead of steepest descent, which is ours. For a positive semi-definite L the trace
    never rises. Gradients flow through L, Y (n, k) and S (k, k); t and beta are constants to them.

    Examples
    --------
    >>> slow = torch.diag(torch.tensor([0.0, 1.0, 2.0]))
    >>> tilted = torch.tensor([[0.6], [0.8], [0.0]])
    >>> step = stiefel_step(lambda Y: slow @ Y, tilted)
    >>> round(step.trace, 4), round(step.fall, 4)
    (0.64, 0.6359)
    """
    image = product(Y)
    gradient = _outside(Y, 2 * image)
    tangent = 2 * image if skew is None else 2 * image + Y @ (skew / 2)
    if last is not None:
        tangent = _conjugate(Y, tangent, gradient, last)
    curve = Curve.along(Y, tangent)
    length = float(curve.first.detach().norm())
    if length <= torch.finfo(Y.dtype).eps * float(image.detach().norm()):
        return Step(Y, torch.zeros_like(Y), gradient, _dot(Y, image), 0.0)
    quartic = curve.quartic(image, product)
    t = best_time(quartic, _FARTHEST / length)
    fall = -float((quartic[1:] * t ** np.arange(1, 5)).sum())
    return Step(orthonormalise(curve.at(t)), _outside(Y, tangent), gradient, float(quartic[0]), fall)


def bottom_space(product: Product, start: Tensor, *, n_layers: int, tol: float = 0.0) -> Tensor:
    """Return orthonormal columns whose tr(Y' L Y) is near the sum of the k smallest eigenvalues of L, (n, k).

    They span, in the limit, the eigenvectors of the k smallest eigenvalues, in some rotation. The first of those of
    a graph's Laplacian is constant, or weighted by degrees; it is kept (spec sscnet E21). `start` has orthonormal
    columns, such as `random_start` or an earlier result. A layer that lowers the trace by less than `tol` of it is
    the last.

    Examples
    --------
    >>> slow = torch.diag(torch.tensor([3.0, 0.5, 2.0, 0.1]))
    >>> Y = bottom_space(lambda Y: slow @ Y, random_start(4, 2, torch.Generator().manual_seed(0)), n_layers=30)
    >>> round(float((Y * (slow @ Y)).sum()), 4)
    0.6
    """
    return _descend(product, start, [None] * n_layers, tol)


def random_start(
    n_rows: int, n_columns: int, generator: torch.Generator, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Draw orthonormal columns uniformly, (n, k).

    Examples
    --------
    >>> drawn = random_start(5, 2, torch.Generator().manual_seed(0))
    >>> torch.allclose(drawn.T @ drawn, torch.eye(2), atol=1e-6)
    True
    """
    drawn = torch.randn(n_rows, n_columns, generator=generator, dtype=dtype)
    basis, upper = torch.linalg.qr(drawn)
    return basis * upper.diagonal().sign()


def nearest_orthonormal(M: Tensor) -> Tensor:
    """Return the orthonormal columns nearest to those of M (n, k), U V' of its singular value decomposition.

    Examples
    --------
    >>> nearest_orthonormal(torch.tensor([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]]))
    tensor([[1., 0.],
            [0., 1.],
            [0., 0.]])
    """
    left, _, right = torch.linalg.svd(M, full_matrices=False)
    return left @ right


class EigenLayers(nn.Module):
    """A stack of eigen-layers, each with a learnt direction W2.

    W2 enters as W2 - W2', and starts at zero. To first order it only rotates the columns within their span (spec
    sscnet E15): it chooses among bases of the same space.

    Examples
    --------
    >>> layers, slow = EigenLayers(20, 1), torch.diag(torch.tensor([3.0, 0.5, 2.0]))
    >>> Y = layers(lambda Y: slow @ Y, random_start(3, 1, torch.Generator().manual_seed(0)))
    >>> round(float((Y * (slow @ Y)).sum().detach()), 4)
    0.5
    """

    def __init__(self, n_layers: int, n_columns: int) -> None:
        super().__init__()
        self.directions = nn.Parameter(torch.zeros(n_layers, n_columns, n_columns))

    def forward(self, product: Product, start: Tensor) -> Tensor:
        """Return the columns after all layers, (n, k)."""
        return _descend(product, start, list(self.directions - self.directions.mT), 0.0)


def _descend(product: Product, Y: Tensor, skews: Sequence[Tensor | None], tol: float) -> Tensor:
    last = None
    for skew in skews:
        last = stiefel_step(product, Y, skew, last=last)
        Y = last.columns
        if last.fall <= tol * last.trace and skew is None:
            break
    return Y


def _conjugate(Y: Tensor, tangent: Tensor, gradient: Tensor, last: Step) -> Tensor:
    """Return the tangent plus beta times the last one, or without it where that would not descend."""
    carried = _outside(Y, last.tangent)
    before = _dot(last.gradient, last.gradient)
    if before == 0:
        return tangent
    now = _dot(gradient, gradient)
    share = max(0.0, (now - _dot(gradient, _outside(Y, last.gradient))) / before)
    if now + share * _dot(gradient, carried) <= 0:
        return tangent
    return tangent + share * carried


def _outside(Y: Tensor, M: Tensor) -> Tensor:
    """Return M less its part in the span of Y."""
    return M - Y @ (Y.T @ M)


def _dot(a: Tensor, b: Tensor) -> float:
    return float((a.detach() * b.detach()).sum(dtype=torch.float64))
