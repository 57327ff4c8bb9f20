"""Rows that are images: from numbers to small PNG files, without an imaging library."""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.explore.rows import Table

# A thumbnail is drawn at 64 pixels; more than this only makes the page heavier.
_LONGEST_SIDE = 48
# A few corrupt rows must not make all the others grey.
_EDGES = (1, 99)


@dataclass(frozen=True)
class ImageLayout:
    """How the values of a row make an image: grey or RGB, channels last or, as torch has them, first."""

    height: int
    width: int
    channels: int = 1
    channels_first: bool = False

    @classmethod
    def from_shape(cls, shape: tuple[int, ...]) -> "ImageLayout":
        """Read (height, width), (height, width, channels) or (channels, height, width).

        Examples
        --------
        >>> ImageLayout.from_shape((3, 32, 32))
        ImageLayout(height=32, width=32, channels=3, channels_first=True)
        """
        if len(shape) == 2 and min(shape) > 0:
            return cls(*shape)
        if len(shape) == 3 and min(shape) > 0:
            if shape[2] in (1, 3):
                return cls(*shape)
            if shape[0] in (1, 3):
                return cls(shape[1], shape[2], shape[0], channels_first=True)
        raise InputError(
            "image_shape must be (height, width), (height, width, 1 or 3) or (1 or 3, height, width), "
            f"not {shape}."
        )

    @property
    def size(self) -> int:
        """Values in one row."""
        return self.height * self.width * self.channels


def to_pixels(row: NDArray[np.floating], layout: ImageLayout, low: float, high: float) -> NDArray[np.uint8]:
    """Turn a row into a small image (height, width) or (height, width, 3), with `low` black and `high` white.

    NaN is drawn as `low`; an image larger than a thumbnail is reduced by averaging blocks of pixels.

    Examples
    --------
    >>> to_pixels(np.array([0.0, 1.0, 2.0, 4.0]), ImageLayout(2, 2), low=0, high=4)
    array([[  0,  64],
           [128, 255]], dtype=uint8)
    """
    h, w, c = layout.height, layout.width, layout.channels
    values = np.asarray(row, dtype=np.float64)
    image = values.reshape(c, h, w).transpose(1, 2, 0) if layout.channels_first else values.reshape(h, w, c)
    unit = np.clip((np.nan_to_num(image, nan=low) - low) / max(high - low, 1e-12), 0, 1)
    pixels = np.rint(255 * _shrink(unit)).astype(np.uint8)
    return pixels[..., 0] if c == 1 else pixels


def _shrink(image: NDArray[np.float64]) -> NDArray[np.float64]:
    h, w, c = image.shape
    step = -(-max(h, w) // _LONGEST_SIDE)
    if step == 1:
        return image
    # Repeat the last row and column so that blocks divide the image evenly.
    even = np.pad(image, ((0, -h % step), (0, -w % step), (0, 0)), mode="edge")
    return even.reshape(even.shape[0] // step, step, even.shape[1] // step, step, c).mean(axis=(1, 3))


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Write an 8-bit grey or RGB image as a PNG file.

    Examples
    --------
    >>> encode_png(np.zeros((2, 2), dtype=np.uint8))[1:4]
    b'PNG'
    """
    height, width = pixels.shape[:2]
    colour_type = 0 if pixels.ndim == 2 else 2
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    lines = pixels.reshape(height, -1)
    unfiltered = np.insert(lines, 0, 0, axis=1).tobytes()
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(unfiltered, 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Return an image as a `data:` address that a page can hold."""
    return "data:image/png;base64," + base64.b64encode(encode_png(pixels)).decode("ascii")


@dataclass(frozen=True)
class Thumbnails:
    """Images of rows, by row number, and of the exemplars that the model decoded, by cluster."""

    rows: dict[int, NDArray[np.uint8]]
    decoded: dict[int, NDArray[np.uint8]]


def read_thumbnails(
    model: Any, table: Table, view: int, layout: ImageLayout, rows: Sequence[int]
) -> Thumbnails:
    """Draw those rows that have a view, and the model's decoded exemplars, with one scale of brightness for all."""
    chunks = [table.read_view(view, chunk) for chunk in table.chunks(np.asarray(rows, dtype=np.int64))]
    values = {int(row): value for chunk in chunks for row, value in zip(*chunk, strict=True)}
    low, high = brightness(list(values.values()))
    decoded = enumerate(decoded_exemplars(model, table, view))
    return Thumbnails(
        {row: to_pixels(value, layout, low, high) for row, value in values.items()},
        {c: to_pixels(value, layout, low, high) for c, value in decoded},
    )


def brightness(images: Sequence[NDArray[np.floating]]) -> tuple[float, float]:
    """Return the values to draw as black and as white: the 1st and the 99th percentile."""
    if not len(images):
        return 0.0, 1.0
    low, high = np.percentile(np.stack(images), _EDGES)
    return float(low), float(high)


def decoded_exemplars(model: Any, table: Table, view: int) -> list[NDArray[np.float32]]:
    """Return the exemplars that the model decoded, by cluster, in one view; none from a model that decodes none."""
    exemplars = getattr(model, "exemplars_", None)
    return [] if exemplars is None else list(table.split(exemplars)[view])
