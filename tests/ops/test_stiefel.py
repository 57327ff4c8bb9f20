"""Descent over orthonormal columns (spec sscnet P8 to P11, E12, E15, E20)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coterie.methods.sscnet.affinity import Affinity, knn_affinity
from coterie.ops.stiefel import (
    Curve,
    EigenLayers,
    best_time,
    bottom_space,
    nearest_orthonormal,
    orthonormalise,
    random_start,
    stiefel_step,
)

seeds = st.integers(0, 10_000)
EYE = torch.eye(3, dtype=torch.float64)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def draw(seed, *shape):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def start(seed, n=12, k=3):
    return random_start(n, k, seeded(seed), torch.float64)


def some_laplacian(seed, n=12, density=0.4):
    """A graph that may fall apart, as a dense D - W."""
    W = torch.rand(n, n, generator=seeded(seed), dtype=torch.float64)
    W = torch.triu(W * (torch.rand(n, n, generator=seeded(seed + 1)) < density), 1)
    W = W + W.T
    return torch.diag(W.sum(1)) - W


def grouped(k=3, size=20, seed=0, N=6):
    """The graph of k groups, tied to each other but loosely."""
    centers = torch.linalg.qr(draw(seed, 8, k))[0].T.repeat_interleave(size, 0)
    return knn_affinity(centers + 0.3 * draw(seed + 1, k * size, 8), N)


def trace(L, Y):
    return float((Y * (L @ Y)).sum())


def direction(L, Y, skew=None):
    return Curve.along(Y, 2 * L @ Y if skew is None else 2 * L @ Y + Y @ skew / 2)


def dense_turn(L, Y, skew):
    return 2 * (L @ Y @ Y.T - Y @ Y.T @ L) + Y @ skew @ Y.T


def skew_of(seed, k=3):
    drawn = draw(seed, k, k)
    return drawn - drawn.T


@given(seeds)
def test_the_low_rank_form_equals_the_dense_one(seed):
    L, Y, S = some_laplacian(seed), start(seed), skew_of(seed)
    P, curve = dense_turn(L, Y, S), direction(L, Y, S)
    torch.testing.assert_close(curve.first, P @ Y)
    torch.testing.assert_close(curve.second, P @ P @ Y)


@given(seeds)
def test_the_curve_leaves_the_manifold_with_the_fourth_power_of_time(seed):
    L, Y, S = some_laplacian(seed), start(seed), skew_of(seed)
    curve = direction(L, Y, S)
    times = np.array([0.4, 0.2, 0.1]) / float(torch.linalg.matrix_norm(dense_turn(L, Y, S), 2))
    errors = [float((curve.at(t).T @ curve.at(t) - EYE).norm()) for t in times]
    slopes = np.diff(np.log(errors)) / np.diff(np.log(times))
    np.testing.assert_allclose(slopes, 4, atol=0.1)
    expected = [t**4 / 4 * float((curve.second.T @ curve.second).norm()) for t in times]
    np.testing.assert_allclose(errors, expected, rtol=1e-6)


def test_the_curve_starts_downhill_where_the_printed_cayley_form_starts_uphill():
    L, Y = some_laplacian(0), start(0)
    P, eye, h = dense_turn(L, Y, torch.zeros(3, 3).double()), torch.eye(12, dtype=torch.float64), 1e-6

    def slope(move):
        return (trace(L, move(h)) - trace(L, move(-h))) / (2 * h)

    ours = slope(direction(L, Y).at)
    assert ours == pytest.approx(-float((P @ Y).square().sum()), rel=1e-5)
    right = slope(lambda t: torch.linalg.solve(eye + t / 2 * P, (eye - t / 2 * P) @ Y))
    assert right == pytest.approx(ours, rel=1e-5)
    printed = slope(lambda t: torch.linalg.solve(eye - t / 2 * P, (eye + t / 2 * P) @ Y))
    assert printed == pytest.approx(-ours, rel=1e-5)


def test_a_direction_that_is_not_skew_shrinks_the_columns_instead_of_turning_them():
    L, Y = some_laplacian(0), start(0)
    P = dense_turn(L, Y, torch.zeros(3, 3).double()) + 20 * Y @ Y.T  # W2 = 20 I, not skew
    t = 0.04
    moved = Y - t * P @ Y + t * t / 2 * P @ P @ Y
    assert trace(L, moved) < 0.8 * trace(L, direction(L, Y).at(t))
    assert torch.linalg.svdvals(moved).max() < 0.9
    layers = EigenLayers(1, 3).double()
    layers.directions.data[0] = 20 * EYE
    torch.testing.assert_close(layers(lambda M: L @ M, Y), stiefel_step(lambda M: L @ M, Y).columns)


def test_the_printed_additional_factor_leaves_the_manifold_far_more():
    L, Y = some_laplacian(0), start(0)
    curve, P = direction(L, Y), dense_turn(L, Y, torch.zeros(3, 3).double())
    t = 0.3 / float(torch.linalg.matrix_norm(P, 2))
    ours = curve.at(t)
    printed = Y - t * P @ Y + t * t / 2 * P @ P @ P @ Y
    error, off = ((M.T @ M - EYE).norm() for M in (ours, printed))
    assert error < 0.01
    assert off > 20 * error


@given(seeds)
def test_the_quartic_is_the_trace_along_the_curve(seed):
    L, Y = some_laplacian(seed), start(seed)
    curve = direction(L, Y, skew_of(seed))
    c = curve.quartic(L @ Y, lambda M: L @ M)
    for t in np.linspace(0, 0.8, 7) / float(curve.first.norm()):
        assert np.polyval(c[::-1], t) == pytest.approx(trace(L, curve.at(t)), rel=1e-10, abs=1e-10)


@given(st.lists(st.floats(-5, 5), min_size=5, max_size=5), st.floats(1e-3, 10))
@example([0.0, -1.0, 0.0, 1.0, 1e-171], 1.0)
@example([0.0, -1.0, 0.0, 1.0, 1e-12], 1.0)
def test_the_best_time_is_as_low_as_any_on_a_fine_grid(coefficients, most):
    c = np.array(coefficients)
    t = best_time(c, most)
    assert 0 <= t <= most
    heights = np.polyval(c[::-1], np.linspace(0, most, 400))
    assert np.polyval(c[::-1], t) <= heights.min() + 1e-9 * max(1, np.abs(heights).max())


def test_a_quartic_that_is_not_finite_means_no_step():
    assert best_time(np.array([0.0, -1.0, np.nan, 0.0, 0.0]), 1.0) == 0


def naive_step(L, Y, P):
    """The layer with a dense P and a line search by trial."""
    most = 0.8 / float((P @ Y).norm())
    times = np.linspace(0, most, 20_001)
    curve = [Y, -P @ Y, P @ P @ Y / 2]
    moments = [[float((a * (L @ b)).sum()) for a in curve] for b in curve]
    heights = sum(moments[i][j] * times ** (i + j) for i in range(3) for j in range(3))
    t = times[heights.argmin()]
    Q, R = torch.linalg.qr(sum(t**i * part for i, part in enumerate(curve)))
    return Q * R.diagonal().sign()


@given(seeds)
@settings(max_examples=20)
def test_a_layer_equals_the_naive_one_and_the_next_is_conjugate_to_it(seed):
    L, Y, S = some_laplacian(seed), start(seed), skew_of(seed)
    first = stiefel_step(lambda M: L @ M, Y, S)
    torch.testing.assert_close(first.columns, naive_step(L, Y, dense_turn(L, Y, S)), atol=1e-4, rtol=0)
    Y2 = first.columns
    outside, outside2 = (torch.eye(12, dtype=torch.float64) - M @ M.T for M in (Y, Y2))
    old, new = outside @ (2 * L @ Y), outside2 @ (2 * L @ Y2)
    share = max(0.0, float((new * (new - outside2 @ old)).sum() / old.square().sum()))
    D = share * outside2 @ old  # the part of S lies in the span and is not carried on
    if float((new * (new + D)).sum()) > 0:
        P = dense_turn(L, Y2, S) + D @ Y2.T - Y2 @ D.T
        second = stiefel_step(lambda M: L @ M, Y2, S, last=first)
        torch.testing.assert_close(second.columns, naive_step(L, Y2, P), atol=1e-4, rtol=0)


def test_a_last_layer_that_points_uphill_or_overshot_is_forgotten():
    L, Y = some_laplacian(0), start(0)
    plain = stiefel_step(lambda M: L @ M, Y)
    uphill = replace(plain, tangent=-1e3 * plain.gradient, gradient=-plain.gradient)
    overshot = replace(plain, gradient=2 * plain.gradient)
    nothing = replace(plain, gradient=0 * plain.gradient)
    for last in (uphill, overshot, nothing):
        torch.testing.assert_close(stiefel_step(lambda M: L @ M, Y, last=last).columns, plain.columns)


@given(seeds, st.floats(0.05, 1))
@settings(max_examples=30)
def test_the_trace_never_rises_and_columns_stay_orthonormal_on_any_graph(seed, density):
    L, Y, last = some_laplacian(seed, density=density), start(seed), None
    for _ in range(12):
        last = stiefel_step(lambda M: L @ M, Y, last=last)
        assert trace(L, last.columns) <= trace(L, Y) + 1e-8
        assert last.trace == pytest.approx(trace(L, Y), abs=1e-10)
        Y = last.columns
        torch.testing.assert_close(Y.T @ Y, EYE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("normalised", [True, False])
def test_many_layers_reach_the_sum_of_the_smallest_eigenvalues(dtype, normalised):
    graph = grouped()
    L = graph.laplacian(torch.eye(60, dtype=torch.float64), normalised)
    values = np.linalg.eigvalsh(L.numpy())
    assert values[3] > 3 * values[2]
    found = bottom_space(
        lambda M: L.to(dtype) @ M, random_start(60, 3, seeded(0), dtype), n_layers=60, tol=1e-6
    )
    assert found.dtype == dtype
    assert trace(L, found.double()) == pytest.approx(values[:3].sum(), rel=0.01)


def test_conjugate_layers_get_there_in_far_fewer_steps_than_steepest_descent():
    L = some_laplacian(5, n=60, density=0.08) + 0.01 * torch.eye(60, dtype=torch.float64)
    lowest = np.linalg.eigvalsh(L.numpy())[:3].sum()
    Y = steep = start(0, 60)
    for _ in range(30):
        steep = stiefel_step(lambda M: L @ M, steep).columns
    found = bottom_space(lambda M: L @ M, Y, n_layers=30)
    assert trace(L, found) - lowest < 0.1 * (trace(L, steep) - lowest)


def test_a_permutation_of_the_rows_permutes_the_result():
    L, Y, order = some_laplacian(3), start(3), torch.randperm(12, generator=seeded(1))
    plain = bottom_space(lambda M: L @ M, Y, n_layers=20)
    turned = bottom_space(lambda M: L[order][:, order] @ M, Y[order], n_layers=20)
    torch.testing.assert_close(turned, plain[order], rtol=1e-6, atol=1e-8)


def test_an_eigenspace_is_left_as_it_is_and_its_gradient_is_finite():
    L = torch.diag(torch.arange(6, dtype=torch.float64))
    Y = torch.eye(6, 2, dtype=torch.float64, requires_grad=True)
    step = stiefel_step(lambda M: L @ M, Y)
    assert step.columns is Y
    assert step.fall == 0
    nothing = bottom_space(lambda M: M * 0.0, Y, n_layers=3)
    assert torch.equal(nothing, Y)


def test_a_loose_tolerance_stops_early():
    L, Y, calls = some_laplacian(4, n=40), start(4, 40), []

    def product(M):
        calls.append(1)
        return L @ M

    bottom_space(product, Y, n_layers=50, tol=0.05)
    few = len(calls)
    bottom_space(product, Y, n_layers=50)
    assert few < 40 < len(calls) - few


def test_a_start_is_the_q_with_positive_r_of_a_gaussian_draw():
    one = random_start(9, 4, seeded(0))
    assert one.dtype == torch.float32
    torch.testing.assert_close(one.T @ one, torch.eye(4))
    upper = one.T @ torch.randn(9, 4, generator=seeded(0))
    torch.testing.assert_close(upper.tril(-1), torch.zeros(4, 4), atol=1e-5, rtol=0)
    assert (upper.diagonal() > 0).all()


def test_orthonormalising_equals_a_qr_with_positive_diagonal():
    drawn = draw(0, 9, 3)
    Q, R = torch.linalg.qr(drawn)
    torch.testing.assert_close(orthonormalise(drawn), Q * R.diagonal().sign())


def test_one_layer_with_its_time_held_has_the_gradient_of_finite_differences():
    table = knn_affinity(draw(0, 8, 4), 3).table

    def layer(weights, Y, W2):
        image = Affinity(table, weights).laplacian(Y)
        return orthonormalise(Curve.along(Y, 2 * image + Y @ (W2 - W2.T) / 2).at(0.3))

    given_to = draw(1, 8, 3).exp(), start(2, 8), draw(3, 3, 3)
    assert torch.autograd.gradcheck(layer, tuple(one.requires_grad_() for one in given_to))


@pytest.mark.parametrize("learnt", [True, False])
def test_the_gradient_of_the_final_trace_is_that_of_the_smallest_eigenvalues(learnt):
    graph = grouped(size=8, N=4)
    weights = graph.weights.detach().requires_grad_()
    product = Affinity(graph.table, weights).laplacian
    Y0 = start(0, 24)
    if learnt:
        layers = EigenLayers(80, 3).double()
        layers.directions.data = 0.1 * draw(5, 80, 3, 3)
        Y = layers(product, Y0)
    else:
        Y = bottom_space(product, Y0, n_layers=80)
    (found,) = torch.autograd.grad((Y * product(Y)).sum(), weights)

    def lowest(values):
        L = Affinity(graph.table, values).laplacian(torch.eye(24, dtype=torch.float64))
        return float(torch.linalg.eigvalsh(L)[:3].sum())

    h = 1e-5
    for row, column in [(0, 0), (3, 2), (11, 1), (20, 3)]:
        up, down = graph.weights.detach().clone(), graph.weights.detach().clone()
        up[row, column] += h
        down[row, column] -= h
        assert float(found[row, column]) == pytest.approx((lowest(up) - lowest(down)) / (2 * h), abs=1e-6)


def test_learnt_directions_turn_the_columns_and_get_a_gradient():
    L, Y = some_laplacian(1), start(1)
    layers = EigenLayers(3, 3).double()
    plain = layers(lambda M: L @ M, Y)
    torch.testing.assert_close(plain, bottom_space(lambda M: L @ M, Y, n_layers=3))
    layers.directions.data = draw(2, 3, 3, 3)
    turned = layers(lambda M: L @ M, Y)
    assert (turned - plain).norm() > 0.01
    (turned * draw(3, 12, 3)).sum().backward()
    assert (layers.directions.grad.flatten(1).norm(dim=1) > 1e-6).all()


def test_no_orthonormal_columns_are_nearer_than_the_nearest():
    generator = torch.Generator().manual_seed(0)
    M = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    nearest = nearest_orthonormal(M)
    torch.testing.assert_close(nearest.T @ nearest, torch.eye(3, dtype=torch.float64))
    for _ in range(50):
        other = random_start(12, 3, generator, torch.float64)
        assert (M - nearest).norm() <= (M - other).norm()
    nudged = orthonormalise(nearest + 1e-3 * torch.randn(12, 3, generator=generator, dtype=torch.float64))
    assert (M - nearest).norm() <= (M - nudged).norm()
