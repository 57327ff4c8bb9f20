import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import InputError
from coterie.explore.model_sample import quotas, stratified_rows


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=30).filter(any), st.integers(30, 2000))
@settings(max_examples=100, deadline=None)
def test_quotas_fit_the_clusters_and_the_limit_and_forget_no_cluster(sizes, max_rows):
    sizes = np.array(sizes)
    found = quotas(sizes, max_rows)
    assert (found <= sizes).all()
    assert found.sum() <= max_rows
    assert (found[sizes > 0] > 0).all()


def test_quotas_take_everything_that_fits():
    assert quotas(np.array([3, 0, 4]), 7).tolist() == [3, 0, 4]


def test_a_small_cluster_beside_a_huge_one_is_seen_whole():
    assert quotas(np.array([1_000_000, 12]), 500)[1] == 12


def test_rows_are_distinct_ascending_and_from_every_cluster():
    labels = np.random.default_rng(0).choice(4, 10_000, p=[0.9, 0.09, 0.009, 0.001])
    rows = stratified_rows(labels, 4, 200, np.random.default_rng(1))
    assert (np.diff(rows) > 0).all()
    assert len(rows) <= 200
    expected = np.minimum(np.bincount(labels), quotas(np.bincount(labels), 200))
    assert np.bincount(labels[rows]).tolist() == expected.tolist()


def test_the_same_seed_draws_the_same_rows():
    labels = np.arange(1000) % 3
    one, two, other = (stratified_rows(labels, 3, 50, np.random.default_rng(s)).tolist() for s in (1, 1, 2))
    assert one == two != other


def test_fewer_rows_than_clusters_are_refused():
    with pytest.raises(InputError, match="max_rows is 2, fewer than the 3 clusters"):
        quotas(np.array([5, 5, 5]), 2)
