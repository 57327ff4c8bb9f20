"""How certain rows are: spec mvsib, properties P1 to P4, and the errata M4, M14, M15 and M17."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.mvsib.problems import normal, seeds, source

from coterie.methods.mvsib.certainty import doubt, gate, memberships, most_uncertain, uncertain_share

balances = st.floats(0, 1)


def some_shares(seed, n=9, k=4):
    return (2 * normal(source(seed), n, k)).softmax(1)


def stretched(values, present):
    """Eqs. 8 and 10 by a loop: the least of the present at 0, the largest at 1; all equal gives 0."""
    there = [value for value, is_there in zip(values, present, strict=True) if is_there]
    width = max(there) - min(there)
    return [(value - min(there)) / width if width > 0 else 0.0 for value in values]


def naive_doubt(shares, present, balance):
    """Eqs. 8 to 11."""
    entropies = [-sum(m * math.log(m) for m in row if m > 0) for row in shares.tolist()]
    ordered = [sorted(row, reverse=True) for row in shares.tolist()]
    gaps = [row[0] - row[1] for row in ordered]
    h, delta = stretched(entropies, present), stretched(gaps, present)
    return [
        balance * h[i] + (1 - balance) * (1 - delta[i]) if present[i] else 0.0 for i in range(len(shares))
    ]


@settings(max_examples=30)  # loops are slow
@given(seeds)
def test_memberships_are_gaussians_of_the_distance_over_their_sum(seed):
    generator = source(seed)
    squares, widths = 3 * normal(generator, 6, 4).square(), 0.5 + normal(generator, 4).abs()
    expected = torch.zeros(6, 4, dtype=torch.float64)
    for i in range(6):
        parts = [math.exp(-squares[i, c] / (2 * widths[c] ** 2)) for c in range(4)]
        for c in range(4):
            expected[i, c] = parts[c] / sum(parts)
    torch.testing.assert_close(memberships(squares, widths), expected, atol=1e-12, rtol=1e-10)


@given(seeds, st.floats(0, 1e6), st.floats(1e-3, 10))
def test_memberships_are_finite_shares_however_far_the_centres(seed, scale, width):
    generator = source(seed)
    squares = scale * torch.rand(8, 5, generator=generator)
    shares = memberships(squares, torch.full((5,), width))
    assert torch.isfinite(shares).all()
    assert (shares >= 0).all()
    assert (shares <= 1).all()
    torch.testing.assert_close(shares.sum(1), torch.ones(8), atol=1e-6, rtol=0)


@given(seeds, st.floats(-50, 50))
def test_a_constant_added_to_all_scaled_distances_changes_no_membership(seed, constant):
    generator = source(seed)
    squares, widths = 4 * normal(generator, 6, 4).square(), 0.5 + normal(generator, 4).abs()
    moved = squares + constant * 2 * widths.square()
    torch.testing.assert_close(
        memberships(moved, widths), memberships(squares, widths), atol=1e-10, rtol=1e-9
    )


@given(seeds, balances)
def test_doubt_is_what_the_equations_say_row_by_row(seed, balance):
    shares = some_shares(seed)
    present = torch.rand(len(shares), generator=source(seed)) < 0.7
    present[:2] = True
    expected = torch.tensor(naive_doubt(shares, present, balance), dtype=torch.float64)
    torch.testing.assert_close(doubt(shares, present, balance), expected, atol=1e-9, rtol=0)


@given(seeds, balances)
def test_doubt_stays_between_0_and_1_and_that_of_all_views_is_their_largest(seed, balance):
    present = torch.rand(3, 9, generator=source(seed)) < 0.7
    found = torch.stack([doubt(some_shares(seed + v), present[v], balance) for v in range(3)])
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert (found[~present] == 0).all()  # so a view that a row lacks never decides the maximum of Eq. 12
    worst = found.amax(0)
    assert (worst >= found).all()
    assert (worst <= 1).all()


@pytest.mark.parametrize("balance", [0.0, 0.2, 1.0])
def test_a_batch_of_equal_rows_has_doubt_without_nan(balance):
    present = torch.ones(4, dtype=torch.bool)
    found = doubt(torch.full((4, 5), 0.2), present, balance)
    torch.testing.assert_close(found, torch.full((4,), 1 - balance))
    certain = doubt(torch.eye(5)[[2, 2, 2, 2]], present, balance)
    torch.testing.assert_close(certain, torch.full((4,), 1 - balance))


def test_doubt_without_a_present_row_or_a_second_cluster_is_0():
    assert (doubt(some_shares(0), torch.zeros(9, dtype=torch.bool), 0.5) == 0).all()
    assert (doubt(torch.ones(3, 1), torch.ones(3, dtype=torch.bool), 0.5) == 0).all()


@given(balances)
def test_some_row_is_in_full_doubt_even_if_all_are_clear(balance):
    """M17: u compares the rows of one batch."""
    first = torch.tensor([0.99, 0.995, 0.999])
    found = doubt(torch.stack([first, 1 - first], 1), torch.ones(3, dtype=torch.bool), balance)
    torch.testing.assert_close(found[0], torch.tensor(1.0))
    torch.testing.assert_close(found[2], torch.tensor(0.0))


@pytest.mark.parametrize(("alpha", "alpha_sce", "largest"), [(1.0, 0.0, 2.0), (0.01, 0.5, 0.51)])
def test_one_balance_lets_doubt_span_0_to_1_where_two_do_not(alpha, alpha_sce, largest):
    """M15: Eq. 11 prints alpha before h and alpha_sce before the gap."""
    shares = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    printed = [alpha * h + (1 - alpha_sce) * (1 - delta) for h, delta in ((0, 1), (1, 0))]
    assert max(printed) == pytest.approx(largest)
    for balance in (alpha, alpha_sce):
        found = doubt(shares, torch.ones(2, dtype=torch.bool), balance)
        torch.testing.assert_close(found, torch.tensor([0.0, 1.0]))


@given(st.integers(2, 300), st.floats(0.01, 1))
def test_the_share_of_uncertain_rows_falls_evenly_from_the_first_to_nothing(n_epochs, first):
    found = [uncertain_share(epoch, n_epochs, first) for epoch in range(n_epochs)]
    assert found[0] == first
    assert found[-1] == pytest.approx(0, abs=1e-12)
    steps = [after - before for before, after in itertools.pairwise(found)]
    assert steps == pytest.approx([-first / (n_epochs - 1)] * (n_epochs - 1))


def test_a_single_epoch_has_the_first_share():
    assert uncertain_share(0, 1, 0.3) == 0.3


@given(seeds, st.integers(1, 300), st.floats(0, 1))
def test_the_uncertain_rows_are_the_share_of_the_batch_with_the_largest_doubt(seed, n_rows, share):
    predicted = normal(source(seed), n_rows)
    chosen = most_uncertain(predicted, share)
    assert chosen.sum() == max(1, math.floor(n_rows * share))
    if not chosen.all():
        assert predicted[chosen].min() >= predicted[~chosen].max()


def test_the_number_of_uncertain_rows_follows_the_batch_and_not_the_data():
    """M14: Eq. 14 prints N, which would choose 3000 rows of a batch of 256."""
    assert int(10_000 * 0.3) > 256
    assert most_uncertain(normal(source(0), 256), 0.3).sum() == 76


def gates(values, **options):
    return torch.stack([gate(value, 0.3, 0.7, **options) for value in values])


def test_the_gate_is_shut_then_rises_evenly_then_stays_open():
    values = torch.linspace(0, 1, 101, dtype=torch.float64)
    found = gates(values)
    assert (found[values <= 0.3] == 0).all()
    torch.testing.assert_close(found[values >= 0.7], torch.ones(31, dtype=torch.float64))
    between = (values > 0.3) & (values < 0.7)
    torch.testing.assert_close(found[between], (values[between] - 0.3) / 0.4)
    assert (found.diff() >= 0).all()


def test_the_window_shuts_the_gate_again_without_a_jump():
    """M4: shut at once at `end`, as the text says, the gate would fall by 1 between two neighbouring values."""
    values = torch.linspace(0, 1, 10_001, dtype=torch.float64)
    found, plain = gates(values, window=True), gates(values)
    torch.testing.assert_close(found[values <= 0.7], plain[values <= 0.7])
    assert (found[values >= 0.8 + 1e-9] == 0).all()
    assert found.diff().abs().max() < 2e-3
    assert found[7500] == pytest.approx(0.5)
