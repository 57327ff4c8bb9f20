"""The built-in sets and the descriptors of images, against loops over pixels."""

import math

import numpy as np
import pytest

from coterie.data import load_digits, load_multiview_digits
from coterie.data.builtin import fourier_magnitudes, gradient_histograms, profiles


def images():
    return np.random.default_rng(0).random((3, 4, 6)).round(2)


def test_digits_are_one_view_of_images_with_known_classes():
    digits = load_digits()
    assert digits.views.dims == (64,)
    assert digits.image_shape == (8, 8)
    assert sorted(set(digits.target.tolist())) == list(range(10))
    assert digits.views.read(slice(None))[0].max() == 16.0


def test_multiview_digits_are_four_finite_descriptors_of_the_same_rows():
    digits = load_multiview_digits()
    assert digits.views.names == ("pixels", "gradients", "fourier", "profiles")
    digits.views.check()
    np.testing.assert_array_equal(
        digits.views.read_view(0, slice(None)), load_digits().views.read(slice(None))[0]
    )
    np.testing.assert_array_equal(digits.target, load_digits().target)


def test_every_descriptor_tells_the_digits_apart():
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    digits = load_multiview_digits()
    for v in range(4):
        rows = digits.views.read_view(v, slice(None))
        assert cross_val_score(KNeighborsClassifier(5), rows, digits.target, cv=3).mean() > 0.75


def naive_histogram(image, cell=2, n_angles=8):
    down, right = np.gradient(image)
    cells = np.zeros((image.shape[0] // cell, image.shape[1] // cell, n_angles))
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            angle = math.atan2(down[i, j], right[i, j]) % (2 * math.pi) / (2 * math.pi) * n_angles
            low = math.floor(angle)
            strength = math.hypot(down[i, j], right[i, j])
            cells[i // cell, j // cell, low % n_angles] += strength * (1 - (angle - low))
            cells[i // cell, j // cell, (low + 1) % n_angles] += strength * (angle - low)
    return cells.ravel() / np.linalg.norm(cells)


def test_gradient_histograms_equal_a_loop_over_pixels():
    expected = [naive_histogram(image) for image in images()]
    np.testing.assert_allclose(gradient_histograms(images()), expected, atol=1e-6)


def test_a_ramp_points_in_one_direction_and_a_flat_image_in_none():
    ramp = np.tile(np.arange(8.0), (8, 1))
    cells = gradient_histograms(np.stack([ramp, np.ones((8, 8))])).reshape(2, 16, 8)
    assert (cells[0, :, 1:] == 0).all()
    np.testing.assert_allclose(cells[0, :, 0], 0.25)
    assert (cells[1] == 0).all()


def test_fourier_magnitudes_do_not_change_when_the_image_moves_round():
    moved = np.roll(images(), (1, 2), axis=(1, 2))
    np.testing.assert_allclose(fourier_magnitudes(moved), fourier_magnitudes(images()), rtol=1e-5, atol=1e-5)
    assert fourier_magnitudes(images())[0, 0] == pytest.approx(images()[0].sum())


def test_profiles_measure_ink_and_the_way_to_it_from_each_border():
    image = np.zeros((1, 2, 4))
    image[0, 0, 1] = image[0, 0, 2] = 1.0
    ink_rows, ink_columns = [2, 0], [0, 1, 1, 0]
    left, right = [1 / 4, 1], [1 / 4, 1]
    top, bottom = [1, 0, 0, 1], [1, 1 / 2, 1 / 2, 1]
    np.testing.assert_allclose(profiles(image)[0], [*ink_rows, *ink_columns, *left, *right, *top, *bottom])
