"""Push and pull on hard rows: spec mvsib, P7 and P11, with the counter-examples of M1 and M2."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.mvsib.problems import labels_of, normal, seeds, source, unit_rows

from coterie.methods.mvsib.pushpull import push_pull, separation, separation_gain

MARGIN = 0.2
margins = st.floats(0, 1)


def hard_rows(seed, n=8, k=4, d=5):
    generator = source(seed)
    return unit_rows(generator, n, d), labels_of(generator, n, k), unit_rows(generator, k, d)


def naive_push_pull(rows, labels, centers, margin):
    """Eqs. 26 to 28 with the corrected sign."""
    push = pull = 0.0
    for row, label in zip(rows, labels.tolist(), strict=True):
        own = float(row @ centers[label])
        other = max(float(row @ centers[c]) for c in range(len(centers)) if c != label)
        push += max(0.0, other - own + margin)
        pull += 1 - own
    return push / len(rows), pull / len(rows)


def gains(rows, labels, centers, margin, terms):
    """How fast s+ - s- grows along minus the gradient of the sum of some terms, on the sphere, by autograd."""
    free = rows.clone().requires_grad_()
    on_sphere = F.normalize(free, dim=1)
    push, pull = push_pull(on_sphere, labels, centers, margin)
    loss = len(rows) * sum({"push": push, "pull": pull}[term] for term in terms)
    found = separation(on_sphere, labels, centers)
    (downhill,) = torch.autograd.grad(-loss, free, retain_graph=True)
    (apart,) = torch.autograd.grad((found.own - found.other).sum(), free)
    return (downhill * apart).sum(1)


def stepped(rows, labels, centers, terms, rate=1e-3):
    """The rows after a small step on the sphere."""
    free = rows.clone().requires_grad_()
    push, pull = push_pull(F.normalize(free, dim=1), labels, centers, MARGIN)
    loss = len(rows) * sum({"push": push, "pull": pull}[term] for term in terms)
    (gradient,) = torch.autograd.grad(loss, free)
    return F.normalize(rows - rate * gradient, dim=1)


def margin_of(rows, labels, centers):
    found = separation(rows, labels, centers)
    return found.own - found.other


@given(seeds, margins)
def test_push_and_pull_are_their_formulas(seed, margin):
    rows, labels, centers = hard_rows(seed)
    push, pull = push_pull(rows, labels, centers, margin)
    assert (float(push), float(pull)) == pytest.approx(
        naive_push_pull(rows, labels, centers, margin), abs=1e-12
    )


def descent(loss_of, n_steps=50, rate=0.05):
    """Cosines to the own and the other centre before and after steps from a row near both (M1's example)."""
    generator = source(1)
    own = F.normalize(normal(generator, 16), dim=0)
    other = F.normalize(normal(generator, 16) + 0.5 * own, dim=0)
    centers = torch.stack([own, other])
    row = F.normalize(own + 0.9 * other + 0.1 * normal(generator, 16), dim=0)[None]
    before = row @ centers.T
    for _ in range(n_steps):
        row.requires_grad_()
        loss = loss_of(F.normalize(row, dim=1), centers)
        (gradient,) = torch.autograd.grad(loss, row)
        row = F.normalize(row.detach() - rate * gradient, dim=1)
    return before[0].tolist(), (row @ centers.T)[0].tolist()


@pytest.mark.parametrize("with_pull", [False, True])
def test_the_printed_push_drives_a_row_from_its_own_centre(with_pull):
    def printed(row, centers):
        own, other = (row @ centers.T)[0]
        return (own - other + MARGIN).clamp(min=0) + with_pull * (1 - own)

    before, after = descent(printed)
    assert after[0] < before[0] - 0.05
    assert after[1] > before[1] + 0.05


def test_our_push_and_pull_take_the_same_row_to_its_own_centre():
    before, after = descent(lambda row, centers: sum(push_pull(row, torch.tensor([0]), centers, MARGIN)))
    assert before[0] < 0.95
    assert after[0] > 0.99


@given(seeds, margins)
def test_the_gain_is_the_projection_of_the_gradient(seed, margin):
    rows, labels, centers = hard_rows(seed)
    expected = gains(rows, labels, centers, margin, ["push", "pull"])
    torch.testing.assert_close(
        separation_gain(rows, labels, centers, margin), expected, atol=1e-12, rtol=1e-10
    )


def draws(n_centers=60, d=3):
    """Rows in few dimensions, where the pull is most often against the push, with two centres."""
    for seed in range(n_centers):
        rows, _, centers = hard_rows(seed, n=60, k=2, d=d)
        labels = torch.zeros(60, dtype=torch.long)
        found = separation(rows, labels, centers)
        yield rows, labels, centers, found.own, found.other


def test_the_push_alone_never_loses_separation_but_with_the_pull_it_may():
    """M2b: in three dimensions the pull opposed in 112 of 3609 active draws."""
    n_active = n_opposed = 0
    for rows, labels, centers, own, other in draws():
        active = other - own + MARGIN > 0
        push = gains(rows, labels, centers, MARGIN, ["push"])
        distance = (centers[0] - centers[1]).square().sum()
        torch.testing.assert_close(
            push[active], (distance - (own - other).square())[active]
        )  # M2's exact form
        assert (push[active] >= 0).all()
        n_active += int(active.sum())
        n_opposed += int((separation_gain(rows, labels, centers, MARGIN)[active] < 0).sum())
    assert n_active > 1000
    assert 0 < n_opposed < 0.1 * n_active


def test_push_and_pull_never_lose_separation_where_the_other_centre_is_nearer_and_the_own_not_behind():
    n_found = 0
    for rows, labels, centers, own, other in draws():
        event = (other >= own) & (own >= 0)
        assert (separation_gain(rows, labels, centers, MARGIN)[event] >= -1e-12).all()
        n_found += int(event.sum())
    assert n_found > 200


def test_a_small_step_never_lowers_the_separation():
    for rows, labels, centers, own, other in draws(n_centers=20):
        before = margin_of(rows, labels, centers)
        active, event = other - own + MARGIN > 0, (other >= own) & (own >= 0)
        pushed = margin_of(stepped(rows, labels, centers, ["push"]), labels, centers)
        assert (pushed[active] >= before[active]).all()
        both = margin_of(stepped(rows, labels, centers, ["push", "pull"]), labels, centers)
        assert (both[event] >= before[event]).all()


@given(seeds)
def test_a_row_beyond_the_margin_is_not_pushed(seed):
    rows, labels, centers = hard_rows(seed, n=40)
    clear = margin_of(rows, labels, centers) >= MARGIN
    free = rows.requires_grad_()
    push, _ = push_pull(free, labels, centers, MARGIN)
    (gradient,) = torch.autograd.grad(push, free)
    assert (gradient[clear] == 0).all()
    assert (gradient[~clear].abs().sum(1) > 0).all()
    if clear.any():
        assert push_pull(rows[clear], labels[clear], centers, MARGIN)[0].item() == 0


@pytest.mark.parametrize(("n_rows", "n_centers"), [(0, 3), (4, 1)])
def test_no_hard_row_or_no_other_cluster_costs_nothing_and_can_be_differentiated(n_rows, n_centers):
    rows = unit_rows(source(0), n_rows, 5).requires_grad_()
    labels = torch.zeros(n_rows, dtype=torch.long)
    losses = push_pull(rows, labels, unit_rows(source(1), n_centers, 5), MARGIN)
    for loss in losses:
        (gradient,) = torch.autograd.grad(loss, rows, retain_graph=True)
        assert loss.item() == 0
        assert (gradient == 0).all()


@settings(max_examples=30)  # loops are slow
@given(seeds)
def test_neither_the_order_of_rows_nor_the_names_of_clusters_change_push_and_pull(seed):
    rows, labels, centers = hard_rows(seed)
    generator = source(seed + 1)
    order, name = (
        torch.randperm(len(rows), generator=generator),
        torch.randperm(len(centers), generator=generator),
    )
    renamed = torch.empty_like(centers)
    renamed[name] = centers
    expected = push_pull(rows, labels, centers, MARGIN)
    torch.testing.assert_close(push_pull(rows[order], labels[order], centers, MARGIN), expected)
    torch.testing.assert_close(push_pull(rows, name[labels], renamed, MARGIN), expected)
