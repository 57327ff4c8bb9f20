"""Which uncertain rows are false negatives: spec mvsib, P12, P14 and the errata M18 and M19."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.mvsib.problems import seeds, source

from coterie.methods.mvsib.routing import (
    FALSE_NEGATIVE,
    HARD_NEGATIVE,
    NO_ROUTE,
    Evidence,
    Router,
    consistency,
    false_negative_share,
    gather_evidence,
    hard_share,
    routes,
)


@pytest.fixture(scope="module")
def router():
    return Router(source(0))


def uniform(generator, *shape, low=0.0, high=1.0):
    return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)


def some_neighbours(seed, n=8, p=5):
    generator = source(seed)
    weights = torch.randint(0, 4, (n, p), generator=generator).double()
    weights[:, 0] = 1
    same = uniform(generator, n, p) < 0.6
    return weights, same, uniform(generator, n, p, high=2.0)


def some_evidence(seed, n=400, low=-1.0):
    """Evidence with similarities from `low` to 1."""
    generator = source(seed)
    votes, nearness = uniform(generator, 2, n, low=-1.0)
    return Evidence(votes, uniform(generator, n, low=low), nearness)


def naive_evidence(weights, same, distances):
    """Eqs. 15 and 17 for one row, a neighbour counted as often as its weight says, with M18's convention."""
    own, other = [], []
    for weight, is_same, distance in zip(weights.tolist(), same.tolist(), distances.tolist(), strict=True):
        (own if is_same else other).extend([distance] * int(weight))
    votes = (len(own) - len(other)) / (len(own) + len(other))
    if not other:
        return votes, 1.0
    if not own:
        return votes, -1.0
    near, far = sum(own) / len(own), sum(other) / len(other)
    return votes, (far - near) / (far + near)


@given(seeds)
def test_evidence_is_what_the_equations_say_neighbour_by_neighbour(seed):
    weights, same, distances = some_neighbours(seed)
    similarity = uniform(source(seed), len(weights))
    found = gather_evidence(weights, same, distances, similarity)
    expected = [naive_evidence(*row) for row in zip(weights, same, distances, strict=True)]
    votes, nearness = torch.tensor(expected, dtype=torch.float64).T
    torch.testing.assert_close(found.votes, votes, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.nearness, nearness, atol=1e-12, rtol=0)
    assert torch.equal(found.similarity, similarity)


@given(seeds)
def test_votes_and_nearness_lie_between_minus_1_and_1(seed):
    weights, same, distances = some_neighbours(seed)
    distances[:, ::2] = 0  # twins
    found = gather_evidence(weights, same, distances, torch.zeros(len(weights)))
    for values in (found.votes, found.nearness):
        assert (values.abs() <= 1).all()


@given(seeds)
def test_a_row_among_its_own_has_full_votes_and_nearness_and_one_among_others_none(seed):
    """M18: a missing mean set to 0, as printed, makes nearness -1 and sends the safest rows to be pushed."""
    weights, same, distances = some_neighbours(seed)
    ones = torch.ones(len(weights), dtype=torch.float64)
    printed = (0 - distances.mean(1)) / (0 + distances.mean(1))
    torch.testing.assert_close(printed, -ones)
    safest = gather_evidence(weights, torch.ones_like(same), distances, ones)
    assert torch.equal(safest.votes, ones)
    assert torch.equal(safest.nearness, ones)
    lost = gather_evidence(weights, torch.zeros_like(same), distances, ones)
    assert torch.equal(lost.votes, -ones)
    assert torch.equal(lost.nearness, -ones)


@given(seeds)
def test_the_share_of_false_negatives_is_the_rule_row_by_row(seed):
    evidence = some_evidence(seed, n=7)
    values = evidence.similarity.tolist()
    mean = sum(values) / 7
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 7)
    expected = []
    for votes, value, nearness in zip(
        evidence.votes.tolist(), values, evidence.nearness.tolist(), strict=True
    ):
        expected.append(1 / (1 + math.exp(-2 * (votes + (value - mean) / deviation + nearness))))
    torch.testing.assert_close(
        false_negative_share(evidence), torch.tensor(expected, dtype=torch.float64), atol=1e-10, rtol=0
    )


@given(seeds, st.sampled_from(["votes", "similarity", "nearness"]), st.integers(0, 19))
def test_the_share_rises_with_each_evidence(seed, name, row):
    evidence = some_evidence(seed, n=20)
    raised = getattr(evidence, name).clone()
    raised[row] += 0.05
    more = false_negative_share(evidence._replace(**{name: raised}))
    assert more[row] > false_negative_share(evidence)[row]


@given(st.floats(-1, 1, width=32), st.integers(1, 80))
def test_equal_similarities_say_nothing_whatever_their_rounding(value, n_rows):
    votes = torch.linspace(-1, 1, n_rows)
    evidence = Evidence(votes, torch.full((n_rows,), value), torch.zeros(n_rows))
    torch.testing.assert_close(false_negative_share(evidence), torch.sigmoid(2 * votes))


@pytest.mark.parametrize("low", [-1.0, 0.0, 0.6, 0.9])
def test_the_router_decides_as_the_rule_does_on_most_evidence(router, low):
    """M19: at random initial weights it called .85 to .94 of the rows hard, the rule .06."""
    evidence = Evidence(*(part.float() for part in some_evidence(1, n=2000, low=low)))
    by_rule, by_router = false_negative_share(evidence), router(evidence)
    assert ((by_rule > 0.5) == (by_router > 0.5)).double().mean() > 0.95
    assert (by_rule - by_router).abs().mean() < 0.05


def test_the_router_has_nothing_to_train_even_if_made_without_gradients(router):
    assert not any(parameter.requires_grad for parameter in router.parameters())
    with torch.no_grad():
        again = Router(source(0))
    for name, parameter in again.state_dict().items():
        assert torch.equal(parameter, router.state_dict()[name])


def test_the_router_depends_on_its_generator_only_and_leaves_the_global_one(router):
    before = torch.random.get_rng_state()
    other = Router(source(3)).state_dict()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(router.state_dict()["scores.0.weight"], other["scores.0.weight"])


def test_ties_are_hard_and_certain_rows_have_no_route():
    share = torch.tensor([0.51, 0.5, 0.49, 0.99])
    uncertain = torch.tensor([True, True, True, False])
    found = routes(share, uncertain, keep_all=True)
    assert found.tolist() == [FALSE_NEGATIVE, HARD_NEGATIVE, HARD_NEGATIVE, NO_ROUTE]


@given(seeds, st.integers(1, 60))
def test_the_tenth_of_the_uncertain_rows_with_the_least_confidence_stays_undecided(seed, n_rows):
    generator = source(seed)
    share, uncertain = uniform(generator, n_rows), uniform(generator, n_rows) < 0.7
    everything, some = routes(share, uncertain, keep_all=True), routes(share, uncertain, keep_all=False)
    assert torch.equal(everything != NO_ROUTE, uncertain)
    dropped = (everything != NO_ROUTE) & (some == NO_ROUTE)
    kept = some != NO_ROUTE
    assert dropped.sum() == int(uncertain.sum()) // 10
    assert torch.equal(some[kept], everything[kept])
    if dropped.any():
        confidence = torch.maximum(share, 1 - share)
        assert confidence[dropped].max() <= confidence[kept].min()


@given(seeds)
def test_consistency_is_the_share_of_rows_routed_twice_alike(seed):
    before, now = torch.randint(0, 3, (2, 12), generator=source(seed))
    twice = [
        (b, n) for b, n in zip(before.tolist(), now.tolist(), strict=True) if b != NO_ROUTE and n != NO_ROUTE
    ]
    found = consistency(before, now)
    if twice:
        assert found == pytest.approx(sum(b == n for b, n in twice) / len(twice))
        assert consistency(before, torch.where(now > 0, before, now)) == 1
    else:
        assert math.isnan(found)


def test_consistency_and_the_share_of_hard_rows_are_nan_where_none_is_routed():
    nobody = torch.zeros(4, dtype=torch.long)
    assert math.isnan(consistency(nobody, torch.ones(4, dtype=torch.long)))
    assert math.isnan(hard_share(nobody))


@given(seeds)
def test_hard_and_false_rows_are_all_the_routed_ones(seed):
    found = torch.randint(0, 3, (12,), generator=source(seed))
    found[0] = HARD_NEGATIVE
    routed = int((found != NO_ROUTE).sum())
    assert hard_share(found) == pytest.approx(found.tolist().count(HARD_NEGATIVE) / routed)
    assert hard_share(found) + found.tolist().count(FALSE_NEGATIVE) / routed == pytest.approx(1)
