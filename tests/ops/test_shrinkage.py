"""Proximal maps (spec sscnet P1)."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.ops.shrinkage import shrink_rows, soft_threshold

seeds = st.integers(0, 10_000)


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def naive_soft(x, b):
    return torch.tensor([[max(abs(v) - b, 0.0) * (1 if v > 0 else -1) for v in row] for row in x.tolist()])


@given(seeds, st.floats(0, 2))
def test_soft_thresholding_equals_the_naive_form_and_is_odd_and_non_expansive(seed, b):
    x, other = draw(seed, 4, 3), draw(seed + 1, 4, 3)
    found = soft_threshold(x, b)
    torch.testing.assert_close(found, naive_soft(x, b).double())
    torch.testing.assert_close(soft_threshold(-x, b), -found)
    assert ((found - soft_threshold(other, b)).abs() <= (x - other).abs() + 1e-12).all()


@given(seeds, st.floats(0, 2))
def test_nothing_nearby_has_a_lower_proximal_objective(seed, b):
    x = draw(seed, 5, 3)

    def of_entries(z):
        return ((z - x).square() / 2 + b * z.abs()).sum()

    def of_rows(z):
        return (z - x).square().sum() / 2 + b * z.norm(dim=1).sum()

    for prox, objective in ((soft_threshold, of_entries), (shrink_rows, of_rows)):
        best = prox(x, b)
        for size in (1e-3, 0.1, 1.0):
            assert objective(best) <= objective(best + size * draw(seed + 7, 5, 3)) + 1e-12
            assert objective(best) <= objective(best * (1 - size)) + 1e-12


def test_thresholds_broadcast_by_column_and_by_row():
    x = draw(0, 4, 3)
    by_column, by_row = torch.tensor([0.0, 0.5, 9.0]), torch.tensor([[0.1], [0.2], [0.0], [9.0]])
    found = soft_threshold(x, by_column)
    torch.testing.assert_close(found[:, 0], x[:, 0])
    assert (found[:, 2] == 0).all()
    shrunk = shrink_rows(x, by_row)
    torch.testing.assert_close(shrunk[2], x[2])
    torch.testing.assert_close(shrunk[0], x[0] * (1 - 0.1 / x[0].norm()), rtol=1e-6, atol=1e-8)
    assert (shrunk[3] == 0).all()


def test_a_negative_threshold_does_not_stretch():
    x = torch.linspace(-1, 1, 9)
    torch.testing.assert_close(soft_threshold(x, -0.5), x)
    torch.testing.assert_close(soft_threshold(x, torch.tensor(-0.5)), x)
    torch.testing.assert_close(shrink_rows(x[None], -0.5), x[None])


@pytest.mark.parametrize("prox", [soft_threshold, shrink_rows])
def test_gradients_are_those_of_finite_differences(prox):
    threshold = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(prox, (draw(3, 4, 3).requires_grad_(), threshold))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("b", [0.0, 0.3])
def test_rows_of_zeros_have_a_finite_gradient(dtype, b):
    x = torch.zeros(2, 3, dtype=dtype, requires_grad=True)
    threshold = torch.tensor(b, dtype=dtype, requires_grad=True)
    found = shrink_rows(x, threshold)
    found.sum().backward()
    assert (found == 0).all()
    assert torch.isfinite(x.grad).all()
    assert torch.isfinite(threshold.grad).all()
