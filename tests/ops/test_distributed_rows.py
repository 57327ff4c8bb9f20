"""What processes compute of their own rows, put together, is what one process computes of all."""

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.together import in_threads

from coterie.collectives import ALONE, share_of
from coterie.data.batches import Batch
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distributed_rows import agree, agreed, gathered, joined, joined_tables, of_share
from coterie.ops.sparse import gathered_rows


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_shares_cover_everything_once_and_are_even(n):
    shares = in_threads(3, lambda collectives: share_of(n, collectives))
    assert [i for share in shares for i in range(n)[share]] == list(range(n))
    sizes = [share.stop - share.start for share in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    "values",
    [np.arange(7), np.arange(7) % 2 == 0, np.arange(14.0).reshape(7, 2), torch.arange(21).view(7, 3)],
)
def test_gathered_shares_are_the_whole(values):
    parts = in_threads(3, lambda one: gathered(values[share_of(7, one)], 7, one))
    for found in parts:
        assert type(found) is type(values)
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(np.asarray(found), np.asarray(values))


def test_a_joined_batch_has_every_row_and_the_gradients_that_all_processes_find():
    rows = torch.randn(5, 3, generator=seeded())
    shares = [np.array([0, 3]), np.array([1, 2, 4])]
    weights = torch.randn(2, 5, 3, generator=seeded(1))

    def work(collectives):
        share = shares[collectives.rank]
        batch = Batch(np.arange(5), [], share=share)
        mine = rows[torch.from_numpy(share)].clone().requires_grad_()
        whole = joined(mine, batch, collectives)
        torch.testing.assert_close(whole.detach(), rows)
        torch.testing.assert_close(of_share(whole, batch), mine)
        (weights[collectives.rank] * whole.square()).sum().backward()  # its part of the loss
        return mine.grad

    alone = rows.clone().requires_grad_()
    (weights.sum(0) * alone.square()).sum().backward()
    found = torch.zeros_like(rows)
    for share, gradient in zip(shares, in_threads(2, work), strict=True):
        found[torch.from_numpy(share)] = gradient
    torch.testing.assert_close(found, alone.grad)


def test_parts_that_travel_together_are_joined_one_by_one():
    one, two = torch.randn(5, 3, generator=seeded()), torch.randn(5, 1, generator=seeded(1))

    def work(collectives):
        share = np.arange(5)[share_of(5, collectives)]
        batch = Batch(np.arange(5), [], share=share)
        return joined_tables([one[share], two[share]], batch, collectives)

    for found in in_threads(2, work):
        torch.testing.assert_close(found, (one, two))


def test_processes_agree_on_what_the_first_has():
    def work(collectives):
        here = torch.tensor([1.0, 2.0]) + collectives.rank
        agree([here], collectives)
        return here.tolist(), agreed(np.array([4, 5]) * (1 + collectives.rank), collectives).tolist()

    assert in_threads(2, work) == [([1.0, 2.0], [4, 5])] * 2


def test_rows_of_a_sparse_matrix_come_together():
    matrix = sparse.random(11, 6, density=0.4, format="csr", random_state=0)
    for found in in_threads(3, lambda one: gathered_rows(matrix[share_of(11, one)], 11, one)):
        np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_the_nearest_rows_of_all_processes_are_those_of_one():
    costs = torch.rand(20, 4, generator=seeded())
    costs[7] = costs[15] = -1.0  # a tie: the first row counts

    def work(collectives):
        share = share_of(20, collectives)
        found = NearestRows(4, share.start)
        found.add(costs[share])
        return found.over(collectives)

    for numbers in [work(ALONE), *in_threads(3, work)]:
        assert numbers.tolist() == [7, 7, 7, 7]
