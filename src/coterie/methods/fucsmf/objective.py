r"""What FUCSMF minimises, reduced from rows to anchors.

The rows of V that are free minimise

.. math:: f = \|B - V V'\|^2 + \lambda \, \mathrm{tr}\, V' (I - B) V, \qquad B = Z \Lambda^{-1} Z'

(Eq. 22 and 24, spec fucsmf 2.2). Where its gradient vanishes, a free row is
:math:`v_i = (\lambda + 2)\, z_i\, \Lambda^{-1} Z' V (2 V'V + \lambda I)^{-1}`: the row of Z times a matrix T that
all rows share. So nothing is lost by searching among :math:`v_i = z_i T`, and f, its gradient and its curvature
need only Z'Z of those rows: the cost of a step does not depend on the number of rows at all.

Rows that a link ties to others have variables of their own, the units: a single row, or a group of rows that must
be one. T and the units, one below the other, are the (m + e, c) variable x. Gradients are natural ones: the
gradient in the space of rows is Z times them, and inner products are those of that space.
"""

# n rows, m anchors, e units, c classes

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
    r"""Soft links among units: :math:`\mu \sum \|w_i - w_j\|^2 + \mu \sum \|(w_i + w_j) C\|^2`.

    The first sum is over pairs that should be together, the second over pairs that should be apart, where
    :math:`C = I - 11'/c` takes the mean over the classes away: two rows of one class add up to more than two rows
    of different classes (spec fucsmf 2.9). Both are convex.

    Attributes
    ----------
    together, apart : sparse matrix of shape (e, e)
        The quadratic forms of the pairs, mu included.
    known : ndarray of shape (e, c)
        Half the gradient at zero: pairs with a labelled row.
    constant : float
        The value at zero.
    """

    together: sparse.csr_matrix
    apart: sparse.csr_matrix
    known: np.ndarray
    constant: float

    def product(self, units: np.ndarray) -> np.ndarray:
        """Return half the change of the gradient that these units make."""
        return self.together @ units + centred(self.apart @ units)


def centred(values: np.ndarray) -> np.ndarray:
    """Return rows less their mean over the classes."""
    return values - values.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class Direction:
    """A change of the variables, with what the objective needs to know of it.

    Attributes
    ----------
    x : ndarray of shape (m + e, c)
    weighed : ndarray of shape (m + e, c)
        Z'Z of the rows without units times the anchors' part; the units times their sizes.
    ties : ndarray of shape (m, c)
        What changes in Z' V.
    linked : ndarray of shape (e, c)
        What changes in half the links' gradient.
    """

    x: np.ndarray
    weighed: np.ndarray
    ties: np.ndarray
    linked: np.ndarray

    def plus(self, factor: float, other: Direction) -> Direction:
        """Return self + factor * other."""
        weighed = self.weighed + factor * other.weighed
        alike = self.ties is self.weighed and other.ties is other.weighed  # without units
        ties = weighed if alike else self.ties + factor * other.ties
        return Direction(self.x + factor * other.x, weighed, ties, self.linked + factor * other.linked)

    def dot(self, x: np.ndarray) -> float:
        """Return the inner product with a change, in the space of rows."""
        return float(np.vdot(self.weighed, x))


@dataclass(frozen=True)
class Point:
    """A state of the search.

    Attributes
    ----------
    at : Direction
        The variables; `ties` and `linked` with what the labelled rows add.
    scatter : ndarray of shape (c, c)
        V' V.
    """

    at: Direction
    scatter: np.ndarray


@dataclass(frozen=True)
class Objective:
    """The objective as a function of T and the units.

    Attributes
    ----------
    smoothness : float
        lambda.
    gram : sparse matrix of shape (m, m)
        Z'Z of the free rows without units.
    degrees : ndarray of shape (m,)
        The column sums of Z over all rows, all above zero.
    units : sparse matrix of shape (e, m)
        The rows of Z that belong to each unit, added up.
    sizes : ndarray of shape (e,)
        Rows in each unit.
    known_ties : ndarray of shape (m, c)
        Z'V of the labelled rows.
    known_scatter : ndarray of shape (c, c)
        V'V of the labelled rows.
    constant : float
        The squared norm of B.
    links : Links
    """

    smoothness: float
    gram: sparse.csr_matrix
    degrees: np.ndarray
    units: sparse.csr_matrix
    sizes: np.ndarray
    known_ties: np.ndarray
    known_scatter: np.ndarray
    constant: float
    links: Links

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the variables, (m + e, c)."""
        return len(self.degrees) + len(self.sizes), len(self.known_scatter)

    def direction(self, x: np.ndarray) -> Direction:
        """Return a change of the variables with its products: the one costly step."""
        anchors, units = np.split(x, [len(self.degrees)])
        weighed = (as_tensor(self.gram) @ torch.from_numpy(anchors)).numpy()
        if not len(units):
            return Direction(x, weighed, weighed, units)
        ties = weighed + self.units.T @ units
        return Direction(
            x, np.vstack([weighed, self.sizes[:, None] * units]), ties, self.links.product(units)
        )

    def origin(self) -> Point:
        """Return the state at zero."""
        zero = np.zeros(self.shape)
        return Point(Direction(zero, zero, self.known_ties, self.links.known), self.known_scatter)

    def point(self, x: np.ndarray) -> Point:
        """Return the state at these variables."""
        change = self.direction(x)
        at = Direction(x, change.weighed, change.ties + self.known_ties, change.linked + self.links.known)
        return Point(at, self.known_scatter + x.T @ change.weighed)

    def value(self, point: Point) -> float:
        """Return f, with the links."""
        at, scatter = point.at, point.scatter
        units = at.x[len(self.degrees) :]
        graph = float(np.sum(at.ties**2 / self.degrees[:, None]))
        smooth = self.smoothness * float(np.trace(scatter)) - (self.smoothness + 2) * graph
        links = float(np.vdot(units, at.linked + self.links.known)) + self.links.constant
        return self.constant + float(np.vdot(scatter, scatter)) + smooth + links

    def slope(self, point: Point) -> np.ndarray:
        """Return the natural gradient, (m + e, c)."""
        at = point.at
        pulled = 2 * (self.smoothness + 2) * self._through_graph(at.ties)
        inner = 4 * point.scatter + 2 * self.smoothness * np.eye(len(point.scatter))
        slope = at.x @ inner - pulled
        slope[len(self.degrees) :] += 2 * at.linked / self.sizes[:, None]
        return slope

    def along(self, point: Point, change: Direction) -> np.ndarray:
        """Return the coefficients of f(x + t change) - f(x), a polynomial in t: of t^4 first, then t^3, t^2, t."""
        scatter = point.scatter
        once = point.at.x.T @ change.weighed
        once = once + once.T
        twice = change.x.T @ change.weighed
        split = len(self.degrees)
        units, moved = point.at.x[split:], change.x[split:]
        ties = change.ties / self.degrees[:, None]
        lam = self.smoothness
        first = (
            2 * np.vdot(scatter, once) + lam * np.trace(once) - 2 * (lam + 2) * np.vdot(point.at.ties, ties)
        )
        second = np.vdot(once, once) + 2 * np.vdot(scatter, twice) + lam * np.trace(twice)
        second -= (lam + 2) * np.vdot(change.ties, ties)
        if len(units):
            first += 2 * np.vdot(moved, point.at.linked)
            second += np.vdot(moved, change.linked)
        return np.array([np.vdot(twice, twice), 2 * np.vdot(once, twice), second, first])

    def moved(self, point: Point, factor: float, change: Direction) -> Point:
        """Return the state after a step along a direction."""
        once = point.at.x.T @ change.weighed
        scatter = point.scatter + factor * (once + once.T) + factor**2 * (change.x.T @ change.weighed)
        return Point(point.at.plus(factor, change), scatter)

    def at_rest(self, point: Point) -> np.ndarray:
        """Return the variables with T as the state of rest defines it.

        Where the gradient is zero that changes no row, gives anchors that no free row hangs on their code, and leaves
        out of T what no row sees: there may be more anchors than rows.
        """
        split = len(self.degrees)
        inner = 2 * point.scatter + self.smoothness * np.eye(len(point.scatter))
        ties = point.at.ties / self.degrees[:, None]
        return np.vstack([(self.smoothness + 2) * np.linalg.solve(inner, ties.T).T, point.at.x[split:]])

    def curvature(self) -> float:
        """Return the lowest eigenvalue of the Hessian at zero, which no other point falls short of.

        Convex if and only if it is not negative (spec fucsmf 3.1): 4 min S + 2 lambda - 2 (lambda + 2) mu, where
        min S is the lowest of the labelled rows' scatter and mu the largest eigenvalue of B among the free rows.
        Where the search for mu does not converge, its bound 1 takes its place.
        """
        lam = self.smoothness
        return 4 * self._lowest_scatter() + 2 * lam - 2 * (lam + 2) * self._largest_share()

    def is_convex(self) -> bool:
        """Say whether there is one minimum: as there is, whatever mu is, when every class has labels enough."""
        return self._lowest_scatter() >= 1 - 1e-12 or self.curvature() >= 0

    def _lowest_scatter(self) -> float:
        return float(self.known_scatter.diagonal().min())

    def _largest_share(self) -> float:
        """Return mu from the m x m matrix with the same non-zero eigenvalues."""
        spread = self.gram
        if len(self.sizes):
            spread = spread + self.units.T @ sparse.diags(1 / self.sizes) @ self.units
        root = sparse.diags(1 / np.sqrt(self.degrees))
        matrix = root @ spread @ root
        if matrix.shape[0] <= _DENSE:
            return float(np.linalg.eigvalsh(matrix.toarray())[-1])
        start = np.sqrt(self.degrees)  # the eigenvector of a graph without labels
        try:
            found = eigsh(matrix, k=1, which="LA", v0=start, ncv=_LANCZOS, maxiter=100, tol=1e-7)[0]
        except ArpackNoConvergence:
            return 1.0  # many eigenvalues near 1, which none exceeds
        return min(1.0, float(found[0]))

    def _through_graph(self, ties: np.ndarray) -> np.ndarray:
        """Return the mean that each row, as anchors and units see it, takes over the graph."""
        means = ties / self.degrees[:, None]
        if not len(self.sizes):
            return means
        return np.vstack([means, (self.units @ means) / self.sizes[:, None]])
