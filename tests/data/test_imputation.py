"""Empty cells of a table."""

import numpy as np
import pytest

from coterie import InputError, as_views
from coterie.data import imputation
from coterie.data.imputation import column_medians, count_empty_cells, impute

NAN = np.nan
TABLE = np.array([[1, NAN, 3], [NAN, NAN, NAN], [5, 2, NAN], [9, 4, 4]])


def test_gaps_are_counted_by_column_and_an_empty_row_is_none():
    left, right = count_empty_cells(as_views([TABLE, np.ones((4, 2))]))
    np.testing.assert_array_equal(left, [0, 1, 1])
    np.testing.assert_array_equal(right, [0, 0])


def test_gaps_take_the_median_of_their_column_and_missing_views_stay_missing():
    views = as_views([TABLE, np.ones((4, 2))])
    full = impute(views, column_medians(views))
    full.check()
    np.testing.assert_array_equal(full.read(slice(None))[0], [[1, 3, 3], [0, 0, 0], [5, 2, 3.5], [9, 4, 4]])
    np.testing.assert_array_equal(full.present[:, 0], [True, False, True, True])


def test_a_row_with_nothing_in_the_only_table_is_still_refused():
    views = as_views(TABLE)
    with pytest.raises(InputError, match="Row 1 has no view at all"):
        impute(views, column_medians(views)).check()


def test_a_column_without_any_value_is_named():
    with pytest.raises(InputError, match="View 'X', column 1 is empty in every row: leave it out"):
        column_medians(as_views([[1.0, NAN], [2.0, NAN]]))


def test_rows_that_do_not_fit_into_memory_are_not_filled(monkeypatch):
    monkeypatch.setattr(imputation, "fits", lambda views: False)
    with pytest.raises(InputError, match="--fill reads all rows into memory"):
        column_medians(as_views(TABLE))
