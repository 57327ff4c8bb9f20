import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import InputError
from coterie.ops import neighbours
from coterie.ops.neighbours import neighbour_table, shared_neighbours


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def naive_table(rows: torch.Tensor, k: int) -> torch.Tensor:
    distances = (rows[:, None].double() - rows.double()).square().sum(2)
    distances.fill_diagonal_(torch.inf)
    return distances.argsort(1)[:, :k]


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 60), st.integers(1, 4), st.integers(0, 1000))
def test_the_table_equals_the_naive_one(n, k, seed):
    rows = torch.randn(n, 3, generator=seeded(seed))
    assert torch.equal(neighbour_table(rows, k, generator=seeded()), naive_table(rows, k))


def test_long_lines_are_searched_by_blocks_with_the_same_result():
    rows = torch.randn(3000, 8, generator=seeded())
    assert 2 * 6 * neighbours._BLOCK < 3000
    assert torch.equal(neighbour_table(rows, 5, generator=seeded()), naive_table(rows, 5))


def test_a_row_is_never_its_own_neighbour_even_among_duplicates():
    rows = torch.zeros(40, 2)
    table = neighbour_table(rows, 3, generator=seeded())
    assert not (table == torch.arange(40)[:, None]).any()


def test_cells_find_nearly_all_neighbours_and_only_others():
    rows = torch.randn(20, 6, generator=seeded())[torch.arange(4000) % 20] * 5
    rows = rows + torch.randn(4000, 6, generator=seeded(1))
    exact = neighbour_table(rows, 10, generator=seeded())
    rough = neighbour_table(rows, 10, generator=seeded(), exact_rows=100)
    recall = (exact[:, :, None] == rough[:, None, :]).any(1).double().mean()
    assert recall > 0.9
    assert not (rough == torch.arange(4000)[:, None]).any()


def test_cells_work_where_rows_crowd_in_one_place():
    rows = torch.cat([torch.zeros(300, 2), torch.randn(20, 2, generator=seeded())])
    table = neighbour_table(rows, 5, generator=seeded(), exact_rows=10, probes=1)
    assert table.shape == (320, 5)
    assert ((table >= 0) & (table < 320)).all()


@given(st.integers(0, 1000))
def test_shared_neighbours_equal_the_naive_count(seed):
    table = naive_table(torch.randn(15, 2, generator=seeded(seed)), 4)
    naive = [[len(set(table[i].tolist()) & set(table[j].tolist())) / 4 for j in table[i]] for i in range(15)]
    torch.testing.assert_close(shared_neighbours(table), torch.tensor(naive))


def test_too_many_neighbours_is_an_error():
    with pytest.raises(InputError, match="n_neighbors=3 needs more than the 3 rows"):
        neighbour_table(torch.zeros(3, 1), 3, generator=seeded())
