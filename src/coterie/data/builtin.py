"""Built-in data sets: scikit-learn's digits, as pixels and as several descriptors."""

# n images, h x w pixels each

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
    """Load the digits as four views: pixels and three descriptors of the images.

    The descriptors are histograms of oriented gradients, magnitudes of the Fourier transform, and profiles (the ink
    of each row and column, and the distance of the digit to the four borders).

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
    """Return histograms of oriented gradients (HOG), (n, n_cells * n_angles), each of unit length.

    The gradient of a pixel votes with its magnitude for the two nearest of `n_angles` directions over the full
    circle; votes are summed over cells of `cell` x `cell` pixels.
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
    """Return the magnitudes of the 2-D Fourier transform, (n, h * (w // 2 + 1)), which do not change under shifts."""
    return np.abs(np.fft.rfft2(images.astype(np.float64))).reshape(len(images), -1).astype(np.float32)


def profiles(images: np.ndarray, *, ink: float = 0.25) -> np.ndarray:
    """Return profiles of images with pixels from 0 to 1, (n, 3 * (h + w)).

    For each row and column: the sum of its pixels; and from each of the four borders the share of the way to the
    first pixel above `ink`.
    """
    dark = images > ink
    parts = [images.sum(axis=2), images.sum(axis=1)]
    for axis in (2, 1):
        for side in (dark, np.flip(dark, axis=axis)):
            clear = np.where(side.any(axis=axis), side.argmax(axis=axis), images.shape[axis])
            parts.append(clear / images.shape[axis])
    return np.concatenate(parts, axis=1).astype(np.float32)
