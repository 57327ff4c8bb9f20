"""The map: an embedding projected to the plane."""

import importlib.util
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA

from coterie.errors import InputError

# t-SNE compares neighbourhoods; below this many rows there are hardly any.
_FEWEST_ROWS_FOR_TSNE = 20
_MOST_INPUTS_FOR_TSNE = 50
_FEWEST_ROWS_FOR_FFT = 2000
_EARLY_STEPS, _STEPS = 75, 200


@dataclass(frozen=True)
class Projection:
    """Coordinates (n, 2), and the method: "t-SNE", "PCA", or "embedding" where that has two dimensions itself."""

    coordinates: NDArray[np.float64]
    method: str


def project(embedding: NDArray[np.floating], how: str = "auto", *, random_state: int = 0) -> Projection:
    """Lay the rows of an embedding (n, d) out in the plane, as "auto", "tsne" or "pca" says.

    "auto" draws a two-dimensional embedding as it is, and otherwise takes t-SNE when openTSNE is installed and there
    are enough rows, PCA when not. One column, or rows that are all the same, always take PCA.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> project(rows, "pca").coordinates.shape
    (10, 2)
    >>> project(rows[:, :2]).method
    'embedding'
    """
    points = np.asarray(embedding, dtype=np.float64)
    if how == "auto" and points.shape[1] == 2:
        return Projection(points, "embedding")
    if not takes_tsne(points, how):
        return Projection(pca(points, 2), "PCA")
    return Projection(_tsne(points, random_state), "t-SNE")


def takes_tsne(points: NDArray[np.floating], how: str) -> bool:
    """Return whether rows (n, d) are laid out by t-SNE when a map is asked for in this way.

    Examples
    --------
    >>> takes_tsne(np.eye(30), "pca"), takes_tsne(np.ones((30, 2)), "tsne")
    (False, False)
    """
    if how not in ("auto", "tsne", "pca"):
        raise InputError(f"embedding must be 'auto', 'tsne' or 'pca', not {how!r}.")
    installed = importlib.util.find_spec("openTSNE") is not None
    if how == "tsne" and not installed:
        raise InputError(
            "A t-SNE map needs openTSNE: pip install 'coterie[explore]', or choose embedding='pca'."
        )
    # t-SNE starts from two directions, and has none to start from where all rows are the same.
    flat = points.shape[1] < 2 or not _spread_out(points)
    return not (how == "pca" or not installed or flat or len(points) < _FEWEST_ROWS_FOR_TSNE)


def _spread_out(points: NDArray[np.floating]) -> bool:
    return bool(np.ptp(points, axis=0).any())


def pca(points: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the leading principal components, with columns of zeros where there are fewer.

    Examples
    --------
    >>> np.ptp(pca(np.array([[0.0], [3.0]]), 2), axis=0)
    array([3., 0.])
    """
    if not _spread_out(points):
        return np.zeros((len(points), width))
    size = min(width, *points.shape)
    components = PCA(size, random_state=0).fit_transform(points)
    return np.pad(components, ((0, 0), (0, width - size)))


def lay_out(
    graph: sparse.csr_matrix, start: NDArray[np.float64], *, random_state: int = 0
) -> NDArray[np.float64]:
    r"""Lay the rows of a graph of neighbours out by t-SNE, its edges taken as the affinities.

    .. math:: \min_Y \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad
        p_{ij} = \frac{w_{ij}}{\sum_{kl} w_{kl}}, \quad q_{ij} \propto \frac{1}{1 + \|y_i - y_j\|^2}

    where w are the weights of the edges. The attraction stays exaggerated twofold, which draws groups apart and
    halves the time (Boehm, Berens and Kobak 2022).

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric, with at least one edge.
    start : ndarray of shape (n, 2)
    random_state : int

    Examples
    --------
    >>> pairs = sparse.csr_matrix(np.kron(np.eye(12), np.ones((2, 2)) - np.eye(2)))
    >>> lay_out(pairs, np.random.default_rng(0).normal(size=(24, 2))).shape
    (24, 2)
    """
    from openTSNE import TSNEEmbedding, affinity, initialization

    n_rows = len(start)
    affinities = affinity.Affinities()
    affinities.P = sparse.csr_matrix(graph / graph.sum())
    # One thread gives the same map every time.
    layout = TSNEEmbedding(
        initialization.jitter(initialization.rescale(start), random_state=random_state),
        affinities,
        negative_gradient_method="bh" if n_rows < _FEWEST_ROWS_FOR_FFT else "fft",
        n_jobs=1,
        random_state=random_state,
    )
    layout.optimize(_EARLY_STEPS, exaggeration=12, momentum=0.5, inplace=True)
    layout.optimize(_STEPS, exaggeration=2, momentum=0.8, inplace=True)
    return np.asarray(layout, dtype=np.float64)


def _tsne(points: NDArray[np.float64], random_state: int) -> NDArray[np.float64]:
    from coterie.graph.neighbours import neighbour_count, neighbours_of_each
    from coterie.graph.weights import knn_graph

    wide = points if points.shape[1] <= _MOST_INPUTS_FOR_TSNE else pca(points, _MOST_INPUTS_FOR_TSNE)
    near = neighbours_of_each(wide.astype(np.float32), neighbour_count(len(points)))[1]
    return lay_out(knn_graph(near), pca(points, 2), random_state=random_state)
