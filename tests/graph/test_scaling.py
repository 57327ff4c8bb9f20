"""The scaling of a single table: halves of its columns agree on who is near whom."""

import numpy as np
import pytest

from coterie.data import as_views
from coterie.graph.scaling import choose_table_scaling, fit_table_scaler

# n rows, d columns


def factors(n: int = 300, d: int = 8, noise: float = 0.4, seed: int = 0) -> np.ndarray:
    """Return d measurements of two hidden numbers."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + noise * rng.normal(size=(n, d))


@pytest.mark.parametrize("seed", range(3))
def test_columns_in_different_units_are_scaled_and_the_units_do_not_matter(seed):
    rows = factors(seed=seed)
    units = 10.0 ** np.random.default_rng(seed).permutation(8)
    assert choose_table_scaling(rows * units) in ("feature", "minmax", "log")
    assert choose_table_scaling(rows * units) == choose_table_scaling(rows * units[::-1])


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_faint_noise_stay_faint(seed):
    noise = np.random.default_rng(seed).normal(size=(300, 24))
    assert choose_table_scaling(np.hstack([factors(seed=seed), 0.05 * noise])) == "none"


@pytest.mark.parametrize("seed", range(3))
def test_columns_with_long_tails_are_taken_by_their_logarithms(seed):
    tails = np.exp(3.0 * factors(noise=0.2, seed=seed))
    assert choose_table_scaling(tails) == "log"


def test_the_choice_does_not_depend_on_the_order_of_the_columns_units():
    rows = factors()
    assert choose_table_scaling(rows) == choose_table_scaling(1000.0 * rows)


@pytest.mark.parametrize("rows", [np.ones((20, 3)), np.arange(40.0)[:, None], np.eye(4), np.zeros((0, 2))])
def test_tables_without_anything_to_compare_stay_as_they_are(rows):
    assert choose_table_scaling(rows) == "none"


def test_each_view_gets_its_own_scaling_and_missing_rows_do_not_count():
    rows, units = factors(), 10.0 ** np.arange(8)
    holes = np.where(np.arange(300)[:, None] % 3 == 0, np.nan, rows * units)
    views = as_views([holes, rows[:, :1]])
    views.check()
    modes = fit_table_scaler(views, "auto").modes_
    assert modes[0] == choose_table_scaling((rows * units)[np.arange(300) % 3 != 0].astype(np.float32))
    assert modes[1] == "none"
