"""The block descent of LargeMvC-Net: spec largemvc, section 4, properties 1 to 6."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.largemvc.problems import anchors_for, descend, naive_objective, network_for, problem

from coterie.methods.largemvc import objective
from coterie.methods.largemvc.network import RepresentModule

seeds = st.integers(0, 10_000)


@settings(max_examples=25)
@given(seeds, st.floats(0.01, 0.5), st.floats(0.2, 5))
def test_the_objective_never_rises_with_masks_outliers_and_a_narrow_view(seed, alpha, beta):
    rows, present = problem(seed)
    limits = torch.full((3,), beta, dtype=torch.float64)
    network = network_for(rows, anchors_for(seed), 12, alpha, limits)
    values = descend(network, rows, present, alpha, limits)
    assert (np.diff(values) <= 1e-9 * np.abs(values[:-1])).all()
    assert values[-1] < values[0]


@given(seeds, st.floats(0.01, 1.0))
def test_the_code_step_is_the_minimiser_over_non_negative_codes(seed, alpha):
    rows, present = problem(seed, widths=(7, 5))
    anchors = anchors_for(seed, widths=(7, 5))
    mean = objective.mean_present([x @ p.T for x, p in zip(rows, anchors, strict=True)], present)
    found = objective.code_step(mean, alpha)
    codes = torch.zeros_like(found)
    for _ in range(200):  # proximal gradient on the summed objective
        gradient = sum(
            present[:, v : v + 1] * (codes @ p - x) @ p.T
            for v, (x, p) in enumerate(zip(rows, anchors, strict=True))
        )
        count = present.sum(1, keepdim=True)
        codes = torch.relu(codes - gradient / (2 * count) - alpha / 2)
    torch.testing.assert_close(found, codes, atol=1e-8, rtol=1e-8)


@given(seeds)
def test_no_random_change_of_the_codes_lowers_the_objective(seed):
    rows, present = problem(seed, widths=(7, 5), outliers=False)
    anchors = anchors_for(seed, widths=(7, 5))
    network = network_for(rows, anchors, 1, 0.2, torch.ones(2).double(), noise=False)
    infinite = torch.full((2,), torch.inf).double()
    codes = network(rows, present)[-1].codes.detach()

    def value(some):
        return float(
            objective.objective(network.residuals(rows, some, 0), some, present, alpha=0.2, beta=infinite)
        )

    generator = torch.Generator().manual_seed(seed)
    for size in (1e-3, 1e-1, 1.0):
        moved = torch.relu(codes + size * torch.randn(codes.shape, generator=generator, dtype=torch.float64))
        assert value(moved) >= value(codes) - 1e-9


def test_thresholding_each_view_before_the_average_raises_the_objective():
    """The stored counter-example of spec 3.1: J is 2 at H = 0, and the printed step takes it to 2.25."""
    rows = [torch.tensor([[2.0]]).double(), torch.tensor([[0.0]]).double()]
    present, anchors = torch.ones(1, 2).double(), [torch.ones(1, 1).double()] * 2
    infinite = torch.full((2,), torch.inf).double()
    values = {}
    for per_view in (False, True):
        network = network_for(rows, anchors, 1, 1.0, infinite, noise=False, per_view=per_view)
        with torch.no_grad():
            last = network(rows, present)[-1]
        values[per_view] = (
            float(last.codes),
            float(objective.objective(last.residuals, last.codes, present, alpha=1.0, beta=infinite)),
        )
    assert values[False] == pytest.approx((0.0, 2.0))
    assert values[True] == pytest.approx((0.5, 2.25))


def test_the_printed_two_sided_threshold_would_give_negative_codes_and_ours_none():
    """Spec 3.3: sigma(a - theta) - sigma(-a - theta) is negative for a < -theta."""
    generator = torch.Generator().manual_seed(0)
    wanted = torch.randn(100, 5, generator=generator)
    printed = torch.relu(wanted - 0.1) - torch.relu(-wanted - 0.1)
    assert (printed < 0).double().mean() > 0.3
    module = RepresentModule(5, 1)
    with torch.no_grad():
        module.residual.normal_(generator=generator)
        module.mixing.normal_(generator=generator)
        module.raw_theta.normal_(generator=generator)
    assert (module(0, wanted, [wanted], torch.ones(100, 1))[0] >= 0).all()
    assert (module.theta > 0).all()


@given(seeds, st.floats(0.05, 4))
def test_the_huber_loss_is_the_least_over_the_noise(seed, beta):
    generator = torch.Generator().manual_seed(seed)
    residual = torch.randn(20, 3, generator=generator, dtype=torch.float64) * 2
    lengths = residual.norm(dim=1)
    weights = objective.row_weights(lengths, beta)
    noise = (1 - weights[:, None]) * residual
    reached = 0.5 * (residual - noise).square().sum(1) + beta * noise.norm(dim=1)
    torch.testing.assert_close(objective.huber(lengths, beta), reached)
    shares = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None, None]
    tried = 0.5 * ((1 - shares) * residual).square().sum(2) + beta * (shares * residual).norm(dim=2)
    assert (tried.min(0).values >= reached - 1e-12).all()
    assert ((weights > 0) & (weights <= 1)).all()


@given(seeds)
def test_the_batch_objective_is_that_of_the_paper_with_its_noise(seed):
    rows, present = problem(seed, n=12)
    anchors = anchors_for(seed)
    beta = torch.tensor([0.7, 1.3, 0.4]).double()
    network = network_for(rows, anchors, 1, 0.3, beta)
    with torch.no_grad():
        last = network(rows, present)[-1]
    noise = [
        (1 - last.weights[:, v : v + 1]) * (x - last.codes @ p)
        for v, (x, p) in enumerate(zip(rows, anchors, strict=True))
    ]
    naive = naive_objective(rows, present, last.codes, anchors, noise, 0.3, beta)
    found = objective.objective(last.residuals, last.codes, present, alpha=0.3, beta=beta)
    assert float(found) == pytest.approx(naive)


@given(seeds)
def test_anchors_are_orthonormal_or_of_norm_one_where_the_view_is_narrow(seed):
    rows, present = problem(seed)
    beta = torch.ones(3).double()
    network = network_for(rows, anchors_for(seed), 3, 0.1, beta)
    descend(network, rows, present, 0.1, beta)
    for one in network.anchors(3)[:2]:
        torch.testing.assert_close(one @ one.T, torch.eye(4).double(), atol=1e-9, rtol=0)
    assert torch.linalg.matrix_norm(network.anchors(3)[2], ord=2) <= 1 + 1e-9


def test_a_dead_anchor_keeps_its_place():
    anchors = anchors_for(0)[0]
    codes = torch.rand(30, 4, generator=torch.Generator().manual_seed(0)).double()
    codes[:, 2] = 0
    rows = codes @ anchors
    ones = torch.ones(30, 1).double()
    moved = objective.anchor_step(anchors, *objective.anchor_sums(codes, rows, ones, ones))
    torch.testing.assert_close(moved @ moved.T, torch.eye(4).double(), atol=1e-9, rtol=0)
    torch.testing.assert_close(moved[2], anchors[2], atol=1e-3, rtol=0)


def test_without_noise_a_huge_threshold_gives_the_same_and_fixed_anchors_stay():
    rows, present = problem(3)
    anchors = anchors_for(3)
    huge = torch.full((3,), 1e6).double()
    with_noise = network_for(rows, anchors, 4, 0.1, huge)
    without = network_for(rows, anchors, 4, 0.1, huge, noise=False)
    for network in (with_noise, without):
        descend(network, rows, present, 0.1, huge)
    torch.testing.assert_close(with_noise(rows, present)[-1].codes, without(rows, present)[-1].codes)
