"""Pictures as rows: histograms of oriented gradients of small grey pictures."""

# n pictures, h height, w width, b orientations, c cells a side

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.data.describe.base import Description
from coterie.errors import InputError

_BLOCK = 2
_CLIP = 0.2
_LEAST = 1e-4
_PIECE = 256
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)


class ImageRows(Description):
    r"""Pictures as rows of numbers: histograms of oriented gradients (HOG; Dalal and Triggs 2005 [1]_).

    Each picture becomes grey, from 0 to 1, and is resized to `size` x `size` pixels. In every cell of `cell` x `cell`
    pixels the lengths of the gradients are summed by their direction, without its sign, in `n_orientations` bins.
    Each 2 x 2 cells are a block, brought to unit length, clipped at 0.2 and brought to unit length again. Blocks
    overlap. So edges are compared, and not how bright or how rich in contrast a picture is.

    Parameters
    ----------
    size : int, default=32
    cell : int, default=8
    n_orientations : int, default=8
    features : callable, optional
        Other features: a function from an array of pictures, (n, size, size, 3) from 0 to 1, to an array (n, d), such
        as a network of your own. A function cannot be saved.

    Attributes
    ----------
    shape_ : tuple of int
        Height and width of the thumbnails, for `image_shape` of a report.

    References
    ----------
    .. [1] Dalal and Triggs, "Histograms of oriented gradients for human detection", CVPR 2005,
       https://doi.org/10.1109/CVPR.2005.177

    Examples
    --------
    >>> pictures = np.zeros((2, 32, 32))
    >>> pictures[0, :, 16:], pictures[1, 16:] = 1, 1
    >>> rows = ImageRows().fit_transform(pictures)
    >>> rows.shape, bool(rows[0] @ rows[1] < 0.1)
    ((2, 288), True)
    """

    def __init__(
        self,
        size: int = 32,
        *,
        cell: int = 8,
        n_orientations: int = 8,
        features: Callable[[np.ndarray], Any] | None = None,
    ) -> None:
        self.size = size
        self.cell = cell
        self.n_orientations = n_orientations
        self.features = features

    _values: ClassVar[tuple[str, ...]] = ("shape_",)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; nothing is learned."""
        if self.size < _BLOCK * self.cell or self.cell < 1 or self.n_orientations < 1:
            raise InputError(
                f"size={self.size} and cell={self.cell} do not fit: a picture has at least two cells a side."
            )
        self.shape_ = [self.size, self.size]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Describe pictures.

        Parameters
        ----------
        X : array of shape (n, h, w), (n, h, w, 1), (n, h, w, 3) or (n, h, w, 4), or list of such pictures or paths
            Values from 0 to 255 where the type is whole, otherwise from 0 to 1; others are brought there by the
            smallest and the largest value of all.

        Returns
        -------
        ndarray of shape (n, d)
        """
        check_is_fitted(self)
        rows = []
        for piece in _pieces(X):
            coloured = np.stack([resized(picture, self.size) for picture in piece])
            if self.features is None:
                rows.append(hog(coloured @ _GREY, self.cell, self.n_orientations))
            else:
                rows.append(np.asarray(self.features(coloured), dtype=np.float32))
                if rows[-1].ndim != 2 or len(rows[-1]) != len(piece):
                    raise InputError(
                        f"features= returned an array of shape {rows[-1].shape} for {len(piece)} pictures: it must "
                        "have one row a picture."
                    )
        if not rows:
            raise InputError("There is no picture: give at least two.")
        return np.concatenate(rows)

    def thumbnails(self, X: Any) -> np.ndarray:
        """Return the pictures as rows of `size` x `size` x 3 bytes."""
        small = [resized(picture, self.size).ravel() for piece in _pieces(X) for picture in piece]
        return np.rint(255 * np.clip(small, 0, 1)).astype(np.uint8)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns: block, cell and direction."""
        blocks = self.size // self.cell - _BLOCK + 1
        angles = [f"{180 * b // self.n_orientations}°" for b in range(self.n_orientations)]
        return np.array(
            [
                f"edges {angle} at {(i + u) * self.cell},{(j + v) * self.cell} in block {i},{j}"
                for i in range(blocks)
                for j in range(blocks)
                for u in range(_BLOCK)
                for v in range(_BLOCK)
                for angle in angles
            ],
            dtype=object,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the parameters; a function cannot be among them."""
        if self.features is not None:
            raise InputError("features= is a function, which cannot be saved: save the rows that it gives.")
        return super().state()

    @property
    def sentence(self) -> str:
        """What was done to the pictures."""
        return (
            f"pictures were resized to {self.size} x {self.size} pixels and described by histograms of oriented "
            f"gradients in cells of {self.cell} x {self.cell}"
        )


def hog(pictures: np.ndarray, cell: int, n_orientations: int) -> np.ndarray:
    """Return histograms of oriented gradients of grey pictures (n, h, w): blocks x 2 x 2 cells x orientations."""
    n = len(pictures)
    padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1)), mode="edge")
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    across = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    length = np.hypot(across, down)
    place = np.mod(np.arctan2(down, across), np.pi) / np.pi * n_orientations
    lower = np.floor(place)
    share, lower = place - lower, lower.astype(np.int64) % n_orientations
    high, wide = pictures.shape[1] // cell, pictures.shape[2] // cell
    cells = np.zeros((n, high, wide, n_orientations), dtype=np.float32)
    for b in range(n_orientations):  # a gradient between two directions counts for both
        weight = (lower == b) * (1 - share) + ((lower + 1) % n_orientations == b) * share
        part = (length * weight)[:, : high * cell, : wide * cell]
        cells[..., b] = part.reshape(n, high, cell, wide, cell).sum(axis=(2, 4))
    blocks = [
        cells[:, i : i + _BLOCK, j : j + _BLOCK].reshape(n, -1)
        for i in range(high - _BLOCK + 1)
        for j in range(wide - _BLOCK + 1)
    ]
    return np.hstack([_unit(np.minimum(_unit(block), _CLIP)) for block in blocks])


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True) + _LEAST)


def resized(picture: Any, size: int) -> np.ndarray:
    """Return a picture, from 0 to 1, as (size, size, 3) values."""
    from PIL import Image

    colours = np.asarray(picture, dtype=np.float32)
    layers = [
        np.asarray(
            Image.fromarray(np.ascontiguousarray(layer)).resize((size, size), Image.Resampling.BILINEAR)
        )
        for layer in np.moveaxis(colours, -1, 0)
    ]
    return np.stack(layers if len(layers) == 3 else layers[:1] * 3, axis=-1)


def _pieces(X: Any) -> Iterable[list[np.ndarray]]:
    """Yield lists of pictures (h, w, 1 or 3) from 0 to 1."""
    if hasattr(X, "shape"):
        array = np.asarray(X)
        if array.ndim not in (3, 4) or array.dtype.kind not in "biuf" or not array.size:
            raise InputError(
                f"X has shape {array.shape}, {array.dtype}, but pictures are (n, h, w) or (n, h, w, channels)."
            )
        low, high = value_range(array)
        for start in range(0, len(array), _PIECE):
            part = (array[start : start + _PIECE].astype(np.float32) - low) / (high - low)
            yield [_with_channels(picture, start + row) for row, picture in enumerate(part)]
        return
    pictures = list(X)
    for start in range(0, len(pictures), _PIECE):
        yield [_picture(item, start + row) for row, item in enumerate(pictures[start : start + _PIECE])]


def value_range(array: np.ndarray) -> tuple[float, float]:
    """Return the values that are black and white: 0 and 255 for bytes, 0 and 1, or the smallest and the largest."""
    if array.dtype == np.uint8:
        return 0.0, 255.0
    if not np.isfinite(array).all():
        raise InputError("X has values that are NaN or infinite: pictures are whole.")
    low, high = float(array.min()), float(array.max())
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high if high > low else low + 1)


def _picture(item: Any, row: int) -> np.ndarray:
    if hasattr(item, "shape"):
        array = np.asarray(item)
        low, high = value_range(array)
        return _with_channels((array.astype(np.float32) - low) / (high - low), row)
    return read_picture(item)


def _with_channels(picture: np.ndarray, row: int) -> np.ndarray:
    """Return a picture with its channels last; transparency does not count."""
    if picture.ndim == 2:
        return picture[..., None]
    if picture.ndim == 3 and picture.shape[2] in (1, 3, 4):
        return picture[..., :3]
    raise InputError(
        f"Picture {row} has shape {picture.shape}, but a picture is (h, w) or (h, w, 1, 3 or 4)."
    )


def read_picture(path: Any) -> np.ndarray:
    """Return the picture of a file, (h, w, 3) from 0 to 1; transparent parts are white."""
    try:
        from PIL import Image
    except ImportError:
        raise InputError("Reading pictures needs Pillow: pip install 'coterie[images]'") from None
    try:
        with Image.open(path) as file:
            picture = file.convert("RGBA")
    except Exception as error:  # decoders raise what they like on broken bytes
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{path} is not a picture that can be read ({reason}): replace or remove it."
        ) from error
    ground = Image.new("RGBA", picture.size, "white")
    return np.asarray(Image.alpha_composite(ground, picture).convert("RGB"), dtype=np.float32) / 255
