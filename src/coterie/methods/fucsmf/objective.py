r"""The objective of FUCSMF, reduced from rows to anchors.

The unlabelled rows of V minimise

.. math:: f = \|B - V V'\|^2 + \lambda \, \mathrm{tr}\, V' (I - B) V, \qquad B = Z \Lambda^{-1} Z'

(Eq. 22 and 24, spec fucsmf 2.2). Where its gradient vanishes, an unlabelled row is
:math:`v_i = (\lambda + 2)\, z_i\, \Lambda^{-1} Z' V (2 V'V + \lambda I)^{-1}`: the row of Z times a matrix T that all
rows share. So it is enough to search among :math:`v_i = z_i T`, and f, its gradient and its curvature need only Z'Z
of those rows: the cost of a step does not depend on the number of rows.

Rows with links have variables of their own, one per group of `Supervision`. T stacked on the groups is the (m + e, c)
variable x. Gradients are natural gradients: the gradient in the space of rows is Z times them, and inner products are
those of that space.
"""

# n rows, m anchors, e groups, c classes

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from coterie.ops.sparse import as_tensor

_DENSE = 200
_LANCZOS = 64


@dataclass(frozen=True)
class Links:
    r"""Soft links among groups: :math:`\mu \sum \|w_i - w_j\|^2 + \mu \sum \|(w_i + w_j) C\|^2`.

    The first sum is over must-links, the second over cannot-links, where :math:`C = I - 11'/c` subtracts the mean
    over the classes: two rows of one class add up to more than two of different classes (spec fucsmf 2.9). Both are
    convex.
    """

    together: sparse.csr_matrix  # (e, e), the quadratic form of the must-links, mu included
    apart: sparse.csr_matrix  # (e, e), that of the cannot-links
    gradient_at_zero: np.ndarray  # (e, c), half the gradient at zero, from pairs with a labelled row
    constant: float  # the value at zero

    def product(self, groups: np.ndarray) -> np.ndarray:
        """Return the quadratic form times groups, (e, c)."""
        return self.together @ groups + centred(self.apart @ groups)


def centred(values: np.ndarray) -> np.ndarray:
    """Subtract the mean over the classes."""
    return values - values.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class Direction:
    """A change of the variables, with the products the objective needs."""

    x: np.ndarray  # (m + e, c)
    dual: np.ndarray  # (m + e, c), Z'Z of the rows without groups times T; the groups times their sizes
    anchor_sums: np.ndarray  # (m, c), the change of Z'V
    link_gradient: np.ndarray  # (e, c), the change of half the links' gradient

    def plus(self, factor: float, other: Direction) -> Direction:
        """Return self + factor * other."""
        dual = self.dual + factor * other.dual
        shared = self.anchor_sums is self.dual and other.anchor_sums is other.dual  # without groups
        sums = dual if shared else self.anchor_sums + factor * other.anchor_sums
        return Direction(
            self.x + factor * other.x, dual, sums, self.link_gradient + factor * other.link_gradient
        )

    def dot(self, x: np.ndarray) -> float:
        """Return the inner product with a change, in the space of rows."""
        return float(np.vdot(self.dual, x))


@dataclass(frozen=True)
class Point:
    """A state of the search."""

    at: Direction  # the variables, with the labelled rows in the sums
    scatter: np.ndarray  # (c, c), V'V


@dataclass(frozen=True)
class Objective:
    """f as a function of T and the groups."""

    smoothness: float  # lambda
    gram: sparse.csr_matrix  # (m, m), Z'Z of the unlabelled rows without groups
    degrees: np.ndarray  # (m,), column sums of Z over all rows, all above zero
    groups: sparse.csr_matrix  # (e, m), the sum of the rows of Z in each group
    sizes: np.ndarray  # (e,), rows in each group
    labelled_sums: np.ndarray  # (m, c), Z'V of the labelled rows
    labelled_scatter: np.ndarray  # (c, c), V'V of the labelled rows
    constant: float  # the squared norm of B
    links: Links

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the variables, (m + e, c)."""
        return len(self.degrees) + len(self.sizes), len(self.labelled_scatter)

    def direction(self, x: np.ndarray) -> Direction:
        """Return a change of the variables with its products: the one costly step."""
        anchors, groups = np.split(x, [len(self.degrees)])
        dual = (as_tensor(self.gram) @ torch.from_numpy(anchors)).numpy()
        if not len(groups):
            return Direction(x, dual, dual, groups)
        sums = dual + self.groups.T @ groups
        return Direction(x, np.vstack([dual, self.sizes[:, None] * groups]), sums, self.links.product(groups))

    def origin(self) -> Point:
        """Return the state at zero."""
        zero = np.zeros(self.shape)
        at = Direction(zero, zero, self.labelled_sums, self.links.gradient_at_zero)
        return Point(at, self.labelled_scatter)

    def point(self, x: np.ndarray) -> Point:
        """Return the state at these variables."""
        change = self.direction(x)
        sums = change.anchor_sums + self.labelled_sums
        at = Direction(x, change.dual, sums, change.link_gradient + self.links.gradient_at_zero)
        return Point(at, self.labelled_scatter + x.T @ change.dual)

    def value(self, point: Point) -> float:
        """Return f, with the links."""
        at, scatter = point.at, point.scatter
        groups = at.x[len(self.degrees) :]
        graph = float(np.sum(at.anchor_sums**2 / self.degrees[:, None]))
        smooth = self.smoothness * float(np.trace(scatter)) - (self.smoothness + 2) * graph
        links = float(np.vdot(groups, at.link_gradient + self.links.gradient_at_zero)) + self.links.constant
        return self.constant + float(np.vdot(scatter, scatter)) + smooth + links

    def gradient(self, point: Point) -> np.ndarray:
        """Return the natural gradient, (m + e, c)."""
        at = point.at
        pull = 2 * (self.smoothness + 2) * self._graph_means(at.anchor_sums)
        inner = 4 * point.scatter + 2 * self.smoothness * np.eye(len(point.scatter))
        gradient = at.x @ inner - pull
        gradient[len(self.degrees) :] += 2 * at.link_gradient / self.sizes[:, None]
        return gradient

    def line_polynomial(self, point: Point, change: Direction) -> np.ndarray:
        """Return the coefficients of f(x + t change) - f(x) in t, from t^4 down to t."""
        scatter = point.scatter
        once = point.at.x.T @ change.dual
        once = once + once.T
        twice = change.x.T @ change.dual
        split = len(self.degrees)
        groups, moved = point.at.x[split:], change.x[split:]
        means = change.anchor_sums / self.degrees[:, None]
        lam = self.smoothness
        first = 2 * np.vdot(scatter, once) + lam * np.trace(once)
        first -= 2 * (lam + 2) * np.vdot(point.at.anchor_sums, means)
        second = np.vdot(once, once) + 2 * np.vdot(scatter, twice) + lam * np.trace(twice)
        second -= (lam + 2) * np.vdot(change.anchor_sums, means)
        if len(groups):
            first += 2 * np.vdot(moved, point.at.link_gradient)
            second += np.vdot(moved, change.link_gradient)
        return np.array([np.vdot(twice, twice), 2 * np.vdot(once, twice), second, first])

    def moved(self, point: Point, factor: float, change: Direction) -> Point:
        """Return the state after a step along a direction."""
        once = point.at.x.T @ change.dual
        scatter = point.scatter + factor * (once + once.T) + factor**2 * (change.x.T @ change.dual)
        return Point(point.at.plus(factor, change), scatter)

    def stationary(self, point: Point) -> np.ndarray:
        """Return the variables with T from the condition that the gradient vanishes.

        At a minimum that changes no row. It gives anchors without an unlabelled row their code, and drops the part of
        T that no row depends on: there may be more anchors than rows.
        """
        split = len(self.degrees)
        inner = 2 * point.scatter + self.smoothness * np.eye(len(point.scatter))
        means = point.at.anchor_sums / self.degrees[:, None]
        return np.vstack([(self.smoothness + 2) * np.linalg.solve(inner, means.T).T, point.at.x[split:]])

    def curvature(self) -> float:
        """Return the lowest eigenvalue of the Hessian at zero, a lower bound everywhere.

        f is convex if and only if it is not negative (spec fucsmf 3.1): 4 min S + 2 lambda - 2 (lambda + 2) mu, where
        min S is the smallest scatter of a class's labelled rows and mu the largest eigenvalue of B among the
        unlabelled rows. Where the search for mu does not converge, its bound 1 takes its place.
        """
        lam = self.smoothness
        return 4 * self._lowest_scatter() + 2 * lam - 2 * (lam + 2) * self._largest_eigenvalue()

    def is_convex(self) -> bool:
        """Tell whether there is one minimum; there is, whatever mu, when every class has enough labels."""
        return self._lowest_scatter() >= 1 - 1e-12 or self.curvature() >= 0

    def _lowest_scatter(self) -> float:
        return float(self.labelled_scatter.diagonal().min())

    def _largest_eigenvalue(self) -> float:
        """Return mu, from the m x m matrix with the same non-zero eigenvalues."""
        gram = self.gram
        if len(self.sizes):
            gram = gram + self.groups.T @ sparse.diags(1 / self.sizes) @ self.groups
        root = sparse.diags(1 / np.sqrt(self.degrees))
        matrix = root @ gram @ root
        if matrix.shape[0] <= _DENSE:
            return float(np.linalg.eigvalsh(matrix.toarray())[-1])
        start = np.sqrt(self.degrees)  # the eigenvector of a graph without labels
        try:
            values = eigsh(matrix, k=1, which="LA", v0=start, ncv=_LANCZOS, maxiter=100, tol=1e-7)[0]
        except ArpackNoConvergence:
            return 1.0  # many eigenvalues near 1, which none exceeds
        return min(1.0, float(values[0]))

    def _graph_means(self, sums: np.ndarray) -> np.ndarray:
        """Return the mean of V over the graph, in the coordinates of anchors and groups, (m + e, c)."""
        means = sums / self.degrees[:, None]
        if not len(self.sizes):
            return means
        return np.vstack([means, (self.groups @ means) / self.sizes[:, None]])
