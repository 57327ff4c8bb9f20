"""The formulas of PC-X against naive loops and closed forms (properties of spec pcx, section 4)."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from coterie.methods.pcx import objective
from coterie.ops.cluster_statistics import count_and_sum
from coterie.ops.memberships import calibrated_tau, entropy, log_memberships


def codes_and_centroids(seed: int, b: int = 12, d: int = 3, k: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(b, d, generator=generator, dtype=torch.float64),
        torch.randn(k, d, generator=generator, dtype=torch.float64),
    )


def naive_distances(z: Tensor, mu: Tensor) -> Tensor:
    return torch.tensor(
        [
            [sum((float(a) - float(c)) ** 2 for a, c in zip(row, center, strict=True)) for center in mu]
            for row in z
        ],
        dtype=torch.float64,
    )


seeds = st.integers(0, 10_000)


def test_reconstruction_is_the_mean_over_rows_and_features():
    x, decoded = codes_and_centroids(0, 4, 3, 4)
    naive = sum((float(x[i, j]) - float(decoded[i, j])) ** 2 for i in range(4) for j in range(3)) / 12
    assert objective.reconstruction(x, decoded) == pytest.approx(naive)


def test_bce_reconstruction_takes_logits():
    x = torch.tensor([[0.0, 1.0]])
    logits = torch.tensor([[0.5, -2.0]])
    p = [1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(2.0))]
    naive = -(math.log(1 - p[0]) + math.log(p[1])) / 2
    assert objective.reconstruction(x, logits, "bce") == pytest.approx(naive)


@given(seeds)
def test_clustering_loss_equals_the_naive_sum(seed):
    z, mu = codes_and_centroids(seed)
    distances = naive_distances(z, mu)
    labels = distances.argmin(1)
    weights = torch.tensor([0.5, 1.0, 2.0, 4.0], dtype=torch.float64)
    plain = sum(float(distances[n, labels[n]]) for n in range(len(z))) / len(z)
    weighted = sum(float(weights[labels[n]] * distances[n, labels[n]]) for n in range(len(z))) / len(z)
    assert objective.clustering(distances, labels) == pytest.approx(plain)
    assert objective.clustering(distances, labels, weights) == pytest.approx(weighted)


def test_gradient_of_the_clustering_loss_is_twice_the_difference_over_batch_and_size():
    z, mu = codes_and_centroids(1)
    z.requires_grad_()
    weights = torch.tensor([0.5, 1.0, 2.0, 4.0], dtype=torch.float64)
    distances = (z[:, None] - mu).square().sum(2)
    labels = distances.argmin(1)
    objective.clustering(distances, labels, weights).backward()
    expected = 2 * (z.detach() - mu[labels]) * weights[labels][:, None] / len(z)
    torch.testing.assert_close(z.grad, expected)
    assert torch.autograd.gradcheck(
        lambda rows: objective.clustering((rows[:, None] - mu).square().sum(2), labels, weights), (z,)
    )


@given(seeds, st.floats(0.01, 50))
def test_memberships_are_a_softmax_whose_argmax_does_not_depend_on_tau(seed, tau):
    distances = naive_distances(*codes_and_centroids(seed))
    memberships = log_memberships(distances, tau).exp().double()
    naive = torch.exp(-tau * (distances - distances.min(1, keepdim=True).values))
    naive /= naive.sum(1, keepdim=True)
    torch.testing.assert_close(memberships, naive, atol=1e-5, rtol=1e-4)
    clear = distances.sort(1).values.diff(dim=1)[:, 0] * tau > 1e-4
    assert (memberships.argmax(1) == distances.argmin(1))[clear].all()


@given(seeds, st.floats(0.3, 1.0))
def test_calibration_finds_the_tau_of_a_mean_confidence_whatever_the_scale(seed, certainty):
    distances = naive_distances(*codes_and_centroids(seed, b=30))
    tau = calibrated_tau(distances, certainty)
    mean = float(log_memberships(distances, tau).exp().amax(1).mean())
    assert mean == pytest.approx(min(certainty, 31 / 32), abs=1e-3)  # thirty rows are never certain
    assert calibrated_tau(1000 * distances, certainty) == pytest.approx(tau / 1000, rel=1e-3)


def test_calibration_of_rows_that_are_equally_near_to_all_is_finite():
    assert calibrated_tau(torch.ones(3, 2), 0.9) == 1.0
    assert math.isfinite(calibrated_tau(torch.tensor([[0.0, 1.0]]), 1.0))


@given(seeds, st.floats(0.01, 10))
def test_entropy_lies_between_zero_and_log_k(seed, tau):
    value = float(entropy(log_memberships(naive_distances(*codes_and_centroids(seed)), tau)))
    assert -1e-6 <= value <= math.log(4) + 1e-6


def test_entropy_vanishes_for_sharp_memberships_and_equals_the_naive_sum():
    distances = torch.tensor([[1.0, 2.0, 4.0], [3.0, 0.5, 9.0]])
    lam = log_memberships(distances, 0.3).exp()
    naive = -sum(float(p) * math.log(float(p)) for row in lam for p in row) / 2
    assert float(entropy(lam.log())) == pytest.approx(naive, rel=1e-5)
    assert float(entropy(log_memberships(distances, 1e4))) == pytest.approx(0, abs=1e-6)


@settings(max_examples=30)
@given(seeds, st.floats(0.05, 20), st.floats(0.05, 5))
def test_centroid_step_of_eq_6_minimises_its_batch_objective(seed, rho, weight):
    z, mu = codes_and_centroids(seed)
    labels = naive_distances(z, mu).argmin(1)
    counts, sums = count_and_sum(z, labels, len(mu))
    memory = objective.centroid_memory(counts, len(z), rho=rho, weight=weight)
    moved = objective.centroid_step(mu, counts, sums, memory)

    def value(c: Tensor) -> float:
        return float(weight / len(z) * (z - c[labels]).square().sum() + rho * (c - mu).square().sum())

    closed = (rho * mu + weight / len(z) * sums) / (rho + weight / len(z) * counts)[:, None]
    torch.testing.assert_close(moved, closed, atol=1e-9, rtol=1e-9)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(20):
        other = moved + 0.1 * torch.randn(moved.shape, generator=generator, dtype=moved.dtype)
        assert value(moved) <= value(other)


def test_rho_gives_an_average_cluster_the_stated_memory():
    rho = objective.penalty_rho(0.7, 0.995, 10)
    shares = torch.tensor([0.003, 0.05, 0.1, 0.2, 0.4], dtype=torch.float64)
    kappa = objective.centroid_memory(shares, 1.0, rho=rho, weight=0.7)
    torch.testing.assert_close(
        kappa,
        torch.tensor([0.99985, 0.99749, 0.995, 0.99005, 0.9803], dtype=torch.float64),
        atol=1e-5,
        rtol=0,
    )


@pytest.mark.parametrize("memory", [0.995, "eq6"])
def test_a_centroid_without_rows_stays_to_the_bit(memory):
    z, mu = codes_and_centroids(3)
    labels = torch.zeros(len(z), dtype=torch.long)
    counts, sums = count_and_sum(z, labels, len(mu))
    kappa = objective.centroid_memory(counts, len(z), rho=1.0, weight=1.0) if memory == "eq6" else memory
    moved = objective.centroid_step(mu, counts, sums, kappa)
    assert torch.equal(moved[1:], mu[1:])
    assert not torch.equal(moved[0], mu[0])


def test_memory_one_freezes_and_memory_zero_gives_the_batch_means():
    z, mu = codes_and_centroids(4)
    labels = torch.arange(12) % 4
    counts, sums = count_and_sum(z, labels, 4)
    assert torch.equal(objective.centroid_step(mu, counts, sums, 1.0), mu)
    means = torch.stack([z[labels == k].mean(0) for k in range(4)])
    torch.testing.assert_close(objective.centroid_step(mu, counts, sums, 0.0), means)


@given(seeds)
def test_the_order_of_rows_and_of_clusters_only_permutes_the_centroid_step(seed):
    z, mu = codes_and_centroids(seed)
    labels = naive_distances(z, mu).argmin(1)
    moved = objective.centroid_step(mu, *count_and_sum(z, labels, 4), 0.9)
    generator = torch.Generator().manual_seed(seed)
    rows, ids = torch.randperm(12, generator=generator), torch.randperm(4, generator=generator)
    shuffled = objective.centroid_step(mu, *count_and_sum(z[rows], labels[rows], 4), 0.9)
    torch.testing.assert_close(shuffled, moved)
    renamed_labels = naive_distances(z, mu[ids]).argmin(1)
    assert torch.equal(ids[renamed_labels], labels)
    renamed = objective.centroid_step(mu[ids], *count_and_sum(z, renamed_labels, 4), 0.9)
    torch.testing.assert_close(renamed, moved[ids])


@given(
    st.lists(st.floats(0, 1000), min_size=2, max_size=8).filter(lambda sizes: sum(sizes) > 1),
    st.floats(1e-5, 10),
)
def test_smoothing_keeps_the_sum_and_the_order_of_sizes(sizes, epsilon):
    sizes = torch.tensor(sizes, dtype=torch.float64)
    smooth = objective.smooth_sizes(sizes, epsilon)
    assert float(smooth.sum()) == pytest.approx(float(sizes.sum()))
    assert (smooth[sizes.argsort()].diff() >= -1e-9).all()
    omega = smooth / smooth.mean()
    assert float(omega.mean()) == pytest.approx(1)


def test_size_weights_have_the_stated_range_for_batch_counts():
    shares = torch.linspace(0.003, 0.069, 41, dtype=torch.float64)
    sizes = 256 * shares / shares.sum()
    weights = objective.size_weights(sizes, epsilon=5.0)
    assert float(weights.max() / weights.min()) == pytest.approx(
        (float(sizes.max()) + 5) / (float(sizes.min()) + 5), rel=1e-6
    )


def test_with_equal_sizes_the_weighted_loss_is_the_plain_one():
    distances = naive_distances(*codes_and_centroids(5))
    labels = distances.argmin(1)
    weights = objective.size_weights(torch.full((4,), 64.0, dtype=torch.float64), epsilon=1e-5)
    assert float(objective.clustering(distances, labels, weights)) == pytest.approx(
        float(objective.clustering(distances, labels))
    )


def test_with_exact_sizes_the_weighted_loss_is_the_mean_over_clusters_of_the_mean_within():
    z, mu = codes_and_centroids(6, b=40)
    distances = naive_distances(z, mu)
    labels = distances.argmin(1)
    sizes = torch.bincount(labels, minlength=4).double()
    weights = objective.size_weights(sizes, epsilon=0.0)
    within = [float(distances[labels == k, k].mean()) for k in range(4)]
    assert float(objective.clustering(distances, labels, weights)) == pytest.approx(sum(within) / 4)


def test_smoothed_sizes_fed_back_would_drift_to_uniform():
    sizes = 256 * torch.tensor([0.40, 0.30, 0.21, 0.09], dtype=torch.float64)
    kept = sizes
    for _ in range(200):
        sizes = objective.smooth_sizes(sizes, 5.0)
        kept = objective.size_step(kept, kept, 0.995)
    torch.testing.assert_close(sizes / 256, torch.full((4,), 0.25, dtype=torch.float64), atol=1e-3, rtol=0)
    torch.testing.assert_close(kept / 256, torch.tensor([0.40, 0.30, 0.21, 0.09], dtype=torch.float64))
