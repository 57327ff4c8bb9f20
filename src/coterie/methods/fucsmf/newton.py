r"""Newton's step, nearly: with few labels it makes four steps of twenty.

In the geometry of `objective` the Hessian at x, with :math:`S = V'V` and G the Gram matrix of the free rows, is

.. math:: H D = D (4 S + 2 \lambda) + 4 x (K + K') - 2 (\lambda + 2) \Lambda^{-1} G D, \qquad K = D' G x.

Three changes make it easy to invert; none moves the minimum, for the step only guides conjugate gradients. One
number s stands for S in the first term. Z'Z of all rows stands for G in the last, so that no label is in it and it
serves every solve on a graph. And :math:`\Lambda^{-1/2} Z'Z \Lambda^{-1/2}` is known by its top eigenvectors, the
classes and what lies between them, and by the mean of its other eigenvalues. The middle term, of rank
:math:`c^2`, stays as it is: it ends in an equation of c x c matrices.
"""

# m anchors, e units, c classes, r eigenvectors

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.methods.fucsmf.objective import Point
from coterie.ops.sparse import as_tensor

SCATTER = 4.0  # s; where labels are balanced the eigenvalues of S are 1 to 10, and 2 or 6 cost one step more
RANK = 128  # 64 cost a step more, 192 save none
_DEGREE = 6
_CUT = 0.5


@dataclass(frozen=True)
class Newton:
    """The kept inverse, 1 / rest + left @ right without the middle term, and the step it leads to.

    Attributes
    ----------
    rest : float
    left : Tensor of shape (m, r), float32
    right : Tensor of shape (r, m), float32
    """

    rest: float
    left: Tensor
    right: Tensor

    @classmethod
    def of(cls, gram: sparse.csr_matrix, degrees: np.ndarray, smoothness: float) -> Newton:
        """Prepare the steps on a graph.

        Parameters
        ----------
        gram : sparse matrix of shape (m, m)
            Z'Z of all rows; m is more than `RANK`.
        degrees : ndarray of shape (m,)
        smoothness : float
            lambda.
        """
        root = sparse.diags(np.sqrt(1 / degrees))
        matrix = sparse.csr_matrix(root @ gram @ root, dtype=np.float32)
        values, vectors = _top_eigenvectors(as_tensor(matrix))
        others = (matrix.trace() - float(values.sum())) / (len(degrees) - RANK)
        lead, pull = 4 * SCATTER + 2 * smoothness, 2 * (smoothness + 2)
        rest = lead - pull * others
        more = 1 / (lead - pull * values.clamp(max=1)) - 1 / rest
        scale = torch.from_numpy(np.sqrt(degrees).astype(np.float32))[:, None]
        return cls(rest, vectors / scale, (vectors * scale * more).T.contiguous())

    def step(self, point: Point, slope: np.ndarray) -> np.ndarray:
        """Return the change of the variables that would bring the slope to zero, nearly, (m + e, c)."""
        own, shifts = np.split(self._through(np.hstack([slope, point.at.x])), 2, axis=1)
        weighed = point.at.weighed
        # With C = K + K' the step is own - 4 shifts C, so C + 4 (C E + E C) is what own alone would make of K + K'.
        sizes, turn = np.linalg.eigh(_with_transpose(shifts.T @ weighed) / 2)
        cross = turn.T @ _with_transpose(own.T @ weighed) @ turn
        cross /= 1 + 4 * np.maximum(0, sizes[:, None] + sizes)
        return 4 * shifts @ (turn @ cross @ turn.T) - own

    def _through(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse without the middle term times values; links between units are left to the search."""
        found = values / self.rest
        anchors = torch.from_numpy(values[: len(self.left)].astype(np.float32))
        found[: len(self.left)] += (self.left @ (self.right @ anchors)).numpy()
        return found


def _with_transpose(matrix: np.ndarray) -> np.ndarray:
    return matrix + matrix.T


def _top_eigenvectors(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return rough eigenvalues, (r,), and eigenvectors, (m, r), of a matrix with eigenvalues from 0 to 1.

    A Chebyshev polynomial of random vectors that is small up to `_CUT` and large above.
    """
    start = torch.Generator().manual_seed(0)
    before = torch.randn(len(matrix), RANK, generator=start)
    now = _shifted(matrix, before)
    for _ in range(_DEGREE - 1):
        before, now = now, 2 * _shifted(matrix, now) - before
    basis = torch.linalg.qr(now).Q
    values, turn = torch.linalg.eigh(basis.T @ (matrix @ basis))
    return values, basis @ turn


def _shifted(matrix: Tensor, vectors: Tensor) -> Tensor:
    """Return the matrix with 0 to `_CUT` put to -1 to 1 times vectors."""
    return (matrix @ vectors).mul_(2 / _CUT).sub_(vectors)
