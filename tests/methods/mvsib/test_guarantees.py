"""Theorem A against autograd of the loss: spec mvsib, P5, P6 and the counter-examples of M5."""

# b rows of a batch; an anchor's loss has 2 b others: rows of the consensus, then rows of the view

import math
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.mvsib.problems import (
    labels_of,
    neighbours,
    normal,
    places,
    positive_of,
    row_contrast,
    seeds,
    source,
    unit_rows,
)
from torch import Tensor

from coterie.methods.mvsib.attraction import row_pairs, sides_of, spared_pairs
from coterie.methods.mvsib.guarantees import Pull, controlled_weight, measure_pull, projection, safety

N_BATCHES = 60


class Batch(NamedTuple):
    """Rows of three clusters, some of which are neighbours across clusters and routed as false negatives."""

    view: Tensor
    consensus: Tensor
    labels: Tensor
    centers: Tensor
    near: Tensor
    false: Tensor

    @property
    def spared(self):
        """FN(i), (b, b)."""
        doubtful = self.false[:, None] | self.false
        return (self.labels[:, None] != self.labels) & self.near & doubtful

    def pairs(self, weight):
        """What attracts and repels with a weight of false negatives, in float64."""
        one = torch.ones((), dtype=torch.float64)
        return row_pairs(
            self.labels, places(self.near), self.false, weight * one, "denominator", 0.1, with_labels=True
        )


def batch(seed, n=12, d=6):
    generator = source(seed)
    centers = unit_rows(generator, 3, d)
    labels = labels_of(generator, n, 3)
    labels[:3] = torch.arange(3)

    def around():
        # some rows lie near another centre: their labels are wrong, as false negatives' are
        true = torch.where(torch.rand(n, generator=generator) < 0.3, labels_of(generator, n, 3), labels)
        return F.normalize(centers[true] + 0.5 * normal(generator, n, d), dim=1)

    false = torch.rand(n, generator=generator) < 0.6
    return Batch(around(), around(), labels, centers, neighbours(generator, n, 0.4), false)


def anchor_loss(given, i, row, pairs, tau):
    """The loss of anchor i by loops (section 2.5), with the others held fixed."""
    numerator = denominator = 0.0
    positive = positive_of(pairs)
    for j in range(len(given.view)):
        with_all, with_own = (torch.exp(row @ other[j] / tau) for other in (given.consensus, given.view))
        numerator = numerator + positive[i, j] * with_all
        denominator = denominator + (positive[i, j] > 0) * with_all
        denominator = denominator + pairs.negative[i, j] * (with_all + with_own)
    return -torch.log(numerator / denominator)


def projections(given, pairs, tau):
    """<z_new - z, d> of a unit step for each anchor by autograd; d leads from the own centre (A.3)."""
    found = []
    for i, (row, label) in enumerate(zip(given.view, given.labels, strict=True)):
        free = row.clone().requires_grad_()
        loss = anchor_loss(given, i, free / free.norm(), pairs, tau)
        (gradient,) = torch.autograd.grad(loss, free)
        center = given.centers[label]
        own = row @ center
        away = -(center - own * row) / (1 - own**2).sqrt()
        found.append(-gradient @ away)
    return torch.stack(found)


def pull_of(given, tau):
    """The batch in the form of `measure_pull`, and the cosines of rows to their own centres."""
    pairs = given.pairs(1.0)
    rows = torch.cat([given.consensus, given.view])
    own_centers = given.centers[given.labels]
    own = (given.view * own_centers).sum(1)
    rest = pairs.negative * ~given.spared
    pull = measure_pull(
        given.view @ rows.T,
        torch.cat([own_centers @ rows.T, own[:, None]], 1),
        torch.cat([positive_of(pairs), torch.zeros_like(rest)], 1),
        torch.cat([given.spared, given.spared], 1).to(rest),
        torch.cat([positive_of(pairs) + rest, rest], 1),
        tau,
    )
    return pull, own


@given(seeds)
def test_the_sides_of_some_rows_are_those_of_the_whole_batch(seed):
    given = batch(seed)
    asked = torch.tensor([1, 4, 5, 11])
    spared = spared_pairs(given.labels, places(given.near), given.false)
    assert torch.equal(places(given.spared), spared[:, (spared[0] * len(given.labels) + spared[1]).argsort()])
    pairs = given.pairs(1.0)
    rest = pairs.negative * ~given.spared
    expected = (
        torch.cat([positive_of(pairs), torch.zeros_like(rest)], 1),
        torch.cat([given.spared, given.spared], 1),
        torch.cat([positive_of(pairs) + rest, rest], 1),
    )
    for one, other in zip(sides_of(asked, given.labels, places(given.near), spared), expected, strict=True):
        assert torch.equal(one.double(), other[asked].double())


@pytest.fixture(scope="module")
def many():
    """Anchors of many batches at many weights and temperatures: their pulls, safety and true projections."""
    found = []
    generator = source(0)
    for seed in range(N_BATCHES):
        weight, drawn = torch.rand(2, generator=generator, dtype=torch.float64)
        tau = float(0.1 + 0.6 * drawn)
        given = batch(seed)
        pull, own = pull_of(given, tau)
        kept = given.spared.any(1)
        true = projections(given, given.pairs(weight), tau)
        claimed = projection(pull, weight, tau, own)
        found.append([part[kept] for part in (*pull, *safety(pull, weight), claimed, true)])
    return [torch.cat(parts) for parts in zip(*found, strict=True)]


@settings(max_examples=30)  # loops are slow
@given(seeds, st.floats(0.05, 1), st.floats(0, 1))
def test_the_loss_of_these_tests_is_the_one_of_the_method(seed, tau, weight):
    given = batch(seed, n=5)
    pairs = given.pairs(weight)
    each = [anchor_loss(given, i, row, pairs, tau) for i, row in enumerate(given.view)]
    torch.testing.assert_close(
        row_contrast(given.view, given.consensus, pairs, tau), torch.stack(each).mean()
    )


def test_the_projection_is_that_of_the_gradient_with_the_corrected_sign(many):
    """M5 a: A.10 prints it with a minus."""
    *_, claimed, true = many
    assert len(true) >= 200
    torch.testing.assert_close(claimed, true, atol=1e-10, rtol=0)
    assert (-claimed - true).abs().max() > 0.1


@pytest.mark.parametrize("tau", [0.02, 0.05])
def test_the_projection_and_the_limit_hold_at_a_low_temperature_too(tau):
    for seed in range(4):
        given = batch(seed)
        pull, own = pull_of(given, tau)
        one = torch.ones((), dtype=torch.float64)
        claimed, true = projection(pull, one, tau, own), projections(given, given.pairs(1.0), tau)
        torch.testing.assert_close(claimed, true, atol=1e-10, rtol=1e-10)
        for i in range(len(true)):
            spared = given.spared[i]
            others = torch.cat([given.consensus[spared], given.view[spared]])
            if len(others):
                center, row = given.centers[given.labels[i]], given.view[i]
                along = others @ center - own[i] * (others @ row)
                assert float(pull.false[i]) == pytest.approx(float((others @ row / tau).softmax(0) @ along))


def test_a_share_within_its_limit_is_exactly_a_step_that_does_not_lead_away(many):
    _, false, others, _, _, theta, limit, _, true = many
    decided = false > others
    safe = (theta <= limit)[decided]
    assert len(safe) >= 200
    assert torch.equal(safe, (true <= 0)[decided])
    assert 20 < int(safe.sum()) < len(safe) - 20


def test_false_negatives_that_pull_less_than_others_are_safe_only_if_the_others_are(many):
    attracted, false, others, _, _, theta, limit, _, true = many
    mild = false <= others
    safe = (theta <= limit)[mild]
    assert torch.equal(safe, (others <= attracted)[mild])
    assert (true[mild][safe] <= 0).all()
    assert 5 < int(safe.sum()) < len(safe) - 5


def test_plain_means_would_call_steps_safe_that_lead_away():
    """M5 c: with plain means for mu, 40 of 261 draws were declared safe but moved away."""
    n_wrong = 0
    tau, weight = 0.2, torch.tensor(0.3, dtype=torch.float64)
    for seed in range(N_BATCHES // 2):
        given = batch(seed)
        pull, _ = pull_of(given, tau)
        own_centers = given.centers[given.labels]
        rows = torch.cat([given.consensus, given.view])
        own = (given.view * own_centers).sum(1, keepdim=True)
        along = own_centers @ rows.T - own * (given.view @ rows.T)
        pairs = given.pairs(1.0)
        rest = pairs.negative * ~given.spared
        sets = (
            torch.cat([positive_of(pairs), torch.zeros_like(rest)], 1),
            torch.cat([given.spared, given.spared], 1).to(rest),
            torch.cat([positive_of(pairs) + rest, rest], 1),
        )
        plain = pull._replace(
            **{
                name: (chosen * along).sum(1) / chosen.sum(1).clamp(min=1)
                for name, chosen in zip(("attracted", "false", "others"), sets, strict=True)
            }
        )
        decided = given.spared.any(1) & (plain.false > plain.others)
        declared = safety(plain, weight).safe & decided
        n_wrong += int((projections(given, given.pairs(weight), tau)[declared] > 0).sum())
    assert n_wrong >= 5


@settings(max_examples=30)  # loops are slow
@given(seeds, st.floats(0.1, 1))
def test_the_share_of_false_negatives_rises_with_their_weight_from_0(seed, tau):
    given = batch(seed)
    pull, _ = pull_of(given, tau)
    has = given.spared.any(1)
    weights = torch.linspace(0, 1, 6, dtype=torch.float64)
    thetas = torch.stack([safety(pull, weight).theta for weight in weights])
    assert (thetas[0] == 0).all()
    assert (thetas[:, has].diff(dim=0) > 0).all()
    assert (thetas[:, ~has] == 0).all()
    for i in torch.nonzero(has)[:, 0].tolist():
        false_mass = other_mass = 0.0
        for j in range(len(given.view)):
            all_, own = (
                math.exp(float(given.view[i] @ rows[j]) / tau) for rows in (given.consensus, given.view)
            )
            if given.spared[i, j]:
                false_mass += all_ + own
            elif given.labels[i] != given.labels[j]:
                other_mass += all_ + own
            elif i == j or given.near[i, j]:
                other_mass += all_
        kappa = other_mass / false_mass
        torch.testing.assert_close(thetas[:, i], weights / (weights + kappa))


def test_the_controlled_weight_makes_every_row_safe_whose_other_rows_are():
    n_bound = 0
    full = torch.ones((), dtype=torch.float64)
    for seed in range(N_BATCHES // 2):
        given = batch(seed)
        pull, _ = pull_of(given, 0.3)
        weight = controlled_weight(pull, full)
        assert (weight >= 0).all()
        assert (weight <= 1).all()
        can = pull.others <= pull.attracted
        true = projections(given, given.pairs(weight), 0.3)
        assert safety(pull, weight).safe[can].all()
        assert (true[can] <= 1e-12).all()
        before = safety(pull, full).safe
        assert (weight[before] == 1).all()
        bound = can & ~before
        assert (true[bound].abs() <= 1e-12).all()  # no less than needed
        n_bound += int((weight[bound] > 0).sum())
    assert n_bound > 10


def test_the_controlled_weight_is_0_where_the_limit_is_not_positive():
    generator = source(0)
    pull = Pull(*normal(generator, 3, 500), *normal(generator, 2, 500).abs())
    pull.false_mass[:50] = 0
    gate = torch.tensor(0.7, dtype=torch.float64)
    limit, weight = safety(pull, gate).limit, controlled_weight(pull, gate)
    assert torch.isinf(limit[limit < 0]).any()
    assert (weight[limit <= 0] == 0).all()
    assert (weight[limit >= 1] == 0.7).all()
    assert ((weight > 0) & (weight <= 0.7))[(limit > 0) & (limit < 1)].all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_does_not_carry_a_controlled_share_over_its_limit(dtype):
    generator = source(0)
    pull = Pull(*normal(generator, 3, 5000).to(dtype), *normal(generator, 2, 5000).abs().to(dtype))
    weight = controlled_weight(pull, torch.ones((), dtype=dtype))
    assert (weight < 1).sum() > 500
    assert safety(pull, weight).safe[pull.others <= pull.attracted].all()


def test_a_row_without_possible_false_negatives_is_as_safe_as_its_others():
    given = batch(0)
    given = given._replace(false=torch.zeros_like(given.false))
    half = torch.tensor(0.5, dtype=torch.float64)
    pull, own = pull_of(given, 0.3)
    found = safety(pull, half)
    assert (found.theta == 0).all()
    assert torch.equal(
        found.limit, torch.where(pull.others <= pull.attracted, torch.inf, -torch.inf).double()
    )
    true = projections(given, given.pairs(0.5), 0.3)
    assert torch.equal(found.safe, true <= 0)
    assert 0 < int(found.safe.sum()) < len(true)
    torch.testing.assert_close(projection(pull, half, 0.3, own), true, atol=1e-10, rtol=0)
