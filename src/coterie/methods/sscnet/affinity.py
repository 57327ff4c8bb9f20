"""The graph of nearest neighbours as a linear map, differentiable in its weights."""

# n rows, m entries of a code, N neighbours of a row, k columns of what the graph is applied to

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from coterie.errors import InputError
from coterie.graph.neighbours import neighbours_of_each
from coterie.ops.sparse import as_tensor

_LEAST_LENGTH = 1e-12
_LEAST_WIDTH = 1e-12


@dataclass(frozen=True)
class Affinity:
    r"""The symmetric graph W = (W0 + W0') / 2, where row i of W0 holds `weights[i]` in the columns `table[i]`.

    No (n, n) array is ever formed: a product costs O(n N k) time and memory.

    Attributes
    ----------
    table : Tensor of shape (n, N), long
        The neighbours of each row.
    weights : Tensor of shape (n, N)
        What ties the row to each of them; gradients flow into it.

    Examples
    --------
    >>> pair = Affinity(torch.tensor([[1], [0], [1]]), torch.tensor([[1.0], [1.0], [0.5]]))
    >>> pair.product(torch.eye(3))
    tensor([[0.0000, 1.0000, 0.0000],
            [1.0000, 0.0000, 0.2500],
            [0.0000, 0.2500, 0.0000]])
    """

    table: Tensor
    weights: Tensor

    # Not cached: a first use under no_grad would leave all later ones without a gradient.
    @property
    def degrees(self) -> Tensor:
        """Sums of the lines of W, (n,)."""
        received = torch.zeros_like(self.weights[:, 0])
        return (self.weights.sum(1) + received.index_add(0, self.table.flatten(), self.weights.flatten())) / 2

    def product(self, Y: Tensor) -> Tensor:
        """Return W Y.

        Parameters
        ----------
        Y : Tensor of shape (n, k)

        Returns
        -------
        Tensor of shape (n, k)
        """
        gathered = torch.bmm(self.weights[:, None], Y[self.table])[:, 0]
        sent = (self.weights[:, :, None] * Y[:, None]).flatten(0, 1)
        return (gathered.index_add(0, self.table.flatten(), sent)) / 2

    def laplacian(self, Y: Tensor, normalised: bool = True) -> Tensor:
        r"""Return L Y with L = I - D^{-1/2} W D^{-1/2}, or with L = D - W.

        The first is the default: the second gets smaller with the weights, so that a loss on it rewards codes far
        from each other (spec sscnet E16). The paper's is the second.

        Parameters
        ----------
        Y : Tensor of shape (n, k)
        normalised : bool

        Returns
        -------
        Tensor of shape (n, k)
        """
        degrees = self.degrees[:, None]
        if not normalised:
            return degrees * Y - self.product(Y)
        scale = degrees.rsqrt()
        return Y - scale * self.product(scale * Y)

    def matrix(self) -> sparse.csr_matrix:
        """Return W as a sparse matrix without gradients: products with it are many times faster."""
        n, width = self.table.shape
        weights = self.weights.detach().cpu().numpy().astype(np.float64)
        starts = np.arange(0, n * width + 1, width)
        one_way = sparse.csr_matrix((weights.ravel(), self.table.cpu().numpy().ravel(), starts), shape=(n, n))
        one_way.eliminate_zeros()
        return sparse.csr_matrix((one_way + one_way.T) / 2)

    def components(self) -> int:
        """Return into how many islands the graph falls; more than k make k eigenvectors useless (spec E10)."""
        return islands(self.matrix())


def islands(graph: sparse.csr_matrix) -> int:
    """Return into how many connected components a symmetric graph falls.

    Examples
    --------
    >>> islands(sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])))
    2
    """
    return int(connected_components(graph, directed=False, return_labels=False))


def fixed_laplacian(graph: sparse.csr_matrix, like: Tensor) -> Callable[[Tensor], Tensor]:
    """Return Y -> Y - D^-1/2 W D^-1/2 Y for a graph W (n, n) that does not change, in the precision of `like`.

    Examples
    --------
    >>> pair = sparse.csr_matrix([[0.0, 2.0], [2.0, 0.0]])
    >>> fixed_laplacian(pair, torch.zeros(1))(torch.eye(2))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    scale = sparse.diags(1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel()))
    normal = sparse.csr_matrix(scale @ graph @ scale)
    normal.sort_indices()
    matrix = as_tensor(normal).to(like)
    return lambda columns: columns - matrix @ columns


def knn_affinity(codes: Tensor, n_neighbors: int, *, unit: bool = True) -> Affinity:
    r"""Return the graph that ties each code to its nearest others, by a width of its own.

    .. math:: W^0_{ij} = \exp\big(-\lVert z_i - z_j \rVert^2 / \sigma_i\big), \quad j \in \mathrm{kNN}(i), j \ne i,
              \qquad W = (W^0 + W^{0\top}) / 2

    where :math:`z_i` is code i, divided by its length if `unit` (a code of zeros stays), and :math:`\sigma_i` is the
    median of the N squared distances in row i, at least 1e-12. Eq. 14 of SSCNet with its index, the own row and the
    symmetry put right (spec sscnet E10). Gradients flow through distances and widths: the latter make W the same
    for codes of any scale, so that no loss on the graph can be lowered by stretching the codes (spec E16). Which
    rows are neighbours is not differentiated. Memory is O(n N m).

    Parameters
    ----------
    codes : Tensor of shape (n, m)
    n_neighbors : int
        N, less than n.
    unit : bool
        Whether codes are compared by direction only, as sparse codes should be.

    Returns
    -------
    Affinity

    Examples
    --------
    >>> graph = knn_affinity(torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.1, 1.0]]), 1)
    >>> graph.table.flatten().tolist(), graph.components()
    ([1, 0, 3, 2], 2)
    >>> graph.degrees
    tensor([1.0000, 1.0000, 0.3679, 0.3679])
    """
    if n_neighbors >= len(codes):
        raise InputError(
            f"n_neighbors={n_neighbors} needs more than the {len(codes)} rows there are; ask for fewer."
        )
    if unit:
        lengths = torch.linalg.vector_norm(codes, dim=1, keepdim=True)
        codes = codes / torch.where(lengths > _LEAST_LENGTH, lengths, 1.0)
    neighbours = neighbours_of_each(codes.numpy(force=True), n_neighbors)[1]
    table = torch.from_numpy(neighbours.indices).to(codes.device)
    squares = (codes[:, None] - codes[table]).square().sum(2)
    return Affinity(table, width_weights(squares))


def width_weights(squares: Tensor) -> Tensor:
    """Return exp(-d_ij / sigma_i) of squared distances d (n, N), sigma_i the median of row i, at least 1e-12.

    Examples
    --------
    >>> width_weights(torch.tensor([[0.0, 1.0, 2.0]]))
    tensor([[1.0000, 0.3679, 0.1353]])
    """
    width = squares.shape[1]
    middle = squares.sort(1).values[:, (width - 1) // 2 : width // 2 + 1].mean(1, keepdim=True)
    return torch.exp(-squares / middle.clamp(min=_LEAST_WIDTH))
