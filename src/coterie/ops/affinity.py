"""The graph of nearest neighbours as a linear map, differentiable in its weights."""

# n rows, m entries of a code, N neighbours of a row, k columns of what the graph is applied to

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from coterie.ops.neighbours import neighbour_table

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

    def components(self) -> int:
        """Return into how many islands the graph falls; more than k make k eigenvectors useless (spec E10)."""
        n, width = self.table.shape
        table, there = self.table.cpu().numpy(), self.weights.detach().cpu().numpy() > 0
        ends = np.repeat(np.arange(n), width)[there.ravel()], table.ravel()[there.ravel()]
        graph = sparse.csr_matrix((np.ones(len(ends[0])), ends), shape=(n, n))
        return int(connected_components(graph, directed=False, return_labels=False))


def knn_affinity(codes: Tensor, n_neighbors: int) -> Affinity:
    r"""Return the graph that ties each code to its nearest others, by a width of its own.

    .. math:: W^0_{ij} = \exp\big(-\lVert z_i - z_j \rVert^2 / \sigma_i\big), \quad j \in \mathrm{kNN}(i), j \ne i,
              \qquad W = (W^0 + W^{0\top}) / 2

    where :math:`z_i` is code i divided by its length (a code of zeros stays) and :math:`\sigma_i` is the median of
    the N squared distances in row i, at least 1e-12. Eq. 14 of SSCNet with its index, the own row and the symmetry
    put right (spec sscnet E10). Gradients flow through the distances and through the widths: those make W the same
    for codes of any scale, so that no loss on the graph can be lowered by stretching the codes (spec E16). Which
    rows are neighbours is not differentiated. Memory is O(n N m).

    Parameters
    ----------
    codes : Tensor of shape (n, m)
    n_neighbors : int
        N, less than n.

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
    lengths = torch.linalg.vector_norm(codes, dim=1, keepdim=True)
    unit = codes / torch.where(lengths > _LEAST_LENGTH, lengths, 1.0)
    # Drawn from only beyond `EXACT_ROWS` rows, where the search is approximate.
    table = neighbour_table(unit.detach(), n_neighbors, generator=torch.Generator().manual_seed(0))
    squares = (unit[:, None] - unit[table]).square().sum(2)
    widths = _median(squares).clamp(min=_LEAST_WIDTH)
    return Affinity(table, torch.exp(-squares / widths[:, None]))


def _median(rows: Tensor) -> Tensor:
    """Return the median of each row, the mean of both in the middle where their number is even, (n,)."""
    width = rows.shape[1]
    return rows.sort(1).values[:, (width - 1) // 2 : width // 2 + 1].mean(1)
