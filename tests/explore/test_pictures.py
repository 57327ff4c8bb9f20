import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.errors import InputError
from coterie.explore.pictures import ImageLayout, encode_png, to_pixels


def read_png(data):
    """Decode what the PNG standard calls filter type 0, checking every checksum on the way."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        parts[kind] = body
        at += 12 + length
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    assert b"IEND" in parts
    channels = {0: 1, 2: 3}[colour]
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:].reshape((height, width) if channels == 1 else (height, width, 3))


sizes = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)),
)


@given(sizes.flatmap(lambda shape: arrays(np.uint8, shape)))
@settings(max_examples=50, deadline=None)
def test_an_image_survives_the_png_file(pixels):
    np.testing.assert_array_equal(read_png(encode_png(pixels)), pixels)


def test_channels_first_and_channels_last_give_the_same_image():
    image = np.random.default_rng(0).random((4, 5, 3))
    last = to_pixels(image.ravel(), ImageLayout.from_shape((4, 5, 3)), 0, 1)
    first = to_pixels(image.transpose(2, 0, 1).ravel(), ImageLayout.from_shape((3, 4, 5)), 0, 1)
    np.testing.assert_array_equal(first, last)
    np.testing.assert_array_equal(last, np.rint(image * 255))


def test_values_beyond_the_scale_are_clipped_and_nan_is_black():
    row = np.array([-5.0, 1.0, 9.0, np.nan])
    assert to_pixels(row, ImageLayout(2, 2), 1, 3).tolist() == [[0, 0], [255, 0]]


def test_a_constant_image_is_drawn():
    assert to_pixels(np.ones(4), ImageLayout(2, 2), 1, 1).tolist() == [[0, 0], [0, 0]]


def test_a_large_image_shrinks_by_averaging_whole_blocks():
    image = np.zeros((96, 97))
    image[0:3, 0:3] = np.arange(9).reshape(3, 3)
    found = to_pixels(image.ravel(), ImageLayout(96, 97), 0, 8)
    assert found.shape == (32, 33)
    assert found[0, 0] == round(255 * 4 / 8)


@pytest.mark.parametrize("shape", [(4,), (4, 0), (2, 4, 4), (1, 2, 3, 4)])
def test_a_shape_that_is_no_image_is_refused(shape):
    with pytest.raises(InputError, match="image_shape must be"):
        ImageLayout.from_shape(shape)
