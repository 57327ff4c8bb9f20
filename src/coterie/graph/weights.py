"""Edge weights of a kNN graph: fuzzy memberships of neighbourhoods, as UMAP has them."""

# n rows, k neighbours

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from coterie.graph.neighbours import MISSING, Neighbours

_BISECTIONS = 40
_LEAST_SHARE = 1e-3
_TINY, _HUGE = 1e-200, 1e200


class Kernel(NamedTuple):
    """How fast the weight of a row's neighbours falls with their distance.

    Attributes
    ----------
    nearest : ndarray of shape (n,)
        Distance to the nearest neighbour that is no duplicate, rho.
    scale : ndarray of shape (n,)
        Sigma.
    reach : ndarray of shape (n,)
        Distance to the last neighbour.
    """

    nearest: np.ndarray
    scale: np.ndarray
    reach: np.ndarray

    def of(self, rows: np.ndarray) -> Kernel:
        """Return the kernels of some rows, each with one axis more for the neighbours."""
        return Kernel(*(values[rows] for values in self))

    def weights(self, distances: np.ndarray) -> np.ndarray:
        """Return the weight of neighbours at these distances, which broadcast against the kernels."""
        known = np.isfinite(distances)
        beyond = np.maximum(np.where(known, distances, 0.0) - self.nearest, 0.0)
        return np.exp(-beyond / self.scale) * known


def fit_kernel(distances: np.ndarray) -> Kernel:
    r"""Return for each row the kernel of its neighbourhood.

    .. math:: w_{ij} = \exp\big(-\max(0, d_{ij} - \rho_i) / \sigma_i\big), \qquad \sum_j w_{ij} = \log_2 k

    where d is the distance, rho_i that to the nearest neighbour which is no duplicate, and sigma_i follows from the
    sum (McInnes, Healy and Melville 2018). Every row has the same total weight, in dense regions as in sparse ones.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Infinite where there is no neighbour.

    Examples
    --------
    >>> distances = np.array([[1.0, 2.0, 3.0, 4.0]])
    >>> kernel = fit_kernel(distances)
    >>> kernel.nearest, fuzzy_weights(distances).sum().round(3)
    (array([1.]), np.float64(2.0))
    """
    known = np.isfinite(distances)
    apart = np.where(known, distances, 0.0)
    nearest = np.where(known & (apart > 0), apart, np.inf).min(axis=1, initial=np.inf)
    nearest = np.where(np.isfinite(nearest), nearest, 0.0)
    wanted = np.log2(np.maximum(known.sum(axis=1), 2))
    scale = np.maximum(apart.sum(axis=1) / max(1, apart.shape[1]), _TINY)
    least = np.maximum(_LEAST_SHARE * scale, _TINY)
    low, high = np.zeros(len(apart)), np.full(len(apart), np.inf)
    for _ in range(_BISECTIONS):
        trial = Kernel(nearest[:, None], scale[:, None], scale)
        too_wide = trial.weights(distances).sum(axis=1) > wanted
        high, low = np.where(too_wide, scale, high), np.where(too_wide, low, scale)
        bounded = np.isfinite(high)
        scale = np.where(bounded, (low + np.where(bounded, high, 0.0)) / 2, np.minimum(2 * scale, _HUGE))
    return Kernel(nearest, np.maximum(scale, least), apart.max(axis=1, initial=0.0))


def fuzzy_weights(distances: np.ndarray) -> np.ndarray:
    """Return how much each neighbour belongs to a row's neighbourhood, from 0 to 1, by the row's own kernel."""
    kernel = fit_kernel(distances)
    return Kernel(kernel.nearest[:, None], kernel.scale[:, None], kernel.reach).weights(distances)


def symmetric_graph(indices: np.ndarray, weights: np.ndarray, n_rows: int) -> sparse.csr_matrix:
    r"""Return the symmetric graph (n, n) with the weights :math:`(W + W') / 2`.

    An edge that only one of its two rows names counts half. The fuzzy union :math:`W + W' - W \circ W'` counts it in
    full, which ties hubs to everything (`docs/methods/graph.md` has the comparison).

    Parameters
    ----------
    indices : ndarray of shape (n, k)
        The neighbours of each row; `MISSING` where there is none.
    weights : ndarray of shape (n, k)
    n_rows : int

    Examples
    --------
    >>> symmetric_graph(np.array([[1], [0], [1]]), np.ones((3, 1)), 3).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    named = (indices != MISSING) & (weights > 0)
    sources = np.repeat(np.arange(len(indices)), named.sum(axis=1))
    directed = sparse.csr_matrix((weights[named], (sources, indices[named])), shape=(n_rows, n_rows))
    return sparse.csr_matrix((directed + directed.T) / 2)


def knn_graph(neighbours: Neighbours, *, bandwidth: float = 1.0) -> sparse.csr_matrix:
    """Return the symmetric kNN graph (n, n) with fuzzy weights.

    Parameters
    ----------
    neighbours : Neighbours
        Of each row.
    bandwidth : float
        Widens the kernel: weights become :math:`w^{1/b}`.

    Examples
    --------
    >>> pair = Neighbours(np.array([[1], [0]]), np.array([[3.0], [3.0]]))
    >>> knn_graph(pair).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    weights = fuzzy_weights(neighbours.distances) ** (1 / bandwidth)
    return symmetric_graph(neighbours.indices, weights, len(weights))
