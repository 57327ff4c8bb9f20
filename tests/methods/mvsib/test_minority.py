"""Small clusters and their pseudo-rows: spec mvsib, P8 to P10, with the counter-examples of M6, M7, M9 and M10."""

import itertools
import math
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.mvsib.problems import normal, seeds, source

from coterie.methods.mvsib.minority import (
    mean_discrepancy,
    merged_variance,
    out_of_bounds,
    pseudo_rows,
    repulsion,
    small_clusters,
)

EPSILON = 1e-6


def cloud(seed, n, d=3):
    generator = source(seed)
    return normal(generator, n, d) @ normal(generator, d, d) + normal(generator, d)


def squared(one, other):
    return sum((a - b) ** 2 for a, b in zip(one.tolist(), other.tolist(), strict=True))


def test_small_clusters_are_those_below_a_share_of_the_mean_size():
    """Section 2.3: S = {c: n_c < rho n}; a cluster without rows is in no batch."""
    assert small_clusters(torch.tensor([13, 8, 3, 0]), 0.5).tolist() == [False, False, False, False]
    assert small_clusters(torch.tensor([13, 8, 2, 1]), 0.5).tolist() == [False, False, True, True]
    assert small_clusters(torch.tensor([13, 9, 3, 3]), 0.5).tolist() == [False, False, True, True]


@pytest.mark.parametrize(("n", "spread"), [(2, 1.0), (7, 1.0), (7, 2.5)])
def test_pseudo_rows_have_the_mean_and_the_stretched_covariance_of_their_cluster(n, spread):
    rows, n_draws = cloud(n, n), 40_000
    drawn = pseudo_rows(rows, n_draws, spread, source(1))
    mean = sum(rows) / n
    covariance = sum(torch.outer(row - mean, row - mean) for row in rows) / (n - 1)
    law = spread * covariance + EPSILON * torch.eye(3)
    variances = law.diagonal()
    assert ((drawn.mean(0) - mean).abs() < 4 * (variances / n_draws).sqrt()).all()
    # the variance of an entry of a Gaussian sample covariance
    band = 4 * ((law.square() + variances[:, None] * variances) / n_draws).sqrt()
    assert ((drawn.T.cov() - law).abs() < band).all()


def test_pseudo_rows_leave_no_direction_of_the_space_flat():
    """Of two rows the covariance has rank one; the floor of Eq. 32 fills the rest."""
    rows = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]).double()
    drawn = pseudo_rows(rows, 40_000, 1.0, source(1))
    torch.testing.assert_close(drawn.var(0)[1:], torch.full((2,), EPSILON).double(), rtol=0.03, atol=0)


def test_a_single_row_is_its_own_pseudo_rows():
    row = cloud(0, 1)
    assert torch.equal(pseudo_rows(row, 4, 1.0, source(0)), row.expand(4, 3))


def test_pseudo_rows_depend_on_their_generator_only():
    rows, before = cloud(0, 5), torch.random.get_rng_state()
    one, again, other = (pseudo_rows(rows, 4, 1.0, source(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("n", "factor"), [(10, 0.5), (25, 0.2), (64, 0.08)])
def test_the_printed_spread_shrinks_the_cloud_that_it_should_amplify(n, factor):
    """M6: P / n with P = 5; only P = n keeps the covariance."""
    rows = cloud(0, n)
    drawn = pseudo_rows(rows, 20_000, 5 / n, source(1))
    assert float(drawn.var(0).sum() / rows.var(0).sum()) == pytest.approx(factor, rel=0.05)


def variance_and_band(means, n_repeats):
    """The trace of the variance of means, (repeats, d), and four standard deviations of that estimate."""
    covariance = means.T.cov()
    return float(covariance.trace()), 4 * math.sqrt(2 * float(covariance.square().sum()) / n_repeats)


@pytest.mark.parametrize(("n", "n_pseudo", "spread"), [(8, 8, 1.0), (8, 4, 0.5), (20, 5, 2.0)])
def test_given_its_rows_the_variance_of_a_merged_mean_is_the_one_reported(n, n_pseudo, spread):
    rows, n_repeats = cloud(n, n), 20_000
    drawn = pseudo_rows(rows, n_pseudo * n_repeats, spread, source(1)).reshape(n_repeats, n_pseudo, 3)
    means = (rows.sum(0) + drawn.sum(1)) / (n + n_pseudo)
    found, band = variance_and_band(means, n_repeats)
    law = spread * rows.T.cov() + EPSILON * torch.eye(3)
    claimed = float(merged_variance(rows, n_pseudo, spread))
    assert claimed == pytest.approx(n_pseudo / (n + n_pseudo) ** 2 * float(law.trace()))
    assert abs(found - claimed) < band


@pytest.mark.parametrize(("n", "n_pseudo"), [(8, 4), (8, 8), (8, 16), (20, 5)])
def test_pseudo_rows_add_variance_to_the_mean_where_theorem_b_claims_less(n, n_pseudo):
    """M7: they are drawn around the empirical mean, so they carry no information."""
    generator, n_repeats = source(n + n_pseudo), 4000
    batches = normal(generator, n_repeats, n, 3)
    means = torch.stack(
        [
            (rows.sum(0) + pseudo_rows(rows, n_pseudo, n_pseudo / n, generator).sum(0)) / (n + n_pseudo)
            for rows in batches
        ]
    )
    found, band = variance_and_band(means, n_repeats)
    corrected = 3 * (1 / n + n_pseudo**2 / (n * (n + n_pseudo) ** 2))
    printed = 3 * (n + n_pseudo**2 / n) / (n + n_pseudo) ** 2
    assert abs(found - corrected) < band
    assert found - band > printed
    difference = means - batches.mean(1)  # what the pseudo-rows add is independent of the mean without them
    added = corrected - 3 / n
    assert float(difference.var(0).sum()) == pytest.approx(added, rel=0.15)


def test_a_merged_mean_of_a_single_row_varies_by_the_floor_at_most():
    assert float(merged_variance(cloud(0, 1), 5, 1.0)) <= 3 * EPSILON


def naive_discrepancy(rows, others):
    """Eqs. 34 and 35 with the median distance of the pooled rows as the width."""
    both = [*rows, *others]
    width = statistics.median_low(squared(a, b) for a, b in itertools.permutations(both, 2))

    def kernel(a, b):
        return math.exp(-squared(a, b) / (2 * width))

    n, m = len(rows), len(others)
    own = sum(kernel(rows[i], rows[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    theirs = sum(kernel(others[i], others[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    return own + theirs - 2 * sum(kernel(a, b) for a in rows for b in others) / (n * m)


@settings(max_examples=40)
@given(seeds, st.integers(2, 6), st.integers(2, 6))
def test_the_discrepancy_is_its_double_sum(seed, n, m):
    rows, others = cloud(seed, n), cloud(seed + 1, m)
    assert float(mean_discrepancy(rows, others)) == pytest.approx(naive_discrepancy(rows, others), abs=1e-9)


@given(seeds)
def test_the_discrepancy_is_symmetric_and_blind_to_order_place_and_scale(seed):
    rows, others = cloud(seed, 6), cloud(seed + 1, 5)
    found = mean_discrepancy(rows, others)
    order = torch.randperm(6, generator=source(seed))
    torch.testing.assert_close(mean_discrepancy(others, rows), found)
    torch.testing.assert_close(mean_discrepancy(rows[order], others.flip(0)), found)
    torch.testing.assert_close(mean_discrepancy(7 * rows + 1, 7 * others + 1), found)


def test_the_discrepancy_of_one_law_is_0_on_average_and_often_negative():
    """M9: so it does not bound the distance of the empirical embeddings, as B3 claims."""
    generator, n_repeats = source(0), 2000
    found, embeddings = [], []
    for _ in range(n_repeats):
        rows, others = normal(generator, 6, 2), normal(generator, 5, 2)
        found.append(float(mean_discrepancy(rows, others)))
        k = torch.exp(-torch.cdist(torch.cat([rows, others]), torch.cat([rows, others])).square() / 2)
        embeddings.append(float(k[:6, :6].mean() + k[6:, 6:].mean() - 2 * k[:6, 6:].mean()))
    band = 4 * statistics.stdev(found) / math.sqrt(n_repeats)
    assert abs(statistics.mean(found)) < band
    assert 0.3 < sum(value < 0 for value in found) / n_repeats < 0.8
    assert statistics.mean(embeddings) > 0.15


def test_the_discrepancy_of_all_splits_of_a_sample_is_0_on_average_to_rounding():
    """With the median of the pooled rows as its width too, for all splits share that width."""
    rows = cloud(0, 8)
    found = []
    for chosen in itertools.combinations(range(8), 4):
        rest = [i for i in range(8) if i not in chosen]
        found.append(float(mean_discrepancy(rows[list(chosen)], rows[rest])))
    assert statistics.mean(found) == pytest.approx(0, abs=1e-12)
    assert statistics.stdev(found) > 0.01


def test_the_discrepancy_of_equal_rows_or_single_ones_is_finite_with_its_gradient():
    for rows, others in ((torch.zeros(3, 2), torch.zeros(2, 2)), (torch.zeros(1, 2), torch.ones(1, 2))):
        rows.requires_grad_()
        (gradient,) = torch.autograd.grad(mean_discrepancy(rows, others), rows)
        assert torch.isfinite(gradient).all()


@settings(max_examples=30)  # loops are slow
@given(seeds, st.floats(0.2, 3))
def test_repulsion_is_the_mean_over_pairs_of_different_clusters(seed, width):
    pseudo = cloud(seed, 12).reshape(3, 4, 3)
    parts = []
    for c, other in itertools.permutations(range(3), 2):
        for p, q in itertools.product(range(4), repeat=2):
            parts.append(math.exp(-squared(pseudo[c, p], pseudo[other, q]) / (2 * width**2)))
    assert float(repulsion(pseudo, width)) == pytest.approx(sum(parts) / len(parts), abs=1e-9)


def test_repulsion_does_not_grow_with_the_number_of_pseudo_rows():
    """M10: the printed sum over ordered pairs is 25 times as large with five pseudo-rows as with one."""
    one = cloud(0, 2).reshape(2, 1, 3)
    many = one.repeat(1, 5, 1)
    torch.testing.assert_close(repulsion(many, 1.0), repulsion(one, 1.0))
    assert float(repulsion(one[:1], 1.0)) == 0


def naive_out_of_bounds(pseudo, clusters, centers):
    """Eq. 37 as a mean, with M8's radii."""
    k = len(centers)
    gamma = min(math.sqrt(squared(centers[i], centers[j])) for i in range(k) for j in range(k) if i != j)
    parts = []
    for cluster, rows in zip(clusters.tolist(), pseudo, strict=True):
        for row in rows:
            distances = [math.sqrt(squared(row, center)) for center in centers]
            own = distances.pop(cluster)
            parts.append(max(own - 0.45 * gamma, 0) + max(0.55 * gamma - min(distances), 0))
    return sum(parts) / len(parts)


@given(seeds)
def test_leaving_the_bounds_costs_what_the_formula_says(seed):
    pseudo, centers = cloud(seed, 8).reshape(2, 4, 3), cloud(seed + 1, 4)
    clusters = torch.tensor([3, 1])
    expected = naive_out_of_bounds(pseudo, clusters, centers)
    assert float(out_of_bounds(pseudo, clusters, centers)) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(seeds, st.floats(0.01, 0.49))
def test_rows_within_a_radius_below_half_the_gap_of_centres_are_nearest_to_their_own(seed, share):
    generator = source(seed)
    centers = 2 * normal(generator, 5, 3)
    gamma = float(torch.pdist(centers).min())
    ways = torch.nn.functional.normalize(normal(generator, 5, 40, 3), dim=2)
    inside = torch.rand(5, 40, 1, generator=generator, dtype=torch.float64)
    pseudo = centers[:, None] + share * gamma * inside * ways
    distances = torch.cdist(pseudo.reshape(-1, 3), centers).reshape(5, 40, 5)
    clusters = torch.arange(5)
    assert torch.equal(distances.argmin(2), clusters[:, None].expand(5, 40))
    nearest = distances.topk(2, dim=2, largest=False).values
    assert (nearest[:, :, 1] - nearest[:, :, 0] >= (1 - 2 * share) * gamma - 1e-9).all()
    if share <= 0.45:
        assert float(out_of_bounds(pseudo, clusters, centers)) == pytest.approx(0, abs=1e-9)


def test_a_row_just_outside_its_radius_pays_its_way_back_and_has_a_gradient_there():
    centers = torch.tensor([[0.0, 0.0], [1.0, 0.0]]).double()
    pseudo = torch.tensor([[[0.0, 0.5]]]).double().requires_grad_()
    loss = out_of_bounds(pseudo, torch.tensor([0]), centers)
    (gradient,) = torch.autograd.grad(loss, pseudo)
    assert loss.item() == pytest.approx(0.05)
    torch.testing.assert_close(gradient, torch.tensor([[[0.0, 1.0]]]).double())


def test_one_centre_alone_bounds_nothing():
    pseudo = torch.ones(1, 2, 3, requires_grad=True)
    loss = out_of_bounds(pseudo, torch.tensor([0]), torch.zeros(1, 3))
    (gradient,) = torch.autograd.grad(loss, pseudo)
    assert loss.item() == 0
    assert (gradient == 0).all()
