"""The map: an embedding projected to the plane."""

import importlib.util
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from coterie.errors import InputError

# t-SNE compares neighbourhoods; below this many rows there are hardly any.
_FEWEST_ROWS_FOR_TSNE = 20
_MOST_INPUTS_FOR_TSNE = 50


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
    if how not in ("auto", "tsne", "pca"):
        raise InputError(f"embedding must be 'auto', 'tsne' or 'pca', not {how!r}.")
    points = np.asarray(embedding, dtype=np.float64)
    if how == "auto" and points.shape[1] == 2:
        return Projection(points, "embedding")
    installed = importlib.util.find_spec("openTSNE") is not None
    if how == "tsne" and not installed:
        raise InputError(
            "A t-SNE map needs openTSNE: pip install 'coterie[explore]', or choose embedding='pca'."
        )
    # t-SNE starts from two directions, and has none to start from where all rows are the same.
    flat = points.shape[1] < 2 or not _spread_out(points)
    if how == "pca" or not installed or flat or len(points) < _FEWEST_ROWS_FOR_TSNE:
        return Projection(_pca(points, 2), "PCA")
    return Projection(_tsne(points, random_state), "t-SNE")


def _spread_out(points: NDArray[np.float64]) -> bool:
    return bool(np.ptp(points, axis=0).any())


def _pca(points: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the leading principal components, with columns of zeros where there are fewer."""
    if not _spread_out(points):
        return np.zeros((len(points), width))
    size = min(width, *points.shape)
    components = PCA(size, random_state=0).fit_transform(points)
    return np.pad(components, ((0, 0), (0, width - size)))


def _tsne(points: NDArray[np.float64], random_state: int) -> NDArray[np.float64]:
    from openTSNE import TSNE

    if points.shape[1] > _MOST_INPUTS_FOR_TSNE:
        points = _pca(points, _MOST_INPUTS_FOR_TSNE)
    # One thread and exact neighbours give the same map every time. Fewer and coarser steps than openTSNE's
    # defaults halve the time, at the same trustworthiness.
    layout = TSNE(
        perplexity=min(30.0, (len(points) - 1) / 3),
        neighbors="exact",
        initialization="pca",
        early_exaggeration_iter=150,
        n_iter=350,
        theta=0.8,
        n_jobs=1,
        random_state=random_state,
    )
    return np.asarray(layout.fit(points), dtype=np.float64)
