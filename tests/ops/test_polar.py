"""Polar factors and their gradient (spec largemvc 3.7, properties 4 and 10)."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.ops.polar import clip_spectrum, polar

seeds = st.integers(0, 10_000)


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(seeds)
def test_rows_are_orthonormal_and_no_other_isometry_fits_better(seed):
    matrix = draw(seed, 4, 7)
    factor = polar(matrix)
    torch.testing.assert_close(factor @ factor.T, torch.eye(4, dtype=torch.float64))
    best = float((factor * matrix).sum())
    others = torch.linalg.qr(draw(seed + 1, 200, 7, 4))[0].transpose(1, 2)
    assert best >= float((others * matrix).sum((1, 2)).max())


@pytest.mark.parametrize("shape", [(3, 5), (4, 4), (5, 3)])
def test_the_gradient_is_that_of_finite_differences(shape):
    assert torch.autograd.gradcheck(polar, (draw(0, *shape).requires_grad_(),))


def test_repeated_singular_values_have_a_gradient_where_that_of_the_svd_is_nan():
    matrix = torch.eye(3, 5, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(polar, (matrix,))
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    (plain,) = torch.autograd.grad(((left @ right) * draw(1, 3, 5)).sum(), matrix)
    assert plain.isnan().any()


@given(seeds)
def test_clipping_leaves_small_singular_values_and_cuts_large_ones(seed):
    matrix = draw(seed, 6, 3)
    before, after = torch.linalg.svdvals(matrix), torch.linalg.svdvals(clip_spectrum(matrix))
    torch.testing.assert_close(after, before.clamp(max=1))
