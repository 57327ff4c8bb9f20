"""The unfolded network: spec largemvc, section 4, properties 7 to 12."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.largemvc.problems import BETA, anchors_for, descend, network_for, problem

from coterie.methods.largemvc.network import AnchorModule, inverse_softplus


def naive_sweeps(rows, present, anchors, n_sweeps, alpha, beta):
    """Block descent with the noise kept as arrays, spec 2.2, in the order H, E, P; wide views only."""
    anchors = [one.clone() for one in anchors]
    noise = [torch.zeros_like(x) for x in rows]
    codes = None
    for _ in range(n_sweeps):
        codes = torch.zeros(len(present), len(anchors[0])).double()
        for i in range(len(present)):
            own = [v for v in range(len(rows)) if present[i, v]]
            codes[i] = torch.relu(
                sum((rows[v][i] - noise[v][i]) @ anchors[v].T for v in own) / len(own) - alpha
            )
        for v, x in enumerate(rows):
            residual = x - codes @ anchors[v]
            weights = (beta[v] / residual.norm(dim=1).clamp(min=1e-12)).clamp(max=1)
            cross = (codes * present[:, v : v + 1]).T @ (codes @ anchors[v] + weights[:, None] * residual)
            left, _, right = torch.linalg.svd(cross, full_matrices=False)
            anchors[v] = left @ right
            noise[v] = (1 - weights[:, None]) * (x - codes @ anchors[v])
    return codes, anchors


def test_the_untrained_network_is_block_descent():
    rows, present = problem(1, widths=(7, 5))
    anchors = anchors_for(1, widths=(7, 5))
    network = network_for(rows, anchors, 5, 0.1, BETA[:2])
    descend(network, rows, present, 0.1, BETA[:2])
    codes, last = naive_sweeps(rows, present, anchors, 5, 0.1, BETA[:2])
    torch.testing.assert_close(network(rows, present)[-1].codes, codes, atol=1e-6, rtol=0)
    for found, expected in zip(network.anchors(5), last, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 40))
def test_sums_do_not_depend_on_how_rows_are_cut_and_ordered(seed, size):
    rows, present = problem(seed)
    network = network_for(rows, anchors_for(seed), 1, 0.1, BETA)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(seed))
    whole, parts = AnchorModule(network.anchors(0)), AnchorModule(network.anchors(0))
    last = network(rows, present)[-1]
    whole.add(last.codes, rows, last.weights, present)
    for chosen in order.split(size):
        some = network([x[chosen] for x in rows], present[chosen])[-1]
        parts.add(some.codes, [x[chosen] for x in rows], some.weights, present[chosen])
    for one, other in zip(whole.sums, parts.sums, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(whole.step(), parts.step(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=0)


def test_views_in_another_order_give_the_same_codes():
    rows, present = problem(2)
    anchors, turn = anchors_for(2), [2, 0, 1]
    straight = network_for(rows, anchors, 4, 0.1, BETA)
    turned = network_for([rows[v] for v in turn], [anchors[v] for v in turn], 4, 0.1, BETA[turn])
    descend(straight, rows, present, 0.1, BETA)
    descend(turned, [rows[v] for v in turn], present[:, turn], 0.1, BETA[turn])
    torch.testing.assert_close(
        straight(rows, present)[-1].codes, turned([rows[v] for v in turn], present[:, turn])[-1].codes
    )


def test_turning_a_view_turns_its_anchors_and_leaves_the_codes():
    rows, present = problem(4)
    anchors = anchors_for(4)
    turn = torch.linalg.qr(torch.randn(7, 7, generator=torch.Generator().manual_seed(0)).double())[0]
    plain = network_for(rows, anchors, 4, 0.1, BETA)
    turned = network_for(rows, [anchors[0] @ turn, *anchors[1:]], 4, 0.1, BETA)
    descend(plain, rows, present, 0.1, BETA)
    descend(turned, [rows[0] @ turn, *rows[1:]], present, 0.1, BETA)
    torch.testing.assert_close(
        plain(rows, present)[-1].codes, turned([rows[0] @ turn, *rows[1:]], present)[-1].codes
    )
    torch.testing.assert_close(plain.anchors(4)[0] @ turn, turned.anchors(4)[0])


def test_a_mask_of_ones_is_no_mask_and_a_missing_view_says_nothing():
    rows, present = problem(5, missing=False)
    network = network_for(rows, anchors_for(5), 3, 0.1, BETA)
    alone = network_for(rows[:2], anchors_for(5)[:2], 3, 0.1, BETA[:2])
    without = present.clone()
    without[:, 2] = 0
    torch.testing.assert_close(network(rows, without)[-1].codes, alone(rows[:2], present[:, :2])[-1].codes)
    assert not torch.allclose(network(rows, present)[-1].codes, network(rows, without)[-1].codes)


def test_anchors_in_another_order_give_codes_in_that_order():
    rows, present = problem(6)
    anchors, turn = anchors_for(6), [3, 1, 0, 2]
    plain = network_for(rows, anchors, 3, 0.1, BETA)
    turned = network_for(rows, [one[turn] for one in anchors], 3, 0.1, BETA)
    for network in (plain, turned):
        descend(network, rows, present, 0.1, BETA)
    torch.testing.assert_close(plain(rows, present)[-1].codes[:, turn], turned(rows, present)[-1].codes)


def test_gradients_are_finite_with_repeated_rows():
    rows, present = problem(7)
    rows = [x[:1].expand(40, -1).clone() for x in rows]
    present = torch.ones_like(present)
    network = network_for(rows, anchors_for(7), 3, 0.05, BETA)
    last = network(rows, present)[-1]
    network.residuals(rows, last.codes, 3).square().sum().backward()
    for parameter in network.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


@pytest.mark.parametrize("value", [1e-9, 0.3, 40.0])
def test_inverse_softplus_is_undone(value):
    raw = inverse_softplus(torch.tensor([value], dtype=torch.float64))
    assert float(torch.nn.functional.softplus(raw)) == pytest.approx(value)


def test_naive_reference_lowers_the_objective():
    rows, present = problem(8, widths=(7, 5))
    few = naive_sweeps(rows, present, anchors_for(8, widths=(7, 5)), 1, 0.1, BETA[:2])
    many = naive_sweeps(rows, present, anchors_for(8, widths=(7, 5)), 8, 0.1, BETA[:2])

    def value(codes, anchors):
        lengths = [(x - codes @ p).norm(dim=1) for x, p in zip(rows, anchors, strict=True)]
        huber = [torch.where(r <= b, r**2 / 2, b * r - b**2 / 2) for r, b in zip(lengths, BETA, strict=False)]
        fit = sum(float((present[:, v] * one).sum()) for v, one in enumerate(huber))
        return fit + 0.1 * float((present.sum(1) * codes.sum(1)).sum())

    assert value(*many) < value(*few)
    assert np.isfinite(value(*many))
