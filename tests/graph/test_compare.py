import json

import numpy as np
import pytest
import torch
from tests.graph.planted import blobs, of_parts

from coterie import as_views
from coterie.graph import compare
from coterie.graph.compare import Comparison, fit_comparison, wide_axes
from coterie.graph.model import comparable


def wide_rows(n=300, d=60, seed=0):
    """Rows with some strong directions, far from zero."""
    rng = np.random.default_rng(seed)
    return 5 + rng.normal(size=(n, 8)) @ rng.normal(size=(8, d)) + 0.3 * rng.normal(size=(n, d))


def with_missing():
    views, _ = of_parts([30] * 6)
    views = [view.copy() for view in views]
    views[0][::5], views[1][2::5] = np.nan, np.nan
    return views


KINDS = {
    "one view": lambda: wide_rows(),
    "several views": lambda: of_parts([50] * 6)[0],
    "several views with missing ones": with_missing,
    "wide views": lambda: [wide_rows(d=300), wide_rows(d=280, seed=1)],
}


def fitted(rows):
    data = as_views(rows)
    return fit_comparison(data, n_neighbors=10, seed=0), data


def layers_of(comparison, data, rows):
    part = comparable(comparison, data, rows)
    return comparison.layers(part.scaled, part.there)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_comes_out_the_same_alone_as_in_a_batch_bit_for_bit(kind):
    comparison, data = fitted(KINDS[kind]())
    whole = layers_of(comparison, data, np.arange(data.n_rows))
    for row in (0, 2, 100, data.n_rows - 1):
        alone = layers_of(comparison, data, np.array([row]))
        np.testing.assert_array_equal(alone.there[0], whole.there[row])
        for one, all_rows in zip(alone.tables, whole.tables, strict=True):
            np.testing.assert_array_equal(one[0], all_rows[row])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_comes_back_the_same(kind):
    comparison, data = fitted(KINDS[kind]())
    values, arrays = comparison.state()
    again = Comparison.from_state(json.loads(json.dumps(values)), arrays, data.dims)
    assert again.n_layers == comparison.n_layers
    assert again.views == comparison.views
    assert again.metric == comparison.metric
    np.testing.assert_array_equal(again.layer_weights(), comparison.layer_weights())
    everyone = np.arange(data.n_rows)
    one, other = layers_of(comparison, data, everyone), layers_of(again, data, everyone)
    np.testing.assert_array_equal(one.there, other.there)
    for table, saved in zip(one.tables, other.tables, strict=True):
        np.testing.assert_array_equal(table, saved)


def test_one_view_has_one_layer_and_several_views_one_more_than_views():
    assert fitted(wide_rows())[0].n_layers == 1
    comparison, _ = fitted(of_parts([30] * 6)[0])
    assert comparison.n_layers == 3
    np.testing.assert_array_equal(comparison.layer_weights(), [1, 1, 1])  # two views: half of two
    three = fitted([wide_rows(), wide_rows(seed=1), wide_rows(seed=2)])[0]
    np.testing.assert_array_equal(three.layer_weights(), [1, 1, 1, 1.5])


def test_only_rows_with_every_view_are_there_in_the_concatenated_layer():
    comparison, data = fitted(with_missing())
    there = layers_of(comparison, data, np.arange(data.n_rows)).there
    np.testing.assert_array_equal(there[:, :2], data.present_rows(np.arange(data.n_rows)))
    np.testing.assert_array_equal(there[:, 2], there[:, 0] & there[:, 1])


def test_a_view_that_never_changes_is_left_out():
    rows, _ = blobs([40] * 3)
    comparison, _ = fitted([rows, np.full((120, 4), 7.0), rows + 1])
    assert comparison.views == [0, 2]
    assert comparison.idle.tolist() == [False, True, False]


def test_the_metric_that_is_asked_for_is_used():
    data = as_views(wide_rows())
    for kind in ("euclidean", "correlation", "whitened"):
        assert fit_comparison(data, metric=kind, n_neighbors=10, seed=0).metric.kind == kind


def test_wide_rows_are_compared_along_axes_only_where_these_hold_the_variance():
    generator = torch.Generator().manual_seed(0)
    few = torch.from_numpy(wide_rows(600, 400)).float()
    axes = wide_axes(few, 600, generator)
    assert axes.shape == (400, compare._AXES)
    centred = few - few.mean(0)
    assert (centred @ axes).square().sum() > 0.95 * centred.square().sum()
    noise = torch.randn(900, 800, generator=generator)
    assert wide_axes(noise, 900, generator) is None  # no few axes hold it, and it fits into memory
    assert wide_axes(few[:, :200], 600, generator) is None  # not wide
