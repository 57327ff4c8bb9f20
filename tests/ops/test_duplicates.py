import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.ops.duplicates import first_copies, table_beyond_copies
from coterie.ops.neighbours import neighbour_table


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def whole_numbers(seed: int, n: int = 60, d: int = 3, most: int = 4) -> torch.Tensor:
    return torch.randint(0, most, (n, d), generator=seeded(seed)).float()


def naive_first(rows: torch.Tensor) -> list[int]:
    return [next(j for j in range(len(rows)) if torch.equal(rows[i], rows[j])) for i in range(len(rows))]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_first_copies_equal_the_naive_ones(seed):
    rows = whole_numbers(seed)
    assert first_copies(rows).tolist() == naive_first(rows)


def test_copies_may_differ_by_rounding_but_not_by_more():
    rows = torch.rand(50, 4, generator=seeded()) + 1
    near = rows * (1 + torch.finfo(torch.float32).eps)
    assert torch.equal(first_copies(torch.cat([rows, near])), torch.arange(50).repeat(2))
    apart = rows + 1e-4
    assert torch.equal(first_copies(torch.cat([rows, apart])), torch.arange(100))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 9))
def test_a_row_names_some_of_its_copies_and_then_the_nearest_other_places(seed, k):
    rows = whole_numbers(seed)
    first = naive_first(rows)
    table = table_beyond_copies(rows, k, generator=seeded()).tolist()
    for i, named in enumerate(table):
        copies = [j for j in range(len(rows)) if first[j] == first[i] and j != i][: k // 3]
        assert named[: len(copies)] == copies
        others = named[len(copies) :]
        assert len(named) == k
        assert all(first[j] == j != first[i] for j in others)
        distances = sorted(float((rows[j] - rows[i]).square().sum()) for j in set(first) - {first[i]})
        found = [float((rows[j] - rows[i]).square().sum()) for j in others]
        assert found == pytest.approx(distances[: len(others)])


def test_rows_without_copies_have_their_nearest_rows():
    rows = torch.randn(80, 3, generator=seeded())
    assert torch.equal(
        table_beyond_copies(rows, 5, generator=seeded()), neighbour_table(rows, 5, generator=seeded())
    )


def test_copies_are_neighbours_like_others_where_different_rows_are_too_few():
    rows = whole_numbers(0, n=40, d=1, most=3)
    table = table_beyond_copies(rows, 5, generator=seeded())
    assert (rows[table] == rows[:, None]).all()
    assert not (table == torch.arange(40)[:, None]).any()


def test_crowds_of_copies_are_no_islands():
    rows = torch.from_numpy(np.repeat(np.arange(12.0), 30)[:, None]).float()
    table = table_beyond_copies(rows, 9, generator=seeded())
    assert ((rows[table] != rows[:, None]).sum(1) == 6).all()
