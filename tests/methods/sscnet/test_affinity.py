"""The differentiable graph of neighbours (spec sscnet P7, P8, E10, E16)."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import InputError
from coterie.methods.sscnet.affinity import Affinity, knn_affinity

seeds = st.integers(0, 10_000)


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense(graph):
    n = len(graph.table)
    return graph.product(torch.eye(n, dtype=graph.weights.dtype))


def naive(codes, N):
    z = codes.numpy() / np.linalg.norm(codes.numpy(), axis=1, keepdims=True)
    n = len(z)
    W = np.zeros((n, n))
    for i in range(n):
        squares = ((z - z[i]) ** 2).sum(1)
        near = [j for j in np.argsort(squares) if j != i][:N]
        for j in near:
            W[i, j] = np.exp(-squares[j] / np.median(squares[near]))
    return (W + W.T) / 2


@pytest.mark.parametrize("N", [1, 2, 3, 4])
def test_the_graph_equals_the_naive_one(N):
    codes = draw(0, 12, 5)
    np.testing.assert_allclose(dense(knn_affinity(codes, N)).numpy(), naive(codes, N), atol=1e-12)


@given(seeds, st.integers(1, 5))
def test_it_is_symmetric_non_negative_without_loops_and_every_row_keeps_its_neighbours(seed, N):
    W = dense(knn_affinity(draw(seed, 14, 4), N))
    assert torch.equal(W, W.T)
    assert (W >= 0).all()
    assert (W.diagonal() == 0).all()
    assert ((W > 0).sum(1) >= N).all()


@given(seeds, st.floats(1e-3, 1e3))
def test_stretching_the_codes_changes_nothing(seed, factor):
    codes = draw(seed, 10, 4)
    torch.testing.assert_close(knn_affinity(codes * factor, 3).weights, knn_affinity(codes, 3).weights)


def test_so_a_loss_on_the_graph_has_no_gradient_along_the_codes_of_a_row():
    codes = draw(1, 10, 4).requires_grad_()
    Y = torch.linalg.qr(draw(2, 10, 3))[0]
    (Y * knn_affinity(codes, 3).laplacian(Y)).sum().backward()
    assert codes.grad.norm() > 1e-3
    torch.testing.assert_close((codes.grad * codes).sum(1), torch.zeros(10, dtype=torch.float64))


@given(seeds)
def test_products_degrees_and_both_laplacians_equal_the_dense_ones(seed):
    graph, Y = knn_affinity(draw(seed, 13, 4), 3), draw(seed + 1, 13, 2)
    W = dense(graph)
    D = torch.diag(W.sum(1))
    half = torch.diag(W.sum(1).rsqrt())
    torch.testing.assert_close(graph.degrees, W.sum(1))
    torch.testing.assert_close(graph.product(Y), W @ Y)
    torch.testing.assert_close(graph.laplacian(Y, normalised=False), (D - W) @ Y)
    torch.testing.assert_close(graph.laplacian(Y), Y - half @ W @ half @ Y)


@given(seeds)
def test_the_trace_is_half_the_sum_of_weighted_squared_distances(seed):
    graph, Y = knn_affinity(draw(seed, 9, 4), 2), draw(seed + 1, 9, 3)
    W = dense(graph)
    total = sum(float(W[i, j] * (Y[i] - Y[j]).square().sum()) for i in range(9) for j in range(9))
    assert total == pytest.approx(2 * float((Y * graph.laplacian(Y, normalised=False)).sum()))


@pytest.mark.parametrize("normalised", [True, False])
def test_gradients_are_those_of_finite_differences(normalised):
    table = knn_affinity(draw(0, 8, 4), 3).table
    weights, Y = draw(1, 8, 3).exp().requires_grad_(), draw(2, 8, 2).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda weights, Y: Affinity(table, weights).laplacian(Y, normalised), (weights, Y)
    )


@pytest.mark.parametrize("N", [3, 4])
def test_gradients_reach_the_codes_through_distances_and_widths(N):
    Y = draw(1, 9, 2)
    assert torch.autograd.gradcheck(
        lambda codes: knn_affinity(codes, N).laplacian(Y), (draw(0, 9, 4).requires_grad_(),)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_duplicates_and_rows_of_zeros_have_weight_one_and_finite_gradients(dtype):
    codes = torch.cat([draw(0, 1, 4).repeat(5, 1), torch.zeros(5, 4, dtype=torch.float64), draw(1, 4, 4)])
    codes = codes.to(dtype).requires_grad_()
    graph = knn_affinity(codes, 3)
    assert (graph.weights[:10] == 1).all()
    assert (graph.degrees > 0.5).all()
    Y = draw(2, 14, 3).to(dtype)
    (Y * graph.laplacian(Y)).sum().backward()
    assert torch.isfinite(codes.grad).all()
    assert codes.grad.abs().max() < 1e3


def test_islands_are_counted_and_a_tie_of_weight_zero_is_none():
    table = torch.tensor([[1], [0], [3], [2], [0]])
    assert Affinity(table, torch.tensor([[1.0], [1.0], [1.0], [1.0], [0.5]])).components() == 2
    assert Affinity(table, torch.tensor([[1.0], [1.0], [1.0], [1.0], [0.0]])).components() == 3


def test_a_first_look_without_gradients_does_not_cost_the_next_one_its_gradient():
    graph = Affinity(torch.tensor([[1], [0]]), torch.ones(2, 1, requires_grad=True))
    with torch.no_grad():
        graph.laplacian(torch.eye(2))
    assert graph.degrees.requires_grad


def test_too_many_neighbours_is_an_error():
    with pytest.raises(InputError, match="n_neighbors=3 needs more than the 3 rows"):
        knn_affinity(torch.eye(3), 3)
