"""The neighbour contrast against a naive double loop."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.nn.contrast import neighbour_contrast


@given(st.integers(0, 2**16), st.sampled_from([0.0, 1.0, 3.0]))
def test_neighbour_contrast_equals_the_naive_double_loop(seed, attraction):
    both = torch.randn(10, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    z, partners = both.chunk(2)
    total = 0.0
    for i in range(10):
        q = [1 / (1 + float((both[i] - both[j]).square().sum())) for j in range(10)]
        push = math.log(sum(q[j] for j in range(10) if j != i))
        total += push - attraction * math.log(q[(i + 5) % 10])
    assert float(neighbour_contrast(z, partners, attraction)) == pytest.approx(total / 10, rel=1e-9)


def test_neighbour_contrast_has_finite_gradients_where_codes_coincide():
    z = torch.zeros(4, 2, requires_grad=True)
    neighbour_contrast(z, z.detach().clone()).backward()
    assert torch.isfinite(z.grad).all()
