"""The contrastive losses against their formulas written as loops: spec mvsib, section 2.5, P11 and M11, M12."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.mvsib.problems import (
    cross_contrast,
    labels_of,
    neighbours,
    pairs_of,
    places,
    positive_of,
    row_contrast,
    seeds,
    source,
    unit_rows,
)

from coterie.methods.mvsib.attraction import row_pairs
from coterie.methods.mvsib.contrast import Asked, Members, Pseudo, cluster_contrast, contrasts, pair_weights

N_ROWS, N_CLUSTERS = 10, 4
modes = st.sampled_from(["denominator", "numerator", "both"])
temperatures = st.floats(0.05, 1)


def batch(seed, d=5):
    """Rows of a view and of the consensus, and labels; the last cluster is in no batch, the first two in each."""
    generator = source(seed)
    labels = labels_of(generator, N_ROWS, N_CLUSTERS - 1)
    labels[0], labels[1] = 0, 1
    return unit_rows(generator, N_ROWS, d), unit_rows(generator, N_ROWS, d), labels


def some_pseudo(seed, d=5, n_pseudo=3):
    rows = unit_rows(source(seed + 1), 2 * n_pseudo, d).reshape(2, n_pseudo, d)
    return Pseudo(torch.tensor([1, 0]), rows)


def some_pairs(seed, labels, weight, mode, with_labels=True):
    generator = source(seed + 2)
    near = places(neighbours(generator, len(labels)))
    false = torch.rand(len(labels), generator=generator) < 0.5
    return row_pairs(labels, near, false, torch.tensor(weight), mode, 0.1, with_labels)


def e(one, other, tau):
    return math.exp(float(one @ other) / tau)


def direction(rows, labels, cluster):
    total = sum(row for row, label in zip(rows, labels, strict=True) if label == cluster)
    return total / total.norm()


def naive_cluster_contrast(consensus, view, labels, tau, pseudo=None):
    """L_c of section 2.5: pseudo-rows are averaged over p (M11)."""
    there = sorted(set(labels.tolist()))
    q = {c: direction(consensus, labels, c) for c in there}
    k = {c: direction(view, labels, c) for c in there}
    psi = {} if pseudo is None else dict(zip(pseudo.clusters.tolist(), pseudo.rows, strict=True))
    losses = []
    for c in there:
        near = {j: sum(e(q[c], row, tau) for row in rows) / len(rows) for j, rows in psi.items()}
        attract = e(q[c], k[c], tau) + near.get(c, 0.0)
        repel = sum(e(q[c], q[j], tau) for j in there if j != c)
        repel += sum(near[j] for j in near if j != c)
        losses.append(-math.log(attract / (attract + repel)))
    return sum(losses) / len(losses)


def naive_row_contrast(view, consensus, pairs, tau):
    """L_feat of section 2.5."""
    n, positive = len(view), positive_of(pairs)
    losses = []
    for i in range(n):
        numerator = denominator = 0.0
        for j in range(n):
            w, omega = float(positive[i, j]), float(pairs.negative[i, j])
            numerator += w * e(view[i], consensus[j], tau)
            if w > 0:
                denominator += e(view[i], consensus[j], tau)
            denominator += omega * (e(view[i], consensus[j], tau) + e(view[i], view[j], tau))
        losses.append(-math.log(numerator / denominator))
    return sum(losses) / n


def naive_cross_contrast(rows, labels, certainty, tau):
    """L_wNCE of section 2.5, Eqs. 48 and 49."""
    n = len(rows)
    losses = []
    for i in range(n):
        S = [min(certainty[i], certainty[j]) * (labels[i] == labels[j]) * (i != j) for j in range(n)]
        if sum(S) == 0:
            continue
        total = sum(e(rows[i], rows[r], tau) for r in range(n) if r != i)
        losses.append(-sum(S[j] / sum(S) * math.log(e(rows[i], rows[j], tau) / total) for j in range(n)))
    return float(sum(losses) / len(losses))


@settings(max_examples=30)  # loops are slow
@given(seeds, temperatures, st.booleans())
def test_the_contrast_of_clusters_is_its_formula(seed, tau, with_pseudo):
    view, consensus, labels = batch(seed)
    pseudo = some_pseudo(seed) if with_pseudo else None
    found = cluster_contrast(consensus, view, labels, N_CLUSTERS, tau, pseudo)
    assert float(found) == pytest.approx(
        naive_cluster_contrast(consensus, view, labels, tau, pseudo), rel=1e-10
    )


def test_both_sides_of_the_contrast_of_clusters_are_learnt():
    """M11: the authors' code takes the positive logits without gradient, and learns repulsion only."""
    view, consensus, labels = batch(0)
    view.requires_grad_()
    consensus.requires_grad_()
    loss = cluster_contrast(consensus, view, labels, N_CLUSTERS, 0.5, some_pseudo(0))
    for gradient in torch.autograd.grad(loss, [view, consensus]):
        assert torch.isfinite(gradient).all()
        assert gradient.abs().max() > 1e-3


def test_a_batch_of_one_cluster_has_no_contrast_of_clusters():
    view, consensus, _ = batch(0)
    labels = torch.full((N_ROWS,), 2)
    assert float(cluster_contrast(consensus, view, labels, N_CLUSTERS, 0.5)) == pytest.approx(0, abs=1e-12)


@settings(max_examples=30)  # loops are slow
@given(seeds, modes, st.floats(0, 1))
def test_pairs_attract_and_repel_as_the_specification_says(seed, mode, weight):
    _, _, labels = batch(seed)
    generator = source(seed + 2)
    near = neighbours(generator, N_ROWS)
    false = torch.rand(N_ROWS, generator=generator) < 0.5
    found = row_pairs(labels, places(near), false, torch.tensor(weight), mode, 0.2, with_labels=True)
    for i in range(N_ROWS):
        for j in range(N_ROWS):
            doubtful = bool(false[i] or false[j])
            positive = float(i == j or (near[i, j] and labels[i] == labels[j]))
            negative = float(labels[i] != labels[j])
            if mode != "denominator" and positive and doubtful and i != j:
                positive = 0.2
            if mode != "numerator" and negative and near[i, j] and doubtful:
                negative = weight
            assert float(positive_of(found)[i, j]) == pytest.approx(positive, rel=1e-6)
            assert float(found.negative[i, j]) == pytest.approx(negative, rel=1e-6)


def test_each_row_may_have_its_own_weight_of_false_negatives():
    near, false = ~torch.eye(3, dtype=torch.bool), torch.tensor([False, False, True])
    weights = torch.tensor([0.1, 0.2, 0.3])
    found = row_pairs(torch.arange(3), places(near), false, weights, "denominator", 0.1, with_labels=True)
    expected = torch.tensor([[0, 1, 0.1], [1, 0, 0.2], [0.3, 0.3, 0]])
    torch.testing.assert_close(found.negative, expected)


def test_without_labels_neighbours_attract_and_all_others_repel():
    _, _, labels = batch(0)
    near = neighbours(source(2), N_ROWS)
    found = some_pairs(0, labels, 0.1, "both", with_labels=False)
    attract = near | torch.eye(N_ROWS, dtype=torch.bool)
    assert torch.equal(positive_of(found), attract.float())
    assert torch.equal(found.negative, 1 - attract.float())


@settings(max_examples=30)  # loops are slow
@given(seeds, temperatures, modes, st.floats(0, 1), st.booleans())
def test_the_contrast_of_rows_is_its_formula(seed, tau, mode, weight, with_labels):
    view, consensus, labels = batch(seed)
    pairs = some_pairs(seed, labels, weight, mode, with_labels)
    found = row_contrast(view, consensus, pairs, tau)
    assert float(found) == pytest.approx(
        naive_row_contrast(view, consensus, pairs, tau), rel=1e-10, abs=1e-12
    )


@given(seeds, temperatures, st.floats(0, 1))
def test_the_contrast_of_rows_is_never_negative(seed, tau, weight):
    """P11; Eq. 44 as printed reaches -0.011 (M4)."""
    view, consensus, labels = batch(seed)
    assert row_contrast(view, consensus, some_pairs(seed, labels, weight, "denominator"), tau) >= -1e-12


def test_rows_opposite_to_their_partners_have_a_finite_contrast_in_single_precision():
    view = unit_rows(source(0), 6, 4).float().requires_grad_()
    loss = row_contrast(view, -view.detach(), pairs_of(torch.eye(6), 1 - torch.eye(6)), tau=0.025)
    (gradient,) = torch.autograd.grad(loss, view)
    nearest = (view @ view.T).abs().fill_diagonal_(-1).amax(1)
    assert loss.item() == pytest.approx(((nearest + 1) / 0.025).mean().item(), abs=math.log(11))
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("labels", [torch.zeros(4, dtype=torch.long), torch.arange(4)])
def test_rows_without_a_negative_have_a_finite_gradient(labels):
    """All rows in one cluster; or all others possible false negatives and the gate shut, so that they weigh 0."""
    rows = unit_rows(source(0), 4, 3).requires_grad_()
    near, false = ~torch.eye(4, dtype=torch.bool), torch.ones(4, dtype=torch.bool)
    pairs = row_pairs(labels, places(near), false, torch.tensor(0.0), "denominator", 0.1, with_labels=True)
    loss = row_contrast(rows, rows.detach(), pairs, 0.5)
    (gradient,) = torch.autograd.grad(loss, rows)
    assert loss.item() == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-12, rtol=0)


@given(seeds, modes)
def test_the_pairs_among_some_rows_are_those_of_a_table(seed, mode):
    _, _, labels = batch(seed)
    pairs, rows = some_pairs(seed, labels, 0.3, mode), torch.tensor([1, 2, 5, 6, 9])
    found = pairs.among(rows)
    torch.testing.assert_close(positive_of(found), positive_of(pairs)[rows][:, rows])
    torch.testing.assert_close(found.negative, pairs.negative[rows][:, rows])


@settings(max_examples=30)  # loops are slow
@given(seeds, temperatures)
def test_the_contrast_across_rows_is_its_formula(seed, tau):
    rows, _, labels = batch(seed)
    certainty = torch.rand(N_ROWS, generator=source(seed), dtype=torch.float64)
    found = cross_contrast(rows, labels, certainty, tau)
    assert float(found) == pytest.approx(naive_cross_contrast(rows, labels, certainty, tau), rel=1e-10)


@given(seeds)
def test_weights_of_pairs_sum_to_1_and_a_row_alone_in_its_cluster_has_none(seed):
    generator = source(seed)
    labels = labels_of(generator, 7, 4)
    found = pair_weights(labels, 0.01 + torch.rand(7, generator=generator))
    alone = torch.tensor([(labels == label).sum() == 1 for label in labels])
    torch.testing.assert_close(found.sum(1), (~alone).float())
    assert (found.diagonal() == 0).all()
    assert (found[labels[:, None] != labels] == 0).all()


@settings(max_examples=30)  # numerical gradients are slow
@given(seeds, temperatures, modes, st.booleans())
def test_the_gradients_of_both_contrasts_are_those_of_their_values(seed, tau, mode, alone):
    """`alone` is the consensus beside itself; a row that is the only one of its cluster has no kin."""
    view, consensus, labels = batch(seed, d=3)
    labels[-1] = N_CLUSTERS - 1
    pairs = some_pairs(seed, labels, 0.3, mode)
    kin = Members(labels, torch.rand(N_ROWS, generator=source(seed), dtype=torch.float64)).kin()

    def both(view, consensus):
        found = contrasts(
            [Asked(view, view if alone else consensus, pairs, kin), Asked(consensus, view, pairs)], tau
        )
        return *found[0], found[1].rows

    assert torch.autograd.gradcheck(both, [view.requires_grad_(), consensus.requires_grad_()], atol=1e-4)


@given(seeds, temperatures, modes, st.integers(1, N_ROWS - 1))
def test_parts_of_the_lines_add_up_to_both_contrasts(seed, tau, mode, cut):
    view, consensus, labels = batch(seed)
    labels[-1] = N_CLUSTERS - 1
    pairs = some_pairs(seed, labels, 0.3, mode)
    members = Members(labels, torch.rand(N_ROWS, generator=source(seed), dtype=torch.float64))

    def both(*lines):
        rows = view.clone().requires_grad_()
        found = [
            contrasts([Asked(rows, consensus, pairs.of_lines(some), members.kin(some))], tau)[0]
            for some in lines
        ]
        loss = torch.stack([torch.stack(part) for part in found]).sum(0)
        (loss * torch.tensor([1.0, 3.0])).sum().backward()
        return loss.detach(), rows.grad

    whole = slice(0, N_ROWS)
    torch.testing.assert_close(both(slice(0, cut), slice(cut, N_ROWS)), both(whole))


def test_no_pair_at_all_costs_nothing_and_can_be_differentiated():
    rows = unit_rows(source(0), 3, 4).requires_grad_()
    loss = cross_contrast(rows, torch.arange(3), torch.ones(3), 0.5)
    (gradient,) = torch.autograd.grad(loss, rows)
    assert loss.item() == 0
    assert (gradient == 0).all()


@settings(max_examples=30)  # loops are slow
@given(seeds, modes)
def test_the_order_of_rows_changes_no_loss(seed, mode):
    view, consensus, labels = batch(seed)
    order = torch.randperm(N_ROWS, generator=source(seed + 3))
    certainty = torch.rand(N_ROWS, generator=source(seed), dtype=torch.float64)
    pairs, pseudo = some_pairs(seed, labels, 0.1, mode), some_pseudo(seed)
    moved = pairs_of(positive_of(pairs)[order][:, order], pairs.negative[order][:, order])

    def clusters(at):
        return cluster_contrast(consensus[at], view[at], labels[at], N_CLUSTERS, 0.5, pseudo)

    def across(at):
        return cross_contrast(view[at], labels[at], certainty[at], 0.5)

    same = torch.arange(N_ROWS)
    torch.testing.assert_close(clusters(order), clusters(same))
    torch.testing.assert_close(across(order), across(same))
    torch.testing.assert_close(
        row_contrast(view[order], consensus[order], moved, 0.5), row_contrast(view, consensus, pairs, 0.5)
    )


@settings(max_examples=30)  # loops are slow
@given(seeds, modes)
def test_the_names_of_clusters_change_no_loss(seed, mode):
    view, consensus, labels = batch(seed)
    name = torch.randperm(N_CLUSTERS, generator=source(seed + 3))
    certainty = torch.rand(N_ROWS, generator=source(seed), dtype=torch.float64)
    pseudo = some_pseudo(seed)
    renamed = pseudo._replace(clusters=name[pseudo.clusters])
    torch.testing.assert_close(
        cluster_contrast(consensus, view, name[labels], N_CLUSTERS, 0.5, renamed),
        cluster_contrast(consensus, view, labels, N_CLUSTERS, 0.5, pseudo),
    )
    losses = [
        (
            row_contrast(view, consensus, some_pairs(seed, named, 0.1, mode), 0.5),
            cross_contrast(view, named, certainty, 0.5),
        )
        for named in (labels, name[labels])
    ]
    torch.testing.assert_close(losses[0], losses[1])
