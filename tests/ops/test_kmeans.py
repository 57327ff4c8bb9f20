import itertools
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from tests.together import in_threads

from coterie.errors import InputError
from coterie.ops.distances import nearest, squared_distances
from coterie.ops.kmeans import TensorRows, kmeans, kmeans_plus_plus, spread_seeds


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def blobs(n: int = 300, k: int = 5, d: int = 3, seed: int = 0) -> torch.Tensor:
    generator = seeded(seed)
    centers = 20 * torch.randn(k, d, generator=generator)
    return centers[torch.arange(n) % k] + torch.randn(n, d, generator=generator)


def test_squared_distances_equal_the_naive_ones_and_are_never_negative():
    rows = 1000 + torch.randn(20, 3, generator=seeded())
    naive = torch.tensor([[float((a.double() - b.double()).square().sum()) for b in rows] for a in rows])
    found = squared_distances(rows, rows)
    assert (found >= 0).all()
    torch.testing.assert_close(found, naive.float(), atol=1.0, rtol=1e-3)
    torch.testing.assert_close(
        squared_distances(rows - 1000, rows - 1000), naive.float(), atol=1e-4, rtol=1e-4
    )


def test_nearest_in_chunks_equals_nearest_at_once():
    rows, centers = blobs(100), blobs(7, seed=1)
    labels, distances = nearest(rows, centers, chunk=16)
    whole = squared_distances(rows, centers)
    assert torch.equal(labels, whole.argmin(1))
    torch.testing.assert_close(distances, whole.amin(1))


def test_inertia_is_as_low_as_scikit_learns():
    rows = torch.tensor(load_digits().data, dtype=torch.float32)
    ours = kmeans(rows, 10, generator=seeded(), n_init=5)
    theirs = KMeans(10, n_init=5, random_state=0).fit(rows.numpy())
    assert ours.converged
    assert ours.inertia <= theirs.inertia_ * 1.005
    exact = float(squared_distances(rows, ours.centers).amin(1).double().sum())
    assert ours.inertia == pytest.approx(exact, rel=1e-6)


def test_seeds_of_separated_blobs_hit_every_blob():
    rows = blobs(500, k=10)
    truth = torch.arange(500) % 10
    hits = 0
    for seed in range(20):
        seeds = kmeans_plus_plus(rows, 10, seeded(seed))
        hits += len(set(truth[nearest(seeds, rows)[0]].tolist())) == 10
    assert hits >= 19


def test_seeds_are_rows_and_differ_while_rows_differ():
    rows = torch.tensor([[0.0], [0.0], [0.0], [1.0], [2.0]])
    for seed in range(10):
        assert sorted(kmeans_plus_plus(rows, 3, seeded(seed)).squeeze(1).tolist()) == [0.0, 1.0, 2.0]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 1000))
def test_more_steps_never_raise_the_inertia(k, seed):
    rows = torch.randn(60, 2, generator=seeded(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        inertias = [
            kmeans(rows, k, generator=seeded(seed), n_init=1, max_iter=steps, tol=0).inertia
            for steps in (1, 2, 4, 8)
        ]
    assert all(after <= before * (1 + 1e-6) for before, after in itertools.pairwise(inertias))


def test_rows_out_of_core_give_the_centers_of_rows_in_memory():
    rows = blobs(1000)

    class Chunked(TensorRows):
        def chunks(self):
            yield from self.rows.split(37)

    whole = kmeans(rows, 5, generator=seeded())
    chunked = kmeans(Chunked.of(rows), 5, generator=seeded())
    torch.testing.assert_close(chunked.centers, whole.centers)
    assert chunked.inertia == pytest.approx(whole.inertia)


def test_three_processes_give_the_centers_of_one():
    rows = blobs(301)
    alone = kmeans(rows, 5, generator=seeded(), n_init=3)
    bounds = [0, 100, 150, 301]

    def work(collectives):
        start, stop = bounds[collectives.rank], bounds[collectives.rank + 1]
        part = TensorRows(rows[start:stop], n_rows=301, start=start)
        return kmeans(part, 5, generator=seeded(), n_init=3, collectives=collectives)

    for found in in_threads(3, work):
        torch.testing.assert_close(found.centers, alone.centers)
        assert found.inertia == pytest.approx(alone.inertia)


def test_a_cluster_that_loses_its_rows_is_placed_again():
    rows = torch.tensor([[0.0], [0.1], [0.2], [50.0], [100.0]])
    from coterie.collectives import ALONE
    from coterie.ops.kmeans import _lloyd

    found = _lloyd(TensorRows.of(rows), torch.tensor([[0.1], [0.1], [1e6]]), 50, 1e-9, ALONE)
    assert len(set(nearest(rows, found.centers)[0].tolist())) == 3


def test_the_same_generator_gives_the_same_centers_and_no_global_seed_is_touched():
    before = torch.get_rng_state()
    first, second = (kmeans(blobs(), 4, generator=seeded(7)) for _ in range(2))
    assert torch.equal(first.centers, second.centers)
    assert torch.equal(torch.get_rng_state(), before)


def test_non_convergence_warns_unless_quiet():
    rows = torch.randn(500, 5, generator=seeded())
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
        kmeans(rows, 8, generator=seeded(), max_iter=1, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kmeans(rows, 8, generator=seeded(), max_iter=1, tol=0, quiet=True)


def test_more_clusters_than_rows_is_an_error():
    with pytest.raises(InputError, match="n_clusters=4 is more than the 3 rows"):
        kmeans(torch.zeros(3, 2), 4, generator=seeded())


def test_as_many_clusters_as_rows_puts_a_center_on_each():
    rows = torch.tensor([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]])
    centers = kmeans(rows, 3, generator=seeded()).centers
    np.testing.assert_allclose(sorted(centers.tolist()), sorted(rows.tolist()))


def test_given_centres_are_where_it_begins():
    rows = torch.tensor([[0.0], [1.0], [10.0], [11.0]])
    clustering = kmeans(
        rows, 2, generator=torch.Generator(), start=torch.tensor([[0.0], [1.0]]), max_iter=1, quiet=True
    )
    torch.testing.assert_close(clustering.centers, torch.tensor([[0.0], [22 / 3]]))


def test_many_seeds_are_rows_all_different_and_lie_apart():
    generator = torch.Generator().manual_seed(0)
    dense = torch.randn(1900, 2, generator=generator)
    far = 50 + 10 * torch.randn(100, 2, generator=generator)
    rows = torch.cat([dense, far])
    seeds = spread_seeds(rows, 200, torch.Generator().manual_seed(1))
    assert len(torch.unique(seeds, dim=0)) == 200
    assert bool((seeds[:, None] == rows[None]).all(2).any(1).all())
    assert int((seeds[:, 0] > 15).sum()) > 60, "uniform draws would take about ten of the far rows"
    again = spread_seeds(rows, 200, torch.Generator().manual_seed(1))
    assert torch.equal(seeds, again)
