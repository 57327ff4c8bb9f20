import numpy as np
import pytest

from coterie.errors import InputError
from coterie.explore.live.refiner import split_in_two
from coterie.explore.rows import Table


class Blind:
    """A model whose code says nothing."""

    views = None

    def get_params(self):
        return {}

    def transform(self, X):
        return np.zeros((len(X), 2))


def parted(rows, chosen):
    model = Blind()
    return split_in_two(model, Table(rows, model), np.asarray(chosen))


def test_rows_are_parted_by_their_own_features_and_the_larger_part_stays():
    rows = np.random.default_rng(0).normal(size=(90, 3))
    rows[::3, 1] += 12
    stay, go = parted(rows, np.arange(90))
    assert (len(stay), len(go)) == (60, 30)
    assert all(row % 3 for row in stay)
    assert not any(row % 3 for row in go)


def test_only_rows_of_the_cluster_are_looked_at():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    stay, go = parted(rows, np.arange(0, 40, 2))
    assert not any(row % 2 for row in (*stay, *go))


def test_rows_that_are_too_few_or_the_same_cannot_be_parted():
    with pytest.raises(InputError, match="A cluster of 3 rows is too small"):
        parted(np.eye(9), [1, 2, 3])
    with pytest.raises(InputError, match="All rows of this cluster are the same"):
        parted(np.ones((9, 2)), np.arange(9))
