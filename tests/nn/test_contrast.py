"""The neighbour contrast against a naive double loop."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.together import in_threads

from coterie.nn import contrast
from coterie.nn.contrast import neighbour_contrast


def codes_of(n, seed=0, **kind):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(seed), **kind)


@given(st.integers(0, 2**16))
def test_neighbour_contrast_equals_the_naive_double_loop(seed):
    both = codes_of(10, seed, dtype=torch.float64)
    z, partners = both.chunk(2)
    total = 0.0
    for i in range(10):
        q = [1 / (1 + float((both[i] - both[j]).square().sum())) for j in range(10)]
        push = math.log(sum(q[j] for j in range(10) if j != i))
        total += push - math.log(q[(i + 5) % 10])
    assert float(neighbour_contrast(z, partners)) == pytest.approx(total / 10, rel=1e-9)


def test_neighbour_contrast_has_finite_gradients_where_codes_coincide():
    z = torch.zeros(4, 2, requires_grad=True)
    neighbour_contrast(z, z.detach().clone()).backward()
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("rows", [3, 512])
def test_the_gradient_of_the_contrast_is_that_of_its_value(rows, monkeypatch):
    monkeypatch.setattr(contrast, "_BLOCK_ROWS", rows)
    z, partners = codes_of(10, dtype=torch.float64).requires_grad_().chunk(2)
    assert torch.autograd.gradcheck(lambda *both: 3 * neighbour_contrast(*both), (z, partners))


def test_the_parts_of_processes_that_share_the_lines_add_up_to_the_contrast_of_one():
    def work(*collectives):
        both = codes_of(14).requires_grad_()
        loss = neighbour_contrast(*both.chunk(2), *collectives)
        loss.backward()
        return loss.detach(), both.grad

    parts = in_threads(3, work)
    torch.testing.assert_close(tuple(sum(part) for part in zip(*parts, strict=True)), work())
