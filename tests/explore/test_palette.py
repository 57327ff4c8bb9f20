import itertools

import numpy as np
import pytest

from coterie.explore.palette import colours

# How linear RGB is seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
    "all cones": np.eye(3),
}
TO_CONES = [[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]]
TO_OKLAB = [[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]]


def oklab(colour, seen):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return TO_OKLAB @ np.cbrt(TO_CONES @ np.clip(np.asarray(seen) @ linear, 0, 1))


@pytest.mark.parametrize("kind", SEEN)
def test_ten_colours_can_be_told_apart_whatever_cones_a_reader_has(kind):
    places = [oklab(colour, SEEN[kind]) for colour in colours(10)]
    nearest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2))
    assert nearest > 0.05, "a just noticeable difference is about 0.02"
