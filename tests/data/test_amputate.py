"""Removal of views keeps its promises: one view stays in each row, and the rate is what was asked."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.data import amputate
from coterie.errors import InputError


@given(st.integers(1, 80), st.integers(2, 6), st.floats(0, 1), st.integers(0, 9))
def test_the_rate_of_rows_counts_incomplete_rows(n, v, rate, seed):
    present = amputate(n, v, rate, reading="rows", random_state=seed)
    assert present.shape == (n, v)
    assert present.any(axis=1).all()
    assert (~present.all(axis=1)).sum() == round(rate * n)


@given(st.integers(1, 80), st.integers(1, 6), st.floats(0, 1), st.integers(0, 9))
def test_the_rate_of_entries_counts_missing_pairs(n, v, share, seed):
    rate = share * (v - 1) / v
    present = amputate(n, v, rate, reading="entries", random_state=seed)
    assert present.any(axis=1).all()
    assert (~present).sum() == round(rate * n * v)


def test_every_incomplete_pattern_is_equally_likely():
    present = amputate(60_000, 3, 1.0, random_state=0)
    counts = Counter(map(tuple, present.tolist()))
    assert len(counts) == 6
    assert max(abs(count - 10_000) for count in counts.values()) < 500


@pytest.mark.parametrize("reading", ["rows", "entries"])
def test_no_view_is_favoured(reading):
    missing = (~amputate(60_000, 3, 0.6, reading=reading, random_state=0)).mean(axis=0)
    assert np.ptp(missing) < 0.02


@pytest.mark.parametrize("reading", ["rows", "entries"])
def test_the_seed_decides_the_draw(reading):
    draws = [amputate(50, 3, 0.5, reading=reading, random_state=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (10, 2, 0.7, "entries"),
            "rate=0.7 of the entries cannot be missing .* one of 2 views: the most is 0.5",
        ),
        ((10, 1, 0.5, "rows"), "With one view no row can miss a view"),
        ((10, 2, 1.5, "rows"), "rate=1.5 is no share"),
        ((10, 2, -0.1, "entries"), "rate=-0.1 is no share"),
        ((10, 2, 0.5, "cells"), "reading='cells' does not exist"),
        ((0, 2, 0.5, "rows"), "n_rows=0 and n_views=2 must both be at least 1"),
    ],
)
def test_an_impossible_request_is_named(arguments, message):
    n, v, rate, reading = arguments
    with pytest.raises(InputError, match=message):
        amputate(n, v, rate, reading=reading)
