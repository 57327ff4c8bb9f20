import pytest
import torch

from coterie.ops.distances import closest, exact_distances, nearest, squared_distances, top_columns


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("n_centers", [5, 16, 100, 1000])
def test_the_closest_centers_are_those_of_the_whole_table_of_distances(n_centers):
    rows, centers = torch.randn(50, 6, generator=seeded()), torch.randn(n_centers, 6, generator=seeded(1))
    expected = (rows[:, None].double() - centers.double()).square().sum(2).sort(1)
    values, indices = closest(rows, centers, 4)
    torch.testing.assert_close(indices, expected.indices[:, :4])
    torch.testing.assert_close(values.double(), expected.values[:, :4], atol=1e-4, rtol=1e-4)
    one, distance = nearest(rows, centers, chunk=7)
    torch.testing.assert_close(one, expected.indices[:, 0])
    torch.testing.assert_close(distance.double(), expected.values[:, 0], atol=1e-4, rtol=1e-4)


def test_a_row_that_is_a_center_is_at_no_distance_below_zero():
    rows = torch.randn(200, 3, generator=seeded()) * 100
    assert nearest(rows, rows)[1].min() >= 0
    assert closest(rows, rows, 3)[0].min() >= 0
    assert squared_distances(rows, rows).min() >= 0


@pytest.mark.parametrize(("width", "block"), [(64, 16), (512, 16), (512, 4), (1024, 128)])
def test_top_columns_are_those_of_a_sort(width, block):
    values = torch.randn(20, width, generator=seeded())
    found, columns = top_columns(values, 5, block)
    expected = values.sort(1, descending=True)
    torch.testing.assert_close(found, expected.values[:, :5])
    torch.testing.assert_close(columns, expected.indices[:, :5])


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_exact_distances_do_not_depend_on_where_a_row_stands(k):
    generator = seeded(k)
    rows, centers = torch.rand(257, 10, generator=generator), torch.rand(k, 10, generator=generator)
    order = torch.randperm(len(rows), generator=generator)
    found = exact_distances(rows, centers)
    assert torch.equal(exact_distances(rows[order], centers), found[order])
    assert torch.equal(torch.cat([exact_distances(row[None], centers) for row in rows]), found)
    torch.testing.assert_close(found, squared_distances(rows, centers))
    assert found.dtype == torch.float32
