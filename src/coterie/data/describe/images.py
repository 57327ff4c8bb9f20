"""Pictures as rows: their pixels at one size, or histograms of oriented gradients."""


# n pictures, h height, w width, b orientations, c cells a side

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.data.describe.base import Description
from coterie.errors import InputError

_BLOCK, _CELL = 2, 8
_CLIP = 0.2
_LEAST = 1e-4
_PIECE = 256
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # of red, green and blue, as eyes see them


class ImageRows(Description):
    r"""Pictures as rows of numbers: resized, their pixels one after the other.

    Pictures are resized to `size` x `size` pixels, with values from 0 to 1, in colour where one of them is in colour.
    With ``descriptor="hog"`` they are compared by edges instead, and not by how bright or how rich in contrast they
    are: histograms of oriented gradients (Dalal and Triggs 2005 [1]_) of the grey picture. In every cell of 8 x 8
    pixels the lengths of the gradients are summed by their direction, without its sign, in 8 bins. Each 2 x 2 cells
    are a block, brought to unit length, clipped at 0.2 and brought to unit length again.

    Parameters
    ----------
    size : int, default=32
    descriptor : {"pixels", "hog"}, default="pixels"
    features : callable, optional
        Other features: a function from an array of pictures, (n, size, size, 3) from 0 to 1, to an array (n, d), such
        as a network of your own. A function cannot be saved.

    Attributes
    ----------
    shape_ : list of int
        Of a row of pixels, (size, size) or (size, size, 3): the `image_shape` of a report.

    References
    ----------
    .. [1] Dalal and Triggs, "Histograms of oriented gradients for human detection", CVPR 2005,
       https://doi.org/10.1109/CVPR.2005.177

    Examples
    --------
    >>> pictures = np.zeros((2, 64, 64))
    >>> pictures[0, :, 32:], pictures[1, 32:] = 1, 1
    >>> ImageRows().fit_transform(pictures).shape
    (2, 1024)
    >>> edges = ImageRows(descriptor="hog").fit_transform(pictures)
    >>> edges.shape, bool(edges[0] @ edges[1] < 0.1 * edges[0] @ edges[0])
    ((2, 288), True)
    """

    _values: ClassVar[tuple[str, ...]] = ("shape_",)

    def __init__(
        self,
        size: int = 32,
        *,
        descriptor: str = "pixels",
        features: Callable[[np.ndarray], Any] | None = None,
    ) -> None:
        self.size = size
        self.descriptor = descriptor
        self.features = features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out whether there is a picture in colour."""
        if self.descriptor not in ("pixels", "hog"):
            raise InputError(f"descriptor={self.descriptor!r} must be 'pixels' or 'hog'.")
        if self.size < _BLOCK * _CELL:
            raise InputError(f"size={self.size} must be at least {_BLOCK * _CELL}.")
        coloured = any(_in_colour(picture) for piece in _pieces(X) for picture in piece)
        self.shape_ = [self.size, self.size, 3] if coloured else [self.size, self.size]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Describe pictures.

        Parameters
        ----------
        X : array of shape (n, h, w), (n, h, w, 1), (n, h, w, 3) or (n, h, w, 4), or list of such pictures or paths
            Bytes are from 0 to 255. Other values are from 0 to 1, or brought there by the smallest and the largest.

        Returns
        -------
        ndarray of shape (n, d)
        """
        check_is_fitted(self)
        rows = [
            self._describe(np.stack([resized(picture, self.size) for picture in piece]))
            for piece in _pieces(X)
        ]
        if not rows:
            raise InputError("There is no picture: give at least two.")
        return np.concatenate(rows)

    def _describe(self, pictures: np.ndarray) -> np.ndarray:
        if self.features is not None:
            rows = np.asarray(self.features(pictures), dtype=np.float32)
            if rows.ndim != 2 or len(rows) != len(pictures):
                raise InputError(
                    f"features= returned an array of shape {rows.shape} for {len(pictures)} pictures: it must have "
                    "one row a picture."
                )
            return rows
        if self.descriptor == "hog":
            return hog(_grey(pictures))
        return (pictures if len(self.shape_) == 3 else _grey(pictures)).reshape(len(pictures), -1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns."""
        if self.features is not None or self.descriptor == "hog":
            width = self._describe(np.zeros((1, self.size, self.size, 3), dtype=np.float32)).shape[1]
            return np.array([f"feature {j}" for j in range(width)], dtype=object)
        return np.array([f"pixel {'.'.join(map(str, at))}" for at in np.ndindex(*self.shape_)], dtype=object)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the parameters and whether there is colour; a function cannot be among them."""
        if self.features is not None:
            raise InputError("features= is a function, which cannot be saved: save the rows that it gives.")
        return super().state()

    @property
    def sentence(self) -> str:
        """What was done to the pictures."""
        made = (
            "compared by their pixels"
            if self.descriptor == "pixels"
            else "by histograms of oriented gradients"
        )
        made = "described by a function" if self.features is not None else made
        colour = "in colour" if len(self.shape_) == 3 else "grey"
        return f"pictures, {colour}, were resized to {self.size} x {self.size} and {made}"


def hog(pictures: np.ndarray, cell: int = _CELL, n_orientations: int = 8) -> np.ndarray:
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


def _pieces(X: Any) -> Iterator[list[np.ndarray]]:
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


def _grey(pictures: np.ndarray) -> np.ndarray:
    return sum(weight * pictures[..., c] for c, weight in enumerate(_GREY))


def _in_colour(picture: np.ndarray) -> bool:
    return picture.shape[2] == 3 and bool((np.ptp(picture, axis=2) > _LEAST).any())


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
