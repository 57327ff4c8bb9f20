r"""An approximate Newton step that preconditions conjugate gradients when few rows are labelled.

In the geometry of `objective` the Hessian at x, with :math:`S = V'V` and G the Gram matrix of the unlabelled rows, is

.. math:: H D = D (4 S + 2 \lambda) + 4 x (K + K') - 2 (\lambda + 2) \Lambda^{-1} G D, \qquad K = D' G x.

Three approximations make it easy to invert; none moves the minimum, for the step only preconditions. A scalar s
replaces S in the first term. Z'Z of all rows replaces G in the last, so that it is free of labels and serves every
solve on a graph. And :math:`\Lambda^{-1/2} Z'Z \Lambda^{-1/2}` is replaced by its top eigenvectors and the mean of
its other eigenvalues. The middle term, of rank :math:`c^2`, stays exact: it ends in an equation of c x c matrices.
"""

# m anchors, e groups, c classes, r eigenvectors

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.methods.fucsmf.objective import Point
from coterie.ops.sparse import as_tensor

SCATTER = 4.0  # s; where labels are balanced the eigenvalues of S are 1 to 10
RANK = 128
_DEGREE = 6
_CUTOFF = 0.5


@dataclass(frozen=True)
class Newton:
    """The Newton step of a graph; its inverse without the middle term is 1 / rest + left @ right."""

    rest: float
    left: Tensor  # (m, r), float32
    right: Tensor  # (r, m), float32

    @classmethod
    def of(cls, gram: sparse.csr_matrix, degrees: np.ndarray, smoothness: float) -> Newton:
        """Factorise the Hessian of a graph, given Z'Z of all rows, (m, m); m must exceed `RANK`."""
        root = sparse.diags(np.sqrt(1 / degrees))
        matrix = sparse.csr_matrix(root @ gram @ root, dtype=np.float32)
        values, vectors = _top_eigenvectors(as_tensor(matrix))
        others = (matrix.trace() - float(values.sum())) / (len(degrees) - RANK)
        lead, pull = 4 * SCATTER + 2 * smoothness, 2 * (smoothness + 2)
        rest = lead - pull * others
        correction = 1 / (lead - pull * values.clamp(max=1)) - 1 / rest
        scale = torch.from_numpy(np.sqrt(degrees).astype(np.float32))[:, None]
        return cls(rest, vectors / scale, (vectors * scale * correction).T.contiguous())

    def step(self, point: Point, gradient: np.ndarray) -> np.ndarray:
        """Return the change of the variables that nearly brings the gradient to zero, (m + e, c)."""
        own, shifts = np.split(self._solve(np.hstack([gradient, point.at.x])), 2, axis=1)
        dual = point.at.dual
        # With C = K + K' the step is own - 4 shifts C, so C + 4 (C E + E C) is what own alone would make of K + K'.
        sizes, turn = np.linalg.eigh(_with_transpose(shifts.T @ dual) / 2)
        cross = turn.T @ _with_transpose(own.T @ dual) @ turn
        cross /= 1 + 4 * np.maximum(0, sizes[:, None] + sizes)
        return 4 * shifts @ (turn @ cross @ turn.T) - own

    def _solve(self, values: np.ndarray) -> np.ndarray:
        """Apply the inverse without the middle term; links between groups are left to the search."""
        solved = values / self.rest
        anchors = torch.from_numpy(values[: len(self.left)].astype(np.float32))
        solved[: len(self.left)] += (self.left @ (self.right @ anchors)).numpy()
        return solved


def _with_transpose(matrix: np.ndarray) -> np.ndarray:
    return matrix + matrix.T


def _top_eigenvectors(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return approximate top eigenvalues, (r,), and eigenvectors, (m, r), of a matrix with a spectrum in [0, 1].

    Subspace iteration with a Chebyshev polynomial that is small up to `_CUTOFF` and large above.
    """
    generator = torch.Generator().manual_seed(0)
    before = torch.randn(len(matrix), RANK, generator=generator)
    now = _shifted(matrix, before)
    for _ in range(_DEGREE - 1):
        before, now = now, 2 * _shifted(matrix, now) - before
    basis = torch.linalg.qr(now).Q
    values, turn = torch.linalg.eigh(basis.T @ (matrix @ basis))
    return values, basis @ turn


def _shifted(matrix: Tensor, vectors: Tensor) -> Tensor:
    """Return the matrix, with [0, `_CUTOFF`] mapped to [-1, 1], times vectors."""
    return (matrix @ vectors).mul_(2 / _CUTOFF).sub_(vectors)
