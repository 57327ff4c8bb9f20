"""Data sets that need no download: scikit-learn's digits, as pixels and as several descriptors.

n images, h x w pixels each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.views import Views, as_views


@dataclass(frozen=True)
class DataSet:
    """Views with the known classes of their rows.

    Attributes
    ----------
    name : str
        What the set is called.
    views : Views
        The data.
    target : ndarray of int (n,)
        The class of each row, for evaluation only.
    image_shape : tuple of int or None
        Height and width when the rows of the first view are images.
    """

    name: str
    views: Views
    target: np.ndarray
    image_shape: tuple[int, int] | None = None


def load_digits() -> DataSet:
    """Load 1,797 handwritten digits of 8 x 8 pixels (UCI, by way of scikit-learn) as one view.

    Examples
    --------
    >>> from coterie.data import load_digits
    >>> load_digits().views
    Views(1797 rows: pixels 64)
    """
    pixels, target = _digits()
    return DataSet("digits", as_views({"pixels": pixels}), target, (8, 8))


def load_multiview_digits() -> DataSet:
    """Load the digits as four views, each a descriptor computed here from the images.

    The pixels; histograms of oriented gradients; magnitudes of the Fourier transform, which do not change
    when the digit moves; profiles, that is the ink of each row and column and the distance of the digit to
    the four borders.

    Examples
    --------
    >>> from coterie.data import load_multiview_digits
    >>> load_multiview_digits().views
    Views(1797 rows: pixels 64, gradients 128, fourier 40, profiles 48)
    """
    pixels, target = _digits()
    images = pixels.reshape(-1, 8, 8) / 16.0
    views = {
        "pixels": pixels,
        "gradients": gradient_histograms(images),
        "fourier": fourier_magnitudes(images),
        "profiles": profiles(images),
    }
    return DataSet("multiview-digits", as_views(views), target, (8, 8))


def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    bunch = datasets.load_digits()
    return bunch.data.astype(np.float32), bunch.target.astype(np.int64)


def gradient_histograms(images: np.ndarray, *, cell: int = 2, n_angles: int = 8) -> np.ndarray:
    """Describe images by how strong edges of each direction are in each cell.

    Each pixel's gradient votes with its length for the two directions nearest to its own, out of
    `n_angles` over the full circle; the votes are added up over cells of `cell` x `cell` pixels, and each
    image's histogram is brought to length one.

    Parameters
    ----------
    images : ndarray (n, h, w)
        Height and width must be multiples of `cell`.
    cell : int
        Side of a cell in pixels.
    n_angles : int
        Number of directions.

    Returns
    -------
    ndarray of float32 (n, n_cells * n_angles)
    """
    n, h, w = images.shape
    down, right = np.gradient(images.astype(np.float64), axis=(1, 2))
    position = (np.arctan2(down, right) / (2.0 * np.pi) % 1.0) * n_angles
    lower = np.floor(position)
    upper_share = position - lower
    votes = np.zeros((n, h, w, n_angles))
    where = np.ogrid[:n, :h, :w]
    strength = np.hypot(down, right)
    for offset, share in ((0, 1.0 - upper_share), (1, upper_share)):
        votes[(*where, (lower.astype(np.int64) + offset) % n_angles)] += strength * share
    cells = votes.reshape(n, h // cell, cell, w // cell, cell, n_angles).sum(axis=(2, 4)).reshape(n, -1)
    length = np.linalg.norm(cells, axis=1, keepdims=True)
    return (cells / np.where(length == 0.0, 1.0, length)).astype(np.float32)


def fourier_magnitudes(images: np.ndarray) -> np.ndarray:
    """Describe images by the magnitudes of their 2-D Fourier transform (n, h * (w // 2 + 1))."""
    return np.abs(np.fft.rfft2(images.astype(np.float64))).reshape(len(images), -1).astype(np.float32)


def profiles(images: np.ndarray, *, ink: float = 0.25) -> np.ndarray:
    """Describe images by their ink and their outline, line by line.

    For each row and each column: the sum of its pixels; then, from each of the four borders, the share of
    the way that is clear until the first pixel darker than `ink`.

    Parameters
    ----------
    images : ndarray (n, h, w)
        Pixels from 0 to 1.
    ink : float
        From where on a pixel belongs to the outline.

    Returns
    -------
    ndarray of float32 (n, 3 * (h + w))
    """
    dark = images > ink
    parts = [images.sum(axis=2), images.sum(axis=1)]
    for axis in (2, 1):
        for seen in (dark, np.flip(dark, axis=axis)):
            clear = np.where(seen.any(axis=axis), seen.argmax(axis=axis), images.shape[axis])
            parts.append(clear / images.shape[axis])
    return np.concatenate(parts, axis=1).astype(np.float32)
