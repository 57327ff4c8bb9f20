"""Which of the neighbours that single views name are believed, and how much of the views a partition explains."""

# n rows, v views, c clusters

from __future__ import annotations

import numpy as np
from scipy import sparse

from coterie.methods.several.joined import JoinedViews
from coterie.ops.communities import information, weight_in_graph
from coterie.ops.graphs import NOBODY, joined_graph, spectral_rows

_LEAST = 0.1


def believed_graph(joined: JoinedViews, n_clusters: int) -> sparse.csr_matrix:
    """Return the joined graph with each pair of rows weighed by how they lie to each other side by side.

    A view that cannot tell two groups apart names neighbours across them, and enough such views hide what another
    one tells clearly: by the shape of its strokes a 6 is a 9, by its pixels it is not. Rows of two such groups lie
    at a right angle among the leading eigenvectors of the graph of all views side by side. The weight of a pair is
    multiplied by the cosine of that angle and 0.1 more; where a row has not all views, by the mean of the others.

    Parameters
    ----------
    joined : JoinedViews
        Of several views.
    n_clusters : int
        How many eigenvectors.

    Returns
    -------
    sparse matrix of shape (n, n)

    Examples
    --------
    >>> clear, blind = np.array([[1], [0], [3], [2]]), np.array([[2], [3], [0], [1]])
    >>> joined = JoinedViews(joined_graph([clear, blind]), np.eye(2), [clear, blind], beside=clear)
    >>> believed_graph(joined, 2).toarray()[0].round(2)
    array([0. , 2.2, 0.2, 0. ])
    """
    assert joined.beside is not None
    rows = spectral_rows(joined_graph([joined.beside]), n_clusters)
    pairs = joined.graph.tocoo()
    belief = _LEAST + np.einsum("ij,ij->i", rows[pairs.row], rows[pairs.col]).clip(min=0)
    whole = (joined.beside[:, :1] != NOBODY).any(axis=1)
    known = whole[pairs.row] & whole[pairs.col]
    belief[~known] = belief[known].mean() if known.any() else 1.0
    return sparse.csr_matrix((pairs.data * belief, (pairs.row, pairs.col)), shape=pairs.shape)


def explained(joined: JoinedViews, labels: np.ndarray, n_clusters: int) -> float:
    """Return how much clusters say of the neighbours in each view and side by side, weighed as in the joined graph.

    Each view has ties of its own between the clusters, so one that tells two of them apart counts in full, and one
    that does not takes nothing away; modularity of the joined graph would hold the latter against both.

    Parameters
    ----------
    joined : JoinedViews
        Of several views.
    labels : ndarray of shape (n,)
    n_clusters : int

    Examples
    --------
    >>> clear, blind = np.array([[1], [0], [3], [2]]), np.array([[1, 2], [0, 3], [0, 3], [1, 2]])
    >>> joined = JoinedViews(joined_graph([clear, blind]), np.eye(2), [clear, blind], beside=clear)
    >>> round(explained(joined, np.array([0, 0, 1, 1]), 2), 4)  # nothing from the blind view
    1.6651
    """
    return sum(
        weight * information(weight_in_graph(joined_graph([table]), labels, n_clusters))
        for table, weight in joined.layers
    )
