"""Overlap of neighbour tables."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.graph.agreement import agreement, neighbours_of_present, shared_neighbours
from coterie.graph.neighbours import MISSING


def tables(seed=0, n=40, k=4):
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(np.delete(np.arange(n), row), k, replace=False) for row in range(n)])


def test_missing_rows_have_no_line_and_are_nobodys_neighbour():
    rows, present = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)), np.arange(30) % 3 != 0
    table = neighbours_of_present(rows.numpy(), present, 5)
    assert (table[~present] == MISSING).all()
    assert present[table[present]].all()
    own = torch.cdist(rows, rows).fill_diagonal_(torch.inf)[:, ~torch.from_numpy(present)]
    distances = torch.cdist(rows, rows).fill_diagonal_(torch.inf)
    distances[:, ~torch.from_numpy(present)] = torch.inf
    assert own.numel()
    np.testing.assert_array_equal(table[present][:, 0], distances.argmin(1).numpy()[present])


def test_agreement_is_one_with_itself_but_for_chance_and_zero_for_strangers():
    one = tables(0, n=400)
    assert agreement(one, one) == pytest.approx(1 - 4 / 400, abs=0.01)
    assert agreement(one, tables(1, n=400)) == pytest.approx(0, abs=0.01)


def test_hubs_do_not_pass_for_agreement():
    rng = np.random.default_rng(0)
    hubs = [np.column_stack([np.zeros(200, int), rng.integers(1, 200, 200)]) for _ in range(2)]
    assert abs(agreement(*hubs)) < 0.05


def test_agreement_counts_only_rows_that_both_have():
    one, other = tables(0), tables(0)
    other[:20] = MISSING
    naive_same = sum(len(set(one[i]) & set(other[i])) for i in range(20, 40))
    found = np.bincount(one[20:].ravel(), minlength=40) * np.bincount(other[20:].ravel(), minlength=40)
    possible = min((one[20:] >= 20).sum(), (other[20:] >= 20).sum())
    assert agreement(one, other) == pytest.approx((naive_same - found.sum() / 20) / possible)


@given(st.integers(0, 1000))
def test_shared_neighbours_equal_the_naive_count(seed):
    table = tables(seed, n=15)
    naive = [[len(set(table[i]) & set(table[j])) / 4 for j in table[i]] for i in range(15)]
    torch.testing.assert_close(shared_neighbours(torch.from_numpy(table)), torch.tensor(naive))
